//! The flash: the dies, with their cells and buses. They work on jobs, and each job takes time.

mod chain;
mod die;
mod power;

use flashgc_base::snapshot::State;

use super::clock::{Clock, Event, NEVER, Position};
use super::config::{Hardware, Settings};
use super::measure::PowerCounts;
use super::ops::Ops;
use chain::{Chains, Report};
use die::{Bus, CellTimes};
pub use die::{Die, Job, Site, Stage, Suspended};
use power::Power;

/// The dies and the buses of the drive.
///
/// It owns the job of each die, the job's length, and the turns on the buses. It does not know the
/// map, and it does not choose the next job: when a job is over, it gives the job back.
#[derive(State)]
pub struct Flash {
    #[snapshot(skip)]
    hardware: Hardware,
    #[snapshot(skip)]
    times: CellTimes,
    /// `true` if a job takes the same time on every page.
    #[snapshot(skip)]
    is_uniform: bool,
    /// `true` if collections copy pages within a die, without the bus.
    #[snapshot(skip)]
    copies_back: bool,
    /// `true` if a page's transfer to a die and its program have one event. This is possible if no
    /// job can begin on the die between the two, and no program can be suspended.
    #[snapshot(skip)]
    programs_follow_transfers: bool,
    #[snapshot(table)]
    dies: Vec<Die>,
    #[snapshot(table)]
    buses: Vec<Bus>,
    /// The chains of copies on each channel. They book their turns on the channel's bus late.
    #[snapshot(table)]
    chains: Vec<Chains>,
    /// The power of programs and erases; `None` if it suffices for all dies.
    #[snapshot(state)]
    power: Option<Power>,
    /// The work of chains that is not reported to the observer yet; none between two runs.
    #[snapshot(skip)]
    report: Report,
}

impl Flash {
    /// Returns idle flash.
    pub fn new(settings: &Settings) -> Self {
        let hardware = settings.hardware;
        let dies = 0..hardware.all_dies();
        let details = &settings.details;
        Self {
            hardware,
            times: CellTimes::new(settings),
            is_uniform: details.has_uniform_pages() && settings.slc.is_none(),
            copies_back: settings.collecting.copy_back,
            programs_follow_transfers: settings.programs_follow_transfers(),
            dies: dies
                .map(|die| Die::new(hardware.channel_of(die), hardware.units_per_page))
                .collect(),
            buses: (0..hardware.channels).map(|_| Bus::new(hardware.dies_per_channel())).collect(),
            chains: vec![Chains::default(); hardware.channels as usize],
            power: settings.power().map(Power::new),
            report: Report::default(),
        }
    }

    /// Returns the state of a die.
    #[inline]
    pub fn die(&self, die: u32) -> &Die {
        &self.dies[die as usize]
    }

    /// Returns `true` if a command goes over the bus before the cells work.
    #[inline]
    pub fn has_commands(&self) -> bool {
        self.hardware.command_ns > 0
    }

    /// Returns `true` if a job takes the same time on every page.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// Returns the times of the cells.
    #[inline]
    pub fn times(&self) -> &CellTimes {
        &self.times
    }

    /// Notes the state of a die until the next event. `held` is `true` if a collection on another
    /// die holds it.
    #[inline]
    pub fn note(&mut self, die: u32, now: u64, held: bool) {
        self.dies[die as usize].note(now, held);
    }

    /// Returns three lists of nanoseconds until `now`: the time in use of each bus, the time in use
    /// of each die, and the time for which collections held each die.
    pub fn times_until(&self, now: u64) -> [Vec<u64>; 3] {
        [
            self.buses.iter().map(|bus| bus.busy_until(now)).collect(),
            self.dies.iter().map(|die| die.busy_until(now)).collect(),
            self.dies.iter().map(|die| die.held_until(now)).collect(),
        ]
    }

    /// Returns the counts of power until `now`.
    pub fn power_until(&self, now: u64) -> PowerCounts {
        self.power.as_ref().map_or_else(PowerCounts::default, |power| power.counts_until(now))
    }

    /// Begins a job that starts in the cells: a read or an erase. The cells work for `cells_ns`
    /// nanoseconds.
    #[inline(always)]
    pub fn begin_in_cells(
        &mut self,
        clock: &mut Clock,
        ops: &mut Ops,
        die: u32,
        job: Job,
        cells_ns: u64,
    ) {
        match self.hardware.command_ns {
            0 => self.begin_cells(clock, die, job, cells_ns),
            length => {
                self.dies[die as usize].after_bus_ns = cells_ns;
                self.ask_for_bus(clock, ops, die, job, length, true);
            }
        }
    }

