//! SFR, with the list of all writes.

use super::{NaiveRule, Time};

pub struct Sfr {
    pub classes: usize,
    pub chunk: u32,
    pub halving: usize,
    pub writes: Vec<u32>,
}

impl Sfr {
    /// The indices of the writes that begin a request.
    fn beginnings(writes: &[u32]) -> Vec<usize> {
        let begins = |&at: &usize| at == 0 || writes[at - 1] + 1 != writes[at];
        (0..writes.len()).filter(begins).collect()
    }
}

impl NaiveRule for Sfr {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, class: usize) -> bool {
        class + 1 == self.classes
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, _: Time) -> usize {
        let writes = [&self.writes[..], &[page]].concat();
        let beginnings = Self::beginnings(&writes);
        let last = *beginnings.last().unwrap();
        let chunk = writes[last] / self.chunk;
        let (mut count, mut before) = (0u32, 0);
        for at in beginnings.into_iter().filter(|&at| writes[at] / self.chunk == chunk) {
            (0..(at - before) / self.halving).for_each(|_| count /= 2);
            (count, before) = (count + 1, at);
        }
        let powers = (1..self.classes as i32 - 1).map(|power| std::f64::consts::E.powi(power));
        powers.filter(|&power| f64::from(count) >= power).count()
    }

    fn copy(&self, _: u32, _: usize, _: bool, _: Time) -> usize {
        self.classes - 1
    }

    fn wrote(&mut self, page: u32, _: usize, _: Time) {
        self.writes.push(page);
    }
}
