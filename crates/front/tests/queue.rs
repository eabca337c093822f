//! The queue of a drive: the threads that execute commands, their order, group commit, failures,
//! and stopping.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::ThreadId;
use std::time::Duration;

use flashgc_device::failure::Failure;
use flashgc_device::{Backend, DeviceError, Hinted, WriteStreams};
use flashgc_front::command::{Answer, Command};
use flashgc_front::queue::{Engine, Queue};
use flashgc_front::ram::Ram;

/// A call of the drive [`Told`].
#[derive(Debug, PartialEq, Eq)]
enum Call {
    Read(u64),
    Write(u64),
    HandOver,
    Flush,
}

/// A drive that reports its calls. Reads of page 0 wait at the gate, so that a test can queue
/// commands meanwhile.
struct Told {
    calls: Sender<Call>,
    gate: Arc<Barrier>,
    flushes_fail: bool,
    hand_overs_fail: bool,
}

impl Told {
    fn new() -> (Self, Receiver<Call>, Arc<Barrier>) {
        let (calls, told) = channel();
        let gate = Arc::new(Barrier::new(2));
        let drive =
            Self { calls, gate: Arc::clone(&gate), flushes_fail: false, hand_overs_fail: false };
        (drive, told, gate)
    }
}

impl Backend for Told {
    fn pages(&self) -> u64 {
        100
    }
    fn read(&mut self, page: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        if page == 0 {
            // The first wait tells the test that the drive is here. The second one lasts until the
            // test lets the drive go on.
            self.gate.wait();
            self.gate.wait();
        }
        self.calls.send(Call::Read(page)).unwrap();
        Ok(())
    }
    fn write_named(
        &mut self,
        page: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        assert!(!fua, "durability is the batch's business");
        assert_ne!(page, 66, "a page at which the drive's thread dies");
        self.calls.send(Call::Write(page)).unwrap();
        if page == 99 { Err(DeviceError::NoSpace("full".into())) } else { Ok(()) }
    }
    fn trim(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Err(DeviceError::ReadOnly("worn out".into()))
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        self.calls.send(Call::Flush).unwrap();
        if self.flushes_fail { Err(DeviceError::Media("gone".into())) } else { Ok(()) }
    }
    fn hand_over(&mut self) -> Result<(), DeviceError> {
        self.calls.send(Call::HandOver).unwrap();
        if self.hand_overs_fail { Err(DeviceError::Media("gone".into())) } else { Ok(()) }
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(&mut self, _: u64, _: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        Ok(Hinted::default())
    }
    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn extent(&mut self, _: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        Ok((count, true))
    }
}

fn write(page: u64, fua: bool) -> Command {
    Command::Write { at: page * 4096, data: vec![1; 4096], fua, streams: vec![] }
}

fn read(page: u64) -> Command {
    Command::Read { at: page * 4096, bytes: 4096 }
}

/// Lets the drive's thread read page 0, and returns when the drive waits at its gate.
fn wait_at_the_gate(queue: &Queue, gate: &Barrier) {
    let queue = queue.clone();
    std::thread::spawn(move || queue.visit(|drive, _| drive.read(0, &mut [0; 4096])));
    gate.wait();
}

/// Submits commands while the drive waits at its gate. Returns their outcomes in the order of the
/// answers.
fn batch(queue: &Queue, gate: &Barrier, commands: Vec<Command>) -> Vec<(usize, Outcome)> {
    let (answer, answers) = channel();
    wait_at_the_gate(queue, gate);
    let count = commands.len();
    for (index, command) in commands.into_iter().enumerate() {
        let answer = answer.clone();
        queue.submit(command, move |outcome| answer.send((index, outcome)).unwrap());
    }
    gate.wait();
    answers.iter().take(count).collect()
}

type Outcome = Result<Answer, Failure>;

#[test]
fn one_flush_serves_all_that_wait_and_comes_after_what_was_before_them() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let commands =
        vec![write(1, false), Command::Flush, write(2, true), write(3, false), Command::Flush];
    let answers = batch(&engine.queue(), &gate, commands);
    // Commands that need not be durable are answered first, then the others in order.
    assert_eq!(answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), [0, 3, 1, 2, 4]);
    assert!(answers.iter().all(|answer| answer.1 == Ok(Answer::Done)));
    let (_, flushed) = engine.stop();
    flushed.unwrap();
    let calls: Vec<_> = calls.try_iter().collect();
    use Call::{Flush, Read, Write};
    // The last flush is done when the drive stops.
    assert_eq!(calls, [Read(0), Write(1), Write(2), Write(3), Flush, Flush]);
}

