//! Faults of a served drive, for all front ends: the commands that they meet, and the commands that
//! they do not affect.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use flashgc_device::failure::Failure;
use flashgc_front::command::{Answer, Command};
use flashgc_front::faults::{Effect, Fault, FaultKind, LONGEST, MOST};
use flashgc_front::queue::{Engine, Queue};
use flashgc_front::ram::{Counts, Ram};

const PAGES: u64 = 100;
const SIZE: u64 = PAGES * 4096;

/// Returns a fault that meets every command.
pub fn fault(effect: Effect) -> Fault {
    Fault { effect, kind: None, range: None, next: None }
}

/// Returns a failure of the next `next` commands of a kind.
pub fn fail(kind: FaultKind, next: u64) -> Fault {
    Fault { kind: Some(kind), next: Some(next), ..fault(Effect::Fail) }
}

/// Returns a fault that makes `count` pages from `first` on unreadable.
pub fn unreadable(first: u64, count: u64) -> Fault {
    Fault { range: Some(first * 4096..(first + count) * 4096), ..fault(Effect::Unreadable) }
}

fn served() -> (Engine<Ram>, Queue, Arc<Counts>) {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue();
    (engine, queue, counts)
}

fn read(at: u64, bytes: usize) -> Command {
    Command::Read { at, bytes }
}

fn write(at: u64, bytes: usize) -> Command {
    Command::Write { at, data: vec![7; bytes], fua: false, streams: vec![] }
}

fn trim(at: u64, bytes: u64) -> Command {
    Command::Trim { at, bytes, fua: false }
}

fn zero(at: u64, bytes: u64, keep: bool) -> Command {
    Command::Zero { at, bytes, keep, fua: false }
}

fn is_injected(outcome: Result<Answer, Failure>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(Failure::Io(text) | Failure::ReadOnly(text)) if text.starts_with("injected: ") => true,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_next_commands_of_a_kind_fail_and_are_not_executed() {
    let (_engine, queue, counts) = served();
    let commands: [(FaultKind, fn() -> Command); 7] = [
        (FaultKind::Read, || read(0, 4096)),
        (FaultKind::Read, || Command::ReadSparse { at: 0, bytes: 4096 }),
        (FaultKind::Write, || write(0, 4096)),
        (FaultKind::Write, || zero(0, 4096, true)),
        (FaultKind::Discard, || trim(0, 4096)),
        (FaultKind::Discard, || zero(0, 4096, false)),
        (FaultKind::Flush, || Command::Flush),
    ];
    let sums = || {
        [&counts.read, &counts.written, &counts.trimmed, &counts.flushes]
            .map(|sum| sum.load(SeqCst))
    };
    for (kind, command) in commands {
        let number = queue.faults().inject(fail(kind, 2)).unwrap();
        for (other, another) in commands {
            // Commands of other kinds do not meet the fault. A command without a kind meets none.
            assert!(other == kind || !is_injected(queue.call(another())), "{kind:?} {other:?}");
        }
        queue.call(Command::Moment).unwrap();
        let before = sums();
        assert!(is_injected(queue.call(command())), "{kind:?}");
        assert!(is_injected(queue.call(command())), "{kind:?}");
        assert_eq!(sums(), before, "{kind:?}: nothing of a command that fails is executed");
        assert!(!is_injected(queue.call(command())), "{kind:?}");
        let (all, _) = queue.faults().list();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].number, all[0].left, all[0].hits), (number, Some(0), 2));
        assert!(all[0].is_over);
        assert_eq!(queue.faults().clear(None), Ok(1));
    }
    // A durable write (FUA) is a write, not a flush.
    queue.faults().inject(fail(FaultKind::Flush, 1)).unwrap();
    let durable = Command::Write { at: 0, data: vec![1], fua: true, streams: vec![] };
    assert!(!is_injected(queue.call(durable)));
    assert!(is_injected(queue.call(Command::Flush)));
    assert_eq!(queue.faults().list().1, 2 * 7 + 1);
}

