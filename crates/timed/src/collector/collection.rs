//! A collection under way.

use flashgc_base::snapshot::Value;
use flashgc_base::{value, words};
use flashgc_ftl::stepwise::Move;

use crate::ops::{NONE, Queue};

/// Where a collection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug)]
pub struct Collection {
    pub number: u64,
    pub plane: u32,
    pub point: Point,
    pub moving: Option<Move>,
    /// A unit of the flash page, or the first of the block, that its job works on, as a ppn.
    pub site: u32,
    /// Reads that the moving page's buffer serves.
    pub merged_reads: Queue,
    /// A write whose data take the moving page's place, or [`NONE`].
    pub merged_write: u32,
    /// The queue has been looked into at this point.
    pub polled: bool,
    /// The search of its victim has taken its time.
    pub searched: bool,
    /// The collection has been preempted.
    pub gave_way: bool,
    /// Page operations that had come to their dies when this point was reached.
    pub mark: u64,
    /// Its victim is an SLC block.
    pub folds: bool,
    /// An idle die began it.
    pub idle: bool,
    /// No preemption until the erase: an urgent write waits (state S3).
    pub urgent: bool,
    /// Pages that it has programmed.
    pub copied: u32,
    /// Pages of the host that went before its steps; 0 without write pacing.
    pub let_through: u32,
}

impl Value for Point {
    words!(B, Reading, A, Writing, Erasing);
}

impl Value for Collection {
    value!(
        number,
        plane,
        point,
        moving,
        site,
        merged_reads,
        merged_write,
        polled,
        searched,
        gave_way,
        mark,
        folds,
        idle,
        urgent,
        copied,
        let_through
    );
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

    /// Comes to a preemption point.
    pub fn reach(&mut self, point: Point, mark: u64) {
        self.point = point;
        self.polled = false;
        self.mark = mark;
    }
}
