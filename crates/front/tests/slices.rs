//! Long commands: their slices, other commands between the slices, and their end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};

use flashgc_device::failure::Failure;
use flashgc_device::{Backend, DeviceError, Hinted, WriteStreams};
use flashgc_front::command::{Answer, Command};
use flashgc_front::limits::Limits;
use flashgc_front::queue::{Engine, Queue};
use flashgc_front::window::{Room, Window};

const PAGE: u64 = 4096;
/// The number of pages of the drive: more than ten slices of any command.
const PAGES: u64 = 1 << 18;

/// A call to a drive: its name and its first page.
type Call = (&'static str, u64);

/// A drive that reports its calls. The first call waits at the gate twice.
struct Reporting {
    calls: Sender<Call>,
    gate: Arc<Barrier>,
    is_held: bool,
}

impl Reporting {
    fn note(&mut self, name: &'static str, page: u64) {
        let _ = self.calls.send((name, page));
        if std::mem::take(&mut self.is_held) {
            self.gate.wait();
            self.gate.wait();
        }
    }
}

impl Backend for Reporting {
    fn pages(&self) -> u64 {
        PAGES
    }
    fn read(&mut self, page: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        self.note("read", page);
        Ok(())
    }
    fn write_named(
        &mut self,
        page: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        self.note("write", page);
        Ok(())
    }
    fn trim(&mut self, page: u64, _: u64) -> Result<(), DeviceError> {
        self.note("trim", page);
        Ok(())
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        self.note("flush", 0);
        Ok(())
    }
    fn hand_over(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(&mut self, page: u64, count: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        self.note("hint", page);
        Ok(Hinted { late: count, pages: vec![] })
    }
    fn cancel(&mut self, page: u64, _: u64) -> Result<(), DeviceError> {
        self.note("cancel", page);
        Ok(())
    }
    fn extent(&mut self, _: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        Ok((count, true))
    }
}

struct Setup {
    engine: Engine<Reporting>,
    calls: Receiver<Call>,
    gate: Arc<Barrier>,
}

/// Returns a drive whose first call waits at the gate.
fn setup() -> Setup {
    let (calls, told) = channel();
    let gate = Arc::new(Barrier::new(2));
    let drive = Reporting { calls, gate: Arc::clone(&gate), is_held: true };
    Setup { engine: Engine::start(drive).unwrap(), calls: told, gate }
}

/// A kind of command: the name of the calls that it makes to the drive, and a function that returns
/// a command of this kind (durable with `true`).
type Kind = (&'static str, fn(bool) -> Command);

/// Returns a long command of every kind, for the whole drive.
fn long() -> [Kind; 5] {
    const ALL: (u64, u64) = (0, PAGES * PAGE);
    [
        ("trim", |fua| Command::Trim { at: ALL.0, bytes: ALL.1, fua }),
        ("trim", |fua| Command::Zero { at: ALL.0, bytes: ALL.1, keep: false, fua }),
        ("write", |fua| Command::Zero { at: ALL.0, bytes: ALL.1, keep: true, fua }),
        ("hint", |_| Command::Hint { at: ALL.0, bytes: ALL.1, moment: None }),
        ("cancel", |_| Command::Cancel { at: ALL.0, bytes: ALL.1 }),
    ]
}

type Outcome = Result<Answer, Failure>;

fn submit(queue: &Queue, command: Command) -> Receiver<Outcome> {
    let (tell, told) = channel();
    queue.submit(command, move |outcome| drop(tell.send(outcome)));
    told
}

fn read(page: u64) -> Command {
    Command::Read { at: page * PAGE, bytes: PAGE as usize }
}

#[test]
fn a_command_of_another_waits_for_one_slice() {
    for (name, command) in long() {
        let Setup { engine, calls, gate } = setup();
        let queue = engine.queue();
        let answer = submit(&queue, command(false));
        gate.wait();
        let other = submit(&queue, read(7));
        gate.wait();
        assert!(other.recv().unwrap().is_ok());
        assert!(answer.recv().unwrap().is_ok());
        drop(engine);
        let calls: Vec<Call> = calls.iter().filter(|call| call.0 != "flush").collect();
        let place = calls.iter().position(|call| *call == ("read", 7)).unwrap();
        // The read that waits during the first slice is executed before the second slice begins.
        let first = if name == "write" { 256 } else { 16 << 10 };
        let slice = calls[..place].iter().filter(|call| call.1 < first).count();
        assert_eq!(slice, place, "{name}: {:?}", &calls[..place]);
        assert!(calls[place + 1].1 >= first, "{name}");
        assert!(calls.iter().all(|call| call.0 == name || call.0 == "read"));
        // No slice is left out, and none is done twice.
        let pages: Vec<u64> = calls.iter().filter(|c| c.0 == name).map(|call| call.1).collect();
        assert!(pages.is_sorted_by(|one, next| one < next), "{name}");
        assert!(pages.last().unwrap() + first >= PAGES, "{name}");
    }
}

#[test]
fn a_long_command_ends_with_its_client() {
    for (name, command) in long() {
        let Setup { engine, calls, gate } = setup();
        let window = Window::new(&Room::new(Limits::default()), || {});
        let queue = engine.queue().of_client(&window);
        let answers: Vec<_> = (0..3).map(|_| submit(&queue, command(true))).collect();
        gate.wait();
        window.close();
        gate.wait();
        for answer in answers {
            assert_eq!(answer.recv().unwrap(), Err(Failure::Stopped), "{name}");
        }
        // The drive still serves others.
        assert!(submit(&engine.queue(), read(1)).recv().unwrap().is_ok());
        drop(engine);
        let slice = if name == "write" { 256 } else { 16 << 10 };
        assert!(calls.iter().filter(|call| call.0 == name).all(|call| call.1 < slice), "{name}");
    }
}

#[test]
fn a_drive_that_stops_ends_a_long_command_after_its_slice() {
    for (name, command) in long() {
        let Setup { engine, calls, gate } = setup();
        let answer = submit(&engine.queue(), command(false));
        gate.wait();
        let stopping = std::thread::spawn(move || drop(engine));
        // The stop is requested while the first slice is executed.
        std::thread::sleep(std::time::Duration::from_millis(50));
        gate.wait();
        stopping.join().unwrap();
        assert_eq!(answer.recv().unwrap(), Err(Failure::Stopped), "{name}");
        let slices = calls.iter().filter(|call| call.0 == name);
        let slice = if name == "write" { 256 } else { 16 << 10 };
        assert!(slices.map(|call| call.1).all(|page| page < 2 * slice), "{name}");
    }
}

#[test]
fn long_commands_take_turns() {
    let Setup { engine, calls, gate } = setup();
    let queue = engine.queue();
    let zeros =
        |first: u64| Command::Zero { at: first * PAGE, bytes: 1024 * PAGE, keep: true, fua: false };
    let answers = [submit(&queue, zeros(0)), submit(&queue, zeros(4096))];
    gate.wait();
    gate.wait();
    answers.iter().for_each(|answer| assert!(answer.recv().unwrap().is_ok()));
    drop(engine);
    let mut slices: Vec<u64> =
        calls.iter().filter(|call| call.0 == "write").map(|call| call.1 / 256).collect();
    slices.dedup();
    assert_eq!(slices, [0, 16, 1, 17, 2, 18, 3, 19]);
}

#[test]
fn durable_long_commands_are_flushed_once_at_their_end() {
    let Setup { engine, calls, gate } = setup();
    let queue = engine.queue();
    let ranges = (0..4u64)
        .map(|n| Command::Trim { at: n << 28, bytes: 1 << 28, fua: true })
        .collect::<Vec<_>>();
    let (tell, told) = channel();
    queue.submit_all(ranges, move |outcome| drop(tell.send(outcome)));
    gate.wait();
    gate.wait();
    assert_eq!(told.recv().unwrap(), Ok(Answer::Done));
    let calls: Vec<Call> = calls.try_iter().collect();
    assert_eq!(calls.iter().filter(|call| call.0 == "flush").count(), 1);
    assert_eq!(calls.last().unwrap().0, "flush");
    drop(engine);
}

#[test]
fn the_late_pages_of_all_slices_are_one_answer() {
    let Setup { engine, gate, .. } = setup();
    let hint = Command::Hint { at: 0, bytes: PAGES * PAGE, moment: None };
    let answer = submit(&engine.queue(), hint);
    gate.wait();
    gate.wait();
    assert_eq!(answer.recv().unwrap().unwrap().pages(), PAGES);
}

#[test]
fn a_long_command_beyond_the_drive_changes_nothing() {
    let Setup { engine, calls, gate } = setup();
    let bytes = PAGES * PAGE + 1;
    let commands = [
        Command::Trim { at: 0, bytes, fua: false },
        Command::Zero { at: 0, bytes, keep: true, fua: false },
        Command::Hint { at: 0, bytes, moment: None },
        Command::Cancel { at: 0, bytes },
        Command::Trim { at: u64::MAX - 4095, bytes: 1 << 31, fua: false },
    ];
    for command in commands {
        let outcome = submit(&engine.queue(), command).recv().unwrap();
        assert!(matches!(outcome, Err(Failure::OutOfRange { .. })), "{outcome:?}");
    }
    // The first call is the flush when the drive stops.
    let ending = std::thread::spawn(move || drop(engine));
    gate.wait();
    gate.wait();
    ending.join().unwrap();
    assert_eq!(calls.iter().next(), Some(("flush", 0)));
}
