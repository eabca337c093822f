//! Every command declares at least the memory that it takes from its submission until its answer is
//! dropped.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flashgc_device::{Backend, DeviceError, Hinted, WriteStreams};
use flashgc_front::command::{Command, SHORT};
use flashgc_front::queue::Engine;

/// The system's allocator, which counts for each thread the bytes allocated and their peak.
struct Counting;

thread_local! {
    static OUT: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

/// Adds to the count of this thread. A thread that is ending has no count any more.
fn count(bytes: i64) {
    let _ = OUT.try_with(|out| {
        let now = out.get().0 + bytes;
        out.set((now, out.get().1.max(now)));
    });
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed to the system's allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, request: Layout) -> *mut u8 {
        count(request.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator needs.
        unsafe { System.alloc(request) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, request: Layout) {
        count(-(request.size() as i64));
        // SAFETY: the caller's promises are those that the system's allocator needs.
        unsafe { System.dealloc(memory, request) }
    }
}

/// A drive that stores nothing. Every other page counts as having data.
struct Empty;

impl Backend for Empty {
    fn pages(&self) -> u64 {
        1 << 20
    }
    fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        into.fill(1);
        Ok(())
    }
    fn write_named(
        &mut self,
        _: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        Ok(())
    }
    fn trim(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn hand_over(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(&mut self, page: u64, count: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        let pages = (page..page + count).step_by(2).map(|page| page..page + 1).collect();
        Ok(Hinted { late: 0, pages })
    }
    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn extent(&mut self, page: u64, _: u64) -> Result<(u64, bool), DeviceError> {
        Ok((1, page.is_multiple_of(2)))
    }
}

/// The number of kinds of commands.
const KINDS: usize = 13;

/// Returns the number of a command's kind. The `match` makes sure that a new kind gets a number.
fn kind(command: &Command) -> usize {
    match command {
        Command::Read { .. } => 0,
        Command::ReadSparse { .. } => 1,
        Command::Compare { .. } => 2,
        Command::Verify { .. } => 3,
        Command::Write { .. } => 4,
        Command::Copy { .. } => 5,
        Command::Trim { .. } => 6,
        Command::Zero { .. } => 7,
        Command::Flush => 8,
        Command::Moment => 9,
        Command::Hint { .. } => 10,
        Command::Cancel { .. } => 11,
        Command::Extents { .. } => 12,
    }
}

/// Returns a command of every kind. Their ranges touch `pages` pages, and begin and end within a
/// page.
fn commands(pages: u64) -> Vec<Command> {
    let (at, bytes) = (4095, pages * 4096 - 4094);
    let size = bytes as usize;
    let data = || vec![2; size];
    vec![
        Command::Read { at, bytes: size },
        Command::ReadSparse { at, bytes: size },
        Command::Compare { at, data: data() },
        Command::Verify { at, bytes: size },
        Command::Write { at, data: data(), streams: vec![0; pages as usize], fua: false },
        Command::Copy { from: vec![(at, size), (0, size)], to: at, streams: vec![1], fua: false },
        Command::Trim { at, bytes, fua: false },
        Command::Zero { at, bytes, keep: true, fua: false },
        Command::Zero { at, bytes, keep: false, fua: false },
        Command::Flush,
        Command::Moment,
        Command::Hint { at, bytes, moment: None },
        Command::Cancel { at, bytes },
        Command::Extents { at, bytes, most: 64 },
    ]
}

/// The bytes that a command and its answer take besides data: boxes, and the channel of the answer.
const AROUND: i64 = 2048;

#[test]
fn every_command_declares_its_memory() {
    let mut met = [false; KINDS];
    for pages in [2, 3, 17, SHORT] {
        for command in commands(pages) {
            met[kind(&command)] = true;
            let (name, cost) = (format!("{command:?}"), command.cost());
            // The data of the command itself count, too.
            let data = match &command {
                Command::Write { data, streams, .. } => data.len() + streams.len(),
                Command::Compare { data, .. } => data.len(),
                _ => 0,
            };
            let engine = Engine::start(Empty).unwrap();
            let queue = engine.queue();
            // The first call allocates memory that stays.
            drop(queue.call(Command::Moment));
            let before = OUT.get().0;
            OUT.set((before, before));
            // This thread executes the command, unless it must be durable.
            drop(queue.call(command));
            let most = OUT.get().1 - before + data as i64;
            let name = &name[..name.len().min(60)];
            assert!(most <= cost.memory as i64 + AROUND, "{name}: {most}, declared {cost:?}");
            assert!(cost.pages >= pages || cost.pages == 0, "{name}: {cost:?}");
        }
    }
    assert_eq!(met, [true; KINDS]);
}
