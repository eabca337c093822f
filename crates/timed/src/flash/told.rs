//! The work of chains of which the observer is to be told: as sums where that is enough for it.

use crate::measure::{Observer, Place, Stint};

/// Work that is over, until somebody tells of it.
#[derive(Default)]
pub struct Told {
    /// Work between these times is added up.
    between: (u64, u64),
    /// That of buses and that of dies.
    busy_ns: [u64; 2],
    /// All other work.
    stints: Vec<Stint>,
}

impl Told {
    /// Some more.
    #[inline(always)]
    pub fn add(&mut self, stint: Stint) {
        let Stint { begin_ns, end_ns, place, .. } = stint;
        if self.between.0 <= begin_ns && end_ns <= self.between.1 {
            self.busy_ns[usize::from(place == Place::Cells)] += end_ns - begin_ns;
        } else {
            self.stints.push(stint);
        }
    }

    /// Tells the observer all of it.
    pub fn tell<O: Observer>(&mut self, observer: &mut O) {
        observer.was_busy_in_all(self.between, std::mem::take(&mut self.busy_ns));
        self.stints.drain(..).for_each(|stint| observer.was_busy(&stint));
        self.between = observer.adds_up();
    }
}
