//! The waits of a host: the requests and the answers that they waited for. They are found from a
//! recording with the times of requests and of answers.
//!
//! A request waited for the last answer before its arrival. The time between the two is its think
//! time. A flush also waited for all other requests that had been answered when it arrived, because
//! a host flushes the data it knows to be written. It did not wait for requests that were in
//! progress then. An answer in the same nanosecond does not count, because no host is that fast.

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
}

/// The waits of all requests of a recording. Reads, writes, discards and flushes are numbered from
/// 0, in the order of their arrival; hints have no numbers.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    waits: Arc<[Wait]>,
    /// The requests that were in progress when a flush arrived, by the number of the flush.
    under_way: Arc<FxHashMap<u32, Box<[u32]>>>,
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
        let waits = requests.iter().zip(0..).map(|(request, number)| {
            while let Some(&Reverse((at, of))) = open.peek()
                && at < request.time_ns
            {
                last = Some((at, of));
                open.pop();
            }
            if request.op == Op::Flush {
                under_way.insert(number, open.iter().map(|&Reverse((_, of))| of).collect());
            }
            let is_answered = request.took_ns != Request::UNANSWERED;
            if is_answered {
                open.push(Reverse((request.time_ns.saturating_add(request.took_ns), number)));
            }
            let begun = last.map_or(origin, |(at, _)| at);
            let think_ns = request.time_ns - begun;
            Wait { on: last.map(|(_, of)| of), think_ns, is_answered }
        });
        let waits: Arc<[Wait]> = waits.collect();
        Some(Self { waits, under_way: Arc::new(under_way) })
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
}

#[cfg(test)]
mod tests {

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
        assert!(Waits::of(&requests[4..5], 0).is_none());
    }
}
