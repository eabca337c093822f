//! A schedule: a series of commands on a small drive. Now and then the drive is closed or crashes,
//! and is opened again.

mod judge;

use flashgc_base::rng::Stream;
use flashgc_ftl::{EndOfLife, Endurance, Law, Lifespan};

use super::drives::{ALLOCATIONS, PLACEMENTS, VICTIMS, lifespan, parity, settings, shape};
use super::oracle::{Contents, Effect, Oracle, Version, View, check_stream, leave_unit, stream_of};
use super::{Pace, Tally};
use crate::bytes::Bytes;
use crate::dies::LostDies;
use crate::engine::Drive;
use crate::engine::{Backend, WriteStreams};
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::{CrashMedia, MemMedia, Op, State};
use crate::settings::{Durability, Settings};

/// The settings of a schedule, and the versions that it wrote.
pub(super) struct Schedule<'a> {
    pace: &'a Pace,
    settings: Settings,
    /// The durability with which the drive is opened next.
    durability: Durability,
    often: Often,
    /// `true` if the host survives the end of the process. It is then answered only after its
    /// changes were handed over to the system.
    is_outlived: bool,
    /// The last version written.
    version: Version,
    contents: Contents,
}

/// The frequency of each kind of command, as a number N: on average, one command in N has this
/// kind. 0 stands for never.
struct Often {
    flush: u32,
    fua: u32,
    trim: u32,
    /// Writes that begin or end within a page.
    part: u32,
    /// Idle seconds.
    rest: u32,
    /// Syncs that fail.
    failure: u32,
    /// Ends of the process, after each of which the drive is opened again.
    end: u32,
    /// Syncs that lie.
    lie: u32,
}

/// The work of a drive: the operations on its medium, and the versions that its pages must have.
struct Work {
    base: State,
    ops: Vec<Op>,
    oracle: Oracle,
    /// The durability at first and after each opening, with the numbers of operations at which the
    /// opening began and ended.
    durabilities: Vec<(usize, usize, Durability)>,
    /// Ranges of operations during which no checkpoint is written. If the current checkpoint is
    /// damaged in an image from such a range, the drive must open from the checkpoint before.
    fallbacks: Vec<(usize, usize)>,
    /// The number of operations done when the drive said that its life is over; `None` if it did
    /// not.
    ended_at: Option<usize>,
    /// The number of syncs that had failed when the drive was opened.
    failed: u64,
}

/// Loses one die, or none, and gives all others back.
fn lose_one(dies: &LostDies, rng: &mut Stream) {
    let lost = rng.below(dies.count() + 1);
    dies.set(|die| die == lost);
}

