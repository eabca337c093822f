//! Collections that nothing disturbs: all their copies are one job of the die.

use flashgc_drive::error::DriveError;

use super::Scheduler;
use crate::clock::Position;
use crate::flash::Job;
use crate::measure::{Follows, Observer};
use crate::shared::Shared;

impl Scheduler {
    /// The collection of an idle die copies all pages of its victim as one job; whether it does.
    pub(super) fn begins_chain<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> bool {
        let follows = shared.observer.follows();
        if !self.collects_undisturbed
            || follows == Follows::Steps
            || !shared.map.copies_on_its_own()
        {
            return false;
        }
        let pages = self.collector.copies_all(&*shared.map, die);
        if pages == 0 {
            return false;
        }
        self.flash.begin_chain(&mut shared.clock, die, pages, follows == Follows::Work);
        true
    }

    /// Whether a die copies all pages of a victim as one job.
    #[inline]
    pub fn is_chained(&self, die: u32) -> bool {
        self.flash.die(die).cells.job == Job::CopyAll
    }

    /// The copies of a die may all be made now; whether they are.
    ///
    /// # Errors
    /// Those of the map.
    #[inline(never)]
    pub fn chain_done<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<bool, DriveError> {
        let Some(mut chain) = self.flash.end_chain(&mut shared.clock, die) else {
            return Ok(false);
        };
        self.flash.told().tell(&mut shared.observer);
        chain.tell_copies(&mut shared.observer);
        let plane = self.collector.pages_are_moved(&shared.ops, die);
        if chain.due > 0 {
            shared.map.copy_pages(plane, chain.due)?;
        }
        Ok(true)
    }

    /// All chains get on until `until`: the map and the observer are as if each step had been an event.
    /// Returns when the last of these steps ended.
    ///
    /// # Errors
    /// Those of the map.
    pub fn catch_up<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        until: Position,
    ) -> Result<u64, DriveError> {
        let ended = self.flash.take_all_turns(&shared.clock, until);
        for chain in self.flash.chains_mut() {
            chain.tell_copies(&mut shared.observer);
            let due = std::mem::take(&mut chain.due);
            if due > 0
                && let Some(collection) = self.collector.on(chain.die)
            {
                shared.map.copy_pages(collection.plane, due)?;
            }
        }
        self.flash.told().tell(&mut shared.observer);
        Ok(ended)
    }
}
