//! Plays the steps of a script on a drive whose medium crashes and fails, and checks the drive
//! against the model in `pages.rs`.

use std::ops::Range;

use flashgc_base::rng::Stream;

use super::super::drives::bit_of;
use super::super::images::Images;
use super::super::oracle::{Contents, Promise, Version, check_stream, leave_unit, stream_of};
use super::FuzzTally;
use super::life::{How, Life};
use super::pages::Pages;
use super::script::{Again, Failing, Script, Step};
use crate::check::check;
use crate::engine::{Backend, WriteStreams};
use crate::engine::{Drive, zones_of};
use crate::error::DeviceError;
use crate::layout::{PAGE, Zones};
use crate::media::{CrashMedia, Media, MemMedia, State};
use crate::settings::{Durability, Settings};
use crate::superblock::Copies;

/// The effect of a command on the drive.
enum Change {
    Wrote(Version, bool),
    Trimmed,
    Flushed,
    Vouched,
}

/// The player of a script: the drive, its medium and the model of its pages.
pub(super) struct Machine<'a> {
    settings: &'a Settings,
    punches: bool,
    /// `true` if the host survives the end of the drive's process.
    is_outlived: bool,
    zones: Zones,
    /// The open drive; `None` while a step opens it.
    life: Option<Life>,
    pages: Pages,
    contents: Contents,
    /// `true` if bits were flipped since the drive was opened, so that the end of its journal may
    /// not verify.
    is_flipped: bool,
    /// `true` if something was damaged since the drive was made.
    was_damaged: bool,
    /// `true` if the drive has said that its life is over.
    has_ended: bool,
    /// `true` if the drive cannot be opened any more. The steps that follow then do nothing.
    is_over: bool,
    tally: &'a mut FuzzTally,
}

/// The way in which the process of a drive ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Crashed,
    /// The drive's recovery was cut off at a random operation.
    Cut,
}

fn text(error: &DeviceError) -> String {
    error.to_string()
}

impl<'a> Machine<'a> {
    pub(super) fn new(script: &'a Script, tally: &'a mut FuzzTally) -> Result<Self, String> {
        let settings = &script.settings;
        let len = settings.file_bytes().map_err(|error| text(&error))?;
        let mut blank = MemMedia::new(len);
        Drive::create(&mut blank, settings, *b"fuzzed by script").map_err(|error| text(&error))?;
        let superblock = Copies::read(&blank).map_err(|error| text(&error))?.now;
        let zones = zones_of(&blank, &superblock, settings).map_err(|error| text(&error))?;
        let pages = Pages::new(settings.layout.geometry.logical_pages());
        let mut machine = Self {
            settings,
            punches: script.punches,
            is_outlived: script.is_outlived,
            zones,
            life: None,
            pages,
            contents: Contents::default(),
            is_flipped: false,
            was_damaged: false,
            has_ended: false,
            is_over: false,
            tally,
        };
        let life =
            machine.open(State::of(blank.image()), None).map_err(|(error, _)| text(&error))?;
        machine.life = Some(life);
        Ok(machine)
    }

    /// Opens the drive on a medium that has the state `base` and fails as `failing` says. An error
    /// is returned together with the medium.
    fn open(
        &mut self,
        base: State,
        failing: Option<Failing>,
    ) -> Result<Life, (DeviceError, CrashMedia)> {
        let &mut Self { settings, punches, .. } = self;
        let how = How { settings, zones: &self.zones, punches };
        let (opened, failed) = Life::open(base, how, failing);
        self.tally.faults += failed;
        opened
    }

    fn life(&mut self) -> Result<&mut Life, String> {
        self.life.as_mut().ok_or_else(|| "there is no drive".to_string())
    }

