//! Log-block mappings: data blocks are mapped by blocks, and a few log blocks, mapped by pages,
//! take the host writes. They need a fraction of the memory of a page map. Start reading at
//! [`hybrid`]; the ways to use log blocks are in [`fast`] and [`bast`].

mod audit;
mod bast;
mod chooser;
mod fast;
mod hybrid;
mod weigher;
mod window;

use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::{FtlError, check_range};
use crate::fill::Fill;
use crate::geometry::{Geometry, UNMAPPED};
use crate::layer::{Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams};
use crate::layout::{Layout, PlaneId, percent};
use crate::scheme::{Costs, Scheme};
use crate::translation::{FollowsReads, SharesMemory, Translation};
use crate::wear::Wear;
use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::residency::{NotCached, Residency};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError, count};

use bast::Bast;
use chooser::Choice;
use fast::Fast;
use hybrid::Hybrid;
pub use window::LogWindow;

/// Erased blocks kept for merges: a full merge writes one data block before it erases another.
const RESERVE: u32 = 1;

const LOG_BLOCKS: Param = Param::integer("log_blocks", (0, u32::MAX as u64), Some("0"))
    .help("log blocks; 0: all that the spare space gives");

const WINDOW: Param = Param::text("window", Some("all"))
    .help("oldest log blocks that are compared for a merge: all, a number, adaptive-START-STEP");

const STRICT_ORDER: Param = Param::word("strict_order", &["no", "yes"], Some("no"))
    .help("yes: data blocks take writes in page order only");

const LOG_ONLY: Param = Param::word("log_only", &["no", "yes"], Some("no"))
    .help("yes: every write goes to a log block, even if its data block has room");

/// The use of log blocks. It decides where a write goes and which log block is merged; the flash
/// itself belongs to [`Hybrid`].
pub(crate) trait LogBuffer: State + Send {
    /// The place that a write goes to.
    type Way: Copy;

    /// Returns the place to which a write of `page` would go now.
    fn way(&self, hybrid: &Hybrid, page: u32) -> Self::Way;

    /// Returns `true` if a write of `page` to the place `way` merges a log block.
    fn collects(&self, hybrid: &Hybrid, page: u32, way: Self::Way) -> bool;