    /// Notes the units that the next read of a collection, or for a rebuild, moves over the bus.
    #[inline(always)]
    pub fn set_copy_units(&mut self, die: u32, units: u32) {
        self.dies[die as usize].copy_units = units;
    }

    /// Begins a job that starts on the bus, with the transfer of `units` units (pages of the map).
    /// After it the cells work for `cells_ns` nanoseconds. Returns `true` if the job is over at
    /// once.
    #[inline(always)]
    pub fn begin_on_bus(
        &mut self,
        clock: &mut Clock,
        ops: &mut Ops,
        die: u32,
        job: Job,
        units: u64,
        cells_ns: u64,
    ) -> bool {
        self.dies[die as usize].after_bus_ns = cells_ns;
        let skips = job == Job::CopyWrite && self.copies_back;
        let data = if skips { 0 } else { self.transfer_of(units) };
        match self.hardware.command_ns + data {
            0 => return self.transferred_at_once(clock, die, job).is_some(),
            length if job.programs() && self.programs_follow_transfers => {
                let end = self.take_bus(clock, ops, die, job, length, false);
                clock.set(Event::Cells(die), end + cells_ns);
            }
            length => self.ask_for_bus(clock, ops, die, job, length, false),
        }
        false
    }

    /// Lets the idle cells of a die work on a job for `length` nanoseconds. A job that needs power
    /// waits until it has it.
    #[inline]
    pub fn begin_cells(&mut self, clock: &mut Clock, die: u32, job: Job, length: u64) {
        let die_state = &mut self.dies[die as usize];
        debug_assert!(die_state.cells.is_idle());
        die_state.cells = Stage { job, begin: clock.now(), length, ..Stage::IDLE };
        die_state.suspends = 0;
        die_state.suspended_ns = 0;
        die_state.is_awaited = false;
        if self.power.is_some() && job.needs_power() && !self.ask_for_power(clock.now(), die) {
            return;
        }
        clock.set(Event::Cells(die), clock.now() + length);
    }

    /// Ends the transfer on a channel. Returns the die and its transfer.
    pub fn end_transfer(&mut self, clock: &mut Clock, channel: u32) -> (u32, Stage) {
        let (die, next) = self.buses[channel as usize].end();
        if let Some(end) = next {
            clock.set(Event::Transfer(channel), end);
        }
        (die, self.leave_bus(die))
    }

    /// Continues after a transfer: after a command the cells begin, and a program begins when the
    /// cells are idle. Returns the job if it is over.
    pub fn after_transfer(&mut self, clock: &mut Clock, die: u32, transfer: &Stage) -> Option<Job> {
        if transfer.command {
            let cells_ns = self.dies[die as usize].after_bus_ns;
            self.begin_cells(clock, die, transfer.job, cells_ns);
            return None;
        }
        self.transferred(clock, die, transfer.job)
    }

    /// Sends a page that the cells have read and that waits, if the die's interface to the bus is
    /// idle. Returns the job if it is over.
    pub fn bus_freed(&mut self, clock: &mut Clock, ops: &mut Ops, die: u32) -> Option<Job> {
        let die_state = &mut self.dies[die as usize];
        if !die_state.cells.held || !die_state.bus.is_idle() {
            return None;
        }
        let job = die_state.cells.job;
        die_state.cells = Stage::IDLE;
        self.read_out(clock, ops, die, job)
    }

    /// Ends the work of a die's cells, and before it the transfer that shared its event, if there
    /// was one. Returns this transfer and the work of the cells.
    #[inline]
    pub fn end_cells(&mut self, now: u64, ops: &mut Ops, die: u32) -> (Option<Stage>, Stage) {
        let mut transfer = None;
        if self.dies[die as usize].cells.is_idle() {
            let stage = self.leave_bus(die);
            let begin = stage.begin + stage.length;
            self.dies[die as usize].cells =
                Stage { job: stage.job, begin, length: now - begin, ..Stage::IDLE };
            transfer = Some(stage);
        }
        let stage = self.dies[die as usize].cells;
        debug_assert!(stage.begin + stage.length == now && !stage.held);
        if let Some(op) = stage.job.op() {
            ops[op].cell_ns += stage.length;
        }
        (transfer, stage)
    }