/// Returns the thread on which a command was answered.
fn answered_by(queue: &Queue, command: Command) -> ThreadId {
    let (answer, answers) = channel();
    queue.submit(command, move |_| answer.send(std::thread::current().id()).unwrap());
    answers.recv().unwrap()
}

#[test]
fn an_idle_drive_is_asked_by_the_thread_that_submits_unless_it_must_flush() {
    let engine = Engine::start(Ram::new(100)).unwrap();
    let queue = engine.queue();
    let here = std::thread::current().id();
    assert_eq!(answered_by(&queue, write(1, false)), here);
    assert_eq!(answered_by(&queue, read(1)), here);
    assert_ne!(answered_by(&queue, Command::Flush), here);
    assert_ne!(answered_by(&queue, write(1, true)), here);
}

#[test]
fn a_command_waits_for_that_of_another_front_end_and_not_for_the_drives_thread() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let [first, second] = [(); 2].map(|()| engine.queue());
    std::thread::spawn(move || first.submit(read(0), |_| ()));
    gate.wait();
    let waiting = std::thread::spawn(move || {
        (answered_by(&second, write(1, false)), std::thread::current().id())
    });
    std::thread::sleep(Duration::from_millis(50));
    gate.wait();
    let (by, here) = waiting.join().unwrap();
    assert_eq!(by, here);
    engine.stop().1.unwrap();
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [Call::Read(0), Call::Write(1), Call::Flush]);
}

#[test]
fn nothing_overtakes_what_the_same_thread_has_queued() {
    let (drive, calls, _) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue();
    for page in 0..60 {
        queue.submit(write(page, page % 3 == 0), |_| ());
    }
    engine.stop().1.unwrap();
    let pages = calls.try_iter().filter_map(|call| match call {
        Call::Write(page) => Some(page),
        _ => None,
    });
    assert!(pages.eq(0..60));
}

#[test]
fn without_flushes_the_drive_is_not_flushed() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    batch(&engine.queue(), &gate, vec![write(1, false), read(2), write(3, false)]);
    use Call::{Read, Write};
    let calls: Vec<_> = calls.try_iter().collect();
    assert_eq!(calls, [Read(0), Write(1), Read(2), Write(3)]);
}

#[test]
fn a_flush_that_fails_fails_all_that_waited_for_it() {
    let (mut drive, _calls, gate) = Told::new();
    drive.flushes_fail = true;
    let engine = Engine::start(drive).unwrap();
    let commands = vec![write(1, false), write(2, true), Command::Flush];
    let answers = batch(&engine.queue(), &gate, commands);
    let failed = Err(Failure::Io("media error: gone".into()));
    assert_eq!(answers, [(0, Ok(Answer::Done)), (1, failed.clone()), (2, failed.clone())]);
    let (drive, flushed) = engine.stop();
    assert_eq!(flushed.map(|()| Answer::Done), failed);
    assert!(drive.is_some());
}

#[test]
fn a_durable_write_that_fails_is_answered_with_its_own_failure() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let trim = Command::Trim { at: 0, bytes: 4096, fua: true };
    let answers = batch(&engine.queue(), &gate, vec![write(99, true), trim]);
    let full = Failure::NoSpace("full".into());
    let worn = Failure::ReadOnly("the drive is read-only: worn out".into());
    assert_eq!(answers, [(0, Err(full)), (1, Err(worn))]);
    assert!(!calls.try_iter().any(|call| call == Call::Flush));
}

