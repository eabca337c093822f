//! The planes of writes that have no fixed plane. With dynamic placement, a write goes to the die with the
//! fewest operations. With reclaim groups, it goes to a plane of the group that it names.

use std::ops::Range;

use flashgc_base::naming::option;
use flashgc_base::refuse_if;
use flashgc_base::snapshot::State;
use flashgc_base::spec::SpecError;
use flashgc_ftl::Stepwise;
use hashbrown::HashMap;

use crate::config::{Placement, Settings, Unit};
use crate::ops::{Kind, PageOp};

/// The state of dynamic placement, or of reclaim groups, on dies and planes; empty where each page has its
/// plane.
///
/// It counts the operations that dies have not done yet. It does not know how they are served.
#[derive(State)]
pub struct Spread {
    #[snapshot(skip)]
    planes_per_die: u32,
    /// `true` with dynamic placement or reclaim groups. Without them every page stays on its home plane,
    /// and no method is called.
    #[snapshot(skip)]
    pub(super) chooses: bool,
    /// `true` with dynamic placement.
    #[snapshot(skip)]
    is_dynamic: bool,
    /// The planes of a reclaim group.
    #[snapshot(skip)]
    planes_per_group: u32,
    /// The number of page operations that each die has not done yet.
    #[snapshot(table)]
    loads: Vec<u32>,
    /// The number of writes that each plane has not done yet.
    #[snapshot(table)]
    coming: Vec<u32>,
    /// For the writes of each reclaim group, and at last for those that name none: the die after the die that
    /// was chosen last. Among dies with equally few operations, the first one from there on is chosen.
    #[snapshot(table)]
    next_die: Vec<u32>,
    /// For each die, the plane after the plane that was chosen last: the search begins there.
    #[snapshot(table)]
    next_plane: Vec<u32>,
    /// For the writes of each reclaim group, and at last for those that name none: the plane chosen last,
    /// and the number of further writes that go there until they fill a flash page.
    #[snapshot(table)]
    filling: Vec<(u32, u32)>,
    #[snapshot(skip)]
    units_per_program: u32,
    /// The pages with operations that are not done: the number of operations, and their plane. All
    /// operations on a page go to one plane, so that they stay in order.
    pending: HashMap<u32, (u32, u32)>,
    /// The largest number of valid pages that a plane may hold.
    #[snapshot(skip)]
    most_valid: u64,
}

impl Spread {
    pub fn new(settings: &Settings, layer: &dyn Stepwise) -> Result<Self, SpecError> {
        let geometry = layer.geometry();
        let hardware = &settings.hardware;
        let is_dynamic = settings.placement == Placement::Dynamic;
        let planes = hardware.all_planes();
        let unit = match settings.collecting.unit {
            Unit::Plane => 1,
            Unit::Die => hardware.planes,
            Unit::Channel => hardware.planes * hardware.dies_per_channel(),
            Unit::Drive => planes,
        };
        // The blocks of a plane that stay erased or open, and the blocks set aside for SLC.
        let in_slc = settings.slc.map_or(0, |slc| slc.region.set_aside());
        let kept = settings.collecting.high.div_ceil(unit).max(1) + layer.open_blocks() + in_slc;
        let blocks = geometry.blocks() / planes;
        let most_valid =
            u64::from(blocks.saturating_sub(kept)) * u64::from(geometry.pages_per_block());
        refuse_if!(
            is_dynamic && most_valid * u64::from(planes) < geometry.logical_pages().into(),
            format!("more spare space, more blocks, or a lower {}", option("gc_low")),
            "planes of {blocks} blocks, of which {kept} stay erased or open, cannot hold the \
             logical capacity of {} pages",
            geometry.logical_pages()
        );
        // A plane collects until more than `high` of its blocks are erased. Its data must leave
        // room for that.
        let each = u64::from(geometry.logical_pages().div_ceil(planes));
        let goes_on = settings.collecting.high > settings.collecting.low;
        refuse_if!(
            !is_dynamic && unit == 1 && goes_on && most_valid <= each,
            format!("a lower {}, more spare space, or more blocks", option("gc_high")),
            "planes of {blocks} blocks, of which {kept} are erased or open before collections \
             stop, have no room to collect beside {each} pages of data"
        );
        let groups = layer.groups();
        let chooses = is_dynamic || groups > 1;
        let size = |count: u32| if chooses { count as usize } else { 0 };
        Ok(Self {
            planes_per_die: hardware.planes,
            chooses,
            is_dynamic,
            planes_per_group: planes / groups,
            loads: vec![0; size(hardware.all_dies())],
            coming: vec![0; size(planes)],
            next_die: vec![0; size(groups + 1)],
            filling: vec![(0, 0); size(groups + 1)],
            units_per_program: hardware.units_per_program(),
            next_plane: vec![0; size(hardware.all_dies())],
            pending: HashMap::new(),
            most_valid,
        })
    }

