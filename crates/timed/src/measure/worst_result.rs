//! The slowest requests in the form of results: in microseconds.

use flashgc_base::described::Described;
use serde::{Deserialize, Serialize};

use super::worst::{Worst, WorstSoFar, kind_of};
use crate::observer::{Cause, Held, Place, Span};

/// The slowest request of its kind, with the work of its die meanwhile. Times are in microseconds;
/// the times of arrivals, begins and ends count from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct WorstResult {
    /// The kind: `read`, `write` or `trim`.
    pub kind: String,
    /// The number of the request in the order of arrival, from 0.
    pub number: u64,
    /// The number of the request's run, from 0.
    pub run: u32,
    /// The address of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u32,
    /// The time at which the request arrived.
    pub arrived_us: f64,
    /// The response time: the sum of the next four times, which are those of the request's last
    /// page.
    pub response_us: f64,
    /// The time of waiting for other requests.
    pub queue_us: f64,
    /// The time of waiting for collections.
    pub collection_us: f64,
    /// The time on the bus, and of waiting for it.
    pub bus_us: f64,
    /// The time in the cells.
    pub cell_us: f64,
    /// The die of the request's last page; `None` if no die served it.
    pub die: Option<u32>,
    /// The number of the collection of that die that held the request for the longest time; `None`
    /// if no collection of that die held it.
    pub held_by: Option<u64>,
    /// The collections on that die from the request's arrival to its completion; only the latest if
    /// there are many.
    pub collections: Vec<HeldResult>,
    /// The operations of that die in the same time, in the order of their ends; only the latest if
    /// there are many. Empty unless they are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationResult>,
    /// `true` if earlier operations were dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A collection on the die of a slow request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct HeldResult {
    /// The number of collections of the drive that began before this one.
    pub number: u64,
    /// The time at which it began.
    pub began_us: f64,
    /// The time at which its victim was erased; `None` if it was under way when the request was
    /// complete.
    pub ended_us: Option<f64>,
    /// The number of flash pages that the collection had programmed by then.
    pub programmed: u64,
}

/// An operation of a die or of its bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct OperationResult {
    /// The time at which it began.
    pub began_us: f64,
    /// The time at which it ended.
    pub ended_us: f64,
    /// The place: `cells` or `bus`.
    pub place: String,
    /// The work: `read`, `program`, `erase`, `poll` or `suspend`.
    pub work: String,
    /// The number of the request that needed it; `None` if no request did.
    pub request: Option<u64>,
    /// The number of the collection that needed it; `None` if no collection did.
    pub collection: Option<u64>,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl HeldResult {
    fn of(held: &Held) -> Self {
        Self {
            number: held.number,
            began_us: us(held.began_ns),
            ended_us: held.ended_ns.map(us),
            programmed: held.programmed,
        }
    }
}

impl OperationResult {
    fn of(span: &Span) -> Self {
        let place = match span.place {
            Place::Bus => "bus",
            Place::Cells => "cells",
        };
        let (request, collection) = match span.cause {
            Cause::Request(u64::MAX) | Cause::Drive => (None, None),
            Cause::Request(number) => (Some(number), None),
            Cause::Collection(number) => (None, Some(number)),
        };
        Self {
            began_us: us(span.begin_ns),
            ended_us: us(span.end_ns),
            place: place.to_string(),
            work: span.work.name().to_string(),
            request,
            collection,
        }
    }
}

impl WorstResult {
    /// Returns the result of `worst` in run `run`.
    pub fn of(worst: &Worst, run: u32) -> Self {
        let request = &worst.request;
        Self {
            kind: request.kind().to_string(),
            number: request.number,
            run,
            offset: request.offset,
            bytes: request.bytes,
            arrived_us: us(request.arrived_ns),
            response_us: us(request.response_ns()),
            queue_us: us(request.queue_ns),
            collection_us: us(request.blocked_ns),
            bus_us: us(request.bus_ns),
            cell_us: us(request.cell_ns),
            die: worst.die,
            held_by: worst.held_by().map(|held| held.number),
            collections: worst.collections.iter().map(HeldResult::of).collect(),
            operations: worst.operations.iter().map(OperationResult::of).collect(),
            is_cut: worst.is_cut,
        }
    }
}

/// Returns the slowest request of each kind over all `runs`; the first of equals.
pub fn slowest<'a>(runs: impl Iterator<Item = &'a WorstSoFar>) -> Vec<WorstResult> {
    let mut slowest_of_kinds: Vec<(&Worst, u32)> = Vec::new();
    for (run, worst) in (0..).zip(runs) {
        for worst_of_kind in worst.of_kinds() {
            match slowest_of_kinds
                .iter_mut()
                .find(|(other, _)| other.request.op == worst_of_kind.request.op)
            {
                Some(other)
                    if worst_of_kind.request.response_ns() > other.0.request.response_ns() =>
                {
                    *other = (worst_of_kind, run);
                }
                Some(_) => {}
                None => slowest_of_kinds.push((worst_of_kind, run)),
            }
        }
    }
    slowest_of_kinds.sort_by_key(|(worst, _)| kind_of(worst.request.op));
    slowest_of_kinds.into_iter().map(|(worst, run)| WorstResult::of(worst, run)).collect()
}
