//! A series of commands, and the images that it leaves.

use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PlacementSpec, Victim, VictimSpec,
};

use super::images::Images;
use super::oracle::{Effect, Oracle, Version, bytes_of, version_of};
use super::{Pace, Tally};
use crate::check::check;
use crate::checkpoint::Named;
use crate::engine::Drive;
use crate::layout::PAGE;
use crate::media::{CrashMedia, MemMedia, Op};
use crate::oob;
use crate::served::{DeviceError, Served};
use crate::settings::{Durability, Settings};
use crate::superblock::Copies;
use crate::verify::Rules;

/// Policies that a schedule draws from.
pub(super) const VICTIMS: [&str; 5] = ["greedy", "d-choices", "cost-benefit", "fifo", "random"];
pub(super) const PLACEMENTS: [&str; 2] = ["none", "dac:regions=2,threshold=900"];
pub(super) const ALLOCATIONS: [&str; 3] = ["fifo", "lowest-erase", "random"];

/// One image in so many has its recovery cut off, and one its recovered drive at work.
const FURTHER: u32 = 48;
/// One image in so many has its two maps compared.
const COMPARED: u32 = 3;
/// One image in so many has its checkpoint damaged.
const DAMAGED: u32 = 16;

/// A small drive: 20 blocks of 8 pages, of which the host has 84.
pub(super) fn settings(
    (victim, placement, allocation): (&str, &str, &str),
    journal_blocks: u64,
    durability: Durability,
) -> Settings {
    let geometry = Geometry::new(20, 8, 84).expect("a small drive");
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        allocation: Allocation::parse(allocation).expect("registered"),
        placement: PlacementSpec::parse(placement).expect("registered"),
        fill: Fill::Empty,
        seed: 5,
        ..Layout::new(geometry)
    };
    let victim = Victim::Registered(VictimSpec::parse(victim).expect("registered"));
    Settings { layout, victim, journal_blocks, durability, streams: None }
}

/// See the module's text.
pub(super) struct Schedule<'a> {
    pace: &'a Pace,
    settings: Settings,
    rules: Rules,
    commands: u32,
    /// One command in so many is a flush, a write with FUA, a TRIM; 0 for none.
    flushes: u32,
    fuas: u32,
    trims: u32,
    /// The version written last.
    version: Version,
}

/// The drive at work: what it did to its medium, and what it must hold.
struct Work {
    base: Vec<u8>,
    ops: Vec<Op>,
    oracle: Oracle,
}

