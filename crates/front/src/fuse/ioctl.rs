//! Hints by `ioctl` on the mounted file, for a file system or a database that keeps its data in it.
//!
//! ```c
//! #include <stdint.h>
//! #include <sys/ioctl.h>
//!
//! struct flashgc_hint {
//!     uint32_t magic;   /* 0x48434746, the letters FGCH */
//!     uint32_t cancel;  /* 0: the pages will be written soon; 1: take hints back */
//!     uint64_t moment;  /* of the hint; UINT64_MAX: when the drive executes it */
//!     uint64_t first;   /* first byte of the range */
//!     uint64_t bytes;   /* number of bytes; parts of pages count as pages */
//!     uint64_t late;    /* out: pages written since that moment, which get no hint */
//! };
//!
//! #define FLASHGC_MOMENT _IOR(0xfc, 1, uint64_t)
//! #define FLASHGC_HINT   _IOWR(0xfc, 2, struct flashgc_hint)
//! ```
//!
//! `FLASHGC_MOMENT` returns the number of pages that the host has written. A host reads it first,
//! and then finds out which pages are dirty. A hint with this moment does not concern pages written
//! since.
//!
//! | error | why |
//! |---|---|
//! | `ENOTTY` | an `ioctl` with another number |
//! | `EINVAL` | another magic, `cancel` not 0 or 1, a range beyond the drive, a future moment |
//! | `ENODEV` | the drive is no longer served |
//!
//! A loop device passes no `ioctl` on to its file. For a file system on a loop device, hints are
//! sent to the control socket, [`crate::control`].

use fuser::{Errno, ReplyIoctl};

use super::errno;
use crate::command::Command;
use crate::queue::Queue;

/// The letters FGCH.
pub const MAGIC: u32 = u32::from_le_bytes(*b"FGCH");
/// The number of the `ioctl` `FLASHGC_MOMENT`.
pub const MOMENT: u32 = number(READ, 1, size_of::<u64>());
/// The number of the `ioctl` `FLASHGC_HINT`.
pub const HINT: u32 = number(READ | WRITE, 2, size_of::<Hint>());

/// `struct flashgc_hint` of C.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Must be [`MAGIC`].
    pub magic: u32,
    /// 1 takes hints back, 0 gives a hint.
    pub cancel: u32,
    /// The moment at which the host gave the hint; `u64::MAX` is the moment at which the drive
    /// executes it.
    pub moment: u64,
    /// The first byte of the range.
    pub first: u64,
    /// The number of bytes in the range.
    pub bytes: u64,
    /// The answer: the number of pages of the range that were written since the moment.
    pub late: u64,
}

const WRITE: u32 = 1;
const READ: u32 = 2;

/// Returns the number of an `ioctl`, as `<linux/ioctl.h>` makes it.
const fn number(direction: u32, index: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | 0xfc << 8 | index
}

impl Hint {
    fn decode(given: &[u8]) -> Option<Self> {
        let (head, numbers) = given.split_first_chunk::<8>()?;
        let ([magic, cancel], []) = head.as_chunks::<4>() else { return None };
        let ([moment, first, bytes, late], []) = numbers.as_chunks::<8>() else { return None };
        Some(Self {
            magic: u32::from_ne_bytes(*magic),
            cancel: u32::from_ne_bytes(*cancel),
            moment: u64::from_ne_bytes(*moment),
            first: u64::from_ne_bytes(*first),
            bytes: u64::from_ne_bytes(*bytes),
            late: u64::from_ne_bytes(*late),
        })
    }

    fn command(&self) -> Option<Command> {
        let &Self { magic, cancel, moment, first: at, bytes, .. } = self;
        match cancel {
            _ if magic != MAGIC => None,
            0 => {
                let moment = (moment != u64::MAX).then_some(moment);
                Some(Command::Hint { at, bytes, moment })
            }
            1 => Some(Command::Cancel { at, bytes }),
            _ => None,
        }
    }
}

/// Answers an `ioctl` on the file.
pub(super) fn answer(queue: &Queue, number: u32, given: &[u8], reply: ReplyIoctl) {
    let (command, mut out) = match number {
        MOMENT => (Some(Command::Moment), vec![]),
        HINT => (Hint::decode(given).and_then(|hint| hint.command()), given.to_vec()),
        _ => return reply.error(Errno::ENOTTY),
    };
    let Some(command) = command else { return reply.error(Errno::EINVAL) };
    queue.submit_reserved(super::REQUEST, command, move |outcome| {
        let pages = match outcome {
            Ok(answer) => answer.pages(),
            Err(failure) => return reply.error(errno(&failure)),
        };
        // Both structures end with this number.
        out.truncate(out.len().saturating_sub(size_of::<u64>()));
        out.extend(pages.to_ne_bytes());
        reply.ioctl(0, &out);
    });
}
