//! The oracle: it knows the bytes of each version of a page, and the versions that a page may have
//! after a crash.

use std::collections::HashMap;
use std::ops::Range;

use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::engine::Backend;
use crate::engine::Drive;
use crate::layout::PAGE;
use crate::settings::Durability;

/// The number of a version of a page; 0 stands for a page without data.
pub(super) type Version = u32;

/// Returns the stream in which the host writes a version; some versions have none.
pub(super) fn stream_of(version: Version) -> StreamId {
    let stream = (version % 4) as StreamId;
    if stream == 3 { NO_STREAM } else { stream }
}

/// Checks that a page has the stream of its version, if the drive takes streams.
///
/// # Errors
/// The page has another stream.
pub(super) fn check_stream(drive: &mut Drive, page: u32, version: Version) -> Result<(), String> {
    if version == 0 || !drive.takes_streams() {
        return Ok(());
    }
    match (drive.stream_of(page), stream_of(version)) {
        (holder, wanted) if holder == wanted => Ok(()),
        (holder, wanted) => Err(format!(
            "page {page} of version {version} belongs to stream {holder}, expected {wanted}"
        )),
    }
}

/// After every fifth version, lets the handle of that version leave its block, if the drive has
/// handles.
///
/// # Errors
/// The drive refuses, or the handle has no whole new block afterwards.
pub(super) fn leave_unit(drive: &mut Drive, version: Version) -> Result<(), String> {
    let handle = stream_of(version);
    let is_over = drive.why_read_only().is_some();
    if !version.is_multiple_of(5) || !drive.takes_streams() || is_over {
        return Ok(());
    }
    let pages = drive.stat().geometry.pages_per_block();
    let left = match drive.close_unit(handle) {
        Err(_) if drive.why_read_only().is_some() => return Ok(()), // as its medium failed
        left => left.map_err(|error| error.to_string())?,
    };
    match left {
        Some(left) if left >= pages || drive.room_of(handle) != pages => {
            let room = drive.room_of(handle);
            Err(format!("handle {handle} has left {left} pages, and {room} of its next unit"))
        }
        None if handle != NO_STREAM => Err(format!("there is no handle {handle}")),
        _ => Ok(()),
    }
}

/// Returns the bytes of a version of a page that was written whole. No two versions have equal
/// sectors.
pub(super) fn bytes_of(page: u32, version: Version) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    for (place, word) in bytes.chunks_exact_mut(WORD).zip(words_of(page, version)) {
        place.copy_from_slice(&word);
    }
    bytes
}

/// The number of bytes in a word.
const WORD: usize = 8;

/// Returns the words of a version of a page that was written whole. The first word names page and
/// version.
fn words_of(page: u32, version: Version) -> impl Iterator<Item = [u8; WORD]> {
    let name = u64::from(page) << 32 | u64::from(version);
    // Each word is the name XOR a multiple of the 64-bit golden ratio.
    let word =
        move |index: u64| name ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(name | 1);
    (0..(PAGE / WORD) as u64)
        .map(move |index| if version == 0 { 0 } else { word(index) }.to_le_bytes())
}

/// The bytes of all versions, also of those for which the host wrote only a part of the page.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// For each page, the versions for which only a part was written, with the bytes of the whole
    /// page.
    parts: HashMap<u32, Vec<(Version, Vec<u8>)>>,
}

impl Contents {
    /// Returns the bytes of a version of a page.
    pub(super) fn bytes(&self, page: u32, version: Version) -> Vec<u8> {
        let part = self.parts_of(page).iter().find(|(of, _)| *of == version);
        part.map_or_else(|| bytes_of(page, version), |(_, whole)| whole.clone())
    }

    fn parts_of(&self, page: u32) -> &[(Version, Vec<u8>)] {
        self.parts.get(&page).map_or(&[], Vec::as_slice)
    }

