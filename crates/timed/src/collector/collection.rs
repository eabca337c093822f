//! A collection under way.

use flashgc_base::snapshot::Value;
use flashgc_ftl::stepwise::Move;

use crate::ops::{NONE, Queue};

/// The point that a collection has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Point {
    /// Before a page move or the erase: preemption point B.
    B,
    Reading,
    /// Between read and program of a page: preemption point A.
    A,
    Writing,
    Erasing,
}

/// A collection under way.
#[derive(Clone, Debug, Value)]
pub struct Collection {
    pub number: u64,
    pub plane: u32,
    pub point: Point,
    pub moving: Option<Move>,
    /// The unit of the flash page that its job works on, or the first unit of the block, as a ppn.
    pub site: u32,
    /// The reads that the moving page's buffer serves.
    pub merged_reads: Queue,
    /// A write whose data take the moving page's place, or [`NONE`].
    pub merged_write: u32,
    /// `true` if the queue has been looked into at this point.
    pub polled: bool,
    /// `true` if the search of its victim has taken its time.
    pub searched: bool,
    /// `true` if the collection has been preempted.
    pub gave_way: bool,
    /// The number of page operations that had come to their dies when this point was reached.
    pub mark: u64,
    /// `true` if its victim is an SLC block.
    pub folds: bool,
    /// `true` if an idle die began it.
    pub idle: bool,
    /// `true` if there is no preemption until the erase: an urgent write waits (state S3).
    pub urgent: bool,
    /// The number of pages that it has programmed.
    pub copied: u32,
    /// The number of host pages that went before its steps; 0 without write pacing.
    pub let_through: u32,
}

impl Collection {
    pub fn new(number: u64, plane: u32, mark: u64) -> Self {
        Self {
            number,
            plane,
            point: Point::B,
            moving: None,
            site: 0,
            merged_reads: Queue::EMPTY,
            merged_write: NONE,
            polled: false,
            searched: false,
            gave_way: false,
            mark,
            folds: false,
            idle: false,
            urgent: false,
            copied: 0,
            let_through: 0,
        }
    }

    /// Moves to a preemption point.
    pub fn reach(&mut self, point: Point, mark: u64) {
        self.point = point;
        self.polled = false;
        self.mark = mark;
    }
}
