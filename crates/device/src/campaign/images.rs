//! Makes the images that a crash may leave, given the operations since the last sync.

use flashgc_base::rng::Stream;

use crate::media::{Op, State};

/// The states of a medium, one operation after the other.
pub(super) struct Images<'a> {
    ops: &'a [Op],
    state: State,
    /// The number of operations done.
    done: usize,
    /// The number of operations done when the last sync succeeded.
    synced: usize,
}

impl<'a> Images<'a> {
    /// Returns the images of a medium that was `base` before `ops`.
    pub(super) fn new(base: &State, ops: &'a [Op]) -> Self {
        Self { ops, state: base.clone(), done: 0, synced: 0 }
    }

    /// Operations done.
    pub(super) fn position(&self) -> usize {
        self.done
    }

    /// Returns the number of operations done when the last sync succeeded. A loss of power leaves
    /// no older state than that.
    pub(super) fn synced(&self) -> usize {
        self.synced
    }

    /// Does the next operation. Returns `false` if there is none.
    pub(super) fn step(&mut self) -> bool {
        let Some(op) = self.ops.get(self.done) else { return false };
        self.done += 1;
        self.state.step(op);
        if *op == Op::Sync {
            self.synced = self.done;
        }
        true
    }

    /// Returns the medium as the end of the process leaves it: all written bytes can be read.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Draws one of the images that a loss of power may leave. Returns the name of its kind, and
    /// the image.
    pub(super) fn draw(&self, rng: &mut Stream) -> (&'static str, Vec<u8>) {
        let State { durable, unsynced, .. } = &self.state;
        let open = unsynced.len();
        match rng.below(7) {
            0 => ("nothing unflushed", durable.clone()),
            1 => {
                let end = rng.below(open as u32 + 1) as usize;
                ("a prefix", self.with(|index| index < end))
            }
            2 => ("a part", self.with(|_| rng.below(2) == 0)),
            3 => ("nearly all", self.with(|_| rng.below(8) > 0)),
            4 => ("all that waited", self.with(|_| true)),
            5 => {
                let mut image = self.with(|index| index + 1 < open);
                if let Some(last) = unsynced.last() {
                    last.apply_torn(&mut image, |_| rng.below(2) == 0);
                }
                ("the last torn", image)
            }
            _ => {
                let mut image = durable.clone();
                for op in unsynced {
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
        let mut image = self.state.durable.clone();
        for (index, op) in self.state.unsynced.iter().enumerate() {
            if keep(index) {
                op.apply(&mut image);
            }
        }
        image
    }
}
