//! What the three forms of Linux block traces share (text of blkparse, binary files of blktrace,
//! text of ftrace): a request appears once per action, and only one action is read.

use super::{SECTOR, Scaled};
use crate::Op;
use crate::trace::Request;
use crate::trace::parse::{BadField, Cursor};

/// The formats of which one action is read.
pub(crate) const FORMATS: [&str; 3] = ["blkparse", "blktrace", "ftrace"];

/// Actions that can be read, those first that are preferred where nobody chose: what reached the
/// device, what was asked for, what came back.
pub const ACTIONS: [&str; 5] = ["D", "Q", "C", "I", "G"];
const PREFERRED: [char; 3] = ['D', 'Q', 'C'];

/// The action that was chosen, or else the first preferred one that is `present`.
pub(super) fn choose(chosen: Option<char>, present: impl Fn(char) -> bool) -> char {
    let first = || PREFERRED.into_iter().find(|action| present(*action));
    chosen.or_else(first).unwrap_or(PREFERRED[0])
}

/// The number of a device, as Linux packs it: 12 bits of major, 20 bits of minor number.
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

/// What an RWBS field asks for.
pub(super) struct Rwbs {
    /// `None` for an operation that moves no data of its own.
    pub op: Option<Op>,
    /// Whether the device flushes first.
    pub flush: bool,
    /// Whether a write is to be durable when it is complete (FUA).
    pub fua: bool,
}

/// Flushes that the event last read asks for, before its request or instead of one, and behind it.
///
/// Linux gives a device that does not know FUA a flush behind the write instead, and so do we: that
/// the data of a write are durable means at least as much as a flush of a buffer that holds them.
#[derive(Default)]
pub(super) struct Flushes {
    pub before: Option<Request>,
    pub behind: Option<Request>,
}

impl Flushes {
    /// Notes what an event asks for.
    pub fn note(&mut self, before: bool, behind: bool, time_ns: u64, device: u32) {
        let flush = Request::flush(time_ns, device);
        *self = Self { before: before.then_some(flush), behind: behind.then_some(flush) };
    }
}

/// The parts of an RWBS field: an `F` (flush) may come first, modifiers follow the operation.
pub(super) fn rwbs(at: &mut Cursor<'_>) -> Result<Rwbs, BadField> {
    let start = at.at;
    let word = at.word();
    if word.is_empty() || !word.iter().all(|letter| b"RWDNFASMBEZOCU".contains(letter)) {
        return at.bad(start, "an RWBS field, for example R, W, DS or FWS");
    }
    // Of the other operations on zones none moves data.
    if word.starts_with(b"ZA") {
        return at.bad(start, "a request whose place is known: a zone append has none yet");
    }
    let flush = word.starts_with(b"F");
    let (op, modifiers) = match word.strip_prefix(b"F").unwrap_or(word) {
        [b'R', rest @ ..] => (Some(Op::Read), rest),
        [b'W', rest @ ..] => (Some(Op::Write), rest),
        [b'D', rest @ ..] => (Some(Op::Trim), rest),
        rest => (None, rest),
    };
    Ok(Rwbs { op, flush, fua: op == Some(Op::Write) && modifiers.contains(&b'F') })
}

/// `SECTOR + SECTORS ... [PROCESS]` up to the end of the line; `None` for no sectors at all.
pub(super) fn extent(at: &mut Cursor<'_>) -> Result<Option<(Scaled, Scaled)>, BadField> {
    const SECTORS: &str = "a whole number of sectors";
    let offset = Scaled { at: at.at, value: at.integer("a sector number")?, unit: SECTOR };
    at.blank("a blank after the sector number")?;
    if at.peek() != Some(b'+') {
        return at.bad(at.at, "+ and a number of sectors");
    }
    at.at += 1;
    at.blank("a blank after the +")?;
    let size = Scaled { at: at.at, value: at.integer(SECTORS)?, unit: SECTOR };
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
