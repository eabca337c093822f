//! Queries of a model: its parameters by name, each checked as it is set.

use std::collections::HashMap;

use crate::closed::greedy::Greedy;
use crate::closed::separation::{Cleaner, Pools};
use crate::closed::superblock::{self, LARGEST_SUPERBLOCK, Superblocks};
use crate::closed::{Class, Classes};
use crate::drive::checked_spare;
use crate::meanfield::selection::MOST_CHOICES;
use crate::meanfield::{Frontier, Selection, Ties};
use crate::{Drive, HotCold, LARGEST_BLOCK, ModelError};

/// The distribution of writes over pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Workload {
    /// All pages are written equally often.
    #[default]
    Uniform,
    /// Rosenblum's hot and cold pages.
    HotCold,
    /// Pages are written in proportion to 1 / rank^theta.
    Zipf,
    /// Pages belong to these classes, each with its share of the writes.
    Classes(Vec<Class>),
}

/// A parameter that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Pages a block, b.
    PagesPerBlock,
    /// Spare factor, S_f.
    Spare,
    /// The number of blocks drawn for each collection, d.
    D,
    /// The number of blocks stored, c.
    C,
    /// Share of the blocks among which windowed greedy chooses.
    Window,
    /// Hot share of the pages.
    F,
    /// Share of the writes that goes to hot pages.
    R,
    /// Exponent of a Zipf distribution.
    Theta,
    /// The number of physical blocks. It decides how many pages a Zipf distribution has, and how many
    /// superblocks a drive has.
    Blocks,
}

impl Number {
    /// All numbers with the names that people type.
    pub const NAMES: [(&'static str, Number); 9] = [
        ("pages_per_block", Number::PagesPerBlock),
        ("spare", Number::Spare),
        ("d", Number::D),
        ("c", Number::C),
        ("window", Number::Window),
        ("f", Number::F),
        ("r", Number::R),
        ("theta", Number::Theta),
        ("blocks", Number::Blocks),
    ];

    /// The number called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, number)| number)
    }
}

/// The most stored blocks that a query may ask for. More change no significant digit.
pub const MOST_STORED: u32 = 64;

/// Blocks that are opened, filled, collected and erased together, and the share of them that is
/// parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    dies: u32,
    planes: u32,
    parity: Option<u32>,
}

impl Superblock {
    /// One block of each of `planes` planes of each of `dies` dies. With `parity` one in so many
    /// of these blocks is parity.
    ///
    /// # Errors
    /// No die or no plane; parity of blocks that are not a multiple of it, or that lie on one die.
    pub fn new(dies: u32, planes: u32, parity: Option<u32>) -> Result<Self, ModelError> {
        let blocks = dies.saturating_mul(planes);
        if blocks == 0 || blocks > LARGEST_SUPERBLOCK {
            return Err(ModelError::new(
                format!("superblock: found {blocks} blocks, expected 1 to {LARGEST_SUPERBLOCK}"),
                "superblock=\"dies=16,planes=4\"",
            ));
        }
        if let Some(parts) = parity {
            let hint = format!("superblock=\"dies={parts},planes=1\"");
            if parts < 2 {
                return Err(ModelError::new(
                    format!("parity: found 1/{parts}, expected 1/2 or less"),
                    "parity=\"1/16\"",
                ));
            }
            if !blocks.is_multiple_of(parts) {
                return Err(ModelError::new(
                    format!(
                        "parity: 1/{parts} does not go with superblocks of {blocks} block{}: whole \
                         blocks are parity",
                        if blocks == 1 { "" } else { "s" }
                    ),
                    hint,
                ));
            }
            if dies == 1 {
                return Err(ModelError::new(
                    format!(
                        "parity: 1/{parts} does not go with superblocks on one die, which fails as a \
                         whole"
                    ),
                    hint,
                ));
            }
        }
        Ok(Self { dies, planes, parity })
    }

    /// The dies on which its blocks lie.
    pub fn dies(&self) -> u32 {
        self.dies
    }

    /// The planes of each die on which its blocks lie.
    pub fn planes(&self) -> u32 {
        self.planes
    }

    /// The number of its blocks.
    pub fn blocks(&self) -> u32 {
        self.dies * self.planes
    }