    /// Notes that the host writes the range `bytes` of the drive. Each page that it touches then
    /// has `version`; `old` returns the version that the page had. Returns the bytes to write.
    pub(super) fn write(
        &mut self,
        bytes: Range<u32>,
        version: Version,
        old: impl Fn(u32) -> Version,
    ) -> Vec<u8> {
        let size = PAGE as u32;
        let mut data = Vec::new();
        for page in bytes.start / size..bytes.end.div_ceil(size) {
            let first = bytes.start.max(page * size) - page * size;
            let behind = bytes.end.min((page + 1) * size) - page * size;
            let part = first as usize..behind as usize;
            data.extend(self.part(page, (old(page), version), part));
        }
        data
    }

    /// Notes that `version` of `page` is version `old` with new bytes in `range`. Returns these
    /// bytes.
    fn part(
        &mut self,
        page: u32,
        (old, version): (Version, Version),
        range: Range<usize>,
    ) -> Vec<u8> {
        let mut whole = self.bytes(page, old);
        let mut part = bytes_of(page, version)[range.clone()].to_vec();
        loop {
            whole[range.clone()].copy_from_slice(&part);
            // If the range is short, the page may by chance be equal to another version.
            if self.version_of(page, &whole).is_err() {
                break;
            }
            part[0] = part[0].wrapping_add(1);
        }
        self.parts.entry(page).or_default().push((version, whole));
        part
    }

    /// Returns the version of `page` that has these bytes.
    ///
    /// # Errors
    /// Bytes of no version, or of another page.
    pub(super) fn version_of(&self, page: u32, bytes: &[u8]) -> Result<Version, String> {
        let name = u64::from_le_bytes(*bytes.first_chunk().expect("a page has 4096 bytes"));
        let (holder, version) = ((name >> 32) as u32, name as u32);
        let parts = self.parts_of(page);
        let is_whole = holder == page && parts.iter().all(|&(part, _)| part != version);
        if is_whole && bytes.chunks_exact(WORD).eq(words_of(page, version)) {
            return Ok(version);
        }
        match parts.iter().find(|(_, whole)| *whole == bytes) {
            Some(&(version, _)) => Ok(version),
            None if bytes.iter().all(|&byte| byte == 0) => Ok(0),
            None if holder != page => Err(format!("page {page} holds data of page {holder}")),
            None => Err(format!("page {page} is torn")),
        }
    }
}

/// The promise that must hold after a crash, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Promise {
    /// The drive keeps all that it promised to the host.
    Kept,
    /// The medium has one fault: a page may be an error, and otherwise is at least as new as the
    /// last version that the medium says to be durable.
    Proved,
    /// The medium has two faults: a page may be an error, and otherwise has any version that it
    /// ever had.
    Known,
    /// The drive did not promise to survive this: a page may have anything except data that were
    /// never written.
    Nothing,
}

impl Promise {
    /// Returns the promise of a drive that was not closed, after a loss of power (`is_power`) or
    /// the end of its process.
    pub(super) fn of(durability: Durability, is_power: bool) -> Self {
        match durability {
            Durability::Power => Self::Kept,
            Durability::Process if !is_power => Self::Kept,
            Durability::Process | Durability::None => Self::Nothing,
        }
    }

    /// Returns the promise that holds with one more fault of the medium.
    pub(super) fn with_a_fault(self) -> Self {
        match self {
            Self::Kept => Self::Proved,
            Self::Proved => Self::Known,
            Self::Known | Self::Nothing => self,
        }
    }
}

/// A command's effect on durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The command wrote or discarded pages.
    Changes,
    /// The command wrote or discarded pages, durably.
    Fua,
    /// All earlier commands are durable.
    Flush,
    /// All earlier commands are durable, and the medium says so: no damage is taken for the end of
    /// the journal.
    Proves,
}

/// A command, with its first and its last operation on the medium.
#[derive(Clone, Copy, Debug)]
struct Command {
    effect: Effect,
    /// `true` if the command wrote a page, so that the journal has a record of it.
    wrote: bool,
    /// `true` if the host was answered that the command succeeded.
    is_answered: bool,
    begin: usize,
    end: usize,
}

