//! Clairvoyance by looking through the list of all that is to come.

use std::collections::BTreeMap;

use super::{NaiveRule, Time};

pub struct Oracle {
    pub classes: usize,
    pub pages_per_block: usize,
    /// Writes that are in sight.
    pub horizon: u64,
    pub sigma: f64,
    /// `true` if the pages of a request share their error.
    pub by_request: bool,
    /// All writes and TRIMs.
    pub events: Vec<(u32, bool)>,
    /// The number of the last write of each page.
    pub written: BTreeMap<u32, u64>,
}

fn draw(key: u64, salt: u64) -> f64 {
    let mix = |hash: u64, shift: u32, factor: u64| (hash ^ (hash >> shift)).wrapping_mul(factor);
    let hash = key ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = mix(mix(hash, 30, 0xbf58_476d_1ce4_e5b9), 27, 0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / 2f64.powi(53)
}

impl Oracle {
    /// The number of writes before the event that ends data of `page`. These are the data of write
    /// `from`, or the first contents if `from` is `None`. Returns `None` if the event is not in
    /// sight after `done` writes.
    fn death(&self, page: u32, from: Option<u64>, done: u64) -> Option<u64> {
        let mut number = 0;
        for &(of, is_trim) in &self.events {
            if number == done + self.horizon {
                return None;
            }
            if of == page && from.is_none_or(|from| number > from) {
                return Some(number);
            }
            number += u64::from(!is_trim);
        }
        None
    }

    /// The first write of the request to which write `number` belongs. The pages of a request
    /// follow each other.
    fn request(&self, number: u64) -> u64 {
        let writes: Vec<u32> =
            self.events.iter().filter(|event| !event.1).map(|event| event.0).collect();
        let mut first = number as usize;
        while first > 0 && writes[first - 1] + 1 == writes[first] {
            first -= 1;
        }
        first as u64
    }

    /// The predicted death.
    fn predicted(&self, page: u32, from: Option<u64>, death: u64) -> u64 {
        if self.sigma == 0.0 {
            return death;
        }
        let key = |number| if self.by_request { self.request(number) } else { number };
        let (born, key) = (from.unwrap_or(0), from.map_or(u64::MAX - u64::from(page), key));
        let normal = (-2.0 * (1.0 - draw(key, 1)).ln()).sqrt()
            * (std::f64::consts::TAU * draw(key, 2)).cos();
        born + ((death - born) as f64 * (self.sigma * normal).exp()) as u64
    }

    fn class(&self, remaining: u64) -> usize {
        let units = remaining as f64 / (2 * self.pages_per_block) as f64;
        ((1.0 + units).log2() as usize).min(self.classes - 1)
    }
}

impl NaiveRule for Oracle {
    fn classes(&self) -> usize {
        self.classes
    }

    fn takes_copies(&self, _: usize) -> bool {
        true
    }

    fn host(&self, page: u32, _: Option<u8>, _: Option<usize>, now: Time) -> usize {
        match self.death(page, Some(now.host), now.host) {
            None => self.classes - 1,
            Some(death) => self.class(self.predicted(page, Some(now.host), death) - now.host),
        }
    }

    fn copy(&self, page: u32, _: usize, _: bool, now: Time) -> usize {
        let written = self.written.get(&page).copied();
        match self.death(page, written, now.host) {
            None => self.classes - 1,
            Some(death) => self.class(self.predicted(page, written, death).abs_diff(now.host)),
        }
    }

    fn wrote(&mut self, page: u32, _: usize, now: Time) {
        self.written.insert(page, now.host - 1);
    }
}
