//! The dictionary: what each page may hold after a crash.

use crate::layout::PAGE;

/// A version of a page; 0 is a page without data.
pub(super) type Version = u32;

/// The bytes of a version of a page: no two have a sector in common.
pub(super) fn bytes_of(page: u32, version: Version) -> Vec<u8> {
    if version == 0 {
        return vec![0; PAGE];
    }
    let name = u64::from(page) << 32 | u64::from(version);
    // Odd multiples of the 64-bit golden ratio; the first word is the name itself.
    let word = |index: u64| name ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(name | 1);
    (0..PAGE as u64 / 8).flat_map(|index| word(index).to_le_bytes()).collect()
}

/// The version of `page` that these bytes are; an error where they are none.
pub(super) fn version_of(page: u32, bytes: &[u8]) -> Result<Version, String> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(0);
    }
    let name = u64::from_le_bytes(*bytes.first_chunk().expect("a page has 4096 bytes"));
    let (found, version) = ((name >> 32) as u32, name as u32);
    if found != page {
        return Err(format!("page {page} holds data of page {found}"));
    }
    if bytes != bytes_of(page, version) {
        return Err(format!("page {page} is torn"));
    }
    Ok(version)
}

/// A command's effect on durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It wrote or discarded pages.
    Changes,
    /// The same, durably.
    Fua,
    /// All before is durable.
    Flush,
}

/// Where a command began and ended among the operations of the medium.
#[derive(Clone, Copy, Debug)]
struct Command {
    effect: Effect,
    begin: usize,
    end: usize,
}

/// The commands of a schedule and the versions that they wrote.
pub(super) struct Oracle {
    commands: Vec<Command>,
    /// For each page its versions and the commands that wrote them; the first was there before.
    versions: Vec<Vec<(usize, Version)>>,
}

impl Oracle {
    /// A drive that holds these versions durably. The command 0 has made them.
    pub(super) fn new(base: &[Version]) -> Self {
        let commands = vec![Command { effect: Effect::Flush, begin: 0, end: 0 }];
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
        wrote.for_each(|(page, version)| self.versions[page as usize].push((number, version)));
        self.commands.push(Command { effect, begin, end });
    }

    /// What a running drive must hold now.
    pub(super) fn latest(&self, page: u32) -> Version {
        self.versions[page as usize].last().map_or(0, |&(_, version)| version)
    }

    /// Whether `page` may be `version` after a crash behind so many operations.
    pub(super) fn judge(&self, page: u32, version: Version, position: usize) -> Result<(), String> {
        let versions = &self.versions[page as usize];
        let has_ended = |command: usize| self.commands[command].end <= position;
        let is_flush =
            |&command: &usize| self.commands[command].effect == Effect::Flush && has_ended(command);
        let flushed = (0..self.commands.len()).rev().find(is_flush).unwrap_or(0);
        let is_durable = |&(_, &(command, _)): &(usize, &(usize, Version))| {
            command <= flushed
                || (self.commands[command].effect == Effect::Fua && has_ended(command))
        };
        let floor = versions.iter().enumerate().filter(is_durable).map(|(index, _)| index).max();
        let allowed = versions[floor.unwrap_or(0)..]
            .iter()
            .filter(|&&(command, _)| self.commands[command].begin <= position)
            .map(|&(_, version)| version);
        if allowed.clone().any(|allowed| allowed == version) {
            return Ok(());
        }
        Err(format!(
            "page {page} holds version {version}, expected one of {:?}",
            allowed.collect::<Vec<_>>()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_every_other_and_from_a_torn_one() {
        let (old, new) = (bytes_of(3, 7), bytes_of(3, 8));
        assert_eq!(version_of(3, &old), Ok(7));
        assert!(version_of(4, &old).is_err());
        for sector in 0..PAGE / 512 {
            assert_ne!(old[sector * 512..][..512], new[sector * 512..][..512]);
            let mut torn = old.clone();
            torn[sector * 512..][..512].copy_from_slice(&new[sector * 512..][..512]);
            assert!(version_of(3, &torn).is_err(), "{sector}");
        }
        assert_eq!(version_of(3, &[0; PAGE]), Ok(0));
    }

    /// Page 0: version 1 at first; 2 written in operations 0 to 2, flushed in 2 to 4, 3 from 4 to 6.
    #[test]
    fn a_page_is_its_flushed_version_or_a_later_one_that_was_begun() {
        let mut oracle = Oracle::new(&[1]);
        oracle.note(Effect::Changes, [(0, 2)].into_iter(), 0, 2);
        oracle.note(Effect::Flush, [].into_iter(), 2, 4);
        oracle.note(Effect::Changes, [(0, 3)].into_iter(), 4, 6);
        let allowed = |position| {
            (0..5).filter(|&version| oracle.judge(0, version, position).is_ok()).collect::<Vec<_>>()
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
        assert!(oracle.judge(0, 1, 4).is_ok() && oracle.judge(0, 1, 5).is_err());
        assert!(oracle.judge(1, 1, 5).is_ok());
    }
}