#[test]
fn a_range_meets_the_commands_that_touch_it() {
    let (_engine, queue, _) = served();
    let ranged = Fault { range: Some(8192..12288), ..fault(Effect::Fail) };
    queue.faults().inject(ranged).unwrap();
    for (command, expected) in [
        (read(0, 8192), false),
        (read(0, 8193), true),
        (read(12287, 1), true),
        (read(12288, 4096), false),
        (read(9000, 0), false),
        (write(12288, 10), false),
        (write(8000, 193), true),
        (trim(0, SIZE), true),
        // A flush has no range.
        (Command::Flush, false),
    ] {
        let text = format!("{command:?}");
        assert_eq!(is_injected(queue.call(command)), expected, "{text:.60}");
    }
}

#[test]
fn a_command_that_is_not_on_the_drive_meets_no_fault() {
    let (_engine, queue, _) = served();
    queue.faults().inject(fault(Effect::Fail)).unwrap();
    for command in [read(SIZE, 1), write(SIZE - 1, 2), trim(u64::MAX, 1)] {
        assert!(matches!(queue.call(command), Err(Failure::OutOfRange { .. })));
    }
    assert_eq!(queue.faults().list().1, 0);
}

#[test]
fn an_unreadable_page_is_healed_by_a_whole_write_or_a_discard() {
    let (_engine, queue, _) = served();
    queue.call(write(0, SIZE as usize)).unwrap();
    queue.faults().inject(unreadable(10, 4)).unwrap();
    let left = || queue.faults().list().0[0].unreadable;
    assert!(!is_injected(queue.call(read(9 * 4096, 4096))));
    assert!(is_injected(queue.call(read(9 * 4096, 4097))));
    assert!(is_injected(queue.call(read(13 * 4096 + 4095, 1))));
    assert!(!is_injected(queue.call(read(14 * 4096, 4096))));
    // A part of a page is read before it is written; a discard leaves it alone.
    assert!(is_injected(queue.call(write(10 * 4096 + 1, 100))));
    assert!(is_injected(queue.call(write(9 * 4096, 4097))));
    assert!(is_injected(queue.call(zero(13 * 4096 + 1, 8192, false))));
    assert!(!is_injected(queue.call(trim(10 * 4096 + 1, 4096))));
    assert_eq!(left(), 4 * 4096);
    assert!(!is_injected(queue.call(write(11 * 4096, 4096))));
    assert!(!is_injected(queue.call(read(11 * 4096, 4096))));
    assert!(is_injected(queue.call(read(12 * 4096, 1))));
    assert_eq!(left(), 3 * 4096);
    // From page 9 to the middle of page 13: page 12 is the last whole one, and page 13 is read.
    assert!(is_injected(queue.call(write(9 * 4096, 4 * 4096 + 5))));
    assert_eq!(left(), 3 * 4096, "a write that fails heals nothing");
    assert!(!is_injected(queue.call(trim(9 * 4096, 4 * 4096 + 5))));
    assert_eq!(left(), 4096);
    assert_eq!(queue.call(read(12 * 4096, 4)), Ok(Answer::Data(vec![0; 4])));
    assert!(!is_injected(queue.call(zero(13 * 4096, 4096, true))));
    assert!(!is_injected(queue.call(read(0, SIZE as usize))));
    assert!(queue.faults().list().0[0].is_over);
}

#[test]
fn an_unreadable_page_may_be_readable_after_some_tries() {
    let (_engine, queue, _) = served();
    queue.faults().inject(Fault { next: Some(2), ..unreadable(0, 1) }).unwrap();
    let tries: Vec<_> = (0..3).map(|_| is_injected(queue.call(read(0, 1)))).collect();
    assert_eq!(tries, [true, true, false]);
}