    /// Continues after the work of the cells: a page that they have read goes over the bus. Returns
    /// the job if it is over.
    #[inline]
    pub fn after_cells(&mut self, clock: &mut Clock, ops: &mut Ops, die: u32) -> Option<Job> {
        let die_state = &mut self.dies[die as usize];
        let job = die_state.cells.job;
        if self.power.is_some() && (job.needs_power() || job == Job::Suspend) {
            die_state.cells = Stage::IDLE;
            self.free_power(clock);
            return Some(job);
        }
        let reads =
            matches!(job, Job::Read(_) | Job::ModifyRead(_) | Job::CopyRead | Job::Rebuild(_));
        if reads && !die_state.bus.is_idle() {
            die_state.cells.held = true;
            return None;
        }
        die_state.cells = Stage::IDLE;
        if reads { self.read_out(clock, ops, die, job) } else { Some(job) }
    }

    /// Programs the page that was transferred to a die while its cells worked, if there is one.
    #[inline(always)]
    pub fn program_held(&mut self, clock: &mut Clock, die: u32) {
        let Die { bus, cells, .. } = &self.dies[die as usize];
        if bus.held && cells.is_idle() {
            self.program_transferred(clock, die);
        }
    }

    #[inline(never)]
    fn program_transferred(&mut self, clock: &mut Clock, die: u32) {
        let die_state = &mut self.dies[die as usize];
        let (job, cells_ns) = (die_state.bus.job, die_state.after_bus_ns);
        die_state.bus = Stage::IDLE;
        self.begin_cells(clock, die, job, cells_ns);
    }

    /// Suspends the job of a die's cells. The suspension takes `suspend_ns` nanoseconds, and makes
    /// the rest of the job `resume_ns` longer. Operations whose order is below `mark` are served
    /// before the job goes on. A job that waits for power is set aside at no cost. Returns the work
    /// of the cells until now, if they have worked.
    pub fn suspend(
        &mut self,
        clock: &mut Clock,
        ops: &mut Ops,
        die: u32,
        mark: u64,
        (suspend_ns, resume_ns): (u64, u64),
    ) -> Option<Stage> {
        let now = clock.now();
        let die_state = &mut self.dies[die as usize];
        debug_assert!(die_state.suspended.is_none() && die_state.bus.is_idle());
        let (mut stage, times) = (die_state.cells, die_state.suspends + 1);
        let has_begun = die_state.has_begun(now);
        let waits_for_power = stage.waits_for_power();
        let done = now.saturating_sub(stage.begin);
        if let Some(op) = stage.job.op() {
            ops[op].cell_ns += done;
        }
        let left = stage.length - done;
        stage.length = done;
        die_state.cells = Stage::IDLE;
        clock.set(Event::Cells(die), NEVER);
        // If the cells have not worked yet, nothing is suspended and no time is lost: the other
        // operation just goes first.
        let lost = if has_begun { resume_ns } else { 0 };
        let (since, before_ns) = (now, die_state.suspended_ns);
        let suspended =
            Suspended { job: stage.job, left: left + lost, times, since, before_ns, mark };
        die_state.suspended = Some(suspended);
        // The power is free when the suspension is over.
        if has_begun && suspend_ns > 0 {
            self.begin_cells(clock, die, Job::Suspend, suspend_ns);
        } else if !waits_for_power {
            self.free_power(clock);
        }
        Some(stage).filter(|stage| stage.length > 0)
    }

    /// Returns the suspended job of a die.
    pub fn suspended_mut(&mut self, die: u32) -> Option<&mut Suspended> {
        self.dies[die as usize].suspended.as_mut()
    }

    /// Notes that an operation waits for the end of the job of a die's cells, as the job cannot be
    /// suspended again.
    pub fn await_end(&mut self, die: u32) {
        self.dies[die as usize].is_awaited = true;
    }

    /// Continues the suspended job of an idle die.
    pub fn resume(&mut self, clock: &mut Clock, die: u32) {
        let suspended = self.dies[die as usize].suspended.take();
        let suspended = suspended.expect("something is suspended");
        self.begin_cells(clock, die, suspended.job, suspended.left);
        let die_state = &mut self.dies[die as usize];
        die_state.suspends = suspended.times;
        die_state.suspended_ns = suspended.until(clock.now());
    }