impl<'a> Schedule<'a> {
    pub(super) fn draw(rng: &mut Stream, rules: Rules, pace: &'a Pace) -> Self {
        let mut one_of = |all: &[&'static str]| all[rng.below(all.len() as u32) as usize];
        let (victim, placement, allocation) =
            (one_of(&VICTIMS), one_of(&PLACEMENTS), one_of(&ALLOCATIONS));
        let mut of = |all: [u32; 4]| all[rng.below(4) as usize];
        let (flushes, fuas, trims) = (of([0, 5, 20, 60]), of([0, 0, 10, 40]), of([0, 6, 6, 20]));
        let journal_blocks = of([8, 10, 16, 24]).into();
        let durability = match rng.below(4) {
            0 => Durability::Process,
            _ => Durability::Power,
        };
        let settings = settings((victim, placement, allocation), journal_blocks, durability);
        Self { pace, settings, rules, commands: 60, flushes, fuas, trims, version: 0 }
    }

    fn pages(&self) -> u32 {
        self.settings.layout.geometry.logical_pages()
    }

    fn open(&self, media: CrashMedia) -> Result<Drive, DeviceError> {
        Drive::open_by(Box::new(media), &self.settings, self.settings.durability, self.rules)
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
        for _ in 0..2 * self.pages() {
            self.command(
                &mut drive,
                &mut Oracle::new(&vec![0; self.pages() as usize]),
                &media,
                rng,
            )?;
        }
        drive.flush().map_err(text)?;
        let work = self.work(drive, &media, rng, self.commands)?;
        self.crash(&work, rng, tally, false)?;
        if self.pace.is_over() {
            return Ok(());
        }
        self.lie(&work, rng, tally)
    }

    /// Lets `drive`, all of whose data are durable, work.
    fn work(
        &mut self,
        mut drive: Drive,
        media: &CrashMedia,
        rng: &mut Stream,
        commands: u32,
    ) -> Result<Work, String> {
        let held = self.read(&mut drive)?;
        let mut oracle = Oracle::new(&held);
        media.take_history();
        let base = media.image();
        for _ in 0..commands {
            self.command(&mut drive, &mut oracle, media, rng)?;
        }
        for (page, version) in (0..).zip(self.read(&mut drive)?) {
            if version != oracle.latest(page) {
                return Err(format!("page {page} reads as version {version} while the drive runs"));
            }
        }
        drive.audit()?;
        Ok(Work { base, ops: media.take_history(), oracle })
    }

    /// Draws a command and does it.
    fn command(
        &mut self,
        drive: &mut Drive,
        oracle: &mut Oracle,
        media: &CrashMedia,
        rng: &mut Stream,
    ) -> Result<(), String> {
        let mut is_one_in = |count: u32| count > 0 && rng.below(count) == 0;
        let (flush, fua, trim) =
            (is_one_in(self.flushes), is_one_in(self.fuas), is_one_in(self.trims));
        let begin = media.len_of_history();
        // Half of the commands go to an eighth of the pages.
        let pages = self.pages();
        let span = if rng.below(2) == 0 { pages / 8 } else { pages };
        let first = rng.below(span);
        let count = (1 + rng.below(3)).min(pages - first);
        let range = first..first + count;
        let version = if trim || flush { 0 } else { self.version + 1 };
        let done = if flush {
            drive.flush()
        } else if trim {
            drive.trim(first.into(), count.into())
        } else {
            self.version += 1;
            let data: Vec<u8> = range.clone().flat_map(|page| bytes_of(page, version)).collect();
            drive.write(first.into(), &data, fua)
        };
        done.map_err(|error| format!("a command failed: {error}"))?;
        let effect = match (flush, trim, fua) {
            (true, ..) => Effect::Flush,
            (_, false, true) => Effect::Fua,
            _ => Effect::Changes,
        };
        let wrote = range.filter(|_| !flush).map(|page| (page, version));
        oracle.note(effect, wrote, begin, media.len_of_history());
        Ok(())
    }

    /// The versions of all pages.
    fn read(&self, drive: &mut Drive) -> Result<Vec<Version>, String> {
        let mut bytes = vec![0; PAGE];
        let mut read = |page: u32| {
            drive.read(page.into(), &mut bytes).map_err(|error| error.to_string())?;
            version_of(page, &bytes)
        };
        (0..self.pages()).map(&mut read).collect()
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
            // The end of the process leaves all that was written.
            let draws = if self.settings.durability == Durability::Power { 4 } else { 1 };
            for draw in 0..draws {
                let (kind, image) = match draw {
                    0 => ("all", images.all()),
                    _ => images.draw(rng),
                };
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

    /// Opens the drive from an image and looks at every page.
    fn judge(
        &mut self,
        work: &Work,
        image: Vec<u8>,
        position: usize,
        rng: &mut Stream,
        tally: &mut Tally,
        is_further: bool,
    ) -> Result<(), String> {
        tally.images += 1;
        if rng.below(COMPARED) == 0 {
            tally.compared += 1;
            let checked = check(&MemMedia::of(image.clone()), &self.settings);
            let checked = checked.map_err(|error| format!("check: {error}"))?;
            if !checked.damaged.is_empty() || !checked.disagree.is_empty() {
                return Err(format!("the two maps differ: {checked:?}"));
            }
        }
        let mut image = image;
        let is_damaged = rng.below(DAMAGED) == 0;
        if is_damaged {
            self.damage(&mut image, rng)?;
        }
        let goes_on = !is_further && rng.below(FURTHER) == 0;
        let crashes = rng.below(FURTHER) == 0;
        let media = CrashMedia::of(image);
        let before = if crashes { media.image() } else { Vec::new() };
        let mut drive = match self.open(media.clone()) {
            // The checkpoint before was gone already.
            Err(error) if is_damaged && error.to_string().contains("--from-oob") => return Ok(()),
            opened => opened.map_err(|error| format!("opening: {error}"))?,
        };
        tally.of_fallbacks += u64::from(is_damaged);
        tally.skipped += drive.stat().recovery.map_or(0, |recovery| recovery.skipped);
        let versions = self.read(&mut drive)?;
        for (page, &version) in (0..).zip(&versions) {
            work.oracle.judge(page, version, position)?;
        }
        if crashes {
            self.crash_recovery(work, &before, &media.take_history(), position, rng, tally)?;
        }
        if goes_on {
            let further = self.work(drive, &media, rng, 20)?;
            self.crash(&further, rng, tally, true).map_err(|what| format!("then {what}"))?;
        }
        Ok(())
    }

    /// Turns a bit of the checkpoint that counts.
    fn damage(&self, image: &mut Vec<u8>, rng: &mut Stream) -> Result<(), String> {
        let zones = self.settings.zones().map_err(|error| error.to_string())?;
        let media = MemMedia::of(std::mem::take(image));
        let superblock = Copies::read(&media).map_err(|error| error.to_string())?.now;
        let Named { slot, bytes, .. } = superblock.checkpoint;
        *image = media.image();
        image[zones.checkpoint(slot) as usize + rng.below(bytes as u32) as usize] ^= 1;
        Ok(())
    }

    /// Cuts off the recovery that did `ops` to the image `before`.
    fn crash_recovery(
        &mut self,
        work: &Work,
        before: &[u8],
        ops: &[Op],
        position: usize,
        rng: &mut Stream,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let mut images = Images::new(before, ops);
        loop {
            let (kind, image) = match self.settings.durability {
                Durability::Power => images.draw(rng),
                _ => ("all", images.all()),
            };
            let mut drive = self
                .open(CrashMedia::of(image))
                .map_err(|error| format!("opening after a crash of recovery: {error}"))?;
            for (page, version) in (0..).zip(self.read(&mut drive)?) {
                let at = images.position();
                let place = |what| format!("recovery's operation {at}, {kind}: {what}");
                work.oracle.judge(page, version, position).map_err(place)?;
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
        let mut whole = work.base.clone();
        work.ops.iter().for_each(|op| op.apply(&mut whole));
        let media = CrashMedia::of(whole);
        let mut drive = self.open(media.clone()).map_err(text)?;
        let held = self.read(&mut drive)?;
        drive.close().map_err(text)?;
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
        for _ in 0..8 {
            let mut pick = || {
                let (index, pages) = stripes[rng.below(stripes.len() as u32) as usize];
                (index, rng.below(pages as u32) as usize)
            };
            let ((one, page), (other, other_page)) = (pick(), pick());
            let mut lost = work.base.clone();
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
                let mut bytes = vec![0; PAGE];
                let mut errors = 0;
                for page in 0..self.pages() {
                    match drive.read(page.into(), &mut bytes) {
                        Ok(()) => {
                            let version = version_of(page, &bytes)?;
                            let latest = held[page as usize];
                            if version != latest {
                                return Err(format!(
                                    "page {page} reads as version {version}, expected {latest} or \
                                     an error"
                                ));
                            }
                        }
                        Err(DeviceError::Media(_)) => errors += 1,
                        Err(error) => return Err(error.to_string()),
                    }
                }
                if drive.stat().media_errors != errors {
                    return Err("a media error is not counted".to_string());
                }
                (tally.images, tally.of_lies) = (tally.images + 1, tally.of_lies + 1);
                tally.lies_found += errors;
            }
        }
        Ok(())
    }
}