#[test]
fn the_end_of_life_refuses_writes_until_it_is_cleared() {
    let (_engine, queue, _) = served();
    let number = queue.faults().inject(fault(Effect::EndOfLife)).unwrap();
    for refused in [write(0, 1), trim(0, 4096), zero(0, 1, true)] {
        let outcome = queue.call(refused);
        assert!(matches!(outcome, Err(Failure::ReadOnly(_))), "{outcome:?}");
    }
    for taken in [read(0, 1), Command::Flush, Command::Moment] {
        queue.call(taken).unwrap();
    }
    let why = queue.faults().why_read_only().unwrap();
    assert!(why.starts_with("injected: "), "{why}");
    assert_eq!(queue.faults().clear(Some(number)), Ok(1));
    assert_eq!(queue.faults().why_read_only(), None);
    queue.call(write(0, 1)).unwrap();
}

#[test]
fn delays_add_up_and_a_late_failure_is_late() {
    let (_engine, queue, counts) = served();
    let delay =
        |by| Fault { kind: Some(FaultKind::Read), next: Some(2), ..fault(Effect::Delay(by)) };
    queue.faults().inject(delay(Duration::from_millis(60))).unwrap();
    queue.faults().inject(delay(Duration::from_millis(50))).unwrap();
    queue.faults().inject(fail(FaultKind::Read, 1)).unwrap();
    let timed = |command| {
        let began = Instant::now();
        (is_injected(queue.call(command)), began.elapsed())
    };
    let (failed, took) = timed(read(0, 1));
    assert!(failed && took >= Duration::from_millis(110), "{took:?}");
    assert_eq!(counts.read.load(SeqCst), 0);
    let (failed, took) = timed(read(0, 1));
    assert!(!failed && took >= Duration::from_millis(110), "{took:?}");
    let began = Instant::now();
    queue.call(read(0, 1)).unwrap();
    assert!(began.elapsed() < Duration::from_millis(110), "delays are used up");
}

#[test]
fn a_late_answer_leaves_when_the_faults_are_cleared_and_holds_up_nobody() {
    let (engine, queue, counts) = served();
    let late = Fault { next: Some(2), ..fault(Effect::Delay(LONGEST)) };
    queue.faults().inject(late).unwrap();
    let (tell, told) = channel();
    for page in 0..2 {
        let tell = tell.clone();
        queue.submit(write(page * 4096, 4096), move |outcome| drop(tell.send(outcome)));
    }
    // The third command is not delayed, though the answers to the others still wait.
    assert_eq!(
        queue.call(read(0, 1)),
        Ok(Answer::Data(vec![7])),
        "a late write is executed at once"
    );
    assert_eq!(counts.written.load(SeqCst), 2);
    told.recv_timeout(Duration::from_millis(50)).unwrap_err();
    assert_eq!(queue.faults().clear(None), Ok(1));
    for _ in 0..2 {
        assert_eq!(told.recv_timeout(Duration::from_secs(5)).unwrap(), Ok(Answer::Done));
    }
    // When the drive stops, the faults are cleared as well.
    queue.faults().inject(fault(Effect::Delay(LONGEST))).unwrap();
    queue.submit(Command::Flush, move |outcome| drop(tell.send(outcome)));
    engine.stop().1.unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(5)).unwrap(), Ok(Answer::Done));
}

#[test]
fn a_dropped_command_is_told_to_its_front_end_and_not_executed() {
    let (_engine, queue, counts) = served();
    queue.faults().inject(Fault { next: Some(1), ..fault(Effect::Drop) }).unwrap();
    assert_eq!(queue.call(write(0, 4096)), Err(Failure::Unanswered));
    assert_eq!(counts.written.load(SeqCst), 0);
    queue.call(write(0, 4096)).unwrap();
}

