//! FDP: one reclaim unit for each handle, and units for copies.

use super::{NaiveRule, Time};

pub struct Fdp {
    pub handles: usize,
    pub persistent: usize,
}

impl NaiveRule for Fdp {
    fn classes(&self) -> usize {
        if self.persistent >= self.handles {
            2 * self.handles
        } else {
            self.handles + self.persistent + 1
        }
    }

    fn takes_copies(&self, class: usize) -> bool {
        class >= self.handles
    }

    fn host(&self, _: u32, stream: Option<u8>, _: Option<usize>, _: Time) -> usize {
        match stream.map(usize::from) {
            Some(handle) if handle < self.handles => handle,
            _ => 0,
        }
    }

    fn copy(&self, _: u32, from: usize, _: bool, _: Time) -> usize {
        if from >= self.handles {
            from
        } else if from < self.persistent {
            self.handles + from
        } else {
            self.handles + self.persistent
        }
    }
}