#[test]
fn stopping_executes_what_was_queued_and_refuses_what_comes_later() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue();
    wait_at_the_gate(&queue, &gate);
    queue.submit(write(1, false), |_| ());
    let stop = std::thread::spawn(move || engine.stop().1);
    gate.wait();
    stop.join().unwrap().unwrap();
    let calls: Vec<_> = calls.try_iter().collect();
    assert_eq!(calls, [Call::Read(0), Call::Write(1), Call::Flush]);
    assert_eq!(queue.call(write(2, false)), Err(Failure::Stopped));
}

/// The drive stops while threads go on submitting commands. Each command has exactly one answer.
#[test]
fn every_command_is_answered_once_when_the_drive_stops() {
    for _ in 0..50 {
        let engine = Engine::start(Ram::new(100)).unwrap();
        let answered = Arc::new(AtomicU64::new(0));
        let submitters: Vec<_> = (0..3)
            .map(|_| {
                let (queue, answered) = (engine.queue(), Arc::clone(&answered));
                std::thread::spawn(move || {
                    let stopped = Arc::new(AtomicU64::new(0));
                    let mut submitted = 0;
                    while stopped.load(Ordering::SeqCst) == 0 {
                        let (answered, stopped) = (Arc::clone(&answered), Arc::clone(&stopped));
                        queue.submit(write(submitted % 100, submitted % 7 == 0), move |outcome| {
                            answered.fetch_add(1, Ordering::SeqCst);
                            if outcome == Err(Failure::Stopped) {
                                stopped.fetch_add(1, Ordering::SeqCst);
                            }
                        });
                        submitted += 1;
                    }
                    submitted
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(1));
        engine.stop().1.unwrap();
        let submitted: u64 = submitters.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(answered.load(Ordering::SeqCst), submitted);
    }
}

#[test]
fn a_drive_that_panics_answers_all_and_says_so() {
    // The panic is on the thread of a front end, or on the drive's thread.
    for durable in [false, true] {
        let (drive, _calls, _) = Told::new();
        let engine = Engine::start(drive).unwrap();
        let queue = engine.queue();
        assert_eq!(queue.call(write(66, durable)), Err(Failure::Stopped));
        assert_eq!(queue.call(read(1)), Err(Failure::Stopped));
        assert_eq!(queue.call(Command::Flush), Err(Failure::Stopped));
        let (drive, flushed) = engine.stop();
        assert!(drive.is_none());
        assert_eq!(flushed, Err(Failure::Io("the drive panicked".into())));
    }
}

/// Submits a command. Returns the receiver of its answer.
fn submitted(queue: &Queue, command: Command) -> Receiver<Outcome> {
    let (answer, answers) = channel();
    queue.submit(command, move |outcome| drop(answer.send(outcome)));
    answers
}

#[test]
fn hosts_that_outlive_the_server_have_their_answers_once_the_system_has_their_changes() {
    let (drive, calls, _) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue().outliving();
    let changes = [1, 2].map(|page| submitted(&queue, write(page, false)));
    // Reads, and commands of other hosts, do not wait.
    assert!(matches!(submitted(&queue, read(3)).try_recv(), Ok(Ok(Answer::Data(_)))));
    assert_eq!(submitted(&engine.queue(), write(4, false)).try_recv(), Ok(Ok(Answer::Done)));
    assert!(changes.iter().all(|answer| answer.try_recv().is_err()));
    queue.hand_over();
    assert!(changes.iter().all(|answer| answer.try_recv() == Ok(Ok(Answer::Done))));
    queue.hand_over();
    assert_eq!(queue.call(write(5, false)), Ok(Answer::Done));
    use Call::{HandOver, Read, Write};
    let calls: Vec<_> = calls.try_iter().collect();
    assert_eq!(calls, [Write(1), Write(2), Read(3), Write(4), HandOver, Write(5), HandOver]);
}

#[test]
fn a_change_waits_for_few_commands_behind_it() {
    for command in [write, |page, _| read(page)] {
        let (drive, calls, _) = Told::new();
        let engine = Engine::start(drive).unwrap();
        let queue = engine.queue().outliving();
        let first = submitted(&queue, write(1, false));
        let behind = (2..66).find(|&page| {
            let _ = submitted(&queue, command(page, false));
            first.try_recv().is_ok()
        });
        assert_eq!(behind, Some(32));
        assert_eq!(calls.try_iter().filter(|call| *call == Call::HandOver).count(), 1);
    }
}

#[test]
fn the_changes_of_a_batch_are_handed_over_at_once_and_before_its_flush() {
    let (drive, calls, gate) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let commands = vec![write(1, false), Command::Flush, write(2, true), write(3, false), read(4)];
    let answers = batch(&engine.queue().outliving(), &gate, commands);
    assert_eq!(answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), [4, 0, 3, 1, 2]);
    use Call::{Flush, HandOver, Read, Write};
    let calls: Vec<_> = calls.try_iter().collect();
    assert_eq!(calls, [Read(0), Write(1), Write(2), Write(3), Read(4), HandOver, Flush]);
}

#[test]
fn changes_that_cannot_be_handed_over_fail() {
    let (mut drive, _calls, gate) = Told::new();
    drive.hand_overs_fail = true;
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue().outliving();
    let failed = Err(Failure::Io("media error: gone".into()));
    let change = submitted(&queue, write(1, false));
    queue.hand_over();
    assert_eq!(change.recv(), Ok(failed.clone()));
    let answers = batch(&queue, &gate, vec![write(1, false), write(2, true)]);
    assert_eq!(answers, [(0, failed), (1, Ok(Answer::Done))]);
}

#[test]
fn a_change_that_waits_is_answered_when_the_drive_stops_or_panics() {
    let (drive, calls, _) = Told::new();
    let engine = Engine::start(drive).unwrap();
    let change = submitted(&engine.queue().outliving(), write(1, false));
    engine.stop().1.unwrap();
    assert_eq!(change.recv(), Ok(Ok(Answer::Done)));
    let calls: Vec<_> = calls.try_iter().collect();
    assert_eq!(calls, [Call::Write(1), Call::HandOver, Call::Flush]);
    // The panic is on the thread of a front end, or on the drive's thread.
    for durable in [false, true] {
        let (drive, _calls, _) = Told::new();
        let engine = Engine::start(drive).unwrap();
        let queue = engine.queue().outliving();
        let change = submitted(&queue, write(1, false));
        assert_eq!(submitted(&queue, write(66, durable)).recv(), Ok(Err(Failure::Stopped)));
        queue.hand_over();
        assert_eq!(change.recv(), Ok(Err(Failure::Stopped)));
    }
}

/// Several front ends hand over at the same time, each after its change. Every answer arrives.
#[test]
fn changes_of_several_front_ends_are_all_answered() {
    let (engine, together) = (Engine::start(Ram::new(100)).unwrap(), Arc::new(Barrier::new(8)));
    let submitters: Vec<_> = (0..8)
        .map(|page| {
            let (queue, together) = (engine.queue().outliving(), Arc::clone(&together));
            std::thread::spawn(move || {
                for _ in 0..20_000 {
                    together.wait();
                    let change = submitted(&queue, write(page, false));
                    queue.hand_over();
                    let answer = change.recv_timeout(Duration::from_secs(5));
                    if answer != Ok(Ok(Answer::Done)) {
                        // A panic here would leave the other threads waiting for ever.
                        eprintln!("left behind: {answer:?}");
                        std::process::abort();
                    }
                }
            })
        })
        .collect();
    submitters.into_iter().for_each(|thread| thread.join().unwrap());
}
