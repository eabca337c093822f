//! Busy time: the total time of a run's flash operations, without queueing.

use std::fmt;

use flashgc_base::described::Described;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{Costs, Counters, Packing, PageBuffer};
use flashgc_timed::page_times::PageTimes;
use serde::{Deserialize, Serialize};

/// The times for which operations keep the flash busy, in nanoseconds.
///
/// Reads and programs may have a time for each kind of page. A timed drive uses the time of the
/// page. A counting drive does not know kinds of pages: its busy times use the mean, and so do the
/// costs that schemes compare.
///
/// A host read is a read and a transfer; a host write is a transfer and a program. A copy goes
/// through the controller, which corrects errors: a read, two transfers and a program. Each read,
/// program and erase begins with a command. Of two passes, each is a command, transfers and a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The time of a read, from the cells of a page to its register.
    pub(crate) read: PageTimes,
    /// The time of a program, from the register to the cells.
    pub(crate) program: PageTimes,
    /// The time of the second pass of a word line that is programmed in two passes; then `program` is
    /// that of the first. `None` if one pass programs it.
    pub(crate) second: Option<u64>,
    /// The time to erase a block.
    pub(crate) erase: u64,
    /// The time to transfer a page between register and controller, over the bus.
    pub(crate) transfer: u64,
    /// The time to send a command and its address, over the bus.
    pub(crate) command: u64,
    /// The time to transfer a page from the host's memory to the flash chip; `None` if it is not
    /// given.
    memory: Option<u64>,
}

const HINT: &str = "write read=60us,program=800us,erase=1.5ms,transfer=20us";

