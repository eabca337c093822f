//! The waits of a host: the requests and the answers that they waited for. They are found from a
//! recording with the times of requests and of answers.
//!
//! A request waited for the last answer before its arrival. The time between the two is its think
//! time. A flush also waited for all other requests that had been answered when it arrived, because
//! a host flushes the data it knows to be written. It did not wait for requests that were in
//! progress then. An answer in the same nanosecond does not count, because no host is that fast.
//!
//! If the recording knows the thread of a request, only answers of that thread count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::Op;
use crate::trace::Request;

/// The wait of one request: the answer that it waited for, and its think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of the request whose answer was waited for; `None` if no request was answered
    /// before.
    pub on: Option<u32>,
    /// The nanoseconds from that answer to the request or, if there is none, from the beginning to
    /// the request.
    pub think_ns: u64,
    /// `true` if the request was answered. No request waits for an unanswered request.
    pub is_answered: bool,
    /// The thread that sent the request; 0 if it is unknown.
    pub thread: u32,
}

/// The waits of all requests of a recording. Reads, writes, discards and flushes are numbered from
/// 0, in the order of their arrival; hints have no numbers.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    waits: Arc<[Wait]>,
    /// The requests that were in progress when a flush arrived, by the number of the flush.
    under_way: Arc<FxHashMap<u32, Box<[u32]>>>,
    guessed: u32,
    mean_us: f64,
}

impl Waits {
    /// Finds the waits of `requests`, which are in the order of their times, begin at `origin`, and
    /// have no hints among them. Returns `None` if no request was answered, or if there are more
    /// than 2^32.
    pub fn of(requests: &[Request], origin: u64) -> Option<Self> {
        u32::try_from(requests.len()).ok()?;
        if requests.iter().all(|request| request.took_ns == Request::UNANSWERED) {
            return None;
        }
        let mut under_way = FxHashMap::default();
        let mut open: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut last: Option<(u64, u32)> = None;
        let mut last_of_threads: FxHashMap<u32, (u64, u32)> = FxHashMap::default();
        let mut overlaps = false;
        let waits = requests.iter().zip(0..).map(|(request, number)| {
            while let Some(&Reverse((at, of))) = open.peek()
                && at < request.time_ns
            {
                last = Some((at, of));
                let thread = requests[of as usize].thread;
                if thread != 0 {
                    last_of_threads.insert(thread, (at, of));
                }
                open.pop();
            }
            overlaps |= !open.is_empty();
            if request.op == Op::Flush {
                under_way.insert(number, open.iter().map(|&Reverse((_, of))| of).collect());
            }
            let is_answered = request.took_ns != Request::UNANSWERED;
            if is_answered {
                open.push(Reverse((request.time_ns.saturating_add(request.took_ns), number)));
            }
            let thread = request.thread;
            let last = if thread == 0 { last } else { last_of_threads.get(&thread).copied() };
            let begun = last.map_or(origin, |(at, _)| at);
            let think_ns = request.time_ns - begun;
            Wait { on: last.map(|(_, of)| of), think_ns, is_answered, thread }
        });
        let waits: Arc<[Wait]> = waits.collect();
        let guessed = match overlaps {
            true => waits.iter().filter(|wait| wait.thread == 0).count() as u32,
            false => 0,
        };
        let answered = requests.iter().filter(|request| {
            matches!(request.op, Op::Read | Op::Write) && request.took_ns != Request::UNANSWERED
        });
        let (sum, number) = answered.fold((0u128, 0u32), |(sum, number), request| {
            (sum + u128::from(request.took_ns), number + 1)
        });
        let mean_us = sum as f64 / f64::from(number.max(1)) / 1e3;
        Some(Self { waits, under_way: Arc::new(under_way), guessed, mean_us })
    }

    /// Returns the number of requests whose wait is a guess: nothing says which thread sent them,
    /// and the recording has requests that arrived before the answers of others. On a drive with
    /// other response times they may come earlier or later than the recorded program would send
    /// them.
    pub fn guessed(&self) -> u32 {
        self.guessed
    }

    /// Returns the mean time until the answer of the recorded reads and writes, in microseconds; 0
    /// if none was answered.
    pub fn mean_us(&self) -> f64 {
        self.mean_us
    }

    /// Returns the number of requests with waits.
    pub fn len(&self) -> u32 {
        self.waits.len() as u32
    }

    /// Returns `true` if there are no requests.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Returns the wait of request `number`.
    pub fn wait(&self, number: u32) -> Wait {
        self.waits[number as usize]
    }

    /// Returns the requests that were in progress when flush `number` arrived.
    pub fn under_way(&self, number: u32) -> &[u32] {
        self.under_way.get(&number).map_or(&[], |numbers| numbers)
    }