    fn drive(&mut self) -> Result<&mut Drive, String> {
        Ok(self.life()?.drive.drive())
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        self.tally.operations += 1;
        if self.is_over {
            return Ok(());
        }
        match *step {
            Step::Write { first, count, version, fua } => {
                let pages = first..first + count;
                let data: Vec<u8> =
                    pages.clone().flat_map(|page| self.contents.bytes(page, version)).collect();
                let named = WriteStreams(&[stream_of(version)]);
                let drive = self.drive()?;
                let done = drive.write_named(first.into(), &data, named, fua);
                let done = self.answered(done)?;
                if done.is_ok() {
                    leave_unit(self.drive()?, version)?;
                }
                self.note(done.map_err(|error| text(&error)), pages, &Change::Wrote(version, fua))
            }
            Step::Part { at, bytes, version } => self.write_part(at, bytes, version),
            Step::Trim { first, count } => {
                let done = self.drive()?.trim(first.into(), count.into());
                let done = self.answered(done)?;
                self.note(
                    done.map_err(|error| text(&error)),
                    first..first + count,
                    &Change::Trimmed,
                )
            }
            Step::Flush => {
                let done = self.drive()?.flush();
                self.note(done.map_err(|error| text(&error)), 0..0, &Change::Flushed)
            }
            Step::Idle => {
                let drive = self.drive()?;
                // The second call finds that no work was added since the first, so the drive is
                // idle.
                (0..2).for_each(|_| drive.rest());
                let done = drive.failure().map_or(Ok(()), Err);
                self.note(done, 0..0, &Change::Vouched)
            }
            Step::Read { first, count } => self.read_at_once(first, count),
            Step::Hint { first, count, is_hint } => {
                let drive = self.drive()?;
                let done = match is_hint {
                    true => drive.hint(first.into(), count.into(), None).map(drop),
                    false => drive.cancel(first.into(), count.into()),
                };
                done.map_err(|error| text(&error))
            }
            Step::Crash { draw, again, flip } => self.crash(draw, again, flip),
            Step::Reopen { draw, flip } => self.reopen(draw, flip),
            Step::Flip { at } => self.flip(at),
            Step::Fail(failing) => {
                let zones = self.zones;
                let life = self.life()?;
                life.fail(failing, &zones);
                Ok(())
            }
            Step::Lie { draw } => {
                if self.settings.durability == Durability::Power {
                    self.life()?.media.lie(draw);
                }
                Ok(())
            }
        }
    }

    /// If the host survives the process, hands the changes of a command over to the system before
    /// the host is answered.
    fn answered<E>(&mut self, done: Result<(), E>) -> Result<Result<(), E>, String>
    where
        E: From<DeviceError>,
    {
        Ok(match self.is_outlived {
            true => {
                let drive = self.drive()?;
                done.and_then(|()| Ok(drive.hand_over()?))
            }
            false => done,
        })
    }

    /// Writes a part of some pages. It does nothing if the version of one of these pages is not
    /// certain.
    fn write_part(&mut self, at: u32, bytes: u32, version: Version) -> Result<(), String> {
        let page = PAGE as u32;
        let pages = at / page..(at + bytes).div_ceil(page);
        let versions = pages.clone().map(|page| self.pages.certain(page));
        let Some(versions) = versions.collect::<Option<Vec<_>>>() else { return Ok(()) };
        let old = |page: u32| versions[(page - pages.start) as usize];
        let data = self.contents.write(at..at + bytes, version, old);
        let done = self.life()?.drive.write(at.into(), &data, WriteStreams(&[stream_of(version)]));
        let done = self.answered(done)?;
        let has_failed_to_read = done.is_err() && self.life()?.cannot_read;
        if has_failed_to_read && self.drive()?.why_read_only().is_none() {
            // The other bytes of a page could not be read. The pages before that page were written,
            // and none behind it.
            self.pages.tried(pages, version);
            self.tally.media_errors += 1;
            return Ok(());
        }
        let done = done.map_err(|error| error.to_string());
        self.note(done, pages, &Change::Wrote(version, false))
    }

    fn damage(&mut self) {
        self.was_damaged = true;
        self.pages.damaged();
    }

    /// Notes the effect of a command, or its possible effect if it failed.
    fn note(
        &mut self,
        done: Result<(), String>,
        range: Range<u32>,
        change: &Change,
    ) -> Result<(), String> {
        let Err(error) = done else {
            match *change {
                Change::Wrote(version, fua) => self.pages.wrote(range, version, fua),
                Change::Trimmed => self.pages.wrote(range, 0, false),
                Change::Flushed => self.pages.flushed(),
                Change::Vouched => self.pages.vouched(),
            }
            return Ok(());
        };
        match *change {
            Change::Wrote(version, _) => self.pages.tried(range, version),
            Change::Trimmed => self.pages.tried(range, 0),
            Change::Flushed | Change::Vouched => {}
        }
        let has_failed = self.life()?.failed() > 0;
        let has_ended = self.drive()?.has_ended();
        if self.drive()?.why_read_only().is_none() {
            return Err(format!("it failed, and the drive still takes writes: {error}"));
        }
        if has_ended && !has_failed {
            self.tally.ended += u64::from(!self.has_ended);
            self.has_ended = true;
        }
        match has_failed || has_ended {
            true => Ok(()),
            false => Err(format!("it failed on a medium that works: {error}")),
        }
    }

