//! Dynamic placement: each write goes to the die with the least to do.

use flashgc_base::spec::SpecError;
use flashgc_ftl::Stepwise;
use hashbrown::HashMap;

use super::engine::TimedDrive;
use super::observe::Observer;
use super::ops::{Kind, PageOp};
use super::placement::Placement;
use super::settings::{Settings, Unit};

/// What dynamic placement knows of the dies and planes; empty for a static one.
pub(super) struct Spread {
    is_dynamic: bool,
    /// Page operations at each die.
    loads: Vec<u32>,
    /// Writes on their way to each plane.
    coming: Vec<u32>,
    /// The die after the one chosen last, and each die's plane after the one chosen last.
    next_die: usize,
    next_plane: Vec<u32>,
    /// Pages with operations on their way: how many, and the plane to which they all go, so that
    /// they stay in order.
    pending: HashMap<u32, (u32, u32)>,
    /// Valid pages that a plane holds at most.
    most_valid: u64,
}

impl Spread {
    pub(super) fn new(settings: &Settings, layer: &dyn Stepwise) -> Result<Self, SpecError> {
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
        // What a plane keeps erased, and its open blocks.
        let kept = settings.collecting.high.div_ceil(unit).max(1) + layer.open_blocks();
        let blocks = geometry.blocks() / planes;
        let most_valid =
            u64::from(blocks.saturating_sub(kept)) * u64::from(geometry.pages_per_block());
        if is_dynamic && most_valid * u64::from(planes) < geometry.logical_pages().into() {
            return Err(SpecError::new(
                format!(
                    "planes of {blocks} blocks that keep {kept} have no room for {} pages in all",
                    geometry.logical_pages()
                ),
                "more spare space, larger planes, or a lower threshold of collections",
            ));
        }
        let size = |count: u32| if is_dynamic { count as usize } else { 0 };
        Ok(Self {
            is_dynamic,
            loads: vec![0; size(hardware.all_dies())],
            coming: vec![0; size(planes)],
            next_die: 0,
            next_plane: vec![0; size(hardware.all_dies())],
            pending: HashMap::new(),
            most_valid,
        })
    }
}

impl<O: Observer> TimedDrive<O> {
    /// The plane at which a page operation is served. It is on its way there until it
    /// [`leave`](Self::leave)s.
    #[inline]
    pub(super) fn place(&mut self, op: u32) -> u32 {
        let PageOp { page, kind, .. } = self.ops[op];
        if !self.spread.is_dynamic {
            return self.home(page);
        }
        let plane = match self.spread.pending.get(&page) {
            Some(&(_, plane)) => plane,
            None => match self.layer.locate(page) {
                Some(ppn) if kind != Kind::Write => self.layer.plane_of(ppn),
                None if matches!(kind, Kind::Read | Kind::Trim) => self.home(page),
                _ => self.freest_plane(page),
            },
        };
        let spread = &mut self.spread;
        spread.pending.entry(page).or_insert((0, plane)).0 += 1;
        spread.coming[plane as usize] += u32::from(matches!(kind, Kind::Write | Kind::Modify));
        let die = self.die_of(plane);
        self.spread.loads[die as usize] += 1;
        plane
    }

    /// A page operation is done on its die.
    #[inline]
    pub(super) fn leave(&mut self, op: &PageOp, die: u32) {
        if !self.spread.is_dynamic {
            return;
        }
        let spread = &mut self.spread;
        spread.loads[die as usize] -= 1;
        spread.coming[op.plane as usize] -=
            u32::from(matches!(op.kind, Kind::Write | Kind::Modify));
        if let Some(entry) = spread.pending.get_mut(&op.page) {
            entry.0 -= 1;
            if entry.0 == 0 {
                spread.pending.remove(&op.page);
            }
        }
    }

    /// Makes a write on its way, which has not begun, a TRIM.
    pub(super) fn discard(&mut self, op: u32) {
        self.ops[op].kind = Kind::Trim;
        if self.spread.is_dynamic {
            self.spread.coming[self.ops[op].plane as usize] -= 1;
        }
    }

    /// A plane with room, on the die with the least to do, in turn among equals; where a page lies
    /// now if there is none.
    fn freest_plane(&mut self, page: u32) -> u32 {
        let dies = self.spread.loads.len();
        let turn = self.spread.next_die;
        let order = (turn..dies).chain(0..turn);
        // With room in the first choice, which is nearly always, the others are not looked at.
        let first = order.clone().min_by_key(|&die| self.spread.loads[die]).unwrap_or(0);
        let chosen = self.plane_with_room(first).or_else(|| {
            let mut others: Vec<usize> = order.collect();
            others.sort_by_key(|&die| self.spread.loads[die]);
            others.into_iter().find_map(|die| self.plane_with_room(die))
        });
        let Some(plane) = chosen else {
            let now = self.layer.locate(page).map(|ppn| self.layer.plane_of(ppn));
            return now.unwrap_or_else(|| self.home(page));
        };
        let die = self.die_of(plane) as usize;
        let planes = self.settings.hardware.planes;
        self.spread.next_die = (die + 1) % dies;
        self.spread.next_plane[die] = (plane + 1) % planes;
        plane
    }

    fn plane_with_room(&self, die: usize) -> Option<u32> {
        let planes = self.settings.hardware.planes;
        let turn = self.spread.next_plane[die];
        (turn..planes).chain(0..turn).map(|plane| die as u32 * planes + plane).find(|&plane| {
            let coming = u64::from(self.spread.coming[plane as usize]);
            self.layer.valid_pages(plane) + coming < self.spread.most_valid
        })
    }
}