    /// Books a job's next turn on the bus, and lets an event of the channel end the transfer.
    fn ask_for_bus(
        &mut self,
        clock: &mut Clock,
        ops: &mut Ops,
        die: u32,
        job: Job,
        length: u64,
        command: bool,
    ) {
        let end = self.take_bus(clock, ops, die, job, length, command);
        let channel = self.dies[die as usize].channel;
        if let Some(end) = self.buses[channel as usize].end_by_event(die, end) {
            clock.set(Event::Transfer(channel), end);
        }
    }

    /// Books a job's next turn on the bus. Returns the time at which the transfer ends.
    #[inline(always)]
    fn take_bus(
        &mut self,
        clock: &Clock,
        ops: &mut Ops,
        die: u32,
        job: Job,
        length: u64,
        command: bool,
    ) -> u64 {
        let now = clock.now();
        let die_state = &self.dies[die as usize];
        debug_assert!(die_state.bus.is_idle());
        let channel = die_state.channel;
        self.take_turns(clock, channel, clock.position());
        let begin = self.buses[channel as usize].turns.take(now, length);
        let die_state = &mut self.dies[die as usize];
        die_state.bus = Stage { job, begin, length, held: false, command };
        let end = begin + length;
        if let Some(op) = job.op() {
            ops[op].bus_ns += end - now;
        }
        end
    }

    /// Lets the chains of a channel book their turns on its bus until `until`. Returns the time at
    /// which the last of their steps ended, or 0.
    #[inline]
    pub(super) fn take_turns(&mut self, clock: &Clock, channel: u32, until: Position) -> u64 {
        let chains = &self.chains[channel as usize];
        match !chains.all.is_empty() && chains.next() <= until.time {
            true => self.take_turns_of_chains(clock, channel, until),
            false => 0,
        }
    }

    /// Ends the transfer of a die, and returns it.
    fn leave_bus(&mut self, die: u32) -> Stage {
        let bus = &mut self.dies[die as usize].bus;
        debug_assert!(!bus.is_idle());
        std::mem::replace(bus, Stage::IDLE)
    }

    /// Continues after a transfer that takes no time. Returns the job if it is over.
    #[inline(never)]
    fn transferred_at_once(&mut self, clock: &mut Clock, die: u32, job: Job) -> Option<Job> {
        self.transferred(clock, die, job)
    }

    /// Continues with a job whose data have been transferred. A program begins now, or is held
    /// until the cells are idle. Returns the job if it is over.
    #[inline(always)]
    fn transferred(&mut self, clock: &mut Clock, die: u32, job: Job) -> Option<Job> {
        if !job.programs() {
            return Some(job);
        }
        if self.dies[die as usize].cells.is_idle() {
            let cells_ns = self.dies[die as usize].after_bus_ns;
            self.begin_cells(clock, die, job, cells_ns);
        } else {
            self.dies[die as usize].bus =
                Stage { job, begin: clock.now(), held: true, ..Stage::IDLE };
        }
        None
    }

    /// Returns the nanoseconds that the bus needs for `units` units (pages of the map). A part of a
    /// flash page takes a proportional part of the time of a whole one.
    #[inline]
    fn transfer_of(&self, units: u64) -> u64 {
        let Hardware { units_per_page, transfer_ns, .. } = self.hardware;
        match units_per_page {
            1 => units * transfer_ns,
            all => (units * transfer_ns).div_ceil(all.into()),
        }
    }