impl Times {
    /// Reads `text`, for example `read=60us,program=800us,erase=1.5ms`; `transfer` and `command`
    /// may be left out. A read or a program may have a time for each kind of page:
    /// `read=48us/76us/135us/228us`. A program may have a time for each of two passes:
    /// `program=600us+1.6ms`.
    ///
    /// # Errors
    /// Fails if an operation is unknown or missing, if a time has no unit, or if kinds differ in
    /// number.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        const NAMES: [&str; 6] = ["read", "program", "erase", "transfer", "command", "memory"];
        let (mut entries, mut second) = ([None; NAMES.len()], None);
        for part in text.split(',') {
            let Some((name, value)) = part.split_once('=') else {
                let message = format!("'{}' is not OPERATION=TIME", part.trim());
                return Err(SpecError::new(message, HINT));
            };
            let name = name.trim();
            let Some(index) = NAMES.iter().position(|&known| known == name) else {
                let message = format!("unknown operation '{name}'");
                return Err(SpecError::new(message, suggest(name, NAMES)));
            };
            let (value, last) = match value.split_once('+') {
                Some((first, last)) if name == "program" => (first, Some(last)),
                _ => (value, None),
            };
            let times = PageTimes::parse(name, value.trim(), HINT)?;
            if let Some(last) = last {
                let last = PageTimes::parse("program", last.trim(), HINT)?;
                if times.kinds().max(last.kinds()) > 1 {
                    let message = format!("a pass has several times in '{}'", part.trim());
                    return Err(SpecError::new(
                        message,
                        "a pass programs all pages of a word line: program=600us+1.6ms",
                    ));
                }
                second = Some(last.mean());
            }
            if times.kinds() > 1 && index > 1 {
                let message = format!("'{name}' has {} times, expected one", times.kinds());
                return Err(SpecError::new(message, "only reads and programs have kinds of pages"));
            }
            if entries[index].replace(times).is_some() {
                return Err(SpecError::new(format!("'{name}' is given twice in '{text}'"), ""));
            }
        }
        let time = |index: usize| {
            let missing =
                || SpecError::new(format!("the time of '{}' is missing", NAMES[index]), HINT);
            entries[index].ok_or_else(missing)
        };
        let (read, program, erase) = (time(0)?, time(1)?, time(2)?.mean());
        if read.kinds() != program.kinds() && read.kinds().min(program.kinds()) > 1 {
            return Err(SpecError::new(
                format!("read has {} times and program {}", read.kinds(), program.kinds()),
                "a page has one kind: give as many times for both, or one",
            ));
        }
        let [transfer, command, memory] = [3, 4, 5].map(|index| entries[index].map(|it| it.mean()));
        let (transfer, command) = (transfer.unwrap_or(0), command.unwrap_or(0));
        Ok(Self { read, program, second, erase, transfer, command, memory })
    }

    /// Returns the costs that a scheme compares, transfers included. If the cost of a page from the
    /// host's memory is not given, the cost in the paper is used.
    pub fn costs(&self) -> Costs {
        Costs {
            read: self.read.mean() + self.transfer,
            program: self.program.mean()
                + self.transfer
                + self.second.map_or(0, |second| second + self.transfer),
            erase: self.erase,
            memory: self.memory.unwrap_or(Costs::PAPER.memory),
        }
    }

    /// Returns the times of pages of `planes` planes: they cross the bus one after
    /// another, and the cells work on all of them together.
    #[must_use]
    pub(crate) fn together(self, planes: u32) -> Self {
        Self { transfer: self.transfer.saturating_mul(planes.into()), ..self }
    }

    /// Returns the times of blocks with a `factor`th of the pages: for a page, erases take as long as
    /// before.
    #[must_use]
    pub(crate) fn with_blocks_smaller(self, factor: u32) -> Self {
        Self { erase: self.erase / u64::from(factor), ..self }
    }

    /// Returns the total nanoseconds of all operations.
    pub(crate) fn total(&self, work: &Work) -> u128 {
        self.host(work) + self.collections(work)
    }

    /// Returns the nanoseconds of host reads and host writes. A write of less than a mapping unit
    /// first reads the unit. A read takes the cell time of a flash page, and the bus time of its
    /// unit.
    fn host(&self, work: &Work) -> u128 {
        let reads = u128::from(work.commands.reads + work.commands.short_writes);
        let read = u128::from(self.command + self.read.mean());
        let transfer = u128::from(self.transfer);
        let padding = work.packing.map_or(0, |packing| packing.padding);
        let written = u128::from(work.counters.host_pages + padding);
        let written = written + work.parity(written);
        let transfers = reads + written * self.passes();
        reads * read + work.shared(transfers * transfer, written * self.in_cells())
    }

    /// Returns the nanoseconds of copies and erases, of all dies together. A flash page of a victim is
    /// read once.
    fn collections(&self, work: &Work) -> u128 {
        let Counters { copied_pages, erases, .. } = work.counters;
        let copied = u128::from(copied_pages);
        let pages_read = work.packing.map_or(copied_pages, |packing| packing.pages_read);
        let read = u128::from(self.command + self.read.mean());
        let parity = work.parity(copied);
        u128::from(pages_read) * read
            + work.shared(
                (copied + (copied + parity) * self.passes()) * u128::from(self.transfer),
                (copied + parity) * self.in_cells(),
            )
            + u128::from(erases) * u128::from(work.dies) * u128::from(self.command + self.erase)
    }

    /// Returns the number of passes that program a word line.
    fn passes(&self) -> u128 {
        1 + u128::from(self.second.is_some())
    }

    /// Returns the nanoseconds of the passes of a program besides their transfers.
    fn in_cells(&self) -> u128 {
        let second = self.second.map_or(0, |second| self.command + second);
        u128::from(self.command + self.program.mean() + second)
    }
}

