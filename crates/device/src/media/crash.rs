//! A medium with two images: the bytes that reads return, and the bytes on the disk. It logs every
//! operation, so that later any image that a crash may leave can be made.
//!
//! Reads see every write at once, as with a page cache. A sync makes the writes before it durable.
//! A loss of power leaves the disk with any part of the writes since the last sync, in 512-byte
//! sectors. The end of the process alone leaves both images. A sync can fail: then some of the
//! writes reach the disk, but the system takes all of them for written, so that no later sync
//! writes the others. A sync can lie: it succeeds, but one of the writes never reaches the disk.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashgc_base::rng::Stream;

use super::{Media, part};

/// An operation on the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Bytes were written from here on.
    Write(u64, Arc<[u8]>),
    /// A range was given back: it reads as zeros.
    Punch(u64, u64),
    /// A sync made every operation before it durable.
    Sync,
    /// A sync that failed, or lied. It settles the operations since the sync before it.
    Settled {
        /// For each of those operations, `true` if it is on the disk.
        kept: Arc<[bool]>,
        /// `true` if the sync said that all of them are on the disk.
        is_lie: bool,
    },
    /// The system has read this range from the disk again.
    Dropped(u64, u64),
}

/// The number of bytes that are written as a whole or not at all.
pub const SECTOR: usize = 512;

impl Op {
    /// Changes an image of the medium as the operation does.
    pub fn apply(&self, image: &mut [u8]) {
        match self {
            Self::Write(at, bytes) => image[*at as usize..][..bytes.len()].copy_from_slice(bytes),
            Self::Punch(at, len) => image[*at as usize..][..*len as usize].fill(0),
            Self::Sync | Self::Settled { .. } | Self::Dropped(..) => {}
        }
    }

    /// Changes an image as the operation does. A write changes only the sectors whose number `keep`
    /// accepts.
    pub fn apply_torn(&self, image: &mut [u8], mut keep: impl FnMut(usize) -> bool) {
        let Self::Write(at, bytes) = self else { return self.apply(image) };
        for (sector, bytes) in bytes.chunks(SECTOR).enumerate() {
            if keep(sector) {
                image[*at as usize + sector * SECTOR..][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// Returns the first byte and the number of bytes that the operation changes, if it is a write
    /// or a punch.
    fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Write(at, bytes) => Some((*at, bytes.len() as u64)),
            &Self::Punch(at, len) => Some((at, len)),
            Self::Sync | Self::Settled { .. } | Self::Dropped(..) => None,
        }
    }
}

/// Both images of a medium, and the operations by which they differ.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The bytes that reads return.
    pub visible: Vec<u8>,
    /// The bytes that a loss of power leaves for certain.
    pub durable: Vec<u8>,
    /// Operations that the next sync makes durable.
    pub unsynced: Vec<Op>,
    /// Ranges that a failed sync did not write: the system takes them for written, but they are not
    /// on the disk.
    pub lost: Vec<(u64, u64)>,
    /// `true` if a sync has lied since the last loss of power.
    pub has_lied: bool,
}

impl State {
    /// Returns a medium on which all of `image` is durable.
    pub fn of(image: Vec<u8>) -> Self {
        Self { visible: image.clone(), durable: image, ..Self::default() }
    }

    /// Executes an operation.
    pub fn step(&mut self, op: &Op) {
        match op {
            Op::Write(..) | Op::Punch(..) => {
                op.apply(&mut self.visible);
                self.unsynced.push(op.clone());
            }
            Op::Sync => drop(self.settle(|_| true)),
            Op::Settled { kept, is_lie } => {
                let lost = self.settle(|index| kept[index]);
                match is_lie {
                    true => self.has_lied = true,
                    false => self.lost.extend(lost),
                }
            }
            &Op::Dropped(at, len) => {
                let range = at as usize..(at + len) as usize;
                self.visible[range.clone()].copy_from_slice(&self.durable[range]);
                // Writes that wait for a sync stay in memory.
                self.unsynced.iter().for_each(|op| op.apply(&mut self.visible));
                self.lost.retain(|lost| *lost != (at, len));
            }
        }
    }

    /// Makes the unsynced operations durable for which `kept` returns true. Returns the ranges of
    /// the others.
    fn settle(&mut self, kept: impl Fn(usize) -> bool) -> Vec<(u64, u64)> {
        let mut lost = Vec::new();
        for (index, op) in std::mem::take(&mut self.unsynced).into_iter().enumerate() {
            match kept(index) {
                true => op.apply(&mut self.durable),
                false => lost.extend(op.range()),
            }
        }
        lost
    }
}

/// The way in which a later sync fails or lies.
#[derive(Clone, Copy, Debug)]
enum Bad {
    /// The n-th sync from now on (0: the next one) fails, once. The first number is n. The second
    /// is the seed that selects the writes that reach the disk.
    Fails(u32, u32),
    /// The next sync that has something to do succeeds, but loses one operation. The seed selects
    /// which.
    Lies(u32),
}

#[derive(Default)]
struct History {
    /// All operations, in order.
    ops: Vec<Op>,
    state: State,
    bad: Option<Bad>,
    failed: u64,
}

impl History {
    fn add(&mut self, op: Op) {
        self.state.step(&op);
        self.ops.push(op);
    }
}

/// A medium that logs its operations and can crash. Clones share the medium.
#[derive(Clone)]
pub struct CrashMedia(Arc<Mutex<History>>);

impl CrashMedia {
    /// Returns a medium that holds `image`, all of it durable.
    pub fn of(image: Vec<u8>) -> Self {
        Self::of_state(State::of(image))
    }

    /// Returns a medium with these images.
    pub fn of_state(state: State) -> Self {
        Self(Arc::new(Mutex::new(History { state, ..History::default() })))
    }