    /// Writes `page` to the place `way`.
    fn write(
        &mut self,
        hybrid: &mut Hybrid,
        page: u32,
        way: Self::Way,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError>;

    /// Called when the layer's scheme is known. It settles how log blocks are chosen.
    fn settle(&mut self, hybrid: &mut Hybrid, memory: &mut dyn Residency);

    /// The most log blocks that there may be.
    fn most_logs(&self) -> u32;

    /// Returns every log block and the number of its programmed pages.
    fn logs(&self, hybrid: &Hybrid) -> Vec<(BlockId, u32)>;
}

/// A log-block mapping.
#[derive(State)]
pub(crate) struct LogMap<B> {
    #[snapshot(state)]
    hybrid: Hybrid,
    #[snapshot(state)]
    buffer: B,
}

/// FAST with these parameters.
pub(crate) fn fast(params: &Params, layout: Layout) -> Result<Box<dyn Translation>, FtlError> {
    let most = log_blocks(params, &layout.geometry)?;
    let choice = match params.text("victim") {
        "scheme" => Choice::Scheme,
        "rr" => Choice::First,
        _ => Choice::Cost,
    };
    let window = LogWindow::parse(params.text("window"))?;
    let sequential = params.integer("sequential") == 1;
    let buffer = Fast::new(layout.geometry.blocks(), most, sequential, choice, window);
    Ok(Box::new(LogMap::new(params, layout, buffer)?))
}

/// BAST with these parameters.
pub(crate) fn bast(params: &Params, layout: Layout) -> Result<Box<dyn Translation>, FtlError> {
    let geometry = &layout.geometry;
    let most = log_blocks(params, geometry)?;
    let (choice, by_use) = match params.text("victim") {
        "scheme" => (Choice::Scheme, true),
        "lru" => (Choice::First, true),
        "rr" => (Choice::First, false),
        _ => (Choice::Cost, true),
    };
    let window = LogWindow::parse(params.text("window"))?;
    let lbns = geometry.logical_blocks();
    let buffer = Bast::new(geometry.blocks(), lbns, most, by_use, choice, window);
    Ok(Box::new(LogMap::new(params, layout, buffer)?))
}

/// The parameters of FAST and of BAST.
pub(crate) const FAST_PARAMS: &[Param] = fast::PARAMS;
pub(crate) const BAST_PARAMS: &[Param] = bast::PARAMS;

/// The number of log blocks that `params` give on a drive of this shape.
///
/// # Errors
/// More than the spare space gives, or fewer than the mapping needs.
pub(crate) fn log_blocks(params: &Params, geometry: &Geometry) -> Result<u32, SpecError> {
    let needed = 1 + if params.owner() == "fast" { params.integer("sequential") as u32 } else { 0 };
    let lbns = geometry.logical_blocks();
    let room = geometry.blocks().saturating_sub(lbns + RESERVE);
    let number = match params.integer("log_blocks") as u32 {
        0 => room.max(needed),
        number => number,
    };
    refuse_if!(
        number < needed,
        format!("log_blocks={needed}, or sequential=0"),
        "{} {}: log_blocks={number}, expected at least {needed}: one for random and one for \
         sequential writes",
        subject("mapping"),
        params.owner()
    );
    if number > room {
        // The least share of spare blocks, rounded up so that the value in the hint is enough.
        let least = (f64::from(number + RESERVE) / f64::from(geometry.blocks()) * 1e4).ceil() / 1e4;
        let larger = match least < 1.0 {
            true => choice("spare", percent(least)),
            false => format!("more {}", option("blocks")),
        };
        return Err(SpecError::new(
            format!(
                "{} {}: {} and {RESERVE} for merges need {}, found {} beyond the {} of data",
                subject("mapping"),
                params.owner(),
                count(number.into(), "log block"),
                count((number + RESERVE).into(), "spare block"),
                geometry.blocks() - lbns.min(geometry.blocks()),
                count(lbns.into(), "block"),
            ),
            format!("{larger}, or a smaller log_blocks"),
        ));
    }
    Ok(number)
}

/// Checks that a log-block mapping can be made with this layout.
pub(crate) fn check(params: &Params, layout: &Layout) -> Result<(), SpecError> {
    log_blocks(params, &layout.geometry)?;
    LogWindow::parse(params.text("window"))?;
    let name = params.owner();
    refuse_if!(
        matches!(layout.fill, Fill::Random | Fill::Steady),
        format!("{}, or {}", choice("fill", "sequential"), choice("fill", "empty")),
        "{} {} does not go with {}, which keeps the pages of a data block in order",
        subject("fill"),
        layout.fill,
        choice("mapping", name)
    );
    refuse_if!(
        layout.levelling.is_some(),
        format!("{}, or {}", choice("wear_levelling", "none"), choice("mapping", "page")),
        "{} does not go with {}: levelling moves pages to a block of its own, and each page of a \
         data block has its place",
        subject("wear_levelling"),
        choice("mapping", name)
    );
    refuse_if!(
        !layout.placement.is_none(),
        format!("{}, or {}", choice("placement", "none"), choice("mapping", "page")),
        "{} {} does not go with {}, which chooses its own blocks",
        subject("placement"),
        layout.placement.name(),
        choice("mapping", name)
    );
    refuse_if!(
        layout.lifespan.is_some(),
        format!("leave {} out, or {}", option("endurance"), choice("mapping", "page")),
        "{} does not go with {}, which has no other block in place of a bad one",
        subject("endurance"),
        choice("mapping", name)
    );
    Ok(())
}

impl<B: LogBuffer> LogMap<B> {
    fn new(params: &Params, layout: Layout, buffer: B) -> Result<Self, FtlError> {
        check(params, &layout)?;
        let is_set = |name| params.text(name) == "yes";
        let pool = layout.allocation.pool(layout.geometry.blocks(), layout.seed);
        let (log_only, strict_order) = (is_set("log_only"), is_set("strict_order"));
        let mut hybrid = Hybrid::erased(layout.geometry, pool, log_only, strict_order)?;
        if layout.fill == Fill::Sequential {
            hybrid.fill()?;
        }
        let mut layer = Self { hybrid, buffer };
        layer.buffer.settle(&mut layer.hybrid, &mut NotCached);
        Ok(layer)
    }

