//! Makes the images of a schedule, opens a drive from each, and checks its pages.

use flashgc_base::rng::Stream;

use super::super::Tally;
use super::super::drives::bit_of;
use super::super::images::Images;
use super::super::oracle::{Promise, View};
use super::{Schedule, Work, lose_one};
use crate::check::check;
use crate::checkpoint::{self, CheckpointPlace};
use crate::error::DeviceError;
use crate::layout::{COPIES, PAGE, Zones};
use crate::media::{CrashMedia, MemMedia, Op, State};
use crate::oob::{self, Slot};
use crate::settings::Durability;
use crate::superblock::{Copies, EPOCH_SHIFT, Superblock};

/// In one of `FURTHER` images the recovery is cut off, and in one of `FURTHER` the recovered drive
/// works on.
const FURTHER: u32 = 48;
/// In one of `COMPARED` images the two maps are compared.
const COMPARED: u32 = 3;
/// In one of `DAMAGED` images the checkpoint is damaged, in another one any bit is flipped, and in
/// a third one a bit of one copy of the superblock.
const DAMAGED: u32 = 16;

/// An image of a medium, and the crash that left it.
struct Image {
    state: State,
    /// `true` after a loss of power, `false` after the end of the process.
    is_power: bool,
    /// The name of the kind of image.
    kind: &'static str,
    /// A number of operations. The image is at least as new as the state after these operations.
    since: usize,
}

