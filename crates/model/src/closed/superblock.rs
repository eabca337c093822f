//! Greedy over superblocks: few large blocks, of which some are open or erased.
//!
//! Erased space is out of play: it has no data, so no collection can gain space there. Let x be the
//! erased space between two collections, on average and in superblocks. A pool keeps L superblocks
//! erased. If the host has an open superblock of its own (`pool`, `double`), half of that is erased
//! on average. Copies have another one. A collection takes victims until all valid pages of the
//! last one fit there. As each victim frees 1 / WA of a superblock, between nothing and 1 / WA of
//! the copies' superblock is erased after the collection, on average half of this.
//!
//! In the other frontiers the host fills what a collection has freed, so half of that is erased on
//! average. `single` frees 1 / WA, by one victim. `mixed` and `compact` free a superblock or more,
//! by ceil(WA) victims. Greedy does with the space in play what it does with a drive of infinitely
//! many blocks of n pages. n are the pages of a superblock beside parity, and S superblocks are on
//! the drive.
//!
//! Formula: `WA = greedy(n, S_x)` as in `greedy`, `1 - S_x = (1 - S_f) S / (S - x)`;
//! `x = L + 1/2 + 1/(2 WA)` for `pool:low=L`, `L + ceil(WA)/(2 WA)` for `mixed:low=L`,
//! `1/(2 WA)` for `single`, `double` as `pool` and `compact` as `mixed` with L = 0. For large n,
//! `WA = a / (a + W0(-a e^-a))` with `a = 1 / (1 - S_x)` and Lambert's W. With parity of one block
//! in N, all programs are `WA N / (N - 1)`, and `1 - (1 - S_f) (N - 1) / N` of all flash is spare.
//!
//! # Valid for
//! Uniform writes, and collections that take no time, as on drives without a clock. Against
//! simulation it is within 0.15% from 128 superblocks on, within 0.5% at 64, and within 2% at 32.
//! The largest differences are near a whole WA: there, all collections leave the same rest of the
//! copies' superblock, which need not be half of 1 / WA (docs/models.md).
//!
//! # Source
//! x is ours. It is derived, and nothing in it is fitted. The rest is as in `greedy`.

use super::greedy::Greedy;
use crate::drive::checked_spare;
use crate::{ModelError, root};

/// The most pages of data that a superblock may have in a model.
pub const LARGEST_SUPERBLOCK: u32 = 1 << 20;

/// The open superblocks that writes go to, and the erased ones that wait in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frontier {
    /// The victim keeps its valid pages, and takes the writes of the host behind them. No pool.
    #[default]
    Single,
    /// The host and the copies have an open superblock each. No pool.
    Double,
    /// The host fills what collections leave, which is a superblock at least. No pool.
    Compact,
    /// As `Double`, with a pool.
    Pool {
        /// The superblocks that the pool keeps erased.
        low: u32,
    },
    /// As `Compact`, with a pool.
    Mixed {
        /// The superblocks that the pool keeps erased.
        low: u32,
    },
}

impl Frontier {
    /// Returns the superblocks that the pool keeps erased.
    pub fn kept_erased(self) -> u32 {
        match self {
            Self::Single | Self::Double | Self::Compact => 0,
            Self::Pool { low } | Self::Mixed { low } => low,
        }
    }

    /// Returns the superblocks that a drive must have beyond its data: those that the pool keeps,
    /// and the open ones.
    pub fn kept(self) -> u32 {
        let open = match self {
            Self::Single | Self::Mixed { .. } => 1,
            Self::Double | Self::Compact | Self::Pool { .. } => 2,
        };
        self.kept_erased().saturating_add(open)
    }

    /// Returns `true` if the host fills what collections leave, a superblock at least.
    fn shares_whole_superblocks(self) -> bool {
        matches!(self, Self::Compact | Self::Mixed { .. })
    }

    /// Returns the space out of play at this write amplification, x in superblocks, on average
    /// between two collections.
    pub fn out_of_play(self, write_amplification: f64) -> f64 {
        self.out_of_play_by(write_amplification, write_amplification.ceil())
    }

    /// Returns x if a collection takes `victims` victims. Only `compact` and `mixed` depend on it.
    fn out_of_play_by(self, write_amplification: f64, victims: f64) -> f64 {
        let shared = match self {
            Self::Single => 1.0,
            Self::Double | Self::Pool { .. } => write_amplification + 1.0,
            Self::Compact | Self::Mixed { .. } => victims,
        };
        f64::from(self.kept_erased()) + shared / (2.0 * write_amplification)
    }
}