    /// The number of parts of which one is parity; `None` without parity.
    pub fn parity(&self) -> Option<u32> {
        self.parity
    }

    /// The share of its blocks that holds data.
    pub fn data_share(&self) -> f64 {
        self.parity.map_or(1.0, |parts| f64::from(parts - 1) / f64::from(parts))
    }
}

impl Default for Superblock {
    fn default() -> Self {
        Self { dies: 1, planes: 1, parity: None }
    }
}

/// A query: the parameters of all models, with their defaults.
#[derive(Clone, Debug)]
pub struct Query {
    pages_per_block: u32,
    largest_block: u32,
    spare: f64,
    d: u32,
    c: u32,
    window: f64,
    f: f64,
    r: f64,
    theta: f64,
    blocks: u32,
    /// The distribution of writes over pages.
    pub workload: Workload,
    /// The blocks that writes and copies go to.
    pub frontier: Frontier,
    /// The choice of greedy among several blocks with the fewest valid pages.
    pub ties: Ties,
    /// The cleaning of the pools of `separation`.
    pub cleaner: Cleaner,
    /// The blocks that the model `superblock` joins.
    pub superblock: Superblock,
    /// The open and the erased superblocks of the model `superblock`.
    pub superblock_frontier: superblock::Frontier,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            pages_per_block: 64,
            largest_block: LARGEST_BLOCK,
            spare: 0.1,
            d: 10,
            c: 0,
            window: 0.1,
            f: 0.2,
            r: 0.8,
            theta: 0.99,
            blocks: 10_000,
            workload: Workload::Uniform,
            frontier: Frontier::Single,
            ties: Ties::Latest,
            cleaner: Cleaner::Greedy,
            superblock: Superblock::default(),
            superblock_frontier: superblock::Frontier::default(),
        }
    }
}

impl Query {
    /// A query whose blocks may have as many pages as a superblock.
    pub fn of_superblocks() -> Self {
        Self { largest_block: LARGEST_SUPERBLOCK, ..Self::default() }
    }

    /// Sets one parameter.
    ///
    /// # Errors
    /// A value that the parameter does not take.
    pub fn set(&mut self, number: Number, value: f64) -> Result<(), ModelError> {
        match number {
            Number::PagesPerBlock => {
                let hint = "drives have 64 to 2048";
                self.pages_per_block =
                    whole("pages per block", value, 1, self.largest_block, hint)?;
            }
            Number::Spare => self.spare = checked_spare(value)?,
            Number::D => {
                self.d = whole("d", value, 1, MOST_CHOICES, "d=10 is already near greedy")?;
            }
            Number::C => self.c = whole("c", value, 0, MOST_STORED, "c=5 gives most of the gain")?,
            Number::Window => {
                let hint = "a share of all blocks, such as 10%; 0 is fifo, 1 is greedy";
                self.window = between("window", value, 0.0, 1.0, hint)?;
            }
            Number::F => self.f = HotCold::new(value, self.r)?.f(),
            Number::R => self.r = HotCold::new(self.f, value)?.r(),
            Number::Theta => {
                Classes::zipf(value, 1)?;
                self.theta = value;
            }
            Number::Blocks => {
                self.blocks = whole("blocks", value, 1, u32::MAX, "drives have 10000 and more")?;
            }
        }
        Ok(())
    }

    /// The value of one parameter.
    pub fn get(&self, number: Number) -> f64 {
        match number {
            Number::PagesPerBlock => self.pages_per_block.into(),
            Number::Spare => self.spare,
            Number::D => self.d.into(),
            Number::C => self.c.into(),
            Number::Window => self.window,
            Number::F => self.f,
            Number::R => self.r,
            Number::Theta => self.theta,
            Number::Blocks => self.blocks.into(),
        }
    }

    /// The drive of the query.
    ///
    /// # Errors
    /// Blocks that only superblocks may have; the parameters were checked when they were set.
    pub fn drive(&self) -> Result<Drive, ModelError> {
        Drive::new(self.pages_per_block, self.spare)
    }

    /// The number of superblocks, S. The blocks are rounded up to whole superblocks.
    pub fn superblock_count(&self) -> u32 {
        self.blocks.div_ceil(self.superblock.blocks())
    }

