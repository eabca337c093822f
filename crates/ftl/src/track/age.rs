//! The age of a block, on the clock of pages programmed, and the event from which it counts.

use crate::blocks::BlockId;
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;
use flashgc_base::table::bytes_of;

/// The event from which a block's age counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeBasis {
    /// Since the block was closed, after the last write to it.
    LastWrite,
    /// Since one of its pages last became invalid.
    LastInvalidate,
    /// Since one of its pages last became invalid, but at most since the last collection.
    LastCollection,
}

impl AgeBasis {
    /// The parameter `age` of policies that weigh a block's age.
    pub const PARAM: Param = Param::word(
        "age",
        &["last_write", "last_invalidate", "last_collection"],
        Some("last_write"),
    )
    .help(
        "age since the block was filled, since it last lost a page, or the latter, but at \
         most since the last collection",
    );

    /// The parameter `weigh` of policies that may use the logarithm of the age.
    pub const WEIGH: Param = Param::word("weigh", &["age", "log"], Some("age"))
        .help("the age itself, or the natural logarithm of 1 + age");

    /// The basis called `name`; `last_write` for any other name.
    pub fn named(name: &str) -> Self {
        match name {
            "last_invalidate" => Self::LastInvalidate,
            "last_collection" => Self::LastCollection,
            _ => Self::LastWrite,
        }
    }
}

/// The start of every block's age. If ages count from lost pages, it keeps 8 bytes a block, else
/// nothing.
#[derive(Clone, Debug, State)]
pub struct Ages {
    #[snapshot(skip)]
    basis: AgeBasis,
    #[snapshot(table)]
    lost: Vec<u64>,
    /// The clock at the last collection. `from` is the value that `collected` had at the last pick.
    /// Ages count from it until the next pick.
    collected: u64,
    from: u64,
}

impl Ages {
    /// Ages without blocks yet; [`Ages::start`] makes room for them.
    pub fn new(basis: AgeBasis) -> Self {
        Self { basis, lost: Vec::new(), collected: 0, from: 0 }
    }

    /// Bytes that [`Ages::start`] makes room for.
    pub fn bytes(&self, blocks: u32) -> u64 {
        if self.restart() { bytes_of::<u64>(blocks as usize) } else { 0 }
    }

    /// Makes room for `blocks` blocks, all of age 0 at clock 0.
    pub fn start(&mut self, blocks: u32) {
        if self.restart() {
            self.lost = vec![0; blocks as usize];
        }
    }

    /// The age at `now` of `block`, which was closed at `closed`, in pages programmed.
    #[inline(always)]
    pub fn at(&self, block: BlockId, closed: u64, now: u64) -> f64 {
        let since = match self.basis {
            AgeBasis::LastWrite => closed,
            AgeBasis::LastInvalidate => self.lost[block as usize],
            AgeBasis::LastCollection => self.lost[block as usize].max(self.from),
        };
        (now - since) as f64
    }

    /// `block` lost a page at `time`.
    #[inline(always)]
    pub fn lost(&mut self, block: BlockId, time: u64) {
        if self.restart() {
            self.lost[block as usize] = time;
        }
    }

    /// A block is collected at `time`.
    #[inline(always)]
    pub fn collected(&mut self, time: u64) {
        self.collected = time;
    }

    /// Called before a pick. Returns `true` if blocks became younger, because there was another
    /// collection since the pick before.
    #[inline(always)]
    pub fn settle(&mut self) -> bool {
        let former = std::mem::replace(&mut self.from, self.collected);
        self.basis == AgeBasis::LastCollection && former != self.from
    }

    /// Returns `true` if losing a page makes a block younger.
    #[inline(always)]
    pub fn restart(&self) -> bool {
        self.basis != AgeBasis::LastWrite
    }
}