#[test]
fn commands_that_are_one_to_their_host_meet_a_fault_once() {
    let (_engine, queue, counts) = served();
    queue.faults().inject(fail(FaultKind::Discard, 2)).unwrap();
    let discard = || {
        let (tell, told) = channel();
        let all = vec![trim(0, 4096), trim(8192, 8192)];
        queue.submit_all(all, move |outcome| drop(tell.send(outcome)));
        told.recv_timeout(Duration::from_secs(5)).unwrap()
    };
    assert!(is_injected(discard()) && is_injected(discard()));
    assert_eq!(counts.trimmed.load(SeqCst), 0);
    assert_eq!(discard(), Ok(Answer::Done));
    assert_eq!(counts.trimmed.load(SeqCst), 3);
    let (tell, told) = channel();
    queue.submit_all(vec![], move |outcome| drop(tell.send(outcome)));
    assert_eq!(told.recv().unwrap(), Ok(Answer::Done));
}

#[test]
fn whoever_is_no_host_meets_no_fault() {
    let (_engine, queue, _) = served();
    queue.faults().inject(fault(Effect::Fail)).unwrap();
    queue.spared().call(Command::Flush).unwrap();
    assert!(is_injected(queue.call(Command::Flush)));
}

#[test]
fn faults_that_cannot_be_are_refused() {
    let (_engine, queue, _) = served();
    let ranged = |effect, range| Fault { range: Some(range), ..fault(effect) };
    let kind = |fault, kind| Fault { kind: Some(kind), ..fault };
    let next = |fault, next| Fault { next: Some(next), ..fault };
    for (refused, said) in [
        (fault(Effect::Unreadable), "unreadable: found no range"),
        (ranged(Effect::Unreadable, 0..100), "expected whole pages"),
        (ranged(Effect::Unreadable, 0..(256 << 20) + 4096), "at most 256MiB"),
        (kind(unreadable(0, 1), FaultKind::Read), "unreadable: found a kind"),
        (ranged(Effect::Fail, 5..5), "fail: found a range of 0 bytes"),
        (ranged(Effect::Fail, 0..SIZE + 1), "fail: found a range up to byte 409601"),
        (kind(ranged(Effect::Fail, 0..1), FaultKind::Flush), "a flush has no place"),
        (next(fault(Effect::Fail), 0), "fail: found 0 commands"),
        (fault(Effect::Delay(Duration::ZERO)), "delay: found 0 s"),
        (fault(Effect::Delay(LONGEST * 2)), "at most 10min"),
        (kind(fault(Effect::Disconnect), FaultKind::Read), "disconnect: found a kind"),
        (fault(Effect::Disconnect), "disconnect: the drive has no connections"),
        (next(fault(Effect::Disconnect), 3), "disconnect: the drive has no connections"),
        (next(fault(Effect::EndOfLife), 3), "end-of-life: found a kind, a range or a number"),
    ] {
        let found = queue.faults().inject(refused.clone()).unwrap_err();
        assert!(found.contains(said), "{refused:?}: {found}");
        assert!(found.contains("; hint: "), "{found}");
    }
    assert!(queue.faults().list().0.is_empty());
    queue.faults().clear(Some(1)).unwrap_err();
}

#[test]
fn there_are_few_faults_at_a_time_and_those_that_are_over_make_room() {
    let (_engine, queue, _) = served();
    queue.faults().inject(fail(FaultKind::Read, 1)).unwrap();
    assert!(is_injected(queue.call(read(0, 1))));
    for _ in 1..MOST {
        queue.faults().inject(fail(FaultKind::Write, 1)).unwrap();
    }
    assert_eq!(queue.faults().inject(fail(FaultKind::Write, 1)), Ok(MOST as u64 + 1));
    let all = queue.faults().list().0;
    assert_eq!((all.len(), all[0].number), (MOST, 2));
    let full = queue.faults().inject(fail(FaultKind::Write, 1)).unwrap_err();
    assert!(full.contains("64 faults are set"), "{full}");
    assert_eq!(queue.faults().clear(None), Ok(MOST));
    assert_eq!(
        queue.faults().inject(fail(FaultKind::Write, 1)),
        Ok(MOST as u64 + 2),
        "numbers stay unique"
    );
}
