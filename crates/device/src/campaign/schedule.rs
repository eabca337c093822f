//! A series of commands, and the images that it leaves.

use std::io::{self, Read};

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Lifespan, PlacementSpec,
    Victim, VictimSpec,
};

use super::images::Images;
use super::oracle::{Contents, Effect, Oracle, Version, View};
use super::{Pace, Tally};
use crate::check::check;
use crate::checkpoint::{self, Named};
use crate::engine::Drive;
use crate::front::bytes::Bytes;
use crate::layout::{COPIES, PAGE, Zones};
use crate::media::{CrashMedia, MemMedia, Op, State};
use crate::oob;
use crate::served::{DeviceError, Served};
use crate::settings::{Durability, Settings};
use crate::superblock::{Copies, EPOCH_SHIFT, Superblock};

/// Policies that a schedule draws from.
pub(super) const VICTIMS: [&str; 5] = ["greedy", "d-choices", "cost-benefit", "fifo", "random"];
pub(super) const PLACEMENTS: [&str; 2] = ["none", "dac:regions=2,threshold=900"];
pub(super) const ALLOCATIONS: [&str; 3] = ["fifo", "lowest-erase", "random"];

/// One image in so many has its recovery cut off, and one its recovered drive at work.
const FURTHER: u32 = 48;
/// One image in so many has its two maps compared.
const COMPARED: u32 = 3;
/// One image in so many has its checkpoint damaged, and one any bit flipped.
const DAMAGED: u32 = 16;

/// The shape of a small drive, 20 blocks of 8 pages of which the host has 84; or of one whose blocks have more pages
/// than a journal block can tell of between two syncs.
pub(super) fn shape(is_small: bool) -> Geometry {
    let shape = if is_small { Geometry::new(20, 8, 84) } else { Geometry::new(12, 64, 420) };
    shape.expect("a small drive")
}

/// The settings of a drive of this shape.
pub(super) fn settings(
    geometry: Geometry,
    (victim, placement, allocation): (&str, &str, &str),
    journal_blocks: u64,
    durability: Durability,
    lifespan: Option<Lifespan>,
) -> Settings {
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        allocation: Allocation::parse(allocation).expect("registered"),
        placement: PlacementSpec::parse(placement).expect("registered"),
        fill: Fill::Empty,
        seed: 5,
        lifespan,
        ..Layout::new(geometry)
    };
    let victim = Victim::Registered(VictimSpec::parse(victim).expect("registered"));
    Settings { layout, victim, journal_blocks, durability, streams: None }
}

/// A life of `limit` erases a block.
pub(super) fn lifespan(limit: u32, ends_at: EndOfLife) -> Lifespan {
    Lifespan { endurance: Endurance::Fixed { limit }, ends_at }
}

/// Returns a bit of the file, drawn by `at`: every kind of structure comes as often.
pub(super) fn bit_of(zones: &Zones, at: u32) -> u64 {
    let page = PAGE as u64;
    let parts = [
        0..zones.config,
        zones.config..zones.config + page,
        zones.checkpoint(0)..zones.checkpoint(0) + page,
        zones.checkpoint(1)..zones.checkpoint(1) + page,
        zones.journal(0)..zones.oob(0),
        zones.oob(0)..zones.data(0),
        zones.data(0)..zones.len,
    ];
    let part = &parts[at as usize % parts.len()];
    part.start * 8 + u64::from(at) * 7919 % ((part.end - part.start) * 8)
}

/// See the module's text.
pub(super) struct Schedule<'a> {
    pace: &'a Pace,
    settings: Settings,
    /// What the drive survives that is opened next.
    durability: Durability,
    often: Often,
    /// The version written last.
    version: Version,
    contents: Contents,
}

/// One command in so many is of the kind; 0 for none.
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
    /// Ends of the process, with an opening.
    end: u32,
    /// Syncs that lie.
    lie: u32,
}

