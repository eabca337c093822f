//! The page map: any logical page on any physical page, driven in batches. In this form the
//! counting drive drives the [page store](crate::store): host writes are in `write.rs`, collections
//! in `collect.rs`.

mod collect;
mod write;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::residency::{NotCached, Residency};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::SpecError;
use flashgc_base::{fail_if, refuse_if};

use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::FtlError;
use crate::frontier::Frontier;
use crate::geometry::Geometry;
use crate::groups::GroupHomes;
use crate::layer::{Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams, methods_of_store};
use crate::layout::{Layout, PlaneId, PlaneLayout};
use crate::scheme::{Costs, Duplicates, Scheme};
use crate::store::{Asks, MAP_AHEAD, PageStore, Plane, room_for_a_block};
use crate::translation::{FollowsReads, SharesMemory, Translation};
use crate::victim::VictimPolicy;
use crate::wear::Wear;
use flashgc_base::table::{bytes_of, prefetch};

/// The page map with victim policy `P`; the header of this file describes it.
#[derive(State)]
#[snapshot(named = "page map", then = check)]
pub struct PageMap<P: VictimPolicy> {
    #[snapshot(state)]
    pub(super) store: PageStore<P>,
    #[snapshot(skip)]
    frontier: Frontier,
    #[snapshot(skip)]
    homes: GroupHomes,
    /// The treatment of pages in the host's memory; `None` while that memory is not shared.
    #[snapshot(state)]
    sharing: Option<Sharing>,
    /// Logical pages lifted from a victim and not programmed yet: the first `moving_len` entries.
    #[snapshot(table)]
    moving: Box<[u32]>,
    moving_len: usize,
    /// `true` if any of the moving pages may be a zombie.
    moves_zombies: bool,
    /// Old places of the pages of a batch of host writes, at most b.
    #[snapshot(skip)]
    old: Box<[u32]>,
}

/// The treatment of pages in the host's memory by collections, and its counts.
#[derive(State)]
struct Sharing {
    #[snapshot(skip)]
    scheme: Scheme,
    #[snapshot(skip)]
    costs: Costs,
    duplicates: Duplicates,
}

/// The plane of a drive of one reclaim group.
const ONLY: PlaneId = 0;

/// Bytes of memory of a page map without its policy, but with all tables that the policy or the
/// placement asks for.
pub(crate) fn bytes(layout: &Layout, asks: Asks) -> u64 {
    crate::store::bytes(layout, asks) + buffer_bytes(&layout.geometry)
}

/// Bytes of the buffers of a page map.
fn buffer_bytes(geometry: &Geometry) -> u64 {
    let b = geometry.pages_per_block();
    bytes_of::<u32>(b as usize + room_for_a_block(b))
}

impl<P: VictimPolicy> PageMap<P> {
    /// The layer that `layout` describes, its policy made by `make`.
    ///
    /// # Errors
    /// Parts that do not go together, too little memory, or an error of `make`.
    pub fn with_policy(
        layout: Layout,
        mut make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Self, FtlError> {
        layout.check()?;
        refuse_if!(
            layout.slc.is_some(),
            choice("kind", "timed"),
            "{} needs idle time, which only a drive with a clock has",
            subject("slc")
        );
        let (frontier, b) = (layout.frontier, layout.geometry.pages_per_block() as usize);
        let homes = GroupHomes::new(&layout);
        let (planes, home) = (homes.groups(), &|page| homes.of(page));
        let mut store = PageStore::new(&PlaneLayout { layout, planes, first: 0, home }, &mut make)?;
        store.bytes += buffer_bytes(&store.tables.geometry);
        Ok(Self {
            store,
            frontier,
            homes,
            sharing: None,
            moving: vec![0; room_for_a_block(b as u32)].into(),
            moving_len: 0,
            moves_zombies: false,
            old: vec![0; b].into(),
        })
    }

    /// Checks that the pages that a collection moves are logical pages of the drive.
    fn check(&self) -> Result<(), Fault> {
        let pages = self.geometry().logical_pages();
        let moving = self.moving.get(..self.moving_len);
        if moving.is_some_and(|moving| moving.iter().all(|&page| page < pages)) {
            return Ok(());
        }
        Err(Fault::new("a collection moves a page that there is not"))
    }

    /// Actions of collections on pages in the host's memory; `None` while that memory is not
    /// shared.
    fn duplicates(&self) -> Option<Duplicates> {
        self.sharing.as_ref().map(|sharing| sharing.duplicates)
    }

    fn plane(&self, plane: PlaneId) -> &Plane<P> {
        &self.store.planes[plane as usize]
    }
}

impl<P: VictimPolicy> Layer for PageMap<P> {
    methods_of_store!();

