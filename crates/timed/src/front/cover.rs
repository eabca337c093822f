//! The bytes of a page that a write cache holds.

use std::ops::Range;

use flashgc_base::snapshot::Value;

/// A set of bytes, as ranges that do not touch, in order. Nearly always it is one range.
#[derive(Clone, Debug, Default, Value)]
pub struct Cover {
    first: (u32, u32),
    /// The ranges behind the first.
    others: Vec<(u32, u32)>,
}

impl Cover {
    /// Returns a set of one range.
    pub fn of(bytes: &Range<u32>) -> Self {
        Self { first: (bytes.start, bytes.end), others: Vec::new() }
    }

    /// Returns the number of bytes in the set.
    pub fn len(&self) -> u32 {
        let all = self.others.iter().chain([&self.first]);
        all.map(|(begin, end)| end - begin).sum()
    }

    /// Returns `true` if all of `bytes` are in the set.
    pub fn contains(&self, bytes: &Range<u32>) -> bool {
        let mut all = self.others.iter().chain([&self.first]);
        all.any(|&(begin, end)| begin <= bytes.start && bytes.end <= end)
    }

    /// Adds `bytes`. Returns the number of those that were not in the set.
    pub fn add(&mut self, bytes: &Range<u32>) -> u32 {
        if self.contains(bytes) {
            return 0;
        }
        let before = self.len();
        let (mut begin, mut end) = (bytes.start, bytes.end);
        let (mut all, first) = (std::mem::take(&mut self.others), self.first);
        all.insert(0, first);
        all.retain(|&(from, to)| {
            let touches = from <= end && begin <= to;
            if touches {
                (begin, end) = (begin.min(from), end.max(to));
            }
            !touches
        });
        let at = all.partition_point(|&(from, _)| from < begin);
        all.insert(at, (begin, end));
        self.first = all.remove(0);
        self.others = all;
        self.len() - before
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;

    #[test]
    fn it_holds_the_bytes_that_a_table_of_bytes_holds() {
        let mut stream = Stream::new(1, "cover");
        for _ in 0..300 {
            let (mut cover, mut table) = (Cover::of(&(8..9)), [false; 32]);
            table[8] = true;
            for _ in 0..12 {
                let begin = stream.below(31);
                let end = begin + 1 + stream.below(32 - begin);
                let bytes = begin as usize..end as usize;
                assert_eq!(
                    cover.contains(&(begin..end)),
                    table[bytes.clone()].iter().all(|&is| is)
                );
                let new = table[bytes.clone()].iter().filter(|&&is| !is).count();
                assert_eq!(cover.add(&(begin..end)) as usize, new);
                table[bytes].fill(true);
                assert_eq!(cover.len() as usize, table.iter().filter(|&&is| is).count());
            }
        }
    }
}