    /// Reads a page; `None` is a media error, which is counted.
    fn read(&mut self, page: u32) -> Result<Option<Version>, String> {
        let mut bytes = vec![0; PAGE];
        match self.read_into(page, &mut bytes)? {
            true => {
                let version = self.contents.version_of(page, &bytes)?;
                check_stream(self.drive()?, page, version)?;
                Ok(Some(version))
            }
            false => Ok(None),
        }
    }

    /// Reads pages from `page` on. Returns `false` for a media error, which is counted.
    fn read_into(&mut self, page: u32, bytes: &mut [u8]) -> Result<bool, String> {
        let drive = self.drive()?;
        let before = drive.stat().media_errors;
        let read = drive.read(page.into(), bytes);
        let counted = drive.stat().media_errors - before;
        match read {
            Ok(()) => Ok(true),
            Err(DeviceError::Media(_)) if counted == 1 => {
                self.tally.media_errors += 1;
                match bytes.iter().all(|&byte| byte == 0) {
                    true => Ok(false),
                    false => Err(format!("page {page}: bytes are left behind a media error")),
                }
            }
            Err(DeviceError::Media(error)) => {
                Err(format!("a media error is counted {counted} times: {error}"))
            }
            Err(error) => Err(format!("page {page}: {error}")),
        }
    }

    /// Reads pages as one request, as hosts do, and checks each of them.
    fn read_at_once(&mut self, first: u32, count: u32) -> Result<(), String> {
        let pages = first..first + count;
        let mut bytes = vec![0xa5; count as usize * PAGE];
        if self.read_into(first, &mut bytes)? {
            for (page, bytes) in pages.zip(bytes.chunks(PAGE)) {
                let version = self.contents.version_of(page, bytes)?;
                self.pages.judge(page, Some(version))?;
            }
            return Ok(());
        }
        let mut is_lost = false;
        for page in pages.clone() {
            is_lost |= self.look(page)?.is_none();
        }
        match is_lost {
            true => Ok(()),
            false => Err(format!("pages {pages:?} are a media error at once, and not one by one")),
        }
    }

    fn look(&mut self, page: u32) -> Result<Option<Version>, String> {
        let version = self.read(page)?;
        if version.is_some() || !self.life()?.cannot_read {
            self.pages.judge(page, version)?;
        }
        Ok(version)
    }

    fn all(&self) -> Range<u32> {
        0..self.settings.layout.geometry.logical_pages()
    }

    /// Returns three values for a drive that was opened on `base` and ended as `end` says: the
    /// state of its medium, the promise that must hold when it is opened again, and `true` if only
    /// the process has ended.
    fn ended(
        &mut self,
        base: &State,
        media: &CrashMedia,
        rng: &mut Stream,
        end: End,
    ) -> (State, Promise, bool) {
        let mut ops = media.take_history();
        if end == End::Cut {
            ops.truncate(rng.below(ops.len() as u32 + 1) as usize);
        }
        let mut images = Images::new(base, &ops);
        while images.step() {}
        let syncs = self.settings.durability == Durability::Power;
        let is_power = match end {
            _ if syncs => rng.below(5) > 1,
            End::Closed => rng.below(2) == 0,
            End::Crashed | End::Cut => rng.below(32) == 0,
        };
        let mut promise = match end {
            // A drive that does not sync cannot know what an earlier failed sync of its file has
            // lost.
            End::Closed if !is_power || images.state().lost.is_empty() => Promise::Kept,
            End::Closed | End::Crashed | End::Cut => {
                Promise::of(self.settings.durability, is_power)
            }
        };
        if is_power && images.state().has_lied {
            self.tally.lies += 1;
            promise = promise.with_a_fault();
        }
        // A closed drive replays no journal, so a flipped bit cannot hide the end of one.
        if self.is_flipped && end != End::Closed {
            promise = promise.with_a_fault();
        }
        if is_power {
            return (State::of(images.draw(rng).1), promise, false);
        }
        // After the end of the process all written bytes can be read. The system may have read
        // again the ranges that a failed sync did not write.
        let media = CrashMedia::of_state(images.state().clone());
        if syncs {
            media.drop_lost(rng);
        }
        (media.state(), promise, true)
    }