    fn counters(&self) -> Counters {
        // The store counts pages written from memory as copies. Here they count as host writes.
        let counters = self.store.counters();
        let flushed = self.duplicates().map_or(0, |duplicates| duplicates.flushed);
        Counters {
            host_pages: counters.host_pages + flushed,
            copied_pages: counters.copied_pages - flushed,
            ..counters
        }
    }

    fn counts(&self) -> LayerCounts {
        LayerCounts { duplicates: self.duplicates(), ..self.store.counts() }
    }

    fn audit(&self) -> Result<(), String> {
        let mut planes = self.store.planes.iter();
        fail_if!(
            !self.frontier.has_pool() && planes.any(|plane| !plane.pool.is_empty()),
            "a frontier without a pool has blocks in it"
        );
        self.store.audit()
    }
}

impl<P: VictimPolicy> Translation for PageMap<P> {
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.write_beside(pages, collections, &mut NotCached)
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.store.check_range(pages)?;
        if self.has_ended() {
            return Err(self.read_only());
        }
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(&self.store.tables.map, ahead as usize);
            }
            self.store.discard(page);
        }
        Ok(())
    }

    fn reads(&mut self) -> Option<&mut dyn FollowsReads> {
        None
    }

    fn memory(&mut self) -> Option<&mut dyn SharesMemory> {
        Some(self)
    }

    fn planes(&self) -> u32 {
        self.store.planes.len() as u32
    }

    fn blocks(&self, plane: PlaneId) -> &BlockTable {
        &self.plane(plane).blocks
    }

    fn flush(&mut self) {
        if !self.store.buffer.is_protected {
            for plane in 0..self.planes() {
                while self.store.program_host_data(plane).is_some() {}
            }
        }
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        self.store.locate(page).map(|ppn| self.store.tables.place_of(ppn))
    }

    fn map_bytes(&self) -> u64 {
        4 * u64::from(self.geometry().logical_pages())
    }
}

impl<P: VictimPolicy> SharesMemory for PageMap<P> {
    fn share(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        _: &mut dyn Residency,
    ) -> Result<(), SpecError> {
        scheme.check_page_map()?;
        let sorts = self.store.sorting.has_rule() || self.store.zombies.is_some();
        refuse_if!(
            !scheme.is_unaware() && sorts,
            format!(
                "{}, or {} and a {} that uses no hints",
                choice("vm_scheme", "du-gc"),
                choice("placement", "none"),
                option("victim")
            ),
            "{} {scheme} does not go with {} or hints: the pages that it leaves to memory are in \
             no class",
            subject("vm_scheme"),
            option("placement")
        );
        let duplicates = Duplicates::default();
        self.sharing = (!scheme.is_unaware()).then_some(Sharing { scheme, costs, duplicates });
        Ok(())
    }

    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError> {
        match self.write_beside(&[page], u64::MAX, memory)? {
            1 => Ok(()),
            _ => Err(self.read_only()),
        }
    }

    fn audit_beside(&mut self, _: &mut dyn Residency) -> Result<(), String> {
        self.audit() // nothing is kept about the memory
    }
}
