//! The counts of a run, and how results show them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use flashgc_base::counts::{Counts, Listed};
use flashgc_base::snapshot::Value;
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::swapping::Swapping;
use flashgc_ftl::{Counters, LayerCounts};
use flashgc_host::HostCounts;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The counts of a drive, and of the host in front of it. Counts that the drive does not have are
/// `None`.
#[derive(Clone, Default, Counts, Value)]
pub(crate) struct Counted {
    /// The counts of the map.
    pub(crate) counters: Counters,
    /// The counts of the host's other commands.
    pub(crate) commands: HostCommands,
    /// The counts that only some layers keep.
    pub(crate) layer: LayerCounts,
    /// The counts of the host.
    pub(crate) host: Option<HostCounts>,
    /// The swap traffic, if there is a page cache.
    pub(crate) swapping: Option<Swapping>,
}

/// Counts as a part of a result, under the names in their declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedCounts<T>(T);

impl<T: Listed + Default> NamedCounts<T> {
    /// Returns the counts as results list them: numbers that are no sums but values of the moment
    /// are 0.
    pub fn new(counts: &T) -> Self {
        Self(T::of(&mut counts.numbers().into_iter()).unwrap_or_default())
    }
}

impl<T> Deref for NamedCounts<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Listed> Serialize for NamedCounts<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(T::list().iter().map(|count| count.name).zip(self.numbers()))
    }
}

impl<'de, T: Listed> Deserialize<'de> for NamedCounts<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Object(PhantomData)).map(Self)
    }
}

/// Reads an object of counts, and ignores its other fields.
struct Object<T>(PhantomData<T>);

impl<'de, T: Listed> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of counts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<T, A::Error> {
        let list = T::list();
        let mut numbers = vec![None; list.len()];
        while let Some(key) = from.next_key::<String>()? {
            match list.iter().position(|count| count.name == key) {
                Some(place) => numbers[place] = Some(from.next_value()?),
                None => drop(from.next_value::<IgnoredAny>()?),
            }
        }
        match list.iter().zip(&numbers).find(|(_, number)| number.is_none()) {
            Some((count, _)) => Err(A::Error::missing_field(count.name)),
            None => T::of(&mut numbers.into_iter().flatten())
                .ok_or_else(|| A::Error::custom("counts are missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::snapshot::{Reader, Writer};
    use flashgc_ftl::{Levelled, MapTraffic, Merges, Packing, StreamCounts, ZombieCounts};
    use flashgc_host::{HintCounts, HostPages, HostWaits};
    use flashgc_timed::{CollectionResult, SlcCounts};

    use super::*;

    /// Returns `name` if a difference, a sum or a snapshot of these counts loses a count.
    fn fault<T: Listed + Value + PartialEq>(name: &'static str) -> Option<&'static str> {
        let counts = |step: u64| T::of(&mut (1..).map(|number| number * step)).unwrap();
        let (mut bytes, seven) = (Vec::new(), counts(7));
        let mut to = Writer::new(&mut bytes);
        seven.put(&mut to);
        to.finish().unwrap();
        let length = bytes.len() as u64;
        let read = T::take(&mut Reader::new(&mut bytes.as_slice(), length));
        let is_whole = seven.since(&counts(5)) == counts(2)
            && seven.plus(&counts(5)) == counts(12)
            && read.is_ok_and(|read| read == seven);
        (!is_whole).then_some(name)
    }

    #[test]
    fn every_count_is_in_differences_sums_and_snapshots() {
        let faults = [
            fault::<HostCommands>("commands"),
            fault::<CollectionResult>("collecting"),
            fault::<Counters>("counters"),
            fault::<HintCounts>("hints"),
            fault::<HostPages>("host"),
            fault::<HostWaits>("waits"),
            fault::<Levelled>("levelling"),
            fault::<MapTraffic>("map traffic"),
            fault::<Merges>("merges"),
            fault::<Packing>("packing"),
            fault::<SlcCounts>("slc"),
            fault::<StreamCounts>("streams"),
            fault::<Swapping>("swapping"),
            fault::<ZombieCounts>("zombies"),
        ];
        assert_eq!(faults.into_iter().flatten().collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