/// The commands of a schedule and the versions that they wrote.
pub(super) struct Oracle {
    commands: Vec<Command>,
    /// For each page, the numbers of the commands that wrote it, with the versions. The first entry
    /// is the version at the start.
    versions: Vec<Vec<(usize, Version)>>,
}

/// The commands whose effect must be there after a crash behind `position` operations.
pub(super) struct View<'a> {
    oracle: &'a Oracle,
    position: usize,
    /// The effects of all commands up to the one with this number must be there.
    all: usize,
    /// The numbers of later commands whose effects must be there, too.
    alone: Vec<usize>,
}

impl Oracle {
    /// Returns the oracle of a drive that holds these versions durably. They count as written by
    /// command 0.
    pub(super) fn new(base: &[Version]) -> Self {
        let effect = Effect::Proves;
        let first = Command { effect, wrote: false, is_answered: true, begin: 0, end: 0 };
        let commands = vec![first];
        Self { commands, versions: base.iter().map(|&version| vec![(0, version)]).collect() }
    }

    /// Notes a command with the pages and versions that it wrote.
    pub(super) fn note(
        &mut self,
        effect: Effect,
        wrote: impl Iterator<Item = (u32, Version)>,
        begin: usize,
        end: usize,
    ) {
        let number = self.commands.len();
        let mut has_data = false;
        for (page, version) in wrote {
            has_data |= version != 0;
            self.versions[page as usize].push((number, version));
        }
        let is_answered = true;
        self.commands.push(Command { effect, wrote: has_data, is_answered, begin, end });
    }

    /// Notes a command that failed, with the pages and versions that it may have written. The
    /// journal may have no record of it, so that a later flush may have nothing to write.
    pub(super) fn note_failed(
        &mut self,
        may_have_written: impl Iterator<Item = (u32, Version)>,
        begin: usize,
        end: usize,
    ) {
        self.note(Effect::Changes, may_have_written, begin, end);
        if let Some(command) = self.commands.last_mut() {
            (command.wrote, command.is_answered) = (false, false);
        }
    }

    /// Returns the version that `page` must have now in the running drive.
    pub(super) fn latest(&self, page: u32) -> Version {
        self.versions[page as usize].last().map_or(0, |&(_, version)| version)
    }

    /// Returns the versions that a crash must leave after the first `position` operations.
    pub(super) fn at(&self, position: usize) -> View<'_> {
        self.view(position, |_, command| command.effect != Effect::Changes)
    }

    /// Returns the versions that the end of the process must leave after the first `position`
    /// operations, if the host survives it: all acknowledged ones. If a command failed, the host
    /// knows that. Of the commands before the failed one, only the flushed ones must then be there.
    pub(super) fn answered_at(&self, position: usize) -> View<'_> {
        let has_failed = |command: &Command| !command.is_answered && command.begin <= position;
        let failed = self.commands.iter().rposition(has_failed);
        self.view(position, |number, command| {
            let is_behind = failed.is_none_or(|failed| number > failed);
            command.effect != Effect::Changes || (command.is_answered && is_behind)
        })
    }

    /// Returns the versions that a crash after the first `position` operations must leave on a
    /// medium with one fault: those that the medium says to be durable. If a page was written
    /// between two flushes, the journal block of the second says that the data of the first are
    /// durable.
    pub(super) fn proved_at(&self, position: usize) -> View<'_> {
        self.view(position, |number, command| match command.effect {
            Effect::Changes => false,
            Effect::Proves => true,
            Effect::Fua | Effect::Flush => {
                let mut has_written = false;
                self.commands[number + 1..].iter().any(|later| {
                    has_written |= later.wrote;
                    has_written && later.end <= position && later.effect != Effect::Changes
                })
            }
        })
    }

    fn view(&self, position: usize, counts: impl Fn(usize, &Command) -> bool) -> View<'_> {
        let commands = self.commands.iter().enumerate();
        let counting: Vec<(usize, Effect)> = commands
            .filter(|(number, command)| command.end <= position && counts(*number, command))
            .map(|(number, command)| (number, command.effect))
            .collect();
        let all = counting.iter().rev().find(|(_, effect)| *effect != Effect::Fua);
        let alone = counting.iter().filter(|(_, effect)| *effect == Effect::Fua);
        View {
            oracle: self,
            position,
            all: all.map_or(0, |&(number, _)| number),
            alone: alone.map(|&(number, _)| number).collect(),
        }
    }
}