/// The drive at work: what it did to its medium, and what it must hold.
struct Work {
    base: State,
    ops: Vec<Op>,
    oracle: Oracle,
    /// What the drive survived at first, and behind each opening, with the operations at which that began and ended.
    durabilities: Vec<(usize, usize, Durability)>,
    /// Operations between which no checkpoint was begun or under way: the one before the present one must do.
    fallbacks: Vec<(usize, usize)>,
    /// Operations done when the drive said that its life is over.
    ended_at: Option<usize>,
    /// Syncs that had failed when the drive was opened.
    failed: u64,
}

/// An image of a medium, and what a drive that is opened from it has to keep.
struct Image {
    state: State,
    /// The power was lost, and not only the process.
    is_power: bool,
    /// What was drawn.
    kind: &'static str,
}

/// What an image must hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// All that the host was told.
    Kept,
    /// What the medium has proof of, or an error in its place.
    Proved,
    /// Any version that the page had, or an error in its place.
    Known,
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
            failure: of([0, 0, 20, 40]),
            end: of([0, 20, 30, 50]),
            lie: of([0, 0, 0, 20]),
        };
        let journal_blocks = of([8, 10, 16, 24]).into();
        let limit = of([3, 4, 5, 6]);
        let is_small = of([0, 1, 2, 3]) + of([0, 1, 2, 3]) > 0;
        let lives =
            [EndOfLife::FirstFailure, EndOfLife::SystemFailure].get(of([0, 1, 2, 3]) as usize);
        let durability = match rng.below(8) {
            0 => Durability::None,
            1 => Durability::Process,
            _ => Durability::Power,
        };
        let lifespan = lives.map(|&ends_at| lifespan(limit, ends_at));
        let settings = settings(shape(is_small), policies, journal_blocks, durability, lifespan);
        Self { pace, settings, durability, often, version: 0, contents: Contents::default() }
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
        // Full, and old enough to collect.
        let often = std::mem::replace(&mut self.often, Often::no_faults(rng));
        let mut work = Work::new(&vec![0; self.pages() as usize], &media, self.durability);
        for _ in 0..2 * self.pages() {
            self.command(&mut drive, &mut work, &media, rng)?;
            if self.is_near_its_end(drive.drive()) {
                break;
            }
        }
        // All that it holds is durable, and the medium says so.
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

    /// Lets `drive`, all of whose data are durable, work.
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
        for _ in 0..commands {
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
            } else {
                let before = (drive.drive().is_checkpointing(), drive.drive().stat().checkpoints);
                let begin = media.len_of_history();
                self.command(&mut drive, &mut work, media, rng)?;
                if before == (false, drive.drive().stat().checkpoints)
                    && !drive.drive().is_checkpointing()
                {
                    work.fallbacks.push((begin, media.len_of_history()));
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

    /// Ends the process, and opens the drive again: at once, or once an opening has met a failed sync.
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
        if rng.below(8) == 0 && self.durability != Durability::None {
            self.durability = match self.durability {
                Durability::Power => Durability::Process,
                _ => Durability::Power,
            };
        }
        loop {
            tally.of_lives += 1;
            work.failed = media.failed_syncs();
            if self.often.failure > 0 && work.is_power() && rng.below(4) == 0 {
                media.fail_sync(rng.below(4), rng.below(u32::MAX));
            }
            let mut drive = self
                .open(media.clone())
                .map_err(|error| format!("opening behind the end of a process: {error}"))?;
            media.works();
            let held = self.read(drive.drive(), rng)?;
            let view = work.oracle.at(begin);
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
            // Nothing was done between two looks: it is idle.
            (0..2).for_each(|_| drive.drive().rest());
            (Effect::Proves, drive.drive().why_read_only().map_or(Ok(()), Err))
        } else if trim {
            let done = drive.drive().trim(first.into(), count.into());
            (Effect::Changes, done.map_err(|error| error.to_string()))
        } else if part {
            let (at, data) = self.parts(range.clone(), version, &work.oracle, rng);
            (Effect::Changes, drive.write(at, &data).map_err(|error| error.to_string()))
        } else {
            let data: Vec<u8> =
                range.clone().flat_map(|page| self.contents.bytes(page, version)).collect();
            let effect = if fua { Effect::Fua } else { Effect::Changes };
            (
                effect,
                drive.drive().write(first.into(), &data, fua).map_err(|error| error.to_string()),
            )
        };
        let is_write = !flush && !rest;
        let wrote = range.clone().filter(|_| is_write).map(|page| (page, version));
        let end = media.len_of_history();
        let Err(error) = done else {
            work.oracle.note(effect, wrote, begin, end);
            return Ok(());
        };
        // Each page is old or new: the drive says which.
        let old: Vec<Version> = range.clone().map(|page| work.oracle.latest(page)).collect();
        work.oracle.note(Effect::Changes, wrote, begin, end);
        if is_write {
            let mut found = Vec::new();
            for (page, old) in range.zip(old) {
                let now = self.read_page(drive.drive(), page)?;
                if now != old && now != version {
                    let failed = format!("a command that failed left version {now} in page {page}");
                    return Err(format!("{failed}, expected {old} or {version}: {error}"));
                }
                found.push((page, now));
            }
            work.oracle.note(Effect::Changes, found.into_iter(), begin, end);
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

    /// Draws the bytes from somewhere in the first page to somewhere in the last one.
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
        let mut data = Vec::new();
        for number in range {
            let first = from.max(number * page) - number * page;
            let behind = until.min((number + 1) * page) - number * page;
            let bytes = first as usize..behind as usize;
            let versions = (oracle.latest(number), version);
            data.extend(self.contents.part(number, versions, bytes));
        }
        (from.into(), data)
    }

    fn read_page(&self, drive: &mut Drive, page: u32) -> Result<Version, String> {
        let mut bytes = vec![0; PAGE];
        drive.read(page.into(), &mut bytes).map_err(|error| error.to_string())?;
        self.contents.version_of(page, &bytes)
    }

    /// The versions of all pages, of which as many are read at once as is drawn.
    fn read(&self, drive: &mut Drive, rng: &mut Stream) -> Result<Vec<Version>, String> {
        let found = self.read_all(drive, rng)?;
        let whole = found
            .into_iter()
            .zip(0..)
            .map(|(version, page)| version.ok_or_else(|| format!("page {page} is a media error")));
        whole.collect()
    }

    /// The versions of all pages; `None` where a page is a media error. Media errors are counted.
    fn read_all(
        &self,
        drive: &mut Drive,
        rng: &mut Stream,
    ) -> Result<Vec<Option<Version>>, String> {
        let (mut found, mut bytes) = (Vec::new(), Vec::new());
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
        while found.len() < self.pages() as usize {
            let first = found.len();
            let count = (1 + rng.below(20) as usize).min(self.pages() as usize - first);
            if read(first, count, &mut bytes)? {
                for (page, bytes) in (first as u32..).zip(bytes.chunks(PAGE)) {
                    found.push(Some(self.contents.version_of(page, bytes)?));
                }
                continue;
            }
            for page in first..first + count {
                let version = match read(page, 1, &mut bytes)? {
                    true => Some(self.contents.version_of(page as u32, &bytes)?),
                    false => None,
                };
                found.push(version);
            }
            if found[first..].iter().all(Option::is_some) {
                return Err(format!(
                    "pages {first} and on are a media error at once, not one by one"
                ));
            }
        }
        match drive.stat().media_errors - before == errors {
            true => Ok(found),
            false => Err("media errors are not counted".to_string()),
        }
    }

    /// Cuts the work off behind every operation, in several ways.
    fn crash(
        &mut self,
        work: &Work,
        rng: &mut Stream,
        tally: &mut Tally,
        is_further: bool,
    ) -> Result<(), String> {
        let mut images = Images::new(&work.base, &work.ops);
        loop {
            let position = images.position();
            self.durability = work.durability_at(position);
            let draws = if self.durability == Durability::Power { 4 } else { 2 };
            for draw in 0..draws {
                let image = match draw {
                    0 => {
                        let state = images.state().clone();
                        Image { state, is_power: false, kind: "the end of the process" }
                    }
                    _ => Image::draw(&images, rng),
                };
                let kind = image.kind;
                let place = |what: String| format!("operation {position}, {kind}: {what}");
                self.judge(work, image, position, rng, tally, is_further).map_err(place)?;
                if is_further {
                    tally.of_recovered += 1;
                }
            }
            // A recovered drive's work is sampled.
            let steps = if is_further { 1 + rng.below(12) } else { 1 };
            self.pace.note(tally.images);
            if self.pace.is_over() || !(0..steps).all(|_| images.step()) {
                return Ok(());
            }
        }
    }

    fn promise(&self, image: &Image) -> Promise {
        match self.durability {
            Durability::Power if image.is_power && image.state.has_lied => Promise::Proved,
            Durability::Power => Promise::Kept,
            Durability::Process if !image.is_power => Promise::Kept,
            Durability::Process | Durability::None => Promise::Known,
        }
    }

    /// Opens the drive from an image and looks at every page.
    fn judge(
        &mut self,
        work: &Work,
        image: Image,
        position: usize,
        rng: &mut Stream,
        tally: &mut Tally,
        is_further: bool,
    ) -> Result<(), String> {
        tally.images += 1;
        tally.of_ended += u64::from(work.ended_at.is_some_and(|ended| ended <= position));
        let mut promise = self.promise(&image);
        let mut state = image.state;
        if image.is_power {
            state = State::of(state.durable);
        }
        if promise == Promise::Kept && rng.below(COMPARED) == 0 {
            tally.compared += 1;
            let checked = check(&MemMedia::of(state.visible.clone()), &self.settings);
            let checked = checked.map_err(|error| format!("check: {error}"))?;
            if !checked.damaged.is_empty() || !checked.disagree.is_empty() {
                return Err(format!("the two maps differ: {checked:?}"));
            }
        }
        let damage = rng.below(DAMAGED);
        let is_damaged = promise == Promise::Kept && damage == 0;
        let mut falls_back = false;
        if is_damaged {
            let is_within = |&(begin, end): &(usize, usize)| begin <= position && position <= end;
            falls_back =
                self.damage(&mut state.visible, rng)? && work.fallbacks.iter().any(is_within);
        }
        if promise == Promise::Kept && damage == 2 {
            // One damaged copy of a superblock hides nothing.
            state.visible[rng.below(4 * PAGE as u32) as usize] ^= 1 << rng.below(8);
        }
        let mut flipped = String::new();
        if promise == Promise::Kept && damage == 1 {
            let zones = self.settings.zones().map_err(|error| error.to_string())?;
            let bit = bit_of(&zones, rng.below(u32::MAX));
            state.visible[(bit / 8) as usize] ^= 1 << (bit % 8);
            flipped = format!("byte {} flipped: ", bit / 8);
            promise = Promise::Proved;
        }
        let is_whole = promise == Promise::Kept && !is_damaged;
        let goes_on = is_whole && !is_further && rng.below(FURTHER) == 0;
        let crashes = is_whole && rng.below(FURTHER) == 0;
        let media = CrashMedia::of_state(state);
        if is_whole && work.is_power() {
            media.drop_lost(rng);
            media.take_history();
        }
        let before = if crashes { media.state() } else { State::default() };
        let mut drive = match self.open(media.clone()) {
            Err(_) if promise != Promise::Kept => {
                tally.refused += 1;
                return Ok(());
            }
            // The checkpoint before was gone already.
            Err(error) if is_damaged && !falls_back && error.to_string().contains("--from-oob") => {
                return Ok(());
            }
            opened => opened.map_err(|error| format!("opening: {error}"))?,
        };
        tally.of_fallbacks += u64::from(is_damaged);
        tally.skipped += drive.drive().stat().recovery.map_or(0, |recovery| recovery.skipped);
        let found = self.read_all(drive.drive(), rng)?;
        let view = match promise {
            Promise::Kept => work.oracle.at(position),
            Promise::Proved | Promise::Known => work.oracle.proved_at(position),
        };
        for (page, version) in (0..).zip(found) {
            match version {
                Some(_) if promise == Promise::Known => {}
                Some(version) => {
                    view.judge(page, version).map_err(|what| flipped.clone() + &what)?
                }
                None if promise == Promise::Kept => return Err(format!("page {page} is lost")),
                None => tally.lost += 1,
            }
        }
        if promise != Promise::Known {
            work.look_at_end(&mut drive, position)?;
        }
        if let Some(why) = drive.drive().why_read_only()
            && promise == Promise::Kept
            && self.settings.layout.lifespan.is_none()
        {
            return Err(format!("a drive on a medium that works takes no writes: {why}"));
        }
        if crashes {
            let ops = media.take_history();
            self.crash_recovery(&before, &ops, &work.oracle.at(position), rng, tally)?;
        }
        if goes_on {
            let durability = self.durability;
            let further = self.work(drive, &media, rng, 20, tally)?;
            self.crash(&further, rng, tally, true).map_err(|what| format!("then {what}"))?;
            self.durability = durability;
        }
        Ok(())
    }

    /// Turns a bit of the checkpoint that counts. Returns `true` if the one before is whole, and of the same epoch:
    /// then it must do.
    fn damage(&self, image: &mut Vec<u8>, rng: &mut Stream) -> Result<bool, String> {
        let zones = self.settings.zones().map_err(|error| error.to_string())?;
        let media = MemMedia::of(std::mem::take(image));
        let superblock = Copies::read(&media).map_err(|error| error.to_string())?.now;
        let Named { slot, bytes, journal, .. } = superblock.checkpoint;
        let names_before = |copy: u64| {
            let named = Superblock::read(&media, copy)?.checkpoint;
            let is_before =
                named.slot != slot && named.journal >> EPOCH_SHIFT == journal >> EPOCH_SHIFT;
            let place = (&zones, superblock.tag());
            let skip = |from: &mut dyn Read, bytes: u64| {
                let passed = io::copy(&mut from.take(bytes), &mut io::sink());
                passed.map(drop).map_err(|error| error.to_string())
            };
            is_before.then(|| checkpoint::read(&media, place, &named, |_, _| {}, skip).ok())?
        };
        let falls_back = (0..COPIES).any(|copy| names_before(copy).is_some());
        *image = media.image();
        image[zones.checkpoint(slot) as usize + rng.below(bytes as u32) as usize] ^= 1;
        Ok(falls_back)
    }

    /// Returns `true` if the blocks of a drive with an endurance have nearly reached it.
    fn is_near_its_end(&self, drive: &Drive) -> bool {
        let Some(Lifespan { endurance: Endurance::Fixed { limit }, ends_at }) =
            &self.settings.layout.lifespan
        else {
            return false;
        };
        let blocks = drive.blocks().count();
        let worn = drive.blocks().filter(|block| block.erases + 1 >= *limit).count();
        match ends_at {
            EndOfLife::FirstFailure => worn > 0,
            EndOfLife::SystemFailure => worn * 4 > blocks * 3,
        }
    }

    /// Cuts off the recovery that did `ops` to the medium `before`.
    fn crash_recovery(
        &mut self,
        before: &State,
        ops: &[Op],
        view: &View<'_>,
        rng: &mut Stream,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let mut images = Images::new(before, ops);
        loop {
            // A loss of power shows what a sync has lied about: that is another promise.
            let is_power = self.durability == Durability::Power
                && !images.state().has_lied
                && rng.below(4) > 0;
            let (kind, media) = match is_power {
                true => {
                    let (kind, image) = images.draw(rng);
                    (kind, CrashMedia::of(image))
                }
                false => ("the end of the process", CrashMedia::of_state(images.state().clone())),
            };
            let at = images.position();
            let place = |what| format!("recovery's operation {at}, {kind}: {what}");
            let opened = self.open(media);
            let mut drive = opened.map_err(|error| place(format!("opening: {error}")))?;
            for (page, version) in (0..).zip(self.read(drive.drive(), rng).map_err(place)?) {
                view.judge(page, version).map_err(place)?;
            }
            (tally.images, tally.of_recoveries) = (tally.images + 1, tally.of_recoveries + 1);
            if !images.step() {
                return Ok(());
            }
        }
    }

    /// The drive is closed. Then its medium has lost a write that it said was durable, or has swapped
    /// two pages: reading must find that out.
    fn lie(&mut self, work: &Work, rng: &mut Stream, tally: &mut Tally) -> Result<(), String> {
        let text = |error: DeviceError| error.to_string();
        let mut whole = work.base.visible.clone();
        work.ops.iter().for_each(|op| op.apply(&mut whole));
        let media = CrashMedia::of(whole);
        let mut drive = self.open(media.clone()).map_err(text)?;
        let held = self.read(drive.drive(), rng)?;
        drive.into_drive().close().map_err(text)?;
        let closing = media.take_history();
        let closed = media.image();
        let zones = self.settings.zones().map_err(text)?;
        // A stripe is the data of some pages; their records follow.
        let stripe = |op: &Op| match op {
            Op::Write(at, bytes) if *at >= zones.data(0) => Some(bytes.len() / PAGE),
            _ => None,
        };
        let stripes: Vec<(usize, usize)> = (0..work.ops.len())
            .filter_map(|index| Some((index, stripe(&work.ops[index])?)))
            .collect();
        if stripes.is_empty() {
            return Ok(()); // the drive's life was over
        }
        for _ in 0..8 {
            let mut pick = || {
                let (index, pages) = stripes[rng.below(stripes.len() as u32) as usize];
                (index, rng.below(pages as u32) as usize)
            };
            let ((one, page), (other, other_page)) = (pick(), pick());
            let mut lost = work.base.visible.clone();
            let kept = work.ops.iter().enumerate().filter(|&(index, op)| {
                index != one && index != one + 1 && !matches!(op, Op::Punch(..))
            });
            kept.map(|(_, op)| op).chain(&closing).for_each(|op| op.apply(&mut lost));
            let mut swapped = closed.clone();
            for (index, len) in [(0, PAGE), (1, oob::BYTES)] {
                let (Op::Write(first, _), Op::Write(second, _)) =
                    (&work.ops[one + index], &work.ops[other + index])
                else {
                    return Err("a stripe is data and their records".to_string());
                };
                for offset in 0..len {
                    let (first, second) = (*first as usize, *second as usize);
                    swapped.swap(first + page * len + offset, second + other_page * len + offset);
                }
            }
            for image in [lost, swapped] {
                let mut drive = self.open(CrashMedia::of(image)).map_err(text)?;
                for (page, found) in self.read_all(drive.drive(), rng)?.into_iter().enumerate() {
                    match found {
                        Some(version) if version != held[page] => {
                            let latest = held[page];
                            return Err(format!(
                                "page {page} reads as version {version}, expected {latest} or an error"
                            ));
                        }
                        Some(_) => {}
                        None => tally.lies_found += 1,
                    }
                }
                (tally.images, tally.of_lies) = (tally.images + 1, tally.of_lies + 1);
            }
        }
        Ok(())
    }
}

impl Often {
    /// Commands on a medium that works.
    fn no_faults(rng: &mut Stream) -> Self {
        let part = [0, 8][rng.below(2) as usize];
        Self { flush: 20, fua: 0, trim: 12, part, rest: 0, failure: 0, end: 0, lie: 0 }
    }
}

impl Work {
    /// The work of a drive that holds these versions.
    fn new(held: &[Version], media: &CrashMedia, durability: Durability) -> Self {
        let (base, ops, oracle) = (media.state(), Vec::new(), Oracle::new(held));
        let durabilities = vec![(0, 0, durability)];
        let failed = media.failed_syncs();
        Self { base, ops, oracle, durabilities, fallbacks: Vec::new(), ended_at: None, failed }
    }

    /// Returns `true` if the drive survived a loss of power at all times.
    fn is_power(&self) -> bool {
        self.durabilities.iter().all(|&(_, _, durability)| durability == Durability::Power)
    }

    /// Returns what the drive survives behind so many operations: while it is opened, the less of two.
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

impl Image {
    /// One of those that a loss of power may leave.
    fn draw(images: &Images<'_>, rng: &mut Stream) -> Self {
        let (kind, durable) = images.draw(rng);
        let has_lied = images.state().has_lied;
        Self { state: State { durable, has_lied, ..State::default() }, is_power: true, kind }
    }
}
