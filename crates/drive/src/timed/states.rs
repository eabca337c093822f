//! What counts its erased blocks together, and the states of semi-preemptive collection (Lee et al.,
//! section on the level of allowed preemption): S0 none is under way, S1 reads and writes go before
//! it, S2 reads alone, S3 nothing.

use super::die::Die;
use super::engine::TimedDrive;
use super::observe::Observer;
use super::ops::{Kind, NONE, PageOp};
use super::schedule::Allowed;
use super::settings::{Preemption, Settings, Unit};

/// Units, and which die of each collects.
pub(super) struct Units {
    planes_per_unit: u32,
    planes_per_die: u32,
    /// The die that collects, or [`NONE`].
    pub(super) collecting: Vec<u32>,
    /// Writes wait: state S2, or S3.
    below_hard: Vec<bool>,
    /// A collection in state S3 has ended: one urgent write goes before the next.
    lets_urgent_pass: Vec<bool>,
}

impl Units {
    pub(super) fn new(settings: &Settings) -> Self {
        let hardware = &settings.hardware;
        let planes_per_unit = match settings.collecting.unit {
            Unit::Plane => 1,
            Unit::Die => hardware.planes,
            Unit::Channel => hardware.planes * hardware.dies_per_channel(),
            Unit::Drive => hardware.all_planes(),
        };
        let count = (hardware.all_planes() / planes_per_unit) as usize;
        Self {
            planes_per_unit,
            planes_per_die: hardware.planes,
            collecting: vec![NONE; count],
            below_hard: vec![false; count],
            lets_urgent_pass: vec![false; count],
        }
    }

    #[inline]
    pub(super) fn of_plane(&self, plane: u32) -> u32 {
        plane / self.planes_per_unit
    }

    #[inline]
    pub(super) fn is_collecting(&self, unit: u32) -> bool {
        self.collecting[unit as usize] != NONE
    }

    pub(super) fn planes(&self, unit: u32) -> std::ops::Range<u32> {
        unit * self.planes_per_unit..(unit + 1) * self.planes_per_unit
    }

    /// The dies of a unit; of a plane its die.
    pub(super) fn dies(&self, unit: u32) -> std::ops::RangeInclusive<u32> {
        let planes = self.planes(unit);
        planes.start / self.planes_per_die..=(planes.end - 1) / self.planes_per_die
    }
}

impl<O: Observer> TimedDrive<O> {
    /// Erased blocks of a unit.
    pub(super) fn free_blocks(&self, unit: u32) -> u32 {
        self.units.planes(unit).map(|plane| self.layer.free_blocks(plane)).sum()
    }

    /// Whether a collection of another die holds this one.
    #[inline]
    pub(super) fn is_held_by_unit(&self, die: u32) -> bool {
        if !self.settings.collecting.holds_unit {
            return false;
        }
        let unit = self.units.of_plane(die * self.settings.hardware.planes);
        let collecting = self.units.collecting[unit as usize];
        self.settings.collecting.preemption == Preemption::None
            && collecting != NONE
            && collecting != die
    }

    /// Whether writes to `plane` wait because its unit has too few erased blocks.
    pub(super) fn is_in_s2(&self, plane: u32) -> bool {
        self.units.below_hard[self.units.of_plane(plane) as usize]
    }

    /// Enters state S2 below the hard threshold and leaves it above.
    fn update_s2(&mut self, unit: u32) {
        let hard = self.settings.collecting.hard;
        if hard == 0 {
            return;
        }
        let free = self.free_blocks(unit);
        if free > hard {
            self.leave_s2(unit);
        } else if free < hard && !self.units.below_hard[unit as usize] {
            self.units.below_hard[unit as usize] = true;
            self.totals.collections.entered_s2 += 1;
        }
    }

    /// All writes to a unit may go.
    pub(super) fn leave_s2(&mut self, unit: u32) {
        self.units.below_hard[unit as usize] = false;
        self.units.lets_urgent_pass[unit as usize] = false;
    }

    /// A collection has ended, which gave way to none if it was `urgent`: what it held up goes
    /// before the next.
    pub(super) fn leave_s3(&mut self, unit: u32, urgent: bool) {
        self.units.lets_urgent_pass[unit as usize] |= urgent;
        self.update_s2(unit);
    }

    /// What a collection lets through between two of its operations; `None` in state S3, which an
    /// urgent write at any die of the unit brings about.
    pub(super) fn allowed_at_point(&mut self, die: u32) -> Option<Allowed> {
        let collection = self.dies[die as usize].collection.as_ref()?;
        let (plane, mark, mut urgent) = (collection.plane, collection.mark, collection.urgent);
        let unit = self.units.of_plane(plane);
        self.update_s2(unit);
        if !urgent && self.is_in_s2(plane) && !self.units.lets_urgent_pass[unit as usize] {
            urgent = self.units.dies(unit).any(|die| self.urgent_write(die, unit).is_some());
            if let Some(collection) = self.dies[die as usize].collection.as_mut().filter(|_| urgent)
            {
                collection.urgent = true;
                self.totals.collections.entered_s3 += 1;
            }
        }
        if urgent {
            return None;
        }
        // While a write waits for a block, only those that waited when the point was reached go
        // before the collection: it gets on, whatever else comes.
        let head = self.dies[die as usize].writes.head;
        let starves = head != NONE
            && self.ops[head].kind != Kind::Trim
            && !self.layer.can_write(self.ops[head].page, self.ops[head].plane);
        Some(Allowed { before: if starves { mark } else { u64::MAX }, ..Allowed::ALL })
    }

    /// The first urgent write to `unit` that waits at `die`, and that nothing before it on its page
    /// holds up.
    fn urgent_write(&mut self, die: u32, unit: u32) -> Option<u32> {
        let Self { dies, ops, units, .. } = self;
        let Die { reads, writes, .. } = &mut dies[die as usize];
        if writes.urgent == 0 {
            return None;
        }
        writes.iter(ops).find(|&op| {
            let PageOp { urgent, kind, plane, order, page, .. } = ops[op];
            urgent
                && kind != Kind::Trim
                && units.of_plane(plane) == unit
                && !writes.has_before(ops, order, page)
                && !reads.has_before(ops, order, page)
        })
    }

    /// The write or TRIM that is next at a die: the first, or an urgent one that goes before those
    /// that wait in state S2.
    pub(super) fn first_write(&mut self, die: u32) -> Option<u32> {
        let head = Some(self.dies[die as usize].writes.head).filter(|&op| op != NONE)?;
        let unit = self.units.of_plane(self.ops[head].plane);
        let passes = self.units.lets_urgent_pass[unit as usize];
        let urgent = if passes { self.urgent_write(die, unit) } else { None };
        urgent.or(Some(head))
    }

    /// Whether state S2 holds up a write.
    pub(super) fn waits_in_s2(&self, op: u32) -> bool {
        let PageOp { plane, urgent, .. } = self.ops[op];
        let passes = self.units.lets_urgent_pass[self.units.of_plane(plane) as usize];
        self.is_in_s2(plane) && !(urgent && passes)
    }

    /// A write is served: if it is what state S3 was for, the next waits for another.
    pub(super) fn served_in_s2(&mut self, op: u32) {
        let PageOp { plane, urgent, .. } = self.ops[op];
        if urgent {
            let unit = self.units.of_plane(plane);
            self.units.lets_urgent_pass[unit as usize] = false;
        }
    }
}