    /// Returns a copy of both images.
    pub fn state(&self) -> State {
        self.history().state.clone()
    }

    /// Returns a copy of the bytes that reads return.
    pub fn image(&self) -> Vec<u8> {
        self.history().state.visible.clone()
    }

    /// Returns the number of operations so far.
    pub fn len_of_history(&self) -> usize {
        self.history().ops.len()
    }

    /// Takes out the operations so far.
    pub fn take_history(&self) -> Vec<Op> {
        std::mem::take(&mut self.history().ops)
    }

    /// Makes the n-th sync from now on (0: the next one) fail, once. `seed` selects the writes that
    /// reach the disk.
    pub fn fail_sync(&self, after: u32, seed: u32) {
        self.history().bad = Some(Bad::Fails(after, seed));
    }

    /// Makes the next sync lose one operation and succeed. `seed` selects which. A medium that has
    /// lied does not lie again before a loss of power.
    pub fn lie(&self, seed: u32) {
        let mut history = self.history();
        if !history.state.has_lied {
            history.bad = Some(Bad::Lies(seed));
        }
    }

    /// Ends all faults: syncs work again.
    pub fn works(&self) {
        self.history().bad = None;
    }

    /// Returns the number of syncs that failed.
    pub fn failed_syncs(&self) -> u64 {
        self.history().failed
    }

    /// Reads about half of the lost ranges from the disk again, as a system that is short of memory
    /// does. If the medium has lied, none is read, as that would show the lie.
    pub fn drop_lost(&self, rng: &mut Stream) {
        let mut history = self.history();
        if history.state.has_lied {
            return;
        }
        for (at, len) in history.state.lost.clone() {
            if rng.below(2) == 0 {
                history.add(Op::Dropped(at, len));
            }
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Media for CrashMedia {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let history = self.history();
        let image = &history.state.visible;
        into.copy_from_slice(&image[part(image.len(), at, into.len())?]);
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut history = self.history();
        part(history.state.visible.len(), at, bytes.len())?;
        history.add(Op::Write(at, bytes.into()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut history = self.history();
        let waiting = history.state.unsynced.len();
        match history.bad {
            Some(Bad::Fails(0, seed)) => {
                let mut rng = Stream::new(seed.into(), "failed sync");
                let quarters = rng.below(5);
                let kept = (0..waiting).map(|_| rng.below(4) < quarters).collect();
                history.add(Op::Settled { kept, is_lie: false });
                (history.bad, history.failed) = (None, history.failed + 1);
                Err(rustix::io::Errno::IO.into())
            }
            Some(Bad::Lies(seed)) if waiting > 0 => {
                let lost = Stream::new(seed.into(), "lie").below(waiting as u32) as usize;
                let kept = (0..waiting).map(|index| index != lost).collect();
                history.add(Op::Settled { kept, is_lie: true });
                history.bad = None;
                Ok(())
            }
            bad => {
                if let Some(Bad::Fails(after, seed)) = bad {
                    history.bad = Some(Bad::Fails(after - 1, seed));
                }
                history.add(Op::Sync);
                Ok(())
            }
        }
    }

    fn gives_room_back(&self) -> bool {
        true
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        let mut history = self.history();
        part(history.state.visible.len(), at, len as usize)?;
        history.add(Op::Punch(at, len));
        Ok(())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.history().state.visible.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes each value as one byte, at the place that is equal to the value.
    fn write(media: &mut CrashMedia, values: std::ops::RangeInclusive<u8>) {
        values.for_each(|value| media.write_at(value.into(), &[value]).unwrap());
    }

    fn durable(media: &CrashMedia) -> Vec<u8> {
        media.state().durable
    }

    #[test]
    fn what_a_failed_sync_leaves_no_later_sync_writes() {
        let mut media = CrashMedia::of(vec![0; 9]);
        media.fail_sync(1, 3);
        write(&mut media, 0..=3);
        media.sync().unwrap();
        write(&mut media, 4..=7);
        assert!(media.sync().is_err());
        let left = durable(&media);
        assert_eq!(left[..4], [0, 1, 2, 3]);
        write(&mut media, 8..=8);
        media.sync().unwrap();
        assert_eq!((durable(&media)[8], &durable(&media)[..8]), (8, &left[..8]));
        assert_eq!(media.image(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let lost = (4..8).filter(|&value| left[value] == 0).count();
        assert_eq!((media.state().lost.len(), media.failed_syncs()), (lost, 1));
        assert!(lost > 0, "a seed that loses something");
    }

    #[test]
    fn what_is_dropped_reads_as_the_disk_has_it() {
        let mut media = CrashMedia::of(vec![9; 4]);
        media.fail_sync(0, 3);
        write(&mut media, 0..=3);
        assert!(media.sync().is_err());
        assert_eq!(media.image(), [0, 1, 2, 3]);
        assert_ne!(durable(&media), [0, 1, 2, 3]);
        write(&mut media, 2..=2);
        let mut rng = Stream::new(1, "drop");
        (0..20).for_each(|_| media.drop_lost(&mut rng));
        let mut expected = durable(&media);
        expected[2] = 2; // it was written since, and waits for a sync
        assert_eq!(media.image(), expected);
    }

    #[test]
    fn a_lie_loses_one_operation_once() {
        let mut media = CrashMedia::of(vec![9; 4]);
        media.lie(1);
        write(&mut media, 0..=3);
        media.sync().unwrap();
        assert_eq!(durable(&media).iter().filter(|&&byte| byte == 9).count(), 1);
        media.lie(2);
        write(&mut media, 0..=3);
        media.sync().unwrap();
        assert_eq!(durable(&media), [0, 1, 2, 3]);
    }
}
