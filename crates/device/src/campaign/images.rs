//! What a crash may leave of the operations since the last sync.

use flashgc_base::rng::Stream;

use crate::media::Op;

/// The images at one position after the other.
pub(super) struct Images<'a> {
    ops: &'a [Op],
    /// What is durable.
    durable: Vec<u8>,
    /// The first operation that is not.
    first: usize,
    /// Operations done.
    done: usize,
}

impl<'a> Images<'a> {
    /// Those of a medium that held `base` before `ops`.
    pub(super) fn new(base: &[u8], ops: &'a [Op]) -> Self {
        Self { ops, durable: base.to_vec(), first: 0, done: 0 }
    }

    /// Operations done.
    pub(super) fn position(&self) -> usize {
        self.done
    }

    /// Does the next operation; whether there was one.
    pub(super) fn step(&mut self) -> bool {
        let Some(op) = self.ops.get(self.done) else { return false };
        self.done += 1;
        if *op == Op::Sync {
            self.ops[self.first..self.done].iter().for_each(|op| op.apply(&mut self.durable));
            self.first = self.done;
        }
        true
    }

    /// The operations that no sync has covered.
    pub(super) fn unsynced(&self) -> &'a [Op] {
        &self.ops[self.first..self.done]
    }

    /// The medium as the last sync has left it.
    pub(super) fn into_durable(self) -> Vec<u8> {
        self.durable
    }

    /// All that was written is there.
    pub(super) fn all(&self) -> Vec<u8> {
        self.with(|_| true)
    }

    /// One image of those that a crash may leave, and what it is called.
    pub(super) fn draw(&self, rng: &mut Stream) -> (&'static str, Vec<u8>) {
        let open = (self.done - self.first) as u32;
        match rng.below(6) {
            0 => ("nothing unflushed", self.durable.clone()),
            1 => {
                let kept = rng.below(open + 1) as usize;
                let end = self.first + kept;
                ("a prefix", self.with(|index| index < end))
            }
            2 => ("a part", self.with(|_| rng.below(2) == 0)),
            3 => ("nearly all", self.with(|_| rng.below(8) > 0)),
            4 => {
                let mut image = self.with(|index| index + 1 < self.done);
                if let Some(last) = self.ops[self.first..self.done].last() {
                    last.apply_torn(&mut image, |_| rng.below(2) == 0);
                }
                ("the last torn", image)
            }
            _ => {
                let mut image = self.durable.clone();
                for op in &self.ops[self.first..self.done] {
                    match rng.below(4) {
                        0 => {}
                        1 => op.apply_torn(&mut image, |_| rng.below(2) == 0),
                        _ => op.apply(&mut image),
                    }
                }
                ("torn all over", image)
            }
        }
    }

    fn with(&self, mut keep: impl FnMut(usize) -> bool) -> Vec<u8> {
        let mut image = self.durable.clone();
        for index in self.first..self.done {
            if keep(index) {
                self.ops[index].apply(&mut image);
            }
        }
        image
    }
}