impl<'a> Schedule<'a> {
    pub(super) fn draw(rng: &mut Stream, pace: &'a Pace) -> Self {
        let mut one_of = |all: &[&'static str]| all[rng.below(all.len() as u32) as usize];
        let policies = (one_of(&VICTIMS), one_of(&PLACEMENTS), one_of(&ALLOCATIONS));
        let mut of = |all: [u32; 4]| all[rng.below(4) as usize];
        let often = Often {
            flush: of([0, 5, 20, 60]),
            fua: of([0, 0, 10, 40]),
            trim: of([0, 6, 6, 20]),
            part: of([0, 0, 4, 10]),
            rest: of([0, 0, 20, 40]),
            failure: of([0, 8, 20, 40]),
            end: of([0, 10, 20, 40]),
            lie: of([0, 0, 0, 20]),
        };
        let journal_blocks = of([8, 10, 16, 24]).into();
        let limit = of([3, 4, 5, 6]);
        let is_small = of([0, 1, 2, 3]) + of([0, 1, 2, 3]) + of([0, 1, 2, 3]) > 0;
        let lives =
            [EndOfLife::FirstFailure, EndOfLife::SystemFailure].get(of([0, 1, 2, 3]) as usize);
        let durability = match rng.below(8) {
            0 if is_small => Durability::None,
            1 if is_small => Durability::Process,
            _ => Durability::Power,
        };
        let lifespan = lives.map(|&ends_at| lifespan(limit, ends_at));
        let (shape, parity) = (shape(is_small, policies.1), parity(rng.below(4)));
        let settings = settings(shape, policies, journal_blocks, durability, lifespan, parity);
        let (is_outlived, contents) = (rng.below(2) == 0, Contents::default());
        Self { pace, settings, durability, often, is_outlived, version: 0, contents }
    }

    fn pages(&self) -> u32 {
        self.settings.layout.geometry.logical_pages()
    }

    fn open(&self, media: CrashMedia) -> Result<Bytes<Drive>, DeviceError> {
        Drive::open_as(Box::new(media), &self.settings, self.durability).map(Bytes::new)
    }

    pub(super) fn run(&mut self, rng: &mut Stream, tally: &mut Tally) -> Result<(), String> {
        let text = |error: DeviceError| error.to_string();
        let len = self.settings.file_bytes().map_err(text)?;
        let mut blank = MemMedia::new(len);
        let uuid = std::array::from_fn(|_| rng.below(256) as u8);
        Drive::create(&mut blank, &self.settings, uuid).map_err(text)?;
        let media = CrashMedia::of(blank.image());
        let mut drive = self.open(media.clone()).map_err(text)?;
        // The drive is filled, and overwritten until it collects.
        let often = std::mem::replace(&mut self.often, Often::no_faults(rng));
        let mut work = Work::new(&vec![0; self.pages() as usize], &media, self.durability);
        for _ in 0..2 * self.pages() {
            self.command(&mut drive, &mut work, &media, rng)?;
            if self.is_near_its_end(drive.drive()) {
                break;
            }
        }
        // All of its data become durable, and the medium says so.
        (0..2).for_each(|_| drive.drive().rest());
        self.often = often;
        let work = self.work(drive, &media, rng, 60, tally)?;
        self.crash(&work, rng, tally, false)?;
        if self.pace.is_over() {
            return Ok(());
        }
        self.often = Often::no_faults(rng);
        let media = CrashMedia::of(media.image());
        let drive = self.open(media.clone()).map_err(text)?;
        let work = self.work(drive, &media, rng, 40, tally)?;
        self.lie(&work, rng, tally)
    }

    /// Does `commands` commands on `drive`. All data of the drive must be durable before.
    fn work(
        &mut self,
        mut drive: Bytes<Drive>,
        media: &CrashMedia,
        rng: &mut Stream,
        commands: u32,
        tally: &mut Tally,
    ) -> Result<Work, String> {
        media.take_history();
        let held = self.read(drive.drive(), rng)?;
        let mut work = Work::new(&held, media, self.durability);
        if drive.drive().has_ended() {
            work.ended_at = Some(0);
        }
        let mut dies = drive.drive().lost_dies();
        for _ in 0..commands {
            if dies.count() > 0 && rng.below(8) == 0 {
                lose_one(&dies, rng);
            }
            let mut is_one_in = |count: u32| count > 0 && rng.below(count) == 0;
            let (fails, lies, ends) = (
                is_one_in(self.often.failure),
                is_one_in(self.often.lie),
                is_one_in(self.often.end),
            );
            if fails && work.is_power() {
                media.fail_sync(rng.below(3), rng.below(u32::MAX));
            } else if lies && work.is_power() {
                media.lie(rng.below(u32::MAX));
            }
            let is_stuck = media.failed_syncs() > work.failed && rng.below(3) == 0;
            if ends || is_stuck {
                drop(drive);
                drive = self.again(&mut work, media, rng, tally)?;
                dies = drive.drive().lost_dies();
            } else {
                let before =
                    (drive.drive().is_checkpointing(), drive.drive().stat().opened.checkpoints);
                let begin = media.len_of_history();
                self.command(&mut drive, &mut work, media, rng)?;
                if before == (false, drive.drive().stat().opened.checkpoints)
                    && !drive.drive().is_checkpointing()
                {
                    work.note_fallback(begin, media.len_of_history());
                }
            }
        }
        for (page, version) in (0..).zip(self.read(drive.drive(), rng)?) {
            if version != work.oracle.latest(page) {
                return Err(format!("page {page} reads as version {version} while the drive runs"));
            }
        }
        drive.drive().audit()?;
        work.ops = media.take_history();
        Ok(work)
    }

    /// Ends the process and opens the drive again. If a sync fails during the opening, it tries
    /// again.
    fn again(
        &mut self,
        work: &mut Work,
        media: &CrashMedia,
        rng: &mut Stream,
        tally: &mut Tally,
    ) -> Result<Bytes<Drive>, String> {
        media.works();
        if work.is_power() {
            media.drop_lost(rng);
        }
        let begin = media.len_of_history();
        self.durability = match (self.durability, rng.below(8)) {
            (Durability::Power, 0) => Durability::Process,
            // A drive that does not sync does not write again what a failed sync has lost.
            (Durability::Process, 0..4) if media.state().lost.is_empty() => Durability::Power,
            (durability, _) => durability,
        };
        loop {
            tally.of_lives += 1;
            work.failed = media.failed_syncs();
            let tried = media.len_of_history();
            if self.often.failure > 0 && work.is_power() && rng.below(4) == 0 {
                media.fail_sync(rng.below(4), rng.below(u32::MAX));
            }
            let mut drive = self
                .open(media.clone())
                .map_err(|error| format!("opening behind the end of a process: {error}"))?;
            media.works();
            let held = self.read(drive.drive(), rng)?;
            let view = self.left(work, begin);
            for (page, &version) in (0..).zip(&held) {
                if self.durability != Durability::None {
                    view.judge(page, version).map_err(|what| format!("opened again: {what}"))?;
                }
            }
            work.look_at_end(&mut drive, begin)?;
            if media.failed_syncs() == work.failed {
                let end = media.len_of_history();
                work.oracle.note(Effect::Proves, (0..).zip(held), begin, end);
                work.durabilities.push((begin, end, self.durability));
                return Ok(drive);
            }
            // The host that survives the process sees that the drive cannot flush.
            work.oracle.note_failed(std::iter::empty(), tried, media.len_of_history());
        }
    }

    /// Returns the versions that the end of the process after `position` operations must leave.
    fn left<'w>(&self, work: &'w Work, position: usize) -> View<'w> {
        match self.is_outlived {
            true => work.oracle.answered_at(position),
            false => work.oracle.at(position),
        }
    }

    /// Draws a command and does it.
    fn command(
        &mut self,
        drive: &mut Bytes<Drive>,
        work: &mut Work,
        media: &CrashMedia,
        rng: &mut Stream,
    ) -> Result<(), String> {
        let mut is_one_in = |count: u32| count > 0 && rng.below(count) == 0;
        let often = &self.often;
        let (flush, fua, trim, part, rest) = (
            is_one_in(often.flush),
            is_one_in(often.fua),
            is_one_in(often.trim),
            is_one_in(often.part),
            is_one_in(often.rest),
        );
        let begin = media.len_of_history();
        // Half of the commands go to an eighth of the pages.
        let pages = self.pages();
        let span = if rng.below(2) == 0 { pages / 8 } else { pages };
        let first = rng.below(span);
        let most = if rng.below(16) == 0 { 24 } else { 3 };
        let count = (1 + rng.below(most)).min(pages - first);
        let range = first..first + count;
        let version = if trim { 0 } else { self.version + 1 };
        self.version = self.version.max(version);
        let (effect, done) = if flush {
            (Effect::Flush, drive.drive().flush().map_err(|error| error.to_string()))
        } else if rest {
            // The second call finds that no work was added since the first, so the drive is idle.
            (0..2).for_each(|_| drive.drive().rest());
            (Effect::Proves, drive.drive().failure().map_or(Ok(()), Err))
        } else if trim {
            let done = drive.drive().trim(first.into(), count.into());
            (Effect::Changes, done.map_err(|error| error.to_string()))
        } else if part {
            let (at, data) = self.parts(range.clone(), version, &work.oracle, rng);
            (
                Effect::Changes,
                drive
                    .write(at, &data, WriteStreams(&[stream_of(version)]))
                    .map_err(|error| error.to_string()),
            )
        } else {
            let data: Vec<u8> =
                range.clone().flat_map(|page| self.contents.bytes(page, version)).collect();
            let effect = if fua { Effect::Fua } else { Effect::Changes };
            (
                effect,
                drive
                    .drive()
                    .write_named(first.into(), &data, WriteStreams(&[stream_of(version)]), fua)
                    .map_err(|error| error.to_string()),
            )
        };
        let is_write = !flush && !rest;
        let done = match is_write && self.is_outlived {
            true => {
                done.and_then(|()| drive.drive().hand_over().map_err(|error| error.to_string()))
            }
            false => done,
        };
        let wrote = range.clone().filter(|_| is_write).map(|page| (page, version));
        let end = media.len_of_history();
        let Err(error) = done else {
            work.oracle.note(effect, wrote, begin, end);
            return if is_write { leave_unit(drive.drive(), version) } else { Ok(()) };
        };
        // After a failed write each page is old or new: a read shows which.
        let old: Vec<Version> = range.clone().map(|page| work.oracle.latest(page)).collect();
        work.oracle.note_failed(wrote, begin, end);
        if is_write {
            let mut versions = Vec::new();
            for (page, old) in range.zip(old) {
                let now = self.read_page(drive.drive(), page)?;
                if now != old && now != version {
                    let failed = format!("a command that failed left version {now} in page {page}");
                    return Err(format!("{failed}, expected {old} or {version}: {error}"));
                }
                versions.push((page, now));
            }
            work.oracle.note_failed(versions.into_iter(), begin, end);
        }
        let has_ended = drive.drive().has_ended();
        if has_ended && media.failed_syncs() == work.failed {
            work.ended_at.get_or_insert(end);
        }
        match has_ended || media.failed_syncs() > work.failed {
            false => Err(format!("a command failed: {error}")),
            true if drive.drive().stat().read_only.is_none() => {
                Err(format!("a command failed, and the drive still takes writes: {error}"))
            }
            true => Ok(()),
        }
    }

    /// Draws a range of bytes that begins in the first page and ends in the last one.
    fn parts(
        &mut self,
        range: std::ops::Range<u32>,
        version: Version,
        oracle: &Oracle,
        rng: &mut Stream,
    ) -> (u64, Vec<u8>) {
        let page = PAGE as u32;
        let from = range.start * page + rng.below(page);
        let until = from.max((range.end - 1) * page) + 1;
        let until = until + rng.below(range.end * page - until + 1);
        let data = self.contents.write(from..until, version, |page| oracle.latest(page));
        (from.into(), data)
    }

    fn read_page(&self, drive: &mut Drive, page: u32) -> Result<Version, String> {
        let mut bytes = vec![0; PAGE];
        drive.read(page.into(), &mut bytes).map_err(|error| error.to_string())?;
        self.contents.version_of(page, &bytes)
    }

    /// Returns the versions of all pages. The number of pages in each read is random.
    fn read(&self, drive: &mut Drive, rng: &mut Stream) -> Result<Vec<Version>, String> {
        let versions = self.read_all(drive, rng)?;
        let whole = versions
            .into_iter()
            .zip(0..)
            .map(|(version, page)| version.ok_or_else(|| format!("page {page} is a media error")));
        whole.collect()
    }

    /// Returns the versions of all pages; `None` for a page with a media error. It checks that the
    /// drive counts each media error.
    fn read_all(
        &self,
        drive: &mut Drive,
        rng: &mut Stream,
    ) -> Result<Vec<Option<Version>>, String> {
        let (mut versions, mut bytes) = (Vec::new(), Vec::new());
        let before = drive.stat().media_errors;
        let mut errors = 0;
        let mut read = |page: usize, count: usize, bytes: &mut Vec<u8>| {
            bytes.clear();
            bytes.resize(count * PAGE, 0xa5);
            match drive.read(page as u64, bytes) {
                Ok(()) => Ok(true),
                Err(DeviceError::Media(_)) if bytes.iter().all(|&byte| byte == 0) => {
                    errors += 1;
                    Ok(false)
                }
                Err(error) => Err(format!("page {page}, {count} at once: {error}")),
            }
        };
        while versions.len() < self.pages() as usize {
            let first = versions.len();
            let count = (1 + rng.below(20) as usize).min(self.pages() as usize - first);
            if read(first, count, &mut bytes)? {
                for (page, bytes) in (first as u32..).zip(bytes.chunks(PAGE)) {
                    versions.push(Some(self.contents.version_of(page, bytes)?));
                }
                continue;
            }
            for page in first..first + count {
                let version = match read(page, 1, &mut bytes)? {
                    true => Some(self.contents.version_of(page as u32, &bytes)?),
                    false => None,
                };
                versions.push(version);
            }
            if versions[first..].iter().all(Option::is_some) {
                return Err(format!(
                    "pages {first} and on are a media error at once, not one by one"
                ));
            }
        }
        for (page, version) in (0..).zip(&versions) {
            version.map_or(Ok(()), |version| check_stream(drive, page, version))?;
        }
        match drive.stat().media_errors - before == errors {
            true => Ok(versions),
            false => Err("media errors are not counted".to_string()),
        }
    }

    /// Returns `true` if the blocks of a drive with an endurance have nearly reached it.
    fn is_near_its_end(&self, drive: &Drive) -> bool {
        let Some(Lifespan { endurance: Endurance { law: Law::Fixed { limit }, .. }, ends_at }) =
            &self.settings.layout.lifespan
        else {
            return false;
        };
        let blocks = drive.blocks().count();
        let dead = drive.blocks().filter(|block| block.erases >= *limit).count();
        let worn = drive.blocks().filter(|block| block.erases + 1 >= *limit).count();
        match ends_at {
            EndOfLife::FirstFailure => worn * 3 > blocks,
            EndOfLife::SystemFailure => dead > 2,
        }
    }
}