    fn end_life(&mut self) -> Result<Life, String> {
        let life = self.life.take().ok_or("there is no drive")?;
        self.tally.faults += life.failed();
        if life.cannot_read {
            // A page that could not be read when it was copied is damaged for good.
            self.damage();
        }
        Ok(life)
    }

    fn crash(&mut self, draw: u32, again: Again, flip: Option<u32>) -> Result<(), String> {
        let mut rng = Stream::new(draw.into(), "crash");
        let life = self.end_life()?;
        let (base, mut promise, is_process) =
            self.ended(&life.base, &life.media, &mut rng, End::Crashed);
        // All acknowledged writes need be there only if the host has seen no failure so far.
        let mut is_all_there = self.is_outlived
            && is_process
            && life.failed() == 0
            && !matches!(again, Again::Failing(_));
        drop(life);
        self.tally.crashes += 1;
        if let Some(at) = flip {
            self.probe(&base, at, promise)?;
        }
        let failing = match again {
            Again::Failing(failing) => Some(failing),
            Again::No | Again::Crash => None,
        };
        if matches!(failing, Some(Failing::Read(_))) {
            self.damage();
            if promise != Promise::Kept {
                promise = promise.with_a_fault();
            }
        }
        let (media, opened) = match self.open(base.clone(), failing) {
            Ok(life) => (life.media.clone(), Some(life)),
            Err((error, _)) if self.is_copy_of_superblock(failing) && promise == Promise::Kept => {
                return Err(format!("opening with one copy of the superblock unreadable: {error}"));
            }
            Err((_, media)) if failing.is_some() => (media, None),
            Err((error, _)) => return self.refused(promise, &error),
        };
        let life = match opened {
            Some(life) if again == Again::No => Ok(life),
            _ => {
                self.tally.recoveries_cut += 1;
                let end = if again == Again::Crash { End::Cut } else { End::Crashed };
                let (left, then, is_process) = self.ended(&base, &media, &mut rng, end);
                promise = promise.max(then);
                is_all_there &= is_process;
                self.open(left, None)
            }
        };
        match life {
            Ok(life) => self.life = Some(life),
            Err((error, _)) => return self.refused(promise, &error),
        }
        if is_all_there && promise == Promise::Kept {
            self.tally.outlived += 1;
            self.pages.outlived();
        }
        self.settle(promise)
    }

    /// Returns `true` if only a read of one copy of the superblock fails.
    fn is_copy_of_superblock(&self, failing: Option<Failing>) -> bool {
        match failing {
            Some(Failing::Read(at)) => bit_of(&self.zones, at) / 8 < self.zones.config,
            _ => false,
        }
    }

    /// Handles a drive that cannot be opened: the script ends if `promise` allows that, and
    /// otherwise this is an error.
    fn refused(&mut self, promise: Promise, error: &DeviceError) -> Result<(), String> {
        if promise == Promise::Kept {
            return Err(format!("opening: {error}"));
        }
        self.tally.refused += 1;
        self.is_over = true;
        Ok(())
    }

    /// Checks every page after a crash.
    fn settle(&mut self, promise: Promise) -> Result<(), String> {
        self.is_flipped = false;
        if !matches!(promise, Promise::Kept) {
            self.damage();
        }
        for page in self.all() {
            let version = self.read(page)?;
            match version {
                Some(version) if promise != Promise::Kept => {
                    self.judge_damaged(page, version, promise)?;
                    self.pages.settle(page, Some(version));
                }
                _ => self.pages.judge_after_crash(page, version)?,
            }
        }
        if promise == Promise::Nothing {
            self.is_over = true;
            return Ok(());
        }
        let why = self.drive()?.why_read_only();
        if why.is_none() && self.has_ended {
            return Err("the drive's life was over, and it takes writes again".to_string());
        }
        match why {
            Some(why) if self.settings.layout.lifespan.is_none() && promise == Promise::Kept => {
                Err(format!("a drive on a medium that works takes no writes: {why}"))
            }
            None if self.settings.layout.lifespan.is_none() && !self.drive()?.can_collect() => {
                Err("a recovered drive has no room for a collection".to_string())
            }
            _ => self.drive()?.audit(),
        }
    }

    /// Checks the version of a page in a drive whose medium was damaged.
    fn judge_damaged(
        &mut self,
        page: u32,
        version: Version,
        promise: Promise,
    ) -> Result<(), String> {
        self.tally.went_back += u64::from(self.pages.kept(page, version).is_err());
        match promise {
            Promise::Kept => self.pages.kept(page, version),
            Promise::Proved => self.pages.proved(page, version),
            Promise::Known | Promise::Nothing => self.pages.knows(page, version),
        }
    }

