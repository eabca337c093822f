//! The work of chains that is going to be reported to the observer: as sums if they are enough for
//! it.

use crate::measure::{Observer, Place, Stint};

/// Work that is over and not reported yet.
#[derive(Default)]
pub struct Told {
    /// The times between which work is added up.
    between: (u64, u64),
    /// The work of buses and that of dies, added up.
    busy_ns: [u64; 2],
    /// All other work.
    stints: Vec<Stint>,
}

impl Told {
    /// Adds a stint of work.
    #[inline(always)]
    pub fn add(&mut self, stint: Stint) {
        let Stint { begin_ns, end_ns, place, .. } = stint;
        if self.between.0 <= begin_ns && end_ns <= self.between.1 {
            self.busy_ns[usize::from(place == Place::Cells)] += end_ns - begin_ns;
        } else {
            self.stints.push(stint);
        }
    }

    /// Reports all of it to the observer.
    pub fn tell<O: Observer>(&mut self, observer: &mut O) {
        observer.was_busy_in_all(self.between, std::mem::take(&mut self.busy_ns));
        self.stints.drain(..).for_each(|stint| observer.was_busy(&stint));
        self.between = observer.adds_up();
    }
}
