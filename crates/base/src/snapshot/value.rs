//! Values: they are made from their bytes alone.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use hashbrown::HashMap;

use super::{Fault, Reader, Writer};

/// The largest number of entries for which memory is reserved before they are read.
const ROOM: usize = 1 << 12;

/// Plain data that are written as bytes, at least one byte, and made from these bytes again.
pub trait Value: Sized {
    /// Writes the bytes of this value.
    fn put(&self, to: &mut Writer<'_>);

    /// Reads a value.
    ///
    /// # Errors
    /// The bytes end, or do not make such a value.
    fn take(from: &mut Reader<'_>) -> Result<Self, Fault>;

    /// Writes several values. Numbers are written in bulk.
    fn put_all(all: &[Self], to: &mut Writer<'_>) {
        all.iter().for_each(|value| value.put(to));
    }

    /// Reads as many values as `all` has, and overwrites them.
    ///
    /// # Errors
    /// The errors of [`Value::take`].
    fn take_into(all: &mut [Self], from: &mut Reader<'_>) -> Result<(), Fault> {
        for value in all {
            *value = Self::take(from)?;
        }
        Ok(())
    }

    /// Reads `count` values. The reader has at least `count` bytes left.
    ///
    /// # Errors
    /// The errors of [`Value::take`].
    fn take_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Fault> {
        let mut all = Vec::with_capacity(count.min(ROOM));
        for _ in 0..count {
            all.push(Self::take(from)?);
        }
        Ok(all)
    }
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Value for $number {
            #[inline]
            fn put(&self, to: &mut Writer<'_>) {
                to.bytes(&self.to_le_bytes());
            }

            #[inline]
            fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
                Ok(Self::from_le_bytes(from.array()?))
            }

            fn put_all(all: &[Self], to: &mut Writer<'_>) {
                let mut bytes = [0; ROOM * size_of::<$number>()];
                for part in all.chunks(ROOM) {
                    let bytes = &mut bytes[..part.len() * size_of::<$number>()];
                    for (to, number) in bytes.chunks_exact_mut(size_of::<$number>()).zip(part) {
                        to.copy_from_slice(&number.to_le_bytes());
                    }
                    to.bytes(bytes);
                }
            }

            fn take_into(all: &mut [Self], from: &mut Reader<'_>) -> Result<(), Fault> {
                let mut bytes = [0; ROOM * size_of::<$number>()];
                for part in all.chunks_mut(ROOM) {
                    let bytes = &mut bytes[..part.len() * size_of::<$number>()];
                    from.bytes(bytes)?;
                    let (each, _) = bytes.as_chunks();
                    for (number, &from) in part.iter_mut().zip(each) {
                        *number = Self::from_le_bytes(from);
                    }
                }
                Ok(())
            }

            fn take_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Fault> {
                let mut all = Vec::new();
                while all.len() < count {
                    let read = all.len();
                    all.resize(count.min(read + ROOM), Self::default());
                    Self::take_into(&mut all[read..], from)?;
                }
                Ok(all)
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, u128, i64, f64);

impl Value for usize {
    fn put(&self, to: &mut Writer<'_>) {
        (*self as u64).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let number = u64::take(from)?;
        Self::try_from(number).map_err(|_| Fault::new(format!("{number} is too large")))
    }
}

impl Value for bool {
    fn put(&self, to: &mut Writer<'_>) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Fault::new(format!("{other} is neither yes nor no"))),
        }
    }
}

impl Value for String {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        to.bytes(self.as_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let count = from.count()?;
        Self::from_utf8(u8::take_all(count, from)?).map_err(|_| Fault::new("a text is not UTF-8"))
    }
}

impl Value for Duration {
    fn put(&self, to: &mut Writer<'_>) {
        (self.as_secs(), self.subsec_nanos()).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let (seconds, nanos) = Value::take(from)?;
        from.check(nanos < 1_000_000_000, "a duration has too many nanoseconds")?;
        Ok(Self::new(seconds, nanos))
    }
}

impl<T: Value> Value for Option<T> {
    fn put(&self, to: &mut Writer<'_>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

impl<T: Value> Value for Vec<T> {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        T::put_all(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let count = from.count()?;
        T::take_all(count, from)
    }
}

impl<T: Value> Value for Box<[T]> {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        T::put_all(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::take(from)?.into())
    }
}

impl<T: Value> Value for VecDeque<T> {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::take(from)?.into())
    }
}

/// No two entries of a saved heap are equal. So a restored heap gives them in the same order, even
/// if they are arranged differently inside it.
impl<T: Value + Ord> Value for BinaryHeap<T> {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::take(from)?.into())
    }
}

/// A table of hashes, written in the order of its keys: nothing may depend on the table's own
/// order.
impl<K: Value + Ord + Hash, T: Value> Value for HashMap<K, T> {
    fn put(&self, to: &mut Writer<'_>) {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by_key(|&(key, _)| key);
        (entries.len() as u64).put(to);
        for (key, value) in entries {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::take(from)?.into_iter().collect())
    }
}

impl<T: Value + Ord> Value for BTreeSet<T> {
    fn put(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Vec::take(from)?.into_iter().collect())
    }
}

impl<T: Value> Value for Box<T> {
    fn put(&self, to: &mut Writer<'_>) {
        (**self).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self::new(T::take(from)?))
    }
}

impl<T: Value> Value for Reverse<T> {
    fn put(&self, to: &mut Writer<'_>) {
        self.0.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self(T::take(from)?))
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn put(&self, to: &mut Writer<'_>) {
        T::put_all(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let all = T::take_all(N, from)?;
        all.try_into().map_err(|_| Fault::new("an array has another length"))
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+)),+) => {$(
        impl<$($name: Value),+> Value for ($($name,)+) {
            fn put(&self, to: &mut Writer<'_>) {
                $(self.$index.put(to);)+
            }

            fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
                Ok(($($name::take(from)?,)+))
            }
        }
    )+};
}

tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));
