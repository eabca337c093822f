//! The reports to observers on the work of dies and buses.

use super::Scheduler;
use crate::flash::{Job, Stage};
use crate::measure::{Cause, Follows, Observer, Place, Span, Stint, Work};
use crate::shared::Shared;

impl Scheduler {
    /// Tells the observer the work of the cells of a die, or of its side of the bus.
    #[inline(always)]
    pub(super) fn tell<O: Observer>(
        &self,
        shared: &mut Shared<O>,
        die: u32,
        stage: &Stage,
        place: Place,
    ) {
        let follows = shared.observer.follows();
        if follows == Follows::Nothing {
            return;
        }
        let (begin_ns, end_ns) = (stage.begin, stage.begin + stage.length);
        if follows == Follows::Work && stage.job.op().is_some() {
            shared.observer.was_busy(&Stint { begin_ns, end_ns, place, die });
            return;
        }
        self.tell_span(shared, die, stage, place);
    }

    /// The same of the cells of a die, and of the `transfer` that ended when their work began.
    #[inline(always)]
    pub(super) fn tell_program<O: Observer>(
        &self,
        shared: &mut Shared<O>,
        die: u32,
        transfer: Option<&Stage>,
        work: &Stage,
    ) {
        let Some(transfer) = transfer else { return self.tell(shared, die, work, Place::Cells) };
        if shared.observer.follows() == Follows::Work && work.job.op().is_some() {
            let times = [transfer.begin, work.begin, work.begin + work.length];
            return shared.observer.was_programmed(die, times);
        }
        self.tell(shared, die, transfer, Place::Bus);
        self.tell(shared, die, work, Place::Cells);
    }

    #[inline(never)]
    fn tell_span<O: Observer>(
        &self,
        shared: &mut Shared<O>,
        die: u32,
        stage: &Stage,
        place: Place,
    ) {
        let (begin_ns, end_ns) = (stage.begin, stage.begin + stage.length);
        let collection = self.collector.on(die);
        let (page, plane, cause) = match stage.job.op() {
            Some(place) => {
                let op = &shared.ops[place];
                let request = shared.ops.request_number(place);
                (Some(op.page), op.plane, Cause::Request(request))
            }
            None => {
                let moves = matches!(stage.job, Job::CopyRead | Job::CopyWrite);
                let moving = collection.and_then(|collection| collection.moving);
                let first = die * self.planes_per_die;
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
            begin_ns,
            end_ns,
            place,
            channel: self.flash.die(die).channel,
            die,
            plane,
            work,
            page,
            cause,
        };
        shared.observer.worked(&span);
    }
}
