//! The layout of a layer: shape, policies and first contents.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::rng::Stream;
use flashgc_base::spec::SpecError;

use crate::allocation::Allocation;
use crate::endurance::{EndOfLife, Lifespan};
use crate::error::FtlError;
use crate::fill::Fill;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, GeometryError};
use crate::levelling::Levelling;
use crate::members::Members;
use crate::page_buffer::PageBuffer;
use crate::placement::PlacementSpec;
use crate::slc::SlcRegion;
use crate::smaller::Shrinking;

/// A plane number, 0 to the number of planes - 1.
pub type PlaneId = u32;

/// The parts from which a translation layer is made.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The drive's shape.
    pub geometry: Geometry,
    /// The blocks that writes go to.
    pub frontier: Frontier,
    /// The rule that chooses the next erased block from the pool.
    pub allocation: Allocation,
    /// The wear levelling; `None` without it.
    pub levelling: Option<Levelling>,
    /// The rule that chooses the open block for a page.
    pub placement: PlacementSpec,
    /// `true` if writes name streams: the cost of each is counted, and the placement sees it.
    pub streams: bool,
    /// The gathering of mapping units in flash pages.
    pub buffer: PageBuffer,
    /// The physical blocks that one block of the map stands for, at least 1.
    pub blocks_together: u32,
    /// The rule by which such a block goes on without its bad blocks; `None` if it bears the erases that
    /// the weakest of them bears.
    pub shrinking: Option<Shrinking>,
    /// The dies of a superblock whose pages a collection copies one die after the other; `None` if it copies
    /// pages as they were written.
    pub die_by_die: Option<Members>,
    /// The blocks in SLC mode, which only a map over planes can have; `None` without them.
    pub slc: Option<SlcRegion>,
    /// The endurance of the blocks and the end of the drive's life; `None` for a drive that lives
    /// for ever.
    pub lifespan: Option<Lifespan>,
    /// The first contents of the drive.
    pub fill: Fill,
    /// Seed of the run. The victim policy, the block allocation, the endurance and the fill draw
    /// from streams of their own.
    pub seed: u64,
}

/// Returns a share of four decimals in percent, as it is typed: `16.5%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", (share * 1e4).round() / 1e2)
}

