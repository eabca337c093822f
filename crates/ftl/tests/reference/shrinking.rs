//! The naive superblocks that go on without their bad blocks: lists of the erases that each block bears.

/// The blocks of all superblocks.
pub struct Shrinking {
    /// The erases that each block of each superblock bears: those of one die after the other.
    pub limits: Vec<Vec<u32>>,
    /// The planes of a die in a superblock.
    pub planes: usize,
    /// The dies of a stripe, one of which has the parity.
    pub stripe: Option<usize>,
    /// The pages of a block, with those of parity.
    pub pages: usize,
    /// The share that a superblock must have left, in percent.
    pub least: usize,
    /// The pages that the drive may lose.
    pub reserve: usize,
    pub retired: Vec<usize>,
}

impl Shrinking {
    /// The pages of data that a superblock has after so many erases.
    fn left(&self, superblock: usize, erases: u32) -> usize {
        let is_good = |limit: &&u32| **limit > erases;
        let dies = self.limits[superblock].chunks(self.planes);
        match self.stripe {
            None => dies.map(|die| die.iter().filter(is_good).count() * self.pages).sum(),
            Some(stripe) => {
                // A die with a bad plane leaves, and a stripe has a die of parity.
                let whole: Vec<bool> =
                    dies.map(|die| die.iter().filter(is_good).count() == self.planes).collect();
                let of_stripes = whole.chunks(stripe);
                let good = of_stripes.map(|dies| dies.iter().filter(|&&whole| whole).count());
                let good: Vec<usize> = good.collect();
                match good.iter().all(|&dies| dies > 1) {
                    true => good.iter().map(|dies| (dies - 1) * self.planes * self.pages).sum(),
                    false => 0,
                }
            }
        }
    }

    fn has_enough(&self, superblock: usize, erases: u32) -> bool {
        let (left, whole) = (self.left(superblock, erases), self.left(superblock, 0));
        left > 0 && 100 * left >= self.least * whole
    }

    /// The pages that a superblock in use has lost.
    pub fn lost(&self, superblock: usize, erases: u32) -> usize {
        match self.retired.contains(&superblock) {
            true => 0,
            false => self.left(superblock, 0) - self.left(superblock, erases),
        }
    }

    /// Retires a superblock that was erased, if too little is left. Returns `true` if so.
    pub fn erased(&mut self, superblock: usize, erases: u32) -> bool {
        let retires = !self.has_enough(superblock, erases);
        if retires {
            self.retired.push(superblock);
        }
        retires
    }

    /// The pages that the drive has lost.
    pub fn lost_in_all(&self, erases: &[u32]) -> usize {
        let lost = (0..).zip(erases).map(|(superblock, &erases)| {
            match self.retired.contains(&superblock) {
                true => self.left(superblock, 0),
                false => self.lost(superblock, erases),
            }
        });
        lost.sum()
    }
}