    fn reopen(&mut self, draw: u32, flip: Option<u32>) -> Result<(), String> {
        let life = self.end_life()?;
        let Life { mut drive, media, base, faults, shorts, .. } = life;
        let media_errors = drive.drive().stat().media_errors;
        let had_failed = drive.drive().why_read_only().is_some() && !drive.drive().has_ended();
        let closed = drive.into_drive().close();
        let mut rng = Stream::new(draw.into(), "crash");
        let has_met = faults.failed() + shorts.done() + media.failed_syncs() > 0;
        let end = if closed.is_ok() { End::Closed } else { End::Crashed };
        let (base, promise, _) = self.ended(&base, &media, &mut rng, end);
        match closed {
            Ok(()) => {
                self.pages.vouched();
                self.tally.reopened += 1;
                if let Some(at) = flip {
                    self.probe(&base, at, promise)?;
                }
            }
            // A drive that cannot be closed counts as crashed.
            Err(_) if had_failed || has_met => self.tally.crashes += 1,
            Err(error) => return Err(format!("closing: {error}")),
        }
        match self.open(base, None) {
            Ok(life) => self.life = Some(life),
            Err((error, _)) => return self.refused(promise, &error),
        }
        if end == End::Closed && promise == Promise::Kept {
            let report = self.drive()?.stat();
            if report.recovery.is_some() {
                return Err("a drive that was closed recovers".to_string());
            }
            if report.media_errors != media_errors {
                let counted = report.media_errors;
                return Err(format!(
                    "the drive counts {counted} media errors, expected {media_errors}"
                ));
            }
        }
        self.settle(promise)
    }

    /// Flips a bit of the data or of the out-of-band records while the drive is open.
    fn flip(&mut self, at: u32) -> Result<(), String> {
        let from = self.zones.oob(0);
        let bit = u64::from(at) % ((self.zones.len - from) * 8);
        let place = from + bit / 8;
        self.damage();
        (self.is_flipped, self.tally.flips) = (true, self.tally.flips + 1);
        let media = &mut self.life()?.media;
        let mut byte = [0];
        media.read_at(place, &mut byte).map_err(|error| error.to_string())?;
        byte[0] ^= 1 << (bit % 8);
        media.write_at(place, &byte).map_err(|error| error.to_string())
    }

    /// Checks the pages of a drive on `base` with one flipped bit. In a drive that was closed,
    /// every page has its data, or is an error. A drive that was not closed may have lost the end
    /// of its journal, up to the last records that the medium says to be durable.
    fn probe(&mut self, base: &State, at: u32, promise: Promise) -> Result<(), String> {
        let promise = promise.with_a_fault();
        if promise == Promise::Nothing {
            return Ok(());
        }
        let bit = bit_of(&self.zones, at);
        let mut flipped = base.visible.clone();
        flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        self.tally.flips += 1;
        match self.open(State::of(flipped), None) {
            Err(_) => self.tally.refused += 1,
            Ok(life) => {
                self.life = Some(life);
                for page in self.all() {
                    let looked = self.read(page).and_then(|version| match version {
                        Some(version) => self.judge_damaged(page, version, promise),
                        None => Ok(()),
                    });
                    looked.map_err(|what| format!("byte {} flipped: {what}", bit / 8))?;
                }
                self.life = None;
            }
        }
        Ok(())
    }

    /// Checks everything once more at the end of the script.
    pub(super) fn end(&mut self) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        self.all().try_for_each(|page| self.look(page).map(drop))?;
        let mut life = self.end_life()?;
        life.drive.drive().audit()?;
        if self.was_damaged {
            return Ok(());
        }
        let has_failed = life.failed() > 0;
        self.agree(life.media.image())?;
        life.works();
        if !has_failed {
            let Life { drive, media, .. } = life;
            drive.into_drive().close().map_err(|error| format!("closing: {error}"))?;
            self.agree(media.image())?;
        }
        Ok(())
    }

    /// Checks that the two maps of a drive agree, and that every page can be read.
    fn agree(&mut self, image: Vec<u8>) -> Result<(), String> {
        self.tally.compared += 1;
        let checked = check(&MemMedia::of(image), self.settings);
        let checked = checked.map_err(|error| format!("check: {error}"))?;
        match checked.damaged.is_empty() && checked.disagree.is_empty() {
            true => Ok(()),
            false => Err(format!("the two maps differ: {checked:?}")),
        }
    }
}