impl Layout {
    /// A drive of this shape and nothing special: the single frontier, no placement, no wear, all
    /// pages written in order, seed 0.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            frontier: Frontier::Single,
            allocation: Allocation::default(),
            levelling: None,
            placement: PlacementSpec::default(),
            streams: false,
            buffer: PageBuffer::default(),
            blocks_together: 1,
            shrinking: None,
            die_by_die: None,
            slc: None,
            lifespan: None,
            fill: Fill::Sequential,
            seed: 0,
        }
    }

    /// Checks that the parts go together, and that a drive of one plane has enough spare blocks.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), FtlError> {
        self.check_parts()?;
        Ok(self.check_spare()?)
    }

    /// Checks that the parts go together. This does not depend on the number of planes.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check_parts(&self) -> Result<(), FtlError> {
        let Self { frontier, levelling, .. } = *self;
        self.placement.check(frontier, levelling)?;
        self.buffer.check_blocks(self.geometry.pages_per_block())?;
        self.buffer.check(frontier, &self.placement)?;
        self.allocation.check(frontier)?;
        levelling.map_or(Ok(()), |levelling| levelling.check(frontier))?;
        let units = self.buffer.units_per_page;
        let of_block = (self.geometry.pages_per_block(), units);
        self.slc.map_or(Ok(()), |slc| slc.check(of_block, &self.placement, self.frontier))?;
        if let Some(lifespan) = self.lifespan {
            lifespan.check(frontier)?;
            refuse_if!(
                lifespan.endurance.slc.is_some() && self.slc.is_none(),
                format!(
                    "{}, or {} without slc",
                    choice("slc", "static:blocks=5%"),
                    option("endurance")
                ),
                "{} has slc, and no block of the drive holds one bit a cell",
                subject("endurance")
            );
        }
        Ok(self.check_shrinking()?)
    }

    /// Checks that superblocks can go on without their bad blocks, if they are to.
    fn check_shrinking(&self) -> Result<(), SpecError> {
        let Some(rule) = self.shrinking else { return Ok(()) };
        let without = choice("bad_blocks", "retire");
        refuse_if!(
            self.lifespan.is_none(),
            without,
            "{} shrink needs {}: blocks that bear any number of erases never go bad",
            subject("bad_blocks"),
            option("endurance")
        );
        refuse_if!(
            self.lifespan.is_some_and(|life| life.ends_at == EndOfLife::FirstFailure),
            without,
            "{} shrink does not go with {}: the run ends with the first bad block, so no superblock gets smaller",
            subject("bad_blocks"),
            choice("until", "first-failure")
        );
        refuse_if!(
            self.blocks_together < 2,
            format!("{}, or {without}", choice("superblock", "dies=16,planes=4")),
            "{} shrink needs superblocks: a block on its own has no other blocks to go on with",
            subject("bad_blocks")
        );
        refuse_if!(
            self.slc.is_some(),
            format!("{without}, or leave {} out", option("slc")),
            "{} shrink does not go with {}: a region lends blocks by their number, and smaller ones hold \
             fewer pages in SLC mode",
            subject("bad_blocks"),
            option("slc")
        );
        refuse_if!(
            self.buffer.second_pass.is_some(),
            format!("{without}, or {}", choice("program", "one-shot")),
            "{} shrink does not go with {}: a word line waits for the one above it in whole rows, and a smaller \
             superblock has shorter ones",
            subject("bad_blocks"),
            choice("program", "two-pass")
        );
        debug_assert_eq!(rule.members.dies * self.buffer.planes, self.blocks_together);
        debug_assert!({
            let row = rule.units_per_row(&self.buffer.programs());
            self.geometry.pages_per_block().is_multiple_of(row)
        });
        Ok(())
    }

    /// Checks that the geometry leaves enough spare blocks.
    pub(crate) fn check_spare(&self) -> Result<(), GeometryError> {
        let Self { geometry, frontier, placement, .. } = self;
        let b = geometry.pages_per_block();
        // Each reclaim group keeps blocks of its own.
        let kept = u64::from(self.blocks_kept()) * u64::from(placement.groups());
        let spare_pages = geometry.physical_pages() - u64::from(geometry.logical_pages());
        if spare_pages >= kept * u64::from(b) {
            return Ok(());
        }
        // The share is rounded up, so that the value in the hint is enough.
        let least = (kept as f64 / f64::from(geometry.blocks()) * 1e4).ceil() / 1e4;
        let more = format!("more {}", option("blocks"));
        let hint = match frontier {
            Frontier::Pool { .. } if least >= 1.0 => format!("a smaller low, or {more}"),
            _ if least >= 1.0 => more,
            _ => format!("{}, or {more}", choice("spare", percent(least))),
        };
        Err(GeometryError(format!(
            "{spare_pages} spare pages (spare factor {:.4}) are too few for the {frontier} \
             frontier, which{} keeps {kept} block{} of {b} pages; hint: {hint}",
            geometry.spare_factor(),
            match (self.levelling, placement.is_none()) {
                (Some(_), _) => " with static wear levelling".to_string(),
                (None, true) => String::new(),
                (None, false) => format!(" with {}", placement.in_full()),
            },
            if kept == 1 { "" } else { "s" }
        )))
    }

    /// Blocks of a plane that can never hold host data: the blocks that are kept erased, and the
    /// open blocks. Wear levelling has an open block of its own, and a placement has several.
    pub(crate) fn blocks_kept(&self) -> u32 {
        let slc = self.slc.map_or(0, |slc| slc.blocks_kept(&self.placement));
        let for_slc = if matches!(self.frontier, Frontier::Pool { .. }) { slc } else { 0 };
        let kept =
            self.frontier.blocks_kept(self.placement.blocks_kept(), self.levelling.is_some());
        kept.saturating_add(for_slc)
    }

    /// Blocks of a plane that stay erased between two collections. Open blocks are not counted:
    /// they hold pages as other blocks do.
    pub fn blocks_kept_erased(&self) -> u32 {
        match self.frontier {
            Frontier::Single | Frontier::Double | Frontier::Compact => 0,
            Frontier::Pool { low } => low.saturating_add(self.placement.kept_for_copies()),
            Frontier::Mixed { low } => low,
        }
    }

    /// Blocks of a plane that are always in SLC mode.
    pub(crate) fn set_aside(&self) -> u32 {
        self.slc.map_or(0, |slc| slc.set_aside())
    }

    /// Upper bound on the blocks in the pool of a plane of `blocks` blocks with `pages` logical
    /// pages. The pool is fullest at the start, because collections stop once it is above its
    /// low-water mark.
    pub(crate) fn most_waiting(&self, blocks: u32, pages: u32) -> u32 {
        if !self.frontier.has_pool() {
            return 0;
        }
        let promised = pages.div_ceil(self.geometry.pages_per_block());
        self.fill.erased(blocks, promised, self.blocks_kept())
    }
}

