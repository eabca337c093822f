//! Answers that are sent at the times that a simulated drive gives.

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flashgc_device::WriteStreams;
use flashgc_device::failure::Failure;
use flashgc_front::command::{Answer, Command};
use flashgc_front::meter::LatencyKind;
use flashgc_front::pace::{Pace, Simulated, Work};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use flashgc_workload::Op;

const MS: u64 = 1_000_000;

/// A simulated drive on which each request takes 20 ms, any number at a time. A request at `BROKEN`
/// fails and ends the simulation.
#[derive(Default)]
struct Steady {
    due: VecDeque<(u64, u64)>,
    tickets: u64,
    reached: u64,
    asked: Asked,
}

/// The kind, the first byte and the number of bytes of each request.
type Asked = Arc<Mutex<Vec<(Op, u64, u64)>>>;

const BROKEN: u64 = 40 * 4096;

impl Simulated for Steady {
    fn arrive(
        &mut self,
        op: Op,
        offset: u64,
        bytes: u64,
        _: WriteStreams<'_>,
        now_ns: u64,
    ) -> Result<(), String> {
        assert!(now_ns > self.reached, "time goes back");
        if offset == BROKEN {
            return Err("no block can be erased".into());
        }
        self.asked.lock().unwrap().push((op, offset, bytes));
        self.due.push_back((self.tickets, now_ns + 20 * MS));
        self.tickets += 1;
        Ok(())
    }

    fn hint(&mut self, op: Op, offset: u64, bytes: u64, now_ns: u64) -> Result<(), String> {
        assert!(now_ns > self.reached, "time goes back");
        self.asked.lock().unwrap().push((op, offset, bytes));
        Ok(())
    }

    fn run(&mut self, until_ns: u64, done: &mut Vec<(u64, u64)>) -> Result<(), String> {
        self.reached = until_ns;
        while let Some(&first) = self.due.front().filter(|&&(_, at)| at <= until_ns) {
            self.due.pop_front();
            done.push(first);
        }
        Ok(())
    }

    fn next_ns(&mut self) -> Result<u64, String> {
        Ok(self.due.front().map_or(u64::MAX, |&(_, at)| at))
    }

    fn work(&mut self) -> Work {
        Work { host_pages: self.tickets, ..Work::default() }
    }
}

fn served(slower: f64) -> (Engine<Ram>, Asked) {
    let drive = Steady::default();
    let asked = Arc::clone(&drive.asked);
    let pace = Pace::start(Box::new(drive), slower).unwrap();
    (Engine::start_paced(Ram::new(64), Some(pace)).unwrap(), asked)
}

fn write(page: u64) -> Command {
    Command::Write { at: page * 4096, data: vec![7; 4096], fua: false, streams: vec![] }
}

#[test]
fn answers_leave_at_their_simulated_times_and_not_before() {
    for (slower, ms) in [(1.0, 20), (4.0, 80)] {
        let (engine, _) = served(slower);
        let queue = engine.queue();
        let began = Instant::now();
        let (tell, told) = channel();
        for page in 0..5 {
            let tell = tell.clone();
            queue.submit(write(page), move |outcome| tell.send(outcome).unwrap());
        }
        for _ in 0..5 {
            assert_eq!(told.recv().unwrap(), Ok(Answer::Done));
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(ms), "they left after {took:?}");
        assert_eq!(queue.call(Command::Flush), Ok(Answer::Done));
        // A read returns the written data although the write is not answered yet.
        let read = Command::Read { at: 4096, bytes: 4096 };
        assert_eq!(queue.call(read), Ok(Answer::Data(vec![7; 4096])));
        let paced = queue.paced().unwrap();
        assert_eq!((paced.lateness.answers, paced.work.host_pages, paced.slower), (7, 7, slower));
        let [simulated, measured] = [paced.simulated, paced.measured];
        let write = LatencyKind::Write as usize;
        assert_eq!((simulated[write].count, measured[write].count), (5, 5));
        assert!((simulated[write].mean / (ms as f64 * 1e3) - 1.0).abs() < 0.01);
        assert!(measured[write].mean > 0.99 * simulated[write].mean);
        engine.stop().1.unwrap();
    }
}

#[test]
fn every_answer_is_counted_once_while_others_look() {
    let (engine, _) = served(0.01);
    let queue = engine.queue();
    let looks = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let (mut seen, mut looks) = (0, 0);
            while seen < 700 {
                let answers = queue.paced().unwrap().lateness.answers;
                assert!(answers >= seen, "{answers} behind {seen}");
                (seen, looks) = (answers, looks + 1);
            }
            looks
        });
        (0..700).for_each(|page| drop(queue.call(write(page % 8)).unwrap()));
        looking.join().unwrap()
    });
    let paced = queue.paced().unwrap();
    assert_eq!((paced.lateness.answers, paced.lateness.latencies.count), (700, 700));
    assert_eq!(paced.simulated[LatencyKind::Write as usize].count, 700);
    assert!(looks > 1);
    engine.stop().1.unwrap();
}