    /// Transfers the data that the cells have read: the units that operations need, or the whole
    /// flash pages of a copy. Returns the job if it is over.
    fn read_out(&mut self, clock: &mut Clock, ops: &mut Ops, die: u32, job: Job) -> Option<Job> {
        let units = match job {
            Job::Read(op) => ops.chain(op).count() as u64,
            Job::CopyRead if self.copies_back => 0,
            Job::CopyRead | Job::Rebuild(_) => self.dies[die as usize].copy_units.into(),
            _ => 1,
        };
        match self.transfer_of(units) {
            0 => Some(job),
            length => {
                self.ask_for_bus(clock, ops, die, job, length, false);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Next;
    use super::super::ops::{Kind, NONE, PageOp};
    use super::super::testing::settings;
    use super::*;

    /// Returns the flash of two dies, a clock, and two writes.
    fn flash(settings: &Settings) -> (Flash, Clock, Ops) {
        let mut ops = Ops::default();
        (0..2).for_each(|page| {
            ops.add(PageOp::new(NONE, page, Kind::Write), 0);
        });
        (Flash::new(settings), Clock::new(1, 2), ops)
    }

    fn times(stage: &Stage) -> (u64, u64) {
        (stage.begin, stage.begin + stage.length)
    }

    #[test]
    fn two_programs_share_the_bus_and_overlap_in_the_cells() {
        let (mut flash, mut clock, mut ops) = flash(&settings());
        for die in 0..2 {
            flash.begin_on_bus(&mut clock, &mut ops, die, Job::Write(die), 1, 200);
        }
        // The transfers go from 0 to 10 and from 10 to 20. Each shares one event with its program.
        for (die, end) in [(0, 210), (1, 220)] {
            assert_eq!(clock.go_on(u64::MAX), Next::Event(Event::Cells(die)));
            let (transfer, work) = flash.end_cells(clock.now(), &mut ops, die);
            assert_eq!(times(&transfer.unwrap()), (end - 210, end - 200));
            assert_eq!(times(&work), (end - 200, end));
            let over = flash.after_cells(&mut clock, &mut ops, die);
            assert_eq!(over, Some(Job::Write(die)));
            assert!(flash.die(die).is_idle());
        }
        let of = |op| (ops[op].bus_ns, ops[op].cell_ns);
        assert_eq!([of(0), of(1)], [(10, 200), (20, 200)]);
        assert_eq!(clock.go_on(u64::MAX), Next::Nothing);
    }

    #[test]
    fn what_is_read_waits_for_the_side_of_the_bus() {
        let mut settings = settings();
        settings.hardware.transfer_ns = 30;
        let (mut flash, mut clock, mut ops) = flash(&settings);
        flash.begin_in_cells(&mut clock, &mut ops, 0, Job::Read(0), 25);
        assert_eq!(clock.go_on(u64::MAX), Next::Event(Event::Cells(0)));
        flash.end_cells(clock.now(), &mut ops, 0);
        assert_eq!(flash.after_cells(&mut clock, &mut ops, 0), None);
        // The bus moves the first page from 25 to 55. The cells read the second page until 50: it
        // waits for the bus.
        flash.begin_in_cells(&mut clock, &mut ops, 0, Job::Read(1), 25);
        assert_eq!(clock.go_on(u64::MAX), Next::Event(Event::Cells(0)));
        flash.end_cells(clock.now(), &mut ops, 0);
        assert_eq!(flash.after_cells(&mut clock, &mut ops, 0), None);
        assert!(flash.die(0).cells.held);
        assert_eq!((clock.go_on(u64::MAX), clock.now()), (Next::Event(Event::Transfer(0)), 55));
        let (die, transfer) = flash.end_transfer(&mut clock, 0);
        assert_eq!((die, times(&transfer)), (0, (25, 55)));
        assert_eq!(flash.after_transfer(&mut clock, die, &transfer), Some(Job::Read(0)));
        assert_eq!(flash.bus_freed(&mut clock, &mut ops, die), None);
        assert_eq!((clock.go_on(u64::MAX), clock.now()), (Next::Event(Event::Transfer(0)), 85));
    }

    #[test]
    fn a_suspended_erase_goes_on_with_what_was_left() {
        let (mut flash, mut clock, mut ops) = flash(&settings());
        flash.begin_in_cells(&mut clock, &mut ops, 0, Job::Erase, 1500);
        clock.set(Event::Look, 600);
        assert_eq!((clock.go_on(u64::MAX), clock.now()), (Next::Event(Event::Look), 600));
        let done = flash.suspend(&mut clock, &mut ops, 0, 7, (20, 3)).unwrap();
        assert_eq!((done.job, times(&done)), (Job::Erase, (0, 600)));
        // The suspension takes until 620. Then 900 ns are left, and the resumption costs 3 ns.
        assert_eq!((clock.go_on(u64::MAX), clock.now()), (Next::Event(Event::Cells(0)), 620));
        flash.end_cells(clock.now(), &mut ops, 0);
        assert_eq!(flash.after_cells(&mut clock, &mut ops, 0), Some(Job::Suspend));
        flash.resume(&mut clock, 0);
        assert_eq!((flash.die(0).suspends, flash.die(0).suspended.is_none()), (1, true));
        assert_eq!((clock.go_on(u64::MAX), clock.now()), (Next::Event(Event::Cells(0)), 1523));
    }
}