impl Schedule<'_> {
    /// Cuts the work off after every operation, in several ways.
    pub(super) fn crash(
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
                        let (kind, since) = ("the end of the process", position);
                        Image { state, is_power: false, kind, since }
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
            // The work of a recovered drive or of a large drive is cut off only after some of its
            // operations.
            let is_large = self.pages() > 100;
            let steps = if is_further || is_large { 1 + rng.below(12) } else { 1 };
            self.pace.note(tally.images);
            if self.pace.is_over() || !(0..steps).all(|_| images.step()) {
                return Ok(());
            }
        }
    }

    /// Opens the drive from an image and checks every page.
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
        let mut promise = Promise::of(self.durability, image.is_power);
        if image.is_power && image.state.has_lied {
            promise = promise.with_a_fault();
        }
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
            let is_within =
                |&(begin, end): &(usize, usize)| begin <= image.since && position <= end;
            falls_back =
                self.damage(&mut state.visible, rng)? && work.fallbacks.iter().any(is_within);
        }
        if promise == Promise::Kept && damage == 2 {
            // One damaged copy of the superblock must do no harm.
            state.visible[rng.below(4 * PAGE as u32) as usize] ^= 1 << rng.below(8);
        }
        let mut flipped = String::new();
        if promise == Promise::Kept && damage == 1 {
            let zones = self.settings.zones().map_err(|error| error.to_string())?;
            let bit = bit_of(&zones, rng.below(u32::MAX));
            state.visible[(bit / 8) as usize] ^= 1 << (bit % 8);
            flipped = format!("byte {} flipped: ", bit / 8);
            promise = promise.with_a_fault();
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
            // The checkpoint before was already overwritten.
            Err(error) if is_damaged && !falls_back && error.to_string().contains("--from-oob") => {
                return Ok(());
            }
            opened => opened.map_err(|error| format!("opening: {error}"))?,
        };
        tally.of_fallbacks += u64::from(is_damaged);
        tally.skipped += drive.drive().stat().recovery.map_or(0, |recovery| recovery.skipped);
        let dies = drive.drive().lost_dies();
        if promise == Promise::Kept && dies.count() > 0 {
            lose_one(&dies, rng);
        }
        let versions = self.read_all(drive.drive(), rng)?;
        tally.rebuilt += drive.drive().stat().opened.rebuilt;
        let view = match promise {
            Promise::Kept if image.is_power => work.oracle.at(position),
            Promise::Kept => {
                tally.of_hosts += u64::from(self.is_outlived);
                self.left(work, position)
            }
            _ => work.oracle.proved_at(position),
        };
        for (page, version) in (0..).zip(versions) {
            match version {
                Some(_) if promise == Promise::Nothing => {}
                Some(version) => {
                    view.judge(page, version).map_err(|what| flipped.clone() + &what)?
                }
                None if promise == Promise::Kept => return Err(format!("page {page} is lost")),
                None => tally.lost += 1,
            }
        }
        if promise != Promise::Nothing {
            work.look_at_end(&mut drive, position)?;
        }
        // With an endurance, the drive may have too few good blocks.
        if promise == Promise::Kept && self.settings.layout.lifespan.is_none() {
            if let Some(why) = drive.drive().why_read_only() {
                return Err(format!("a drive on a medium that works takes no writes: {why}"));
            }
            if !drive.drive().can_collect() {
                return Err("a recovered drive has no room for a collection".to_string());
            }
        }
        if crashes {
            let ops = media.take_history();
            let views = (&work.oracle.at(position), &view);
            self.crash_recovery(&before, &ops, views, rng, tally)?;
        }
        if goes_on {
            let durability = self.durability;
            let further = self.work(drive, &media, rng, 20, tally)?;
            self.crash(&further, rng, tally, true).map_err(|what| format!("then {what}"))?;
            self.durability = durability;
        }
        Ok(())
    }

    /// Flips a bit of the current checkpoint. Returns `true` if the checkpoint before is intact and
    /// of the same epoch: then the drive must open from it.
    fn damage(&self, image: &mut Vec<u8>, rng: &mut Stream) -> Result<bool, String> {
        let zones = self.settings.zones().map_err(|error| error.to_string())?;
        let media = MemMedia::of(std::mem::take(image));
        let superblock = Copies::read(&media).map_err(|error| error.to_string())?.now;
        let CheckpointPlace { slot, bytes, journal, .. } = superblock.checkpoint;
        let names_before = |copy: u64| {
            let named = Superblock::read(&media, copy)?.checkpoint;
            let is_before =
                named.slot != slot && named.journal >> EPOCH_SHIFT == journal >> EPOCH_SHIFT;
            let place = (&zones, superblock.tag());
            let read = || checkpoint::read(&media, place, &named, |_, _| {}, checkpoint::pass_over);
            is_before.then(|| read().ok())?
        };
        let falls_back = (0..COPIES).any(|copy| names_before(copy).is_some());
        *image = media.image();
        image[zones.checkpoint(slot) as usize + rng.below(bytes as u32) as usize] ^= 1;
        Ok(falls_back)
    }

    /// Cuts off the recovery that did the operations `ops` on the medium `before`. After a loss of
    /// power during the recovery, the view `under_way` must hold. After the end of its process, or
    /// after a loss of power once the drive is open again, the view `opened` must hold.
    fn crash_recovery(
        &mut self,
        before: &State,
        ops: &[Op],
        (under_way, opened): (&View<'_>, &View<'_>),
        rng: &mut Stream,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let mut images = Images::new(before, ops);
        loop {
            // After a sync that lied, a loss of power shows the lost write. Another promise holds
            // then, so the campaign leaves out this loss of power.
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
            let drive = self.open(media);
            let mut drive = drive.map_err(|error| place(format!("opening: {error}")))?;
            let view = if is_power && at < ops.len() { under_way } else { opened };
            for (page, version) in (0..).zip(self.read(drive.drive(), rng).map_err(place)?) {
                view.judge(page, version).map_err(place)?;
            }
            (tally.images, tally.of_recoveries) = (tally.images + 1, tally.of_recoveries + 1);
            if !images.step() {
                return Ok(());
            }
        }
    }

    /// Returns pairs of programmed pages, each as the operation that wrote it and its index in the
    /// stripe. Both pages of a pair are versions of the same logical page, programmed into the same
    /// block between two erases.
    fn twins(
        &self,
        zones: &Zones,
        tag: u32,
        work: &Work,
        stripes: &[(usize, usize)],
    ) -> Vec<((usize, usize), (usize, usize))> {
        let geometry = self.settings.layout.geometry;
        let place_of = |at: u64| {
            let index = ((at - zones.data(0)) / PAGE as u64) as u32;
            geometry.ppn(index / geometry.pages_per_block(), index % geometry.pages_per_block())
        };
        let mut lives = Vec::new();
        for &(index, pages) in stripes {
            let (Op::Write(at, _), Some(Op::Write(_, records))) =
                (&work.ops[index], work.ops.get(index + 1))
            else {
                continue;
            };
            for page in 0..pages {
                let ppn = place_of(at + (page * PAGE) as u64);
                let Some(record) = records[page * oob::BYTES..].first_chunk() else { continue };
                if let Slot::Of(record) = Slot::decode(tag, ppn, record) {
                    let life = (record.page, geometry.place_of(ppn).0, record.generation);
                    lives.push((life, (index, page)));
                }
            }
        }
        lives.sort_unstable();
        let pairs = lives.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        pairs.map(|pair| (pair[0].1, pair[1].1)).collect()
    }

    /// Closes the drive. Then the medium loses a write that it had said was durable, or swaps two
    /// pages. A read must notice that.
    pub(super) fn lie(
        &mut self,
        work: &Work,
        rng: &mut Stream,
        tally: &mut Tally,
    ) -> Result<(), String> {
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
        // A stripe is one write of the data of some pages. The write of their out-of-band records
        // follows.
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
        // Two versions of one page in one block differ only in their place and number.
        let tag = Copies::read(&MemMedia::of(closed.clone())).map_err(text)?.now.tag();
        let twins = self.twins(&zones, tag, work, &stripes);
        for round in 0..8 {
            let mut pick = || {
                let (index, pages) = stripes[rng.below(stripes.len() as u32) as usize];
                (index, rng.below(pages as u32) as usize)
            };
            let mut picked = (pick(), pick());
            if round % 2 == 0 && !twins.is_empty() {
                picked = twins[rng.below(twins.len() as u32) as usize];
            }
            let ((target, page), (other, other_page)) = picked;
            let mut lost = work.base.visible.clone();
            let kept = work.ops.iter().enumerate().filter(|&(index, op)| {
                index != target && index != target + 1 && !matches!(op, Op::Punch(..))
            });
            kept.map(|(_, op)| op).chain(&closing).for_each(|op| op.apply(&mut lost));
            let mut swapped = closed.clone();
            for (index, len) in [(0, PAGE), (1, oob::BYTES)] {
                let (Op::Write(first, _), Op::Write(second, _)) =
                    (&work.ops[target + index], &work.ops[other + index])
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
                for (page, version) in self.read_all(drive.drive(), rng)?.into_iter().enumerate() {
                    match version {
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

impl Image {
    /// Draws one of the images that a loss of power may leave.
    fn draw(images: &Images<'_>, rng: &mut Stream) -> Self {
        let (kind, durable) = images.draw(rng);
        let has_lied = images.state().has_lied;
        let state = State { durable, has_lied, ..State::default() };
        Self { state, is_power: true, kind, since: images.synced() }
    }
}