impl Often {
    /// The frequencies of commands on a medium without faults.
    fn no_faults(rng: &mut Stream) -> Self {
        let part = [0, 8][rng.below(2) as usize];
        Self { flush: 20, fua: 0, trim: 12, part, rest: 0, failure: 0, end: 0, lie: 0 }
    }
}

impl Work {
    /// Returns the work of a drive that holds these versions, before its first command.
    fn new(held: &[Version], media: &CrashMedia, durability: Durability) -> Self {
        let (base, ops, oracle) = (media.state(), Vec::new(), Oracle::new(held));
        let durabilities = vec![(0, 0, durability)];
        let failed = media.failed_syncs();
        Self { base, ops, oracle, durabilities, fallbacks: Vec::new(), ended_at: None, failed }
    }

    /// Notes that no checkpoint was being written between these operations.
    fn note_fallback(&mut self, begin: usize, end: usize) {
        match self.fallbacks.last_mut() {
            Some(before) if before.1 == begin => before.1 = end,
            _ => self.fallbacks.push((begin, end)),
        }
    }

    /// Returns `true` if the durability was `power` at all times.
    fn is_power(&self) -> bool {
        self.durabilities.iter().all(|&(_, _, durability)| durability == Durability::Power)
    }

    /// Returns the durability after `position` operations. While an opening changes the durability,
    /// the weaker of the old and the new one counts.
    fn durability_at(&self, position: usize) -> Durability {
        let mut now = self.durabilities[0].2;
        for &(begin, end, then) in &self.durabilities[1..] {
            let is_less = begin <= position && then != Durability::Power;
            if end <= position || is_less {
                now = then;
            }
        }
        now
    }

    /// Checks that a drive whose life was over at `position` takes no writes.
    fn look_at_end(&self, drive: &mut Bytes<Drive>, position: usize) -> Result<(), String> {
        let is_over = self.ended_at.is_some_and(|ended| ended <= position);
        match is_over && drive.drive().why_read_only().is_none() {
            true => Err("the drive's life was over, and it takes writes again".to_string()),
            false => Ok(()),
        }
    }
}