impl View<'_> {
    /// Checks that `page` may have `version`.
    pub(super) fn judge(&self, page: u32, version: Version) -> Result<(), String> {
        let Self { oracle, position, all, alone } = self;
        let versions = &oracle.versions[page as usize];
        let is_durable =
            |(command, _): &(usize, Version)| command <= all || alone.contains(command);
        let floor = versions.iter().rposition(is_durable).unwrap_or(0);
        let allowed = versions[floor..]
            .iter()
            .filter(|&&(command, _)| oracle.commands[command].begin <= *position)
            .map(|&(_, version)| version);
        if allowed.clone().any(|allowed| allowed == version) {
            return Ok(());
        }
        let allowed = allowed.collect::<Vec<_>>();
        Err(format!("page {page} holds version {version}, expected one of {allowed:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_every_other_and_from_a_torn_one() {
        let (old, new) = (bytes_of(3, 7), bytes_of(3, 8));
        let contents = Contents::default();
        assert_eq!(contents.version_of(3, &old), Ok(7));
        assert!(contents.version_of(4, &old).is_err());
        for sector in 0..PAGE / 512 {
            assert_ne!(old[sector * 512..][..512], new[sector * 512..][..512]);
            let mut torn = old.clone();
            torn[sector * 512..][..512].copy_from_slice(&new[sector * 512..][..512]);
            assert!(contents.version_of(3, &torn).is_err(), "{sector}");
        }
        assert_eq!(contents.version_of(3, &[0; PAGE]), Ok(0));
    }

    /// Page 0 has version 1 at first. Version 2 is written by operations 0 to 2 and flushed by 2 to
    /// 4, version 3 is written by 4 to 6.
    #[test]
    fn a_page_is_its_flushed_version_or_a_later_one_that_was_begun() {
        let mut oracle = Oracle::new(&[1]);
        oracle.note(Effect::Changes, [(0, 2)].into_iter(), 0, 2);
        oracle.note(Effect::Flush, [].into_iter(), 2, 4);
        oracle.note(Effect::Changes, [(0, 3)].into_iter(), 4, 6);
        let allowed = |position| {
            (0..5)
                .filter(|&version| oracle.at(position).judge(0, version).is_ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(allowed(1), [1, 2]);
        assert_eq!(allowed(3), [1, 2]);
        assert_eq!(allowed(4), [2, 3]);
        assert_eq!(allowed(6), [2, 3]);
        assert_eq!(oracle.latest(0), 3);
    }

    #[test]
    fn a_write_with_fua_is_durable_when_it_ends() {
        let mut oracle = Oracle::new(&[1, 1]);
        oracle.note(Effect::Changes, [(1, 2)].into_iter(), 0, 2);
        oracle.note(Effect::Fua, [(0, 2)].into_iter(), 2, 5);
        assert!(oracle.at(4).judge(0, 1).is_ok() && oracle.at(5).judge(0, 1).is_err());
        assert!(oracle.at(5).judge(1, 1).is_ok());
    }

    /// Version 2 is version 1 with new bytes 100 to 299. Version 3 is version 2 with new bytes 0 to
    /// 9.
    #[test]
    fn a_part_of_a_page_makes_a_version_of_its_own() {
        let mut contents = Contents::default();
        let part = contents.part(3, (1, 2), 100..300);
        assert_eq!(part, bytes_of(3, 2)[100..300]);
        contents.part(3, (2, 3), 0..10);
        let (first, second) = (contents.bytes(3, 2), contents.bytes(3, 3));
        assert_eq!(
            (&first[..100], &first[300..]),
            (&bytes_of(3, 1)[..100], &bytes_of(3, 1)[300..])
        );
        assert_eq!((&second[..10], &second[10..]), (&bytes_of(3, 3)[..10], &first[10..]));
        assert_eq!(contents.version_of(3, &first), Ok(2));
        assert_eq!(contents.version_of(3, &second), Ok(3));
        assert!(contents.version_of(4, &second).is_err());
        // Each write changes one byte and makes another version, though a byte has only 256 values.
        let mut versions = vec![first.clone(), second.clone()];
        for version in 4..100 {
            contents.part(3, (version - 1, version), 7..8);
            let bytes = contents.bytes(3, version);
            assert_eq!(contents.version_of(3, &bytes), Ok(version));
            assert!(!versions.contains(&bytes));
            versions.push(bytes);
        }
        let torn = [&second[..512], &bytes_of(3, 9)[512..]].concat();
        assert!(contents.version_of(3, &torn).is_err());
    }

    /// Version 2 is written by operations 0 to 2 and flushed by 2 to 4; version 3 is written by 4
    /// to 6 and flushed by 6 to 8. Damage may hide a flush until a later flush has written a
    /// journal block.
    #[test]
    fn a_flush_proves_what_the_flush_before_it_covered() {
        let mut oracle = Oracle::new(&[1]);
        oracle.note(Effect::Changes, [(0, 2)].into_iter(), 0, 2);
        oracle.note(Effect::Flush, [].into_iter(), 2, 4);
        oracle.note(Effect::Flush, [].into_iter(), 4, 4);
        oracle.note(Effect::Changes, [(0, 3)].into_iter(), 4, 6);
        oracle.note(Effect::Flush, [].into_iter(), 6, 8);
        oracle.note(Effect::Proves, [].into_iter(), 8, 9);
        let allowed = |position| {
            let view = oracle.proved_at(position);
            (0..5).filter(|&version| view.judge(0, version).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(allowed(4), [1, 2, 3]);
        assert_eq!(allowed(7), [1, 2, 3]);
        assert_eq!(allowed(8), [2, 3]);
        assert_eq!(allowed(9), [3]);
    }

    /// Version 2 is written by operations 0 to 2, version 3 by 2 to 4. Operations 6 to 7 are a
    /// command on another page, which fails.
    #[test]
    fn the_end_of_the_process_takes_nothing_back_that_was_answered() {
        let mut oracle = Oracle::new(&[1, 1]);
        oracle.note(Effect::Changes, [(0, 2)].into_iter(), 0, 2);
        oracle.note(Effect::Changes, [(0, 3)].into_iter(), 2, 4);
        oracle.note_failed([(1, 2)].into_iter(), 6, 7);
        let allowed = |position| {
            let view = oracle.answered_at(position);
            (0..5).filter(|&version| view.judge(0, version).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(allowed(1), [1, 2]);
        assert_eq!(allowed(2), [2, 3]);
        assert_eq!(allowed(4), [3]);
        assert_eq!(allowed(6), [1, 2, 3]);
        assert!(oracle.at(4).judge(0, 1).is_ok());
    }

    #[test]
    fn a_flush_behind_a_command_that_failed_proves_nothing() {
        for failed in [false, true] {
            let mut oracle = Oracle::new(&[1, 1]);
            oracle.note(Effect::Changes, [(0, 2)].into_iter(), 0, 2);
            oracle.note(Effect::Flush, [].into_iter(), 2, 4);
            match failed {
                true => oracle.note_failed([(1, 2)].into_iter(), 4, 4),
                false => oracle.note(Effect::Changes, [(1, 2)].into_iter(), 4, 4),
            }
            oracle.note(Effect::Flush, [].into_iter(), 4, 4);
            assert_eq!(oracle.proved_at(4).judge(0, 1).is_ok(), failed);
            assert!(oracle.at(4).judge(0, 1).is_err());
        }
    }
}