    /// Returns a test of the requests that came before flush `number`: `true` if the flush waited for
    /// this one.
    pub fn waited_by(&self, number: u32) -> impl Fn(u32) -> bool {
        let (thread, under_way) = (self.wait(number).thread, self.under_way(number));
        move |earlier| {
            let of = self.wait(earlier);
            (thread == 0 || thread == of.thread) && of.is_answered && !under_way.contains(&earlier)
        }
    }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    fn request(op: Op, time_ns: u64, took_ns: u64) -> Request {
        Request { time_ns, offset: 0, size: 4096, op, took_ns, ..Request::default() }
    }

    #[test]
    fn a_request_waits_for_the_last_answer_before_it_and_a_flush_not_for_what_is_under_way() {
        let requests = [
            request(Op::Write, 1000, 500),
            request(Op::Write, 1100, 100),
            request(Op::Write, 1210, 900),
            request(Op::Flush, 1600, 200),
            request(Op::Read, 1800, Request::UNANSWERED),
            request(Op::Read, 2500, 10),
        ];
        let waits = Waits::of(&requests, 1000).unwrap();
        let of: Vec<_> = (0..waits.len())
            .map(|number| (waits.wait(number).on, waits.wait(number).think_ns))
            .collect();
        // Computed by hand: the answers come at 1500, 1200, 2110, 1800, never, 2510.
        let expected =
            [(None, 0), (None, 100), (Some(1), 10), (Some(0), 100), (Some(0), 300), (Some(2), 390)];
        assert_eq!(of, expected);
        assert_eq!(waits.under_way(3), [2]);
        // All six are without a thread. The three writes and the last read took 1510 ns in all.
        assert_eq!((waits.guessed(), waits.mean_us()), (6, 1.510 / 4.0));
        assert_eq!(Waits::of(&requests[1..3], 1000).unwrap().guessed(), 0, "one after the other");
        assert!(Waits::of(&requests[4..5], 0).is_none());
    }

    #[test]
    fn a_request_of_a_thread_waits_for_answers_of_its_thread_alone() {
        let of = |thread, op, time_ns, took_ns| Request { thread, ..request(op, time_ns, took_ns) };
        let requests = [
            of(1, Op::Write, 0, 50),
            of(2, Op::Write, 5, 50),
            of(1, Op::Write, 60, 50),
            of(2, Op::Flush, 120, 9),
            of(0, Op::Read, 125, 9),
            of(3, Op::Read, 200, 9),
        ];
        let waits = Waits::of(&requests, 0).unwrap();
        let found: Vec<_> = (0..waits.len())
            .map(|number| (waits.wait(number).on, waits.wait(number).think_ns))
            .collect();
        // Computed by hand: the answers come at 50, 55, 110, 129, 134, 209. The fifth request has
        // no thread, so the third answer counts. The last request is the first of its thread.
        let expected =
            [(None, 0), (None, 5), (Some(0), 10), (Some(1), 65), (Some(2), 15), (None, 200)];
        assert_eq!(found, expected);
        assert_eq!(waits.guessed(), 1, "the fifth");
        assert_eq!([0, 1, 2].map(waits.waited_by(3)), [false, true, false]);
    }

    proptest! {
        #[test]
        fn waits_are_those_of_a_search_through_all_requests(
            drawn in prop::collection::vec((0..4u32, any::<bool>(), 0..20u64, 0..90u64), 1..80),
        ) {
            let mut time_ns = 0;
            let requests: Vec<Request> = drawn
                .into_iter()
                .map(|(thread, is_flush, gap, took)| {
                    time_ns += gap;
                    let took = if took > 80 { Request::UNANSWERED } else { took };
                    let op = if is_flush { Op::Flush } else { Op::Write };
                    Request { thread, ..request(op, time_ns, took) }
                })
                .collect();
            let Some(waits) = Waits::of(&requests, 0) else { return Ok(()) };
            for (at, one) in requests.iter().enumerate() {
                let answered: Vec<(u64, usize)> = requests[..at]
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| one.thread == 0 || one.thread == other.thread)
                    .filter(|(_, other)| other.took_ns != Request::UNANSWERED)
                    .map(|(of, other)| (other.time_ns + other.took_ns, of))
                    .filter(|&(answer, _)| answer < one.time_ns)
                    .collect();
                let last = answered.iter().max();
                let wait = waits.wait(at as u32);
                prop_assert_eq!(wait.on, last.map(|&(_, of)| of as u32));
                prop_assert_eq!(wait.think_ns, one.time_ns - last.map_or(0, |&(answer, _)| answer));
                if one.op == Op::Flush {
                    for earlier in 0..at {
                        let is_answered = answered.iter().any(|&(_, of)| of == earlier);
                        prop_assert_eq!(waits.waited_by(at as u32)(earlier as u32), is_answered);
                    }
                }
            }
        }
    }
}
