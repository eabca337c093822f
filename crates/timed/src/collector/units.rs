//! The units of collections. A unit is a group of planes that has one collection at a time. The
//! erased blocks of its planes count together.

use flashgc_base::snapshot::State;

use std::ops::{Range, RangeInclusive};

use crate::config::{Settings, Unit};
use crate::ops::NONE;

/// The units: the die that collects in each unit, and the units whose writes wait.
///
/// It does not know blocks and operations; the collector sets its values.
#[derive(State)]
pub struct Units {
    #[snapshot(skip)]
    planes_per_unit: Divisor,
    #[snapshot(skip)]
    planes_per_die: Divisor,
    /// The die that collects in each unit, or [`NONE`].
    #[snapshot(table)]
    collecting: Vec<u32>,
    /// `true` for each unit in state S2 or S3: its writes wait.
    #[snapshot(table)]
    below_hard: Vec<bool>,
    /// `true` for each unit in which a collection in state S3 has ended. One urgent write then goes
    /// before the next collection.
    #[snapshot(table)]
    lets_urgent_pass: Vec<bool>,
}

/// A divisor for plane numbers. If it is a power of two, a fast shift replaces the division.
#[derive(Clone, Copy)]
struct Divisor {
    planes: u32,
    shift: Option<u8>,
}

impl Divisor {
    fn new(planes: u32) -> Self {
        let shift = planes.is_power_of_two().then(|| planes.trailing_zeros() as u8);
        Self { planes, shift }
    }

    #[inline(always)]
    fn quotient(self, plane: u32) -> u32 {
        self.shift.map_or_else(|| plane / self.planes, |shift| plane >> (shift & 31))
    }
}

impl Units {
    pub fn new(settings: &Settings) -> Self {
        let hardware = &settings.hardware;
        let planes_per_unit = match settings.collecting.unit {
            Unit::Plane => 1,
            Unit::Die => hardware.planes,
            Unit::Channel => hardware.planes * hardware.dies_per_channel(),
            Unit::Drive => hardware.all_planes(),
        };
        let count = (hardware.all_planes() / planes_per_unit) as usize;
        Self {
            planes_per_unit: Divisor::new(planes_per_unit),
            planes_per_die: Divisor::new(hardware.planes),
            collecting: vec![NONE; count],
            below_hard: vec![false; count],
            lets_urgent_pass: vec![false; count],
        }
    }

    #[inline]
    pub fn of_plane(&self, plane: u32) -> u32 {
        self.planes_per_unit.quotient(plane)
    }

    #[inline]
    pub fn die_of(&self, plane: u32) -> u32 {
        self.planes_per_die.quotient(plane)
    }

    /// Returns the planes of a unit.
    pub fn planes(&self, unit: u32) -> Range<u32> {
        unit * self.planes_per_unit.planes..(unit + 1) * self.planes_per_unit.planes
    }

    /// Returns the dies of a unit.
    pub fn dies(&self, unit: u32) -> RangeInclusive<u32> {
        let planes = self.planes(unit);
        self.die_of(planes.start)..=self.die_of(planes.end - 1)
    }

    /// Returns the planes of a die.
    pub fn planes_of_die(&self, die: u32) -> Range<u32> {
        die * self.planes_per_die.planes..(die + 1) * self.planes_per_die.planes
    }

    #[inline]
    pub fn is_collecting(&self, unit: u32) -> bool {
        self.collecting[unit as usize] != NONE
    }

    /// Returns `true` if another die collects in the unit of the first plane of `die`.
    #[inline]
    pub fn is_collected_elsewhere(&self, die: u32) -> bool {
        let collecting = self.collecting[self.of_plane(die * self.planes_per_die.planes) as usize];
        collecting != NONE && collecting != die
    }

    /// Notes that `die` collects in a unit.
    pub fn begin(&mut self, unit: u32, die: u32) {
        debug_assert!(!self.is_collecting(unit), "a unit has one collection at a time");
        self.collecting[unit as usize] = die;
    }

    /// Notes that the collection in a unit has ended. If it ended in state S3 (`urgent`), one
    /// urgent write goes before the next collection.
    pub fn end(&mut self, unit: u32, urgent: bool) {
        debug_assert!(self.is_collecting(unit));
        self.collecting[unit as usize] = NONE;
        self.lets_urgent_pass[unit as usize] |= urgent;
    }

    /// Returns `true` if writes to `plane` wait because its unit has too few erased blocks.
    #[inline]
    pub fn is_in_s2(&self, plane: u32) -> bool {
        self.below_hard[self.of_plane(plane) as usize]
    }

    /// Enters state S2: writes to a unit wait. Returns `true` if they did not wait before.
    pub fn enter_s2(&mut self, unit: u32) -> bool {
        !std::mem::replace(&mut self.below_hard[unit as usize], true)
    }

    /// Leaves state S2: writes to a unit may go.
    pub fn leave_s2(&mut self, unit: u32) {
        self.below_hard[unit as usize] = false;
        self.lets_urgent_pass[unit as usize] = false;
    }

    /// Returns `true` if one urgent write to `plane` goes before others and before the next
    /// collection.
    #[inline]
    pub fn lets_urgent_pass(&self, plane: u32) -> bool {
        self.lets_urgent_pass[self.of_plane(plane) as usize]
    }

    /// Notes that an urgent write to `plane` is served. The next urgent write must wait for another
    /// collection.
    pub fn urgent_has_passed(&mut self, plane: u32) {
        let unit = self.of_plane(plane);
        self.lets_urgent_pass[unit as usize] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::settings;

    #[test]
    fn a_unit_holds_its_dies_and_lets_one_urgent_write_pass() {
        let mut settings = settings();
        settings.hardware.planes = 2;
        settings.collecting.unit = Unit::Channel;
        let mut units = Units::new(&settings);
        assert_eq!((units.planes(0), units.dies(0), units.planes_of_die(1)), (0..4, 0..=1, 2..4));
        units.begin(0, 1);
        assert_eq!([0, 1].map(|die| units.is_collected_elsewhere(die)), [true, false]);
        assert!(units.enter_s2(0) && !units.enter_s2(0) && units.is_in_s2(3));
        units.end(0, true);
        assert!(!units.is_collecting(0) && units.is_in_s2(0) && units.lets_urgent_pass(2));
        units.urgent_has_passed(2);
        assert!(!units.lets_urgent_pass(0));
        units.leave_s2(0);
        assert!(!units.is_in_s2(0));
    }
}
