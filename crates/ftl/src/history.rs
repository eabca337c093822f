//! The history of blocks: the class for which each block was opened, and the time at which it was
//! closed. It is kept only for policies that ask for it.

use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};

use flashgc_base::table::bytes_of;

/// A class of data. Every class has an open block of its own, and a block keeps the class for which
/// it was opened; the first contents of a drive belong to class 0.
pub type Class = u8;

/// The class of a block on a drive without a placement.
pub const NO_CLASS: Class = Class::MAX;

/// Columns of a block table, one entry for each block. They never move.
#[derive(Clone, Debug, State)]
pub(crate) struct History {
    /// The class for which each block was opened last as a normal block; [`NO_CLASS`] without a
    /// placement.
    #[snapshot(table)]
    pub(crate) classes: Vec<Class>,
    /// The clock when each block became a candidate last.
    #[snapshot(table)]
    pub(crate) closed_at: Vec<u64>,
    /// The host's clock when each block became a candidate last.
    #[snapshot(table)]
    pub(crate) closed_at_host: Vec<u64>,
    /// Pages that the host has written, as of the last close or pick.
    pub(crate) host_clock: u64,
}

impl History {
    /// Bytes of the columns for `blocks` blocks.
    pub(crate) fn bytes(blocks: u32) -> u64 {
        let blocks = blocks as usize;
        bytes_of::<Class>(blocks) + 2 * bytes_of::<u64>(blocks)
    }

    /// The history of blocks of `class` that were never closed.
    pub(crate) fn new(blocks: u32, class: Class) -> Self {
        let blocks = blocks as usize;
        Self {
            classes: vec![class; blocks],
            closed_at: vec![0; blocks],
            closed_at_host: vec![0; blocks],
            host_clock: 0,
        }
    }

    /// `block` becomes a candidate when the two clocks are at `clock` and `host_clock`.
    pub(crate) fn closed(&mut self, block: u32, clock: u64, host_clock: u64) {
        self.closed_at[block as usize] = clock;
        self.closed_at_host[block as usize] = host_clock;
        self.host_clock = host_clock;
    }

    /// Checks the columns of a plane whose clocks stand at `clock` and `host_clock`. `class_of`
    /// gives the class of a block as the store knows it; `None` for a block that was opened in SLC
    /// mode.
    ///
    /// # Errors
    /// The first difference.
    pub(crate) fn audit(
        &self,
        clock: u64,
        host_clock: u64,
        class_of: impl Fn(u32) -> Option<Class>,
    ) -> Result<(), String> {
        for (block, &class) in self.classes.iter().enumerate() {
            if let Some(known) = class_of(block as u32)
                && class != known
            {
                return Err(format!("block {block} has class {known}, the table says {class}"));
            }
            let (at, at_host) = (self.closed_at[block], self.closed_at_host[block]);
            fail_if!(
                at > clock || at_host > host_clock || at_host > at,
                "block {block} was closed at {at}, by the host's clock {at_host}; the clocks stand \
                 at {clock} and {host_clock}"
            );
        }
        if self.host_clock > host_clock {
            let last = self.host_clock;
            return Err(format!("the host's clock went back from {last} to {host_clock}"));
        }
        Ok(())
    }
}

/// A history, if one is kept. The policies decide that, so a checkpoint does not say whether there
/// is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(pub(crate) Option<Box<History>>);

impl State for Kept {
    fn save(&self, to: &mut Writer<'_>) {
        if let Some(history) = &self.0 {
            history.save(to);
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.0.as_mut().map_or(Ok(()), |history| history.restore(from))
    }
}