/// Writes the times in a form that users can type, each in microseconds.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        let Self { read, program, second, erase, transfer, command, memory } = *self;
        let (erase, transfer) = (us(erase), us(transfer));
        write!(f, "read={read},program={program}")?;
        if let Some(second) = second {
            write!(f, "+{}us", us(second))?;
        }
        write!(f, ",erase={erase}us,transfer={transfer}us")?;
        // A command time of 0 is not written, as in versions without it, so that digests do not
        // change.
        if command > 0 {
            write!(f, ",command={}us", us(command))?;
        }
        memory.map_or(Ok(()), |memory| write!(f, ",memory={}us", us(memory)))
    }
}

/// The operations whose times are added up.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) counters: Counters,
    pub(crate) commands: HostCommands,
    pub(crate) packing: Option<Packing>,
    /// The units that are read and programmed together.
    pub(crate) buffer: PageBuffer,
    /// The dies of a superblock. Each erases its blocks in an operation of its own.
    pub(crate) dies: u32,
    /// The parts of a stripe, one of which is parity; `None` without parity.
    pub(crate) stripe: Option<u32>,
}

impl Work {
    /// Returns the mapping units of parity that are programmed with `units` units of data.
    fn parity(&self, units: u128) -> u128 {
        self.stripe.map_or(0, |parts| units / u128::from(parts - 1))
    }

    /// Converts the time of mapping units to that of the flash pages and of the programs that they
    /// fill: `of_pages` is the time of pages, `of_programs` the time of programs.
    fn shared(&self, of_pages: u128, of_programs: u128) -> u128 {
        let PageBuffer { pages_per_program, .. } = self.buffer;
        let both = of_pages * u128::from(pages_per_program) + of_programs;
        both.div_ceil(self.buffer.units_per_program().into())
    }
}

/// The time that the flash was busy in the measured parts of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Busy {
    /// The seconds of all operations.
    pub total_seconds: f64,
    /// The seconds of host reads and host writes.
    pub host_seconds: f64,
    /// The seconds of copies and erases.
    pub collection_seconds: f64,
    /// The mean microseconds of a collection; `None` if there was none.
    pub mean_collection_us: Option<f64>,
}