    /// The drive of superblocks of the query.
    ///
    /// # Errors
    /// Too many pages in a superblock; a spare factor that is too small for the frontier.
    pub fn superblocks(&self) -> Result<Superblocks, ModelError> {
        let parity = self.superblock.parity.map_or(0, |parts| self.superblock.blocks() / parts);
        let pages = self.pages_per_block.saturating_mul(self.superblock.blocks() - parity);
        Superblocks::new(self.superblock_count(), pages, self.spare, self.superblock_frontier)
    }

    /// The selection of d choices with memory.
    ///
    /// # Errors
    /// A memory with d = 1.
    pub fn d_choices(&self) -> Result<Selection, ModelError> {
        Selection::d_choices(self.d, self.c)
    }

    /// The hot and cold shares of the query.
    ///
    /// # Errors
    /// None, since they were checked when they were set.
    pub fn hot_cold(&self) -> Result<HotCold, ModelError> {
        HotCold::new(self.f, self.r)
    }

    /// Share of the blocks that windowed greedy looks at.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Logical pages of the drive of `blocks` blocks: U b = (1 - S_f) N b.
    pub fn pages(&self) -> u64 {
        let physical = f64::from(self.blocks) * f64::from(self.pages_per_block);
        ((1.0 - self.spare) * physical).round().max(1.0) as u64
    }

    fn classes(&self) -> Result<Classes, ModelError> {
        match &self.workload {
            Workload::Uniform => Ok(Classes::uniform()),
            Workload::HotCold => Ok(self.hot_cold()?.into()),
            Workload::Zipf => Classes::zipf(self.theta, self.pages()),
            Workload::Classes(classes) => Classes::new(classes.iter().copied()),
        }
    }
}

/// Intermediate results of one query that the next one like it can use again.
#[derive(Debug, Default)]
pub struct Kept {
    classes: Option<([f64; 3], u64, Classes)>,
    greedy: HashMap<u32, Greedy>,
    pools: Option<((u32, Cleaner), Pools)>,
}

impl Kept {
    /// The classes of pages that `query` asks about. Between two calls with the same [`Kept`], only
    /// numbers may have changed.
    ///
    /// # Errors
    /// Classes that do not sum to 1.
    pub fn classes(&mut self, query: &Query) -> Result<&Classes, ModelError> {
        let numbers = [query.f, query.r, query.theta];
        let pages = if query.workload == Workload::Zipf { query.pages() } else { 0 };
        let stale = self.classes.as_ref().is_none_or(|(n, p, _)| (*n, *p) != (numbers, pages));
        if stale {
            self.classes = Some((numbers, pages, query.classes()?));
            self.pools = None;
        }
        match &self.classes {
            Some((_, _, classes)) => Ok(classes),
            None => Err(ModelError::new("classes: none", "this should not happen")),
        }
    }

    /// The pools of a separation of the query's classes; see [`Kept::classes`].
    ///
    /// # Errors
    /// As for [`Kept::classes`].
    pub fn pools(&mut self, query: &Query) -> Result<&Pools, ModelError> {
        let key = (query.pages_per_block, query.cleaner);
        self.classes(query)?; // Forgets pools of other classes.
        let pools = match self.pools.take() {
            Some(known) if known.0 == key => known,
            _ => (key, Pools::new(key.0, self.classes(query)?, key.1)),
        };
        Ok(&self.pools.insert(pools).1)
    }

    /// The sums of greedy for one number of pages a block.
    pub fn greedy(&mut self, pages_per_block: u32) -> &Greedy {
        self.greedy.entry(pages_per_block).or_insert_with(|| Greedy::new(pages_per_block))
    }
}

fn whole(name: &str, value: f64, least: u32, most: u32, hint: &str) -> Result<u32, ModelError> {
    if value.fract() == 0.0 && (f64::from(least)..=f64::from(most)).contains(&value) {
        return Ok(value as u32);
    }
    Err(ModelError::new(
        format!("{name}: found {value}, expected a whole number from {least} to {most}"),
        hint,
    ))
}

fn between(name: &str, value: f64, least: f64, most: f64, hint: &str) -> Result<f64, ModelError> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::new(format!("{name}: found {value}, expected {least} to {most}"), hint))
}
