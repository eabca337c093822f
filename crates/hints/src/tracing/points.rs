//! The followed tracepoints: their numbers and fields in this kernel, and the meaning of their
//! events.

use super::{Field, FollowError, Format};

/// The largest number of fields of an event.
pub(crate) const FIELDS: usize = 5;

/// A tracepoint to follow. `means` is the meaning of its events, in a type of the module that reads
/// them.
pub(crate) struct Wanted<M> {
    pub(crate) name: &'static str,
    /// The condition on an event, for the kernel's filter.
    pub(crate) filter: &'static str,
    pub(crate) fields: &'static [&'static str],
    pub(crate) means: M,
}

/// A request to the kernel for the events of one tracepoint that pass a filter.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) name: &'static str,
    pub(crate) id: u16,
    /// The filter; empty if it is set later.
    pub(crate) filter: String,
}

/// The followed tracepoints, in the formats of this kernel.
#[derive(Debug)]
pub(crate) struct Points<M>(Vec<Point<M>>);

#[derive(Debug)]
struct Point<M> {
    name: &'static str,
    id: u16,
    filter: &'static str,
    fields: Vec<Field>,
    means: M,
}

impl<M: Copy + 'static> Points<M> {
    /// Looks up the `wanted` tracepoints in this kernel.
    pub(crate) fn of<'a>(
        wanted: impl IntoIterator<Item = &'a Wanted<M>>,
    ) -> Result<Self, FollowError> {
        wanted.into_iter().map(Point::of).collect::<Result<_, _>>().map(Self)
    }

    /// Adds a tracepoint if this kernel has it. Returns `true` if it does.
    pub(crate) fn add(&mut self, wanted: &Wanted<M>) -> bool {
        let point = Point::of(wanted);
        let has = point.is_ok();
        self.0.extend(point);
        has
    }

    /// Returns a subscription for each tracepoint. `whole` makes the filter from the tracepoint's
    /// condition.
    pub(crate) fn subscriptions(&self, whole: impl Fn(&str) -> String) -> Vec<Subscription> {
        let subscription = |point: &Point<M>| Subscription {
            name: point.name,
            id: point.id,
            filter: whole(point.filter),
        };
        self.0.iter().map(subscription).collect()
    }

    /// Returns the `means` of an event's tracepoint and the values of its fields, or `None` if the
    /// tracepoint is not followed.
    pub(crate) fn read(&self, raw: &[u8]) -> Option<(M, [u64; FIELDS])> {
        let id = u16::from_le_bytes([*raw.first()?, *raw.get(1)?]);
        let point = self.0.iter().find(|point| point.id == id)?;
        let mut values = [0; FIELDS];
        for (value, field) in values.iter_mut().zip(&point.fields) {
            *value = field.of(raw);
        }
        Some((point.means, values))
    }
}

impl<M: Copy> Point<M> {
    fn of(wanted: &Wanted<M>) -> Result<Self, FollowError> {
        let &Wanted { name, filter, fields, means } = wanted;
        let format = Format::read(name)?;
        // Every event begins with this field, which is the number of its tracepoint.
        format.field("common_type")?;
        let fields = fields.iter().map(|&field| format.field(field)).collect::<Result<_, _>>()?;
        Ok(Self { name, id: format.id, filter, fields, means })
    }
}