/// A drive of superblocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Superblocks {
    count: f64,
    pages: u32,
    spare: f64,
    frontier: Frontier,
}

/// The answer for one drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Pages of data programmed for each page that the host writes, WA.
    pub write_amplification: f64,
    /// Pages of data of a superblock, n.
    pub pages: u32,
    /// The space out of play, x in superblocks.
    pub out_of_play: f64,
    /// The spare factor of the space in play, S_x.
    pub spare_in_play: f64,
    /// The relative residual of WA = greedy(n, S_x).
    pub residual: f64,
}

impl Superblocks {
    /// A drive of `count` (S) superblocks with `pages` (n) pages of data each. The share `spare`
    /// (S_f) of the flash beside parity is not offered to the host.
    ///
    /// # Errors
    /// n outside 1 to [`LARGEST_SUPERBLOCK`]; S_f that is not strictly between 0 and 1, or too small
    /// for the superblocks that the frontier keeps.
    pub fn new(count: u32, pages: u32, spare: f64, frontier: Frontier) -> Result<Self, ModelError> {
        if !(1..=LARGEST_SUPERBLOCK).contains(&pages) {
            return Err(ModelError::new(
                format!(
                    "pages per block: found {pages} pages of data in a superblock, expected 1 to \
                     {LARGEST_SUPERBLOCK}"
                ),
                "smaller blocks, or fewer blocks in a superblock",
            ));
        }
        let drive = Self { count: count.into(), pages, spare: checked_spare(spare)?, frontier };
        let (has, kept) = (drive.spare * drive.count, frontier.kept());
        // The product may be one rounding below a whole number.
        if has * (1.0 + 4.0 * f64::EPSILON) >= f64::from(kept) {
            return Ok(drive);
        }
        let least = (least_spare(count, frontier) * 1e4).ceil() / 1e2;
        let hint = if least < 100.0 { format!("spare=\"{least}%\", or ") } else { String::new() };
        Err(ModelError::new(
            format!(
                "spare: found {spare}, which is {has:.2} of {count} superblocks, expected at least \
                 {kept}: the frontier keeps as many erased or open"
            ),
            format!("{hint}more blocks"),
        ))
    }

    /// Returns the spare factor of the space in play if `out_of_play` superblocks are not.
    fn spare_in_play(&self, out_of_play: f64) -> f64 {
        (self.spare * self.count - out_of_play) / (self.count - out_of_play)
    }

    /// Solves the model; `greedy` has the sums for the pages of data of a superblock.
    ///
    /// # Errors
    /// None are known.
    pub fn solve(&self, greedy: &Greedy) -> Result<Solution, ModelError> {
        let at = |out_of_play| greedy.write_amplification(self.spare_in_play(out_of_play));
        // The number of victims of a collection is the smallest k with WA <= k. At a given k, x falls
        // as WA rises, so WA <= k is what the answer for WA = k has.
        let kept = f64::from(self.frontier.kept_erased());
        let victims =
            if self.frontier.shares_whole_superblocks() { at(kept + 0.5).ceil() } else { 1.0 };
        let out_of_play = |wa: f64| self.frontier.out_of_play_by(wa, victims);
        let equation = |wa: f64| at(out_of_play(wa)) - wa;
        // The equation falls. At its bounds it is at least and at most 0.
        let (least, most) = ((victims - 1.0).max(1.0), at(out_of_play((victims - 1.0).max(1.0))));
        let write_amplification = if most <= least {
            least
        } else {
            root::find("write amplification", least, most, equation)?
        };
        let out_of_play = out_of_play(write_amplification);
        Ok(Solution {
            write_amplification,
            pages: self.pages,
            out_of_play,
            spare_in_play: self.spare_in_play(out_of_play),
            residual: (equation(write_amplification) / write_amplification).abs(),
        })
    }

    /// Returns the pages of data of a superblock, n.
    pub fn pages(&self) -> u32 {
        self.pages
    }
}

/// Returns the least spare factor of a drive of `count` superblocks that keeps those of `frontier`.
pub(crate) fn least_spare(count: u32, frontier: Frontier) -> f64 {
    f64::from(frontier.kept()) / f64::from(count)
}
