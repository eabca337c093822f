//! Block allocation: which erased block of the pool is used next. One policy a file; this file
//! is the interface and the registry.

mod fifo;
mod lowest_erase;
mod random;
mod sfl;

use crate::blocks::BlockId;
use crate::frontier::Frontier;
use flashgc_base::naming::subject;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Documented, Params, Spec, SpecError};
use flashgc_base::table::bytes_of;

/// A pool of erased blocks that says in which order they are used.
pub trait Pool: State + Send {
    /// Puts `block` into the pool. It was erased `erases` times so far.
    fn put(&mut self, block: BlockId, erases: u32);

    /// Takes the block to use next from the pool; `None` if the pool is empty.
    fn take(&mut self) -> Option<BlockId>;

    /// Takes `block` from the pool, out of turn. The pool must have it.
    fn remove(&mut self, block: BlockId);

    /// The number of blocks that wait.
    fn len(&self) -> usize;

    /// Returns `true` if no block waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The blocks that wait, in any order.
    fn blocks(&self) -> Vec<BlockId>;
}

/// One registered policy, as listings, help texts and constructors need it.
pub struct AllocationInfo {
    /// The name people type.
    pub name: &'static str,
    /// The policy's source file, whose `//!` header documents it.
    source: &'static str,
    /// Bytes that a pool takes for each block that waits.
    entry: u64,
    /// `true` if the policy draws random numbers.
    draws: bool,
    /// Makes an empty pool; the first argument is the number of blocks for which it has room.
    make: fn(usize, Stream) -> Box<dyn Pool>,
}

impl Documented for AllocationInfo {
    fn source(&self) -> &'static str {
        self.source
    }
}

// The list of policies: a new one is one file and one line here. The first is the default.
static POLICIES: &[AllocationInfo] = &[
    AllocationInfo {
        name: "fifo",
        source: include_str!("fifo.rs"),
        entry: bytes_of::<BlockId>(1),
        draws: false,
        make: |room, _| Box::new(fifo::Fifo::new(room)),
    },
    AllocationInfo {
        name: "lowest-erase",
        source: include_str!("lowest_erase.rs"),
        entry: bytes_of::<lowest_erase::Waiting>(1),
        draws: false,
        make: |room, _| Box::new(lowest_erase::LowestErase::new(room)),
    },
    AllocationInfo {
        name: "sfl",
        source: include_str!("sfl.rs"),
        entry: bytes_of::<sfl::Waiting>(1),
        draws: false,
        make: |room, _| Box::new(sfl::Sfl::new(room)),
    },
    AllocationInfo {
        name: "random",
        source: include_str!("random.rs"),
        entry: bytes_of::<BlockId>(1),
        draws: true,
        make: |room, rng| Box::new(random::Random::new(room, rng)),
    },
];

/// Every registered policy, in the order in which listings show them.
pub fn allocation_policies() -> &'static [AllocationInfo] {
    POLICIES
}

/// A registered allocation policy.
#[derive(Clone, Copy)]
pub struct Allocation(&'static AllocationInfo);

impl Allocation {
    /// Reads a policy's name.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("block allocation", POLICIES, |info| info.name)?;
        Params::resolve(&spec, &[])?;
        Ok(Self(info))
    }

    /// Returns `true` for the policy that a drive has by default.
    pub fn is_default(self) -> bool {
        self.0.name == POLICIES[0].name
    }

    /// Returns `true` if the policy draws random numbers.
    pub fn draws(self) -> bool {
        self.0.draws
    }

    /// Checks that a drive with this frontier has erased blocks to choose from, unless the policy
    /// is the default.
    pub(crate) fn check(self, frontier: Frontier) -> Result<(), SpecError> {
        if self.is_default() {
            return Ok(());
        }
        frontier.check_pool(
            format!("{} {self}", subject("allocation")),
            "without a pool the erased victim is used next, so there is no choice",
        )
    }

    /// An empty pool with room for `room` blocks; its random numbers come from `seed`.
    pub fn pool(self, room: u32, seed: u64) -> Box<dyn Pool> {
        self.pool_from(room, Stream::new(seed, "allocation"))
    }

    /// An empty pool with room for `room` blocks that draws from `rng`.
    pub(crate) fn pool_from(self, room: u32, rng: Stream) -> Box<dyn Pool> {
        (self.0.make)(room as usize, rng)
    }

    /// Bytes of a pool with room for `room` blocks.
    pub(crate) fn bytes(self, room: u32) -> u64 {
        self.0.entry * u64::from(room)
    }
}

impl Default for Allocation {
    fn default() -> Self {
        Self(&POLICIES[0])
    }
}

/// Writes the name of the policy.
impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Allocation({self})")
    }
}