impl Busy {
    /// Returns the busy times of these operations.
    pub(crate) fn new(times: &Times, work: &Work) -> Self {
        let seconds = |ns: u128| ns as f64 / 1e9;
        let (collections, count) = (times.collections(work), work.counters.collections);
        Self {
            total_seconds: seconds(times.total(work)),
            host_seconds: seconds(times.host(work)),
            collection_seconds: seconds(collections),
            mean_collection_us: (count > 0).then(|| collections as f64 / 1e3 / count as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a buffer for pages of `units` units, which are programmed alone.
    fn pages_of(units: u32) -> PageBuffer {
        PageBuffer { units_per_page: units, ..PageBuffer::default() }
    }

    /// Returns these operations and `reads` reads, on flash whose pages are mapping units.
    fn work(counters: Counters, reads: u64) -> Work {
        let commands = HostCommands { reads, ..HostCommands::default() };
        Work { counters, commands, packing: None, buffer: pages_of(1), dies: 1, stripe: None }
    }

    #[test]
    fn units_share_the_time_of_their_page() {
        let times = Times::parse("read=60us,program=800us,erase=1.5ms,transfer=20us").unwrap();
        let counters =
            Counters { host_pages: 14, copied_pages: 8, erases: 1, ..Counters::default() };
        let commands = HostCommands { reads: 4, short_writes: 1, ..HostCommands::default() };
        let packing = Some(Packing { padding: 2, pages_read: 3 });
        let work = Work { counters, commands, packing, buffer: pages_of(4), dies: 1, stripe: None };
        // 5 reads of 60 us in the cells and 5 us on the bus; 16 units are 4 pages of 820 us.
        assert_eq!(times.host(&work), 1000 * (5 * (60 + 5) + 4 * 820));
        // 3 pages are read; 8 units go over the bus twice and fill 2 pages; one block is erased.
        assert_eq!(times.collections(&work), 1000 * (3 * 60 + 2 * 840 + 1500));
    }

    #[test]
    fn two_passes_are_two_programs_with_their_transfers() {
        let text = "read=60us,program=600us+1600us,erase=5000us,transfer=10us,command=1us";
        let times = Times::parse(text).unwrap();
        assert_eq!(times.to_string(), text);
        let short = "read=60us, program=0.6ms + 1.6ms,erase=5ms,transfer=10us,command=1us";
        assert_eq!(Times::parse(short).unwrap(), times);
        let counters =
            Counters { host_pages: 30, copied_pages: 16, erases: 1, ..Counters::default() };
        let packing = Some(Packing { padding: 2, pages_read: 5 });
        let buffer = PageBuffer { pages_per_program: 4, ..pages_of(4) };
        let commands = HostCommands::default();
        let work = Work { counters, commands, packing, buffer, dies: 1, stripe: None };
        // 32 units are two word lines of 4 pages: 2 * (1 + 4 * 10) + 2200 each.
        assert_eq!(times.host(&work), 1000 * 2 * (2 * (1 + 4 * 10) + 2200));
        // 5 pages are read, 4 cross the bus once more, and fill one word line; one erase.
        let copies = 5 * 61 + 4 * 10 + (2 * (1 + 4 * 10) + 2200);
        assert_eq!(times.collections(&work), 1000 * (copies + 5001));
        assert_eq!(times.costs().program, 1000 * (2200 + 2 * 10));
        for wrong in ["program=1us/2us+3us", "program=1us+2us+3us", "program=1us+"] {
            assert!(Times::parse(&format!("read=1us,{wrong},erase=1ms")).is_err(), "{wrong}");
        }
        assert!(Times::parse("read=1us+2us,program=1us,erase=1ms").is_err());
    }

    #[test]
    fn the_pages_of_a_superblock_cross_the_bus_one_after_another() {
        let times = Times::parse("read=60us,program=800us,erase=1.5ms,transfer=20us").unwrap();
        let counters = Counters { host_pages: 32, erases: 1, ..Counters::default() };
        let packing = Some(Packing::default());
        // 32 units are the pages of 4 planes twice, 4 units a page.
        let work = Work {
            counters,
            commands: HostCommands::default(),
            packing,
            buffer: pages_of(16),
            dies: 1,
            stripe: None,
        };
        let times = times.together(4);
        assert_eq!(times.host(&work), 2 * 1000 * (4 * 20 + 800));
        assert_eq!(times.collections(&work), 1000 * 1500);
    }

    #[test]
    fn the_pages_of_a_word_line_are_programmed_in_one_time() {
        let times = Times::parse("read=60us,program=900us,erase=3ms,transfer=10us").unwrap();
        let counters =
            Counters { host_pages: 48, copied_pages: 24, erases: 2, ..Counters::default() };
        let packing = Some(Packing { padding: 0, pages_read: 5 });
        let commands = HostCommands { reads: 4, ..HostCommands::default() };
        // 12 units are a program of 3 pages.
        let buffer = PageBuffer { pages_per_program: 3, ..pages_of(4) };
        let mut work = Work { counters, commands, packing, buffer, dies: 1, stripe: None };
        // 4 reads of 60 us and of a quarter of 10 us on the bus, and 4 programs of 3 pages.
        assert_eq!(times.host(&work), 1000 * (4 * 60 + 10 + 4 * (3 * 10 + 900)));
        assert_eq!(times.collections(&work), 1000 * (5 * 60 + 2 * (6 * 10 + 900) + 2 * 3000));
        // One unit of parity with every second unit of data: 24 and 12 units more.
        work.stripe = Some(3);
        assert_eq!(times.host(&work), 1000 * (4 * 60 + 10 + 6 * (3 * 10 + 900)));
        let copied = 2 * (6 * 10 + 900) + 30 + 900;
        assert_eq!(times.collections(&work), 1000 * (5 * 60 + copied + 2 * 3000));
    }

    #[test]
    fn busy_time_is_what_was_worked_out_by_hand() {
        let times = Times::parse("read=60us, program=800us, erase=1.5ms, transfer=20us").unwrap();
        let counters = Counters {
            host_pages: 10,
            copied_pages: 6,
            erases: 2,
            collections: 2,
            trimmed_pages: 9,
        };
        let busy = Busy::new(&times, &work(counters, 5));
        // The work is 10 writes of 820 us, 5 reads of 80 us, 6 copies of 60 + 40 + 800 us, and 2
        // erases.
        assert_eq!(busy.host_seconds, 8.6e-3);
        assert_eq!(busy.collection_seconds, 8.4e-3);
        assert_eq!(busy.total_seconds, 17e-3);
        assert_eq!(busy.mean_collection_us, Some(4200.0));
        let none = work(Counters::default(), 0);
        assert_eq!(Busy::new(&times, &none).mean_collection_us, None);
    }

    #[test]
    fn commands_precede_every_operation_of_the_cells() {
        let with = Times::parse("read=60us,program=800us,erase=1.5ms,command=1us").unwrap();
        let counters =
            Counters { host_pages: 10, copied_pages: 6, erases: 2, ..Counters::default() };
        // 5 reads, 10 writes, 6 copies with two commands each and 2 erases are 29 commands of 1 us.
        let none = Times::parse("read=60us,program=800us,erase=1.5ms").unwrap();
        let work = work(counters, 5);
        assert_eq!(with.total(&work) - none.total(&work), 29_000);
        assert!(with.to_string().ends_with(",transfer=0us,command=1us"));
    }

    #[test]
    fn busy_time_takes_the_mean_of_the_kinds_of_pages() {
        let kinds = Times::parse("read=50us/70us,program=800us,erase=1.5ms").unwrap();
        let mean = Times::parse("read=60us,program=800us,erase=1.5ms").unwrap();
        let work = work(Counters { host_pages: 10, copied_pages: 6, ..Counters::default() }, 5);
        assert_eq!(kinds.total(&work), mean.total(&work));
        assert_eq!(kinds.to_string(), "read=50us/70us,program=800us,erase=1500us,transfer=0us");
    }

    #[test]
    fn times_are_written_out_in_microseconds() {
        let times = Times::parse("erase=1.5ms,read=60us,program=0.8ms").unwrap();
        let text = "read=60us,program=800us,erase=1500us,transfer=0us";
        assert_eq!(times.to_string(), text);
        assert_eq!(Times::parse(text).unwrap(), times);
    }

    #[test]
    fn faults_name_what_to_try() {
        let error = |text: &str| Times::parse(text).unwrap_err().to_string();
        let hint = format!("; hint: {HINT}");
        assert_eq!(error("read=60us,erase=1ms"), format!("the time of 'program' is missing{hint}"));
        assert_eq!(error("60us"), format!("'60us' is not OPERATION=TIME{hint}"));
        assert_eq!(error("raed=60us"), "unknown operation 'raed'; hint: did you mean 'read'?");
        assert_eq!(
            error("read=60"),
            "read=60 has no unit; hint: write read=60us, or another of ns, ms, s"
        );
        assert_eq!(
            error("read=6sec"),
            "read=6sec has the unknown unit 'sec'; hint: known: ns, us, ms, s"
        );
        assert_eq!(error("read=-6us"), format!("read=-6us is not a time from 0s to 1000s{hint}"));
        assert_eq!(
            error("read=1us,program=2us,erase=1ms/2ms"),
            "'erase' has 2 times, expected one; hint: only reads and programs have kinds of pages"
        );
        assert_eq!(
            error("read=1us/2us,program=1us/2us/3us,erase=1ms"),
            "read has 2 times and program 3; hint: a page has one kind: give as many times for \
             both, or one"
        );
        assert_eq!(error("read=1us,read=2us"), "'read' is given twice in 'read=1us,read=2us'");
    }
}