/// A layout whose blocks are divided evenly among planes.
///
/// One victim search covers one plane. A plane has open blocks, a pool of erased blocks, a victim
/// policy and random streams of its own, so each plane keeps the blocks that the frontier asks for.
#[derive(Clone)]
pub struct PlaneLayout<'a> {
    /// The whole drive.
    pub layout: Layout,
    /// Number of planes.
    pub planes: u32,
    /// The number of the first of these planes in the drive. They may be only a part of the planes
    /// of the drive.
    pub first: PlaneId,
    /// The plane that each logical page is on at first.
    pub home: &'a dyn Fn(u32) -> PlaneId,
}

impl PlaneLayout<'_> {
    /// A drive of one plane.
    pub fn one(layout: Layout) -> Self {
        Self { layout, planes: 1, first: 0, home: &|_| 0 }
    }

    /// Blocks of one plane.
    ///
    /// # Errors
    /// No plane, more planes than blocks, or blocks that do not divide evenly.
    pub fn blocks_per_plane(&self) -> Result<u32, GeometryError> {
        let (blocks, planes) = (self.layout.geometry.blocks(), self.planes);
        if planes == 0 || blocks / planes < 2 || !blocks.is_multiple_of(planes) {
            let nearest = (blocks / planes.max(1)).max(2).saturating_mul(planes.max(1));
            return Err(GeometryError(format!(
                "found {blocks} blocks for {planes} planes, expected a multiple of {planes} and at \
                 least two blocks a plane; hint: {}",
                choice("blocks", nearest)
            )));
        }
        Ok(blocks / planes)
    }

    /// Checks that the parts go together, and that each plane has enough spare blocks.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), FtlError> {
        self.layout.check()?;
        Ok(self.promised().map(drop)?)
    }

    /// Logical pages of each plane.
    ///
    /// # Errors
    /// A plane that has no room for them.
    pub(crate) fn promised(&self) -> Result<Vec<u32>, GeometryError> {
        let pages = self.layout.geometry.logical_pages();
        let mut promised = vec![0; self.planes as usize];
        match &mut promised[..] {
            [only] => *only = pages,
            all => (0..pages).for_each(|page| all[(self.home)(page) as usize] += 1),
        }
        for (plane, &pages) in (0..).zip(&promised) {
            self.check_room(plane, pages)?;
        }
        Ok(promised)
    }

    /// Checks that a plane with `promised` logical pages keeps enough blocks.
    fn check_room(&self, plane: PlaneId, promised: u32) -> Result<(), GeometryError> {
        let b = self.layout.geometry.pages_per_block();
        let blocks = self.blocks_per_plane()?;
        let kept = u64::from(self.layout.blocks_kept());
        if u64::from(promised) + kept * u64::from(b) <= u64::from(blocks) * u64::from(b) {
            return Ok(());
        }
        Err(GeometryError(format!(
            "plane {plane} has {blocks} blocks of {b} pages for {promised} logical pages, expected \
             {kept} more blocks than these pages fill, for open blocks and the pool; hint: a larger \
             {}, more {}, or a lower {}",
            option("spare"),
            option("blocks"),
            option("gc_low")
        )))
    }

    /// The random stream `name` of `plane`. Plane 0 has the same stream as the counting drive.
    pub(crate) fn stream(&self, plane: PlaneId, name: &str) -> Stream {
        match self.first + plane {
            0 => Stream::new(self.layout.seed, name),
            plane => Stream::new(self.layout.seed, &format!("{name}/{plane}")),
        }
    }
}
