//! What the drive tells of its work.

use super::die::{Job, Stage};
use super::engine::TimedDrive;
use super::observe::{Cause, Observer, Place, Span, Work};
use super::totals::Totals;

impl<O: Observer> TimedDrive<O> {
    /// What has been counted.
    pub fn totals(&mut self) -> &Totals {
        self.count_requests();
        let now = self.now;
        self.totals.bus_busy_ns = self.buses.iter().map(|bus| bus.busy_until(now)).collect();
        self.totals.die_busy_ns = self.dies.iter().map(|die| die.busy_until(now)).collect();
        self.totals.die_collecting_ns = self.dies.iter().map(|die| die.held_until(now)).collect();
        &self.totals
    }

    /// Tells the observer what the cells have done.
    pub(super) fn worked_cells(&mut self, die: u32) {
        let stage = self.dies[die as usize].cells;
        self.worked(die, &stage, Place::Cells);
    }

    /// Tells the observer what a stage has done.
    #[inline]
    pub(super) fn worked(&mut self, die: u32, stage: &Stage, place: Place) {
        let held = &self.dies[die as usize];
        let collection = held.collection.as_ref();
        let (page, plane, cause) = match stage.job.op() {
            Some(op) => {
                let op = &self.ops[op];
                (Some(op.page), op.plane, Cause::Request(self.host.number_of(op.request)))
            }
            None => {
                let moves = matches!(stage.job, Job::CopyRead | Job::CopyWrite);
                let moving = collection.and_then(|collection| collection.moving);
                let first = die * self.settings.hardware.planes;
                (
                    moving.filter(|_| moves).map(|moving| moving.page),
                    collection.map_or(first, |collection| collection.plane),
                    Cause::Collection(collection.map_or(0, |collection| collection.number)),
                )
            }
        };
        let work = match stage.job {
            Job::Erase => Work::Erase,
            Job::Poll => Work::Poll,
            Job::Suspend => Work::Suspend,
            job if job.programs() => Work::Program,
            _ => Work::Read,
        };
        let span = Span {
            begin_ns: stage.begin,
            end_ns: stage.begin + stage.length,
            place,
            channel: held.channel,
            die,
            plane,
            work,
            page,
            cause,
        };
        self.observer.worked(&span);
    }
}