    fn check_range(&self, pages: &[u32]) -> Result<(), FtlError> {
        check_range(&self.hybrid.geometry, pages)
    }
}

impl<B: LogBuffer> Layer for LogMap<B> {
    fn geometry(&self) -> &Geometry {
        &self.hybrid.geometry
    }

    fn counters(&self) -> Counters {
        self.hybrid.counters
    }

    fn counts(&self) -> LayerCounts {
        LayerCounts {
            merges: Some(self.hybrid.merges),
            duplicates: Some(self.hybrid.duplicates),
            ..LayerCounts::default()
        }
    }

    fn wear(&self) -> Option<&Wear> {
        None
    }

    fn decisions(&self) -> u64 {
        self.hybrid.decisions
    }

    fn streams(&mut self) -> Option<&mut dyn TakesStreams> {
        None
    }

    fn hints(&mut self) -> Option<&mut dyn TakesHints> {
        None
    }

    fn moves(&mut self) -> Option<&mut dyn ReportsMoves> {
        None
    }

    fn audit(&self) -> Result<(), String> {
        audit::audit(&self.hybrid, &self.buffer.logs(&self.hybrid))
    }

    fn memory_bytes(&self) -> u64 {
        let Hybrid { map, reverse, live, written, blocks, data, .. } = &self.hybrid;
        let tables = map.bytes() + reverse.bytes() + live.bytes() + written.bytes();
        tables + u64::from(blocks.len()) * 15 + 4 * data.len() as u64
    }
}

impl<B: LogBuffer> Translation for LogMap<B> {
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.check_range(pages)?;
        for (done, &page) in pages.iter().enumerate() {
            let way = self.buffer.way(&self.hybrid, page);
            if self.hybrid.counters.collections >= collections
                && self.buffer.collects(&self.hybrid, page, way)
            {
                return Ok(done);
            }
            self.buffer.write(&mut self.hybrid, page, way, &mut NotCached)?;
            self.hybrid.counters.host_pages += 1;
        }
        Ok(pages.len())
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.check_range(pages)?;
        for &page in pages {
            self.hybrid.counters.trimmed_pages += u64::from(self.hybrid.unmap(page));
        }
        Ok(())
    }

    fn reads(&mut self) -> Option<&mut dyn FollowsReads> {
        None
    }

    fn memory(&mut self) -> Option<&mut dyn SharesMemory> {
        Some(self)
    }

    fn flush(&mut self) {} // a page is programmed as it comes: none waits

    fn blocks(&self, _: PlaneId) -> &BlockTable {
        &self.hybrid.blocks
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        let ppn = *self.hybrid.map.get(page as usize)?;
        let bits = self.hybrid.geometry.offset_bits();
        (ppn != UNMAPPED).then_some((ppn >> bits, ppn & ((1 << bits) - 1)))
    }

    fn map_bytes(&self) -> u64 {
        let most = self.buffer.most_logs();
        let log_pages = u64::from(most) * u64::from(self.hybrid.b());
        4 * (self.hybrid.data.len() as u64 + log_pages)
    }
}

impl<B: LogBuffer> SharesMemory for LogMap<B> {
    fn share(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        memory: &mut dyn Residency,
    ) -> Result<(), SpecError> {
        self.hybrid.scheme = scheme;
        self.hybrid.costs = costs;
        self.buffer.settle(&mut self.hybrid, memory);
        Ok(())
    }

    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError> {
        self.check_range(&[page])?;
        let way = self.buffer.way(&self.hybrid, page);
        self.buffer.write(&mut self.hybrid, page, way, memory)?;
        self.hybrid.counters.host_pages += 1;
        Ok(())
    }

    fn audit_beside(&mut self, memory: &mut dyn Residency) -> Result<(), String> {
        self.audit()?;
        let logs = self.buffer.logs(&self.hybrid);
        audit::audit_beside(&mut self.hybrid, &logs, memory)
    }
}
