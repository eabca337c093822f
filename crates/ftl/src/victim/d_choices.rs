//! The best of d random blocks and of c that earlier picks left over.
//!
//! Each pick draws d candidates with replacement. The victim is the block with the fewest valid
//! pages among the drawn and the c stored blocks. The next c best blocks are stored for the next
//! pick. Counts of stored blocks are read again at each pick. Equal counts: the first drawn block
//! wins, and drawn blocks win over stored ones. With c = 0 this is plain d-choices; with d = 1 and
//! c = 0 it is random.
//!
//! Formula: `S = draws + stored; victim = argmin_S v; stored = the c smallest of S without it`.
//!
//! # Cost
//! A collection: d random numbers and d + c reads of the block table. A write: nothing.
//!
//! # Source
//! Van Houdt, ValueTools 2013, section 2.3; d-choices: Van Houdt, SIGMETRICS 2013.

use super::{VictimPolicy, draw};
use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use flashgc_base::refuse_if;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};
use flashgc_base::table::bytes_of;

/// The victim policy that the header of this file describes.
#[derive(State)]
pub struct DChoices {
    #[snapshot(skip)]
    draws: u32,
    #[snapshot(skip)]
    memory: usize,
    stored: Vec<BlockId>,
    /// The `memory + 1` best blocks of the present pick, the best first.
    #[snapshot(skip)]
    best: Vec<(u32, BlockId)>,
}

impl VictimPolicy for DChoices {
    type Tracker = ();
    const NAME: &'static str = "d-choices";
    const PARAMS: &'static [Param] = &[
        Param::integer("d", (1, 100_000), Some("10"))
            .help("blocks drawn at random, with replacement"),
        Param::integer("c", (0, 10_000), Some("0")).help("blocks remembered from earlier picks"),
    ];
    const DRAWS: bool = true;

    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError> {
        let memory = params.integer("c") as usize;
        refuse_if!(
            memory as u64 >= u64::from(blocks.len()),
            "a smaller c, or greedy, which knows every block",
            "d-choices: c={memory}, expected less than the number of blocks, {}",
            blocks.len()
        );
        let mut stored = Vec::with_capacity(memory);
        while stored.len() < memory {
            let block = rng.below(blocks.len());
            if !stored.contains(&block) {
                stored.push(block);
            }
        }
        let best = Vec::with_capacity(memory + 2);
        Ok(Self { draws: params.integer("d") as u32, memory, stored, best })
    }

    fn bytes(&self, _: &Geometry) -> u64 {
        bytes_of::<BlockId>(self.stored.capacity())
            + bytes_of::<(u32, BlockId)>(self.best.capacity())
    }

    fn tracker(&self, _: &BlockTable) {}

    fn pick(&mut self, blocks: &BlockTable, (): &(), rng: &mut Stream) -> Option<BlockId> {
        self.best.clear();
        for _ in 0..self.draws {
            let block = draw(blocks, rng)?;
            self.offer(blocks.masked_count(block), block);
        }
        for index in 0..self.stored.len() {
            let block = self.stored[index];
            if blocks.is_candidate(block) {
                self.offer(blocks.masked_count(block), block);
            }
        }
        self.stored.clear();
        self.stored.extend(self.best[1..].iter().map(|&(_, block)| block));
        Some(self.best[0].1)
    }

    fn guess(&self, blocks: &BlockTable, (): &(), rng: &Stream) -> Option<BlockId> {
        if self.draws > FEW {
            return None;
        }
        let mut rng = rng.clone();
        let drawn = (0..self.draws).map(|_| rng.below(blocks.len()));
        let all = drawn.chain(self.stored.iter().copied().take(FEW as usize));
        all.min_by_key(|&block| blocks.masked_count(block))
    }
}

/// The most draws that a guess repeats.
const FEW: u32 = 32;

impl DChoices {
    /// Keeps `block` if it is among the best so far. Among equal blocks, the one offered first
    /// ranks first.
    #[inline]
    fn offer(&mut self, valid: u32, block: BlockId) {
        let full = self.best.len() > self.memory;
        if full && valid >= self.best[self.memory].0 {
            return;
        }
        if self.best.iter().any(|&(_, kept)| kept == block) {
            return;
        }
        let place = self.best.partition_point(|&(kept, _)| kept <= valid);
        if full {
            self.best.pop();
        }
        self.best.insert(place, (valid, block));
    }
}