    /// Chooses the plane that serves a page operation. `home` is the plane of a page without data.
    /// The operation counts until [`leave`](Self::leave) is called for it.
    #[inline(always)]
    pub fn place(&mut self, map: &dyn Stepwise, op: &PageOp, home: u32) -> u32 {
        let PageOp { page, kind, .. } = *op;
        let plane = match self.pending.get(&page) {
            Some(&(_, plane)) => plane,
            None => match map.locate(page) {
                Some(ppn) if kind != Kind::Write => map.plane_of(ppn),
                None if matches!(kind, Kind::Read | Kind::Trim) => home,
                _ if self.is_dynamic => self.freest_plane(map, page, home),
                _ => map.plane_of_write(page, home, &self.coming),
            },
        };
        self.pending.entry(page).or_insert((0, plane)).0 += 1;
        self.coming[plane as usize] += u32::from(op.writes());
        self.loads[(plane / self.planes_per_die) as usize] += 1;
        plane
    }

    /// Notes that a page operation is done on its die.
    #[inline]
    pub fn leave(&mut self, op: &PageOp) {
        if op.kind == Kind::Flush {
            return;
        }
        let die = (op.plane / self.planes_per_die) as usize;
        debug_assert!(self.loads[die] > 0, "an operation leaves its die once");
        self.loads[die] -= 1;
        self.coming[op.plane as usize] -= u32::from(op.writes());
        if let Some(entry) = self.pending.get_mut(&op.page) {
            entry.0 -= 1;
            if entry.0 == 0 {
                self.pending.remove(&op.page);
            }
        }
    }

    /// Notes that a waiting write of `plane` becomes a TRIM.
    pub fn discard(&mut self, plane: u32) {
        self.coming[plane as usize] -= 1;
    }

    /// Returns a plane with room on the die with the fewest operations; equal dies take turns.
    /// Writes that are programmed together go to one plane. A write that names a reclaim group gets a plane
    /// of this group, or of the next one with room. If no plane has room, returns the page's present plane.
    fn freest_plane(&mut self, map: &dyn Stepwise, page: u32, home: u32) -> u32 {
        let named = map.group_of_write(page);
        let planes = match named {
            Some(_) => {
                let group = map.plane_of_write(page, home, &self.coming) / self.planes_per_group;
                group * self.planes_per_group..(group + 1) * self.planes_per_group
            }
            None => 0..self.coming.len() as u32,
        };
        let run = named.map_or(self.filling.len() - 1, |group| group as usize);
        let (filling, left) = self.filling[run];
        if left > 0 && planes.contains(&filling) && self.has_room(map, filling) {
            self.filling[run].1 -= 1;
            return filling;
        }
        let dies = self.loads.len();
        let turn = self.next_die[run] as usize;
        let order = (turn..dies).chain(0..turn);
        // The first choice nearly always has room, so the other dies are sorted only without it.
        let per_die = self.planes_per_die;
        let of_group = planes.start / per_die..planes.end.div_ceil(per_die);
        let order = order.filter(|&die| of_group.contains(&(die as u32)));
        let first = order.clone().min_by_key(|&die| self.loads[die]).unwrap_or(0);
        let chosen = self.plane_with_room(map, first, &planes).or_else(|| {
            let mut others: Vec<usize> = order.collect();
            others.sort_by_key(|&die| self.loads[die]);
            others.into_iter().find_map(|die| self.plane_with_room(map, die, &planes))
        });
        let Some(plane) = chosen else {
            let now = map.locate(page).map(|ppn| map.plane_of(ppn));
            return now.unwrap_or(home);
        };
        let die = (plane / self.planes_per_die) as usize;
        let together = match self.units_per_program {
            1 => 1,
            _ => map.host_room(page, plane).together,
        };
        self.filling[run] = (plane, together - 1);
        self.next_die[run] = ((die + 1) % dies) as u32;
        self.next_plane[die] = (plane + 1) % self.planes_per_die;
        plane
    }

    /// Returns a plane of a die that has room and is one of `of_group`.
    fn plane_with_room(
        &self,
        map: &dyn Stepwise,
        die: usize,
        of_group: &Range<u32>,
    ) -> Option<u32> {
        let planes = self.planes_per_die;
        let turn = self.next_plane[die];
        let mut all = (turn..planes).chain(0..turn).map(|plane| die as u32 * planes + plane);
        all.find(|plane| of_group.contains(plane) && self.has_room(map, *plane))
    }

    fn has_room(&self, map: &dyn Stepwise, plane: u32) -> bool {
        let coming = u64::from(self.coming[plane as usize]);
        map.valid_pages(plane) + coming < self.most_valid
    }
}