#[test]
fn the_simulated_drive_is_asked_for_what_the_drive_can_do() {
    let (engine, asked) = served(1.0);
    let queue = engine.queue();
    let began = Instant::now();
    // A read beyond the end is refused at once. Commands that need no simulated drive are done at
    // once.
    let read = Command::Read { at: 63 * 4096, bytes: 8192 };
    assert!(matches!(queue.call(read), Err(Failure::OutOfRange { .. })));
    assert_eq!(queue.call(Command::Moment), Ok(Answer::Pages(0)));
    assert_eq!(queue.call(Command::Trim { at: 0, bytes: 0, fua: false }), Ok(Answer::Done));
    assert!(asked.lock().unwrap().is_empty(), "after {:?}", began.elapsed());
    queue.call(Command::Zero { at: 4096, bytes: 8192, keep: true, fua: true }).unwrap();
    queue.call(Command::Zero { at: 8192, bytes: 4096, keep: false, fua: false }).unwrap();
    queue.call(Command::Flush).unwrap();
    // A copy reads and writes. A copy with a range beyond the end is refused.
    let copy = |from| Command::Copy { from, to: 40_960, streams: vec![], fua: false };
    let began = Instant::now();
    queue.call(copy(vec![(0, 4096), (8192, 8192)])).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(20));
    let beyond = queue.call(copy(vec![(0, 4096), (63 * 4096, 8192)]));
    assert!(matches!(beyond, Err(Failure::OutOfRange { .. })));
    let expected = [
        (Op::Write, 4096, 8192),
        (Op::Trim, 8192, 4096),
        (Op::Flush, 0, 0),
        (Op::Read, 0, 4096),
        (Op::Read, 8192, 8192),
        (Op::Write, 40_960, 12_288),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    assert_eq!(queue.paced().unwrap().lateness.answers, 4);
    engine.stop().1.unwrap();
}

#[test]
fn the_simulated_drive_hears_the_hints_that_hold_and_takes_no_time_for_them() {
    let (engine, asked) = served(1.0);
    let queue = engine.queue();
    queue.call(write(3)).unwrap();
    queue.call(write(5)).unwrap();
    // Page 5 was written after the moment 1.
    let hint = Command::Hint { at: 3 * 4096, bytes: 3 * 4096, moment: Some(1) };
    let Ok(Answer::Hinted(hinted)) = queue.call(hint) else { panic!("no hint") };
    assert_eq!((hinted.late, hinted.pages), (1, vec![3..4, 4..5]));
    // A part of a page stands for the whole page.
    queue.call(Command::Cancel { at: 3 * 4096 + 1, bytes: 4096 }).unwrap();
    // A hint with a future moment is refused.
    let early = Command::Hint { at: 0, bytes: 4096, moment: Some(9) };
    assert!(queue.call(early).is_err());
    queue.call(write(6)).unwrap();
    let expected = [
        (Op::Write, 3 * 4096, 4096),
        (Op::Write, 5 * 4096, 4096),
        (Op::Dirty, 3 * 4096, 4096),
        (Op::Dirty, 4 * 4096, 4096),
        (Op::Clean, 3 * 4096, 8192),
        (Op::Write, 6 * 4096, 4096),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    assert_eq!(queue.paced().unwrap().lateness.answers, 3, "hints have no answers of their own");
    engine.stop().1.unwrap();
}

#[test]
fn a_simulated_drive_that_ends_holds_nobody_up_and_makes_the_run_invalid() {
    let (engine, _) = served(1.0);
    let queue = engine.queue();
    assert_eq!(queue.call(write(40)), Ok(Answer::Done));
    for page in 0..100 {
        assert_eq!(queue.call(write(page % 8)), Ok(Answer::Done));
    }
    let paced = queue.paced().unwrap();
    assert_eq!(paced.failed.as_deref(), Some("no block can be erased"));
    assert!(!paced.is_valid);
    engine.stop().1.unwrap();
}

#[test]
fn who_waits_when_the_clock_stops_is_answered() {
    let drive = Steady::default();
    let pace = Pace::start(Box::new(drive), 1000.0).unwrap();
    let engine = Engine::start_paced(Ram::new(64), Some(pace)).unwrap();
    let (tell, told) = channel();
    engine.queue().submit(write(1), move |outcome| tell.send(outcome).unwrap());
    engine.stop().1.unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(10)).unwrap(), Ok(Answer::Done));
}
