//! The parts that the three forms of Linux block traces share: text of blkparse, binary files of
//! blktrace, and text of ftrace. A request appears once for each action, and only one action is
//! read.

use flashgc_base::spec::count;
use rustc_hash::FxHashMap;

use super::{SECTOR, Scaled, scaled};
use crate::Op;
use crate::trace::Request;
use crate::trace::parse::{BadField, Cursor};

/// The formats of which only one action is read.
pub(crate) const FORMATS: [&str; 3] = ["blkparse", "blktrace", "ftrace"];

/// The actions that can be read. By default, the first three are preferred in this order: D (issued
/// to the device), Q (queued by the host), C (completed).
pub const ACTIONS: [&str; 5] = ["D", "Q", "C", "I", "G"];
const PREFERRED: [char; 3] = ['D', 'Q', 'C'];

/// Returns the chosen action or, if none is chosen, the first preferred action that is `present`.
pub(super) fn choose(chosen: Option<char>, present: impl Fn(char) -> bool) -> char {
    let first = || PREFERRED.into_iter().find(|action| present(*action));
    chosen.or_else(first).unwrap_or(PREFERRED[0])
}

/// Parses the number of a device, packed as in Linux: 12 bits of the major number, 20 bits of the
/// minor number.
pub(super) fn device(at: &mut Cursor<'_>) -> Result<u32, BadField> {
    let start = at.at;
    let major = at.small("a device, major,minor")?;
    at.comma("a device, major,minor")?;
    let minor = at.small("a device, major,minor")?;
    if major >= 1 << 12 || minor >= 1 << 20 {
        return at.bad(start, "a major number below 4096, a minor below 2^20");
    }
    Ok(major << 20 | minor)
}

/// The meaning of an RWBS field (operation and modifiers).
pub(super) struct Rwbs {
    /// The operation; `None` if the request moves no data of its own.
    pub op: Option<Op>,
    /// `true` if the device flushes first.
    pub flush: bool,
    /// `true` if a write must be durable when it is complete (FUA).
    pub fua: bool,
}

/// The flushes of the event read last: one before its request or instead of it, and one after it.
///
/// For a device without FUA, Linux adds a flush after the write. This code does the same for every
/// FUA write. That flush makes the data of the write durable, so it guarantees at least as much as
/// FUA.
#[derive(Default)]
pub(super) struct Flushes {
    pub before: Option<Request>,
    pub behind: Option<Request>,
}

impl Flushes {
    /// Sets the flushes of an event.
    pub fn note(&mut self, before: bool, behind: bool, time_ns: u64, device: u32) {
        let flush = Request::flush(time_ns, device);
        *self = Self { before: before.then_some(flush), behind: behind.then_some(flush) };
    }
}

/// The requests that the driver has given back (action R) after they were issued. When such a
/// request is issued again, it is the same request, and is left out.
#[derive(Default)]
pub(super) struct Requeues {
    /// The bytes that were issued and given back, by device and first byte.
    given_back: FxHashMap<(u32, i64), u64>,
    left_out: u64,
}

impl Requeues {
    /// Notes that a request was given back.
    #[cold]
    pub fn note(&mut self, request: &Request) {
        self.given_back.insert((request.device, request.offset), request.size);
    }

    /// Returns the part of an issued request that was not issued before; `None` if all of it was
    /// issued before.
    #[inline]
    pub fn issue(&mut self, request: Request) -> Option<Request> {
        if self.given_back.is_empty() { Some(request) } else { self.again(request) }
    }

    #[cold]
    fn again(&mut self, request: Request) -> Option<Request> {
        let Some(before) = self.given_back.remove(&(request.device, request.offset)) else {
            return Some(request);
        };
        self.left_out += 1;
        // Other requests may have been merged into this request since it was given back.
        let size = request.size.checked_sub(before).filter(|size| *size > 0)?;
        Some(Request { offset: request.offset + before as i64, size, ..request })
    }

    /// Returns the end of a note about the requests that were left out; empty if there are none.
    pub fn said(&self) -> String {
        match self.left_out {
            0 => String::new(),
            number => {
                format!("; {} of a request that was given back", count(number, "second issue"))
            }
        }
    }
}

/// Parses an RWBS field. It may begin with `F` (flush), and modifiers follow the operation.
pub(super) fn rwbs(at: &mut Cursor<'_>) -> Result<Rwbs, BadField> {
    let start = at.at;
    let word = at.word();
    if word.is_empty() || !word.iter().all(|letter| b"RWDNFASMBEZOCU".contains(letter)) {
        return at.bad(start, "an RWBS field, for example R, W, DS or FWS");
    }
    // Of the operations on zones, only zone appends move data.
    if word.starts_with(b"ZA") {
        return at.bad(start, "a request whose place is known: a zone append has none yet");
    }
    let flush = word.starts_with(b"F");
    let (op, modifiers) = match word.strip_prefix(b"F").unwrap_or(word) {
        [b'R', rest @ ..] => (Some(Op::Read), rest),
        [b'W', rest @ ..] => (Some(Op::Write), rest),
        [b'D', rest @ ..] => (Some(Op::Trim), rest),
        // Kernels before 6.7 have no letter for write-zeroes and show `N`. Other operations shown
        // as `N` have no sectors.
        [b'N', rest @ ..] => (Some(Op::Write), rest),
        rest => (None, rest),
    };
    Ok(Rwbs { op, flush, fua: op == Some(Op::Write) && modifiers.contains(&b'F') })
}

/// Parses `SECTOR + SECTORS ... [PROCESS]` to the end of the line. Returns `None` for 0 sectors.
pub(super) fn extent(at: &mut Cursor<'_>) -> Result<Option<(Scaled, Scaled)>, BadField> {
    const SECTORS: &str = "a whole number of sectors";
    let offset = scaled(at, SECTOR, "a sector number")?;
    at.blank("a blank after the sector number")?;
    if at.peek() != Some(b'+') {
        return at.bad(at.at, "+ and a number of sectors");
    }
    at.at += 1;
    at.blank("a blank after the +")?;
    let size = scaled(at, SECTOR, SECTORS)?;
    match at.peek() {
        Some(b' ' | b'\t') => {}
        None => return at.bad(at.at, "[process] after the sectors (the line is cut off)"),
        Some(_) => return at.bad(size.at, SECTORS),
    }
    if !at.line.trim_ascii_end().ends_with(b"]") {
        return at.bad(at.line.len(), "[process] at the end (the line is cut off)");
    }
    Ok((size.value > 0).then_some((offset, size)))
}
