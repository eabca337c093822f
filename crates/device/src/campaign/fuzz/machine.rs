//! A drive at work on a medium that crashes and fails, and its dictionary.

use flashgc_base::rng::Stream;

use super::super::images::Images;
use super::super::oracle::{Version, bytes_of, version_of};
use super::Tally;
use super::life::{Life, State, bit_of};
use super::pages::Pages;
use super::script::{Again, Failing, Script, Step};
use crate::check::check;
use crate::engine::{Drive, zones_of};
use crate::layout::{PAGE, Zones};
use crate::media::{CrashMedia, Media, MemMedia};
use crate::served::{DeviceError, Served};
use crate::settings::{Durability, Settings};
use crate::superblock::Copies;
use crate::verify::Rules;

/// What a script did: its effect on the drive.
enum Change {
    Wrote(Version, bool),
    Trimmed,
    Flushed,
}

/// See the module's text.
pub(super) struct Machine<'a> {
    settings: &'a Settings,
    rules: Rules,
    zones: Zones,
    /// There is none while a step opens one.
    life: Option<Life>,
    pages: Pages,
    /// Bits were flipped since the drive was opened, or its recovery cannot read a place: the end of its
    /// journal may not verify.
    is_flipped: bool,
    /// Something was damaged since the drive was made.
    was_damaged: bool,
    tally: &'a mut Tally,
}

fn text(error: &DeviceError) -> String {
    error.to_string()
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        script: &'a Script,
        rules: Rules,
        tally: &'a mut Tally,
    ) -> Result<Self, String> {
        let settings = &script.settings;
        let len = settings.file_bytes().map_err(|error| text(&error))?;
        let mut blank = MemMedia::new(len);
        Drive::create(&mut blank, settings, *b"fuzzed by script").map_err(|error| text(&error))?;
        let superblock = Copies::read(&blank).map_err(|error| text(&error))?.now;
        let zones = zones_of(&blank, &superblock, settings).map_err(|error| text(&error))?;
        let pages = Pages::new(settings.layout.geometry.logical_pages());
        let mut machine = Self {
            settings,
            rules,
            zones,
            life: None,
            pages,
            is_flipped: false,
            was_damaged: false,
            tally,
        };
        let life =
            machine.open(State::of(blank.image()), None).map_err(|(error, _)| text(&error))?;
        machine.life = Some(life);
        Ok(machine)
    }

    /// Opens the drive on `base`, on a medium that fails so. If it cannot be opened, the medium is
    /// there.
    fn open(
        &mut self,
        base: State,
        failing: Option<Failing>,
    ) -> Result<Life, (DeviceError, CrashMedia)> {
        let (opened, failed) = Life::open(base, (self.settings, self.rules), &self.zones, failing);
        self.tally.faults += failed;
        opened
    }

    fn life(&mut self) -> Result<&mut Life, String> {
        self.life.as_mut().ok_or_else(|| "there is no drive".to_string())
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        self.tally.operations += 1;
        match *step {
            Step::Write { first, count, version, fua } => {
                let data: Vec<u8> =
                    (first..first + count).flat_map(|page| bytes_of(page, version)).collect();
                let done = self.life()?.drive.write(first.into(), &data, fua);
                self.note(done, first..first + count, &Change::Wrote(version, fua))
            }
            Step::Trim { first, count } => {
                let done = self.life()?.drive.trim(first.into(), count.into());
                self.note(done, first..first + count, &Change::Trimmed)
            }
            Step::Flush => {
                let done = self.life()?.drive.flush();
                self.note(done, 0..0, &Change::Flushed)
            }
            Step::Read { first, count } => {
                (first..first + count).try_for_each(|page| self.look(page))
            }
            Step::Hint { first, count, is_hint } => {
                let drive = &mut self.life()?.drive;
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
        }
    }

    fn damage(&mut self) {
        self.was_damaged = true;
        self.pages.damaged();
    }

    /// Notes what a command did, or may have done where it failed.
    fn note(
        &mut self,
        done: Result<(), DeviceError>,
        range: std::ops::Range<u32>,
        change: &Change,
    ) -> Result<(), String> {
        let Err(error) = done else {
            match *change {
                Change::Wrote(version, fua) => self.pages.wrote(range, version, fua),
                Change::Trimmed => self.pages.wrote(range, 0, false),
                Change::Flushed => self.pages.flushed(),
            }
            return Ok(());
        };
        match *change {
            Change::Wrote(version, _) => self.pages.tried(range, version),
            Change::Trimmed => self.pages.tried(range, 0),
            Change::Flushed => {}
        }
        let life = self.life()?;
        if life.failed() == 0 {
            return Err(format!("it failed on a medium that works: {error}"));
        }
        if life.drive.stat().read_only.is_none() {
            return Err(format!("it failed, and the drive still takes writes: {error}"));
        }
        Ok(())
    }

    /// Reads a page; `None` is a media error, which is counted.
    fn read(&mut self, page: u32) -> Result<Option<Version>, String> {
        let mut bytes = vec![0; PAGE];
        let life = self.life()?;
        let before = life.drive.stat().media_errors;
        let read = life.drive.read(page.into(), &mut bytes);
        let counted = life.drive.stat().media_errors - before;
        match read {
            Ok(()) => version_of(page, &bytes).map(Some),
            Err(DeviceError::Media(_)) if counted == 1 => {
                self.tally.media_errors += 1;
                Ok(None)
            }
            Err(DeviceError::Media(error)) => {
                Err(format!("a media error is counted {counted} times: {error}"))
            }
            Err(error) => Err(format!("page {page}: {error}")),
        }
    }

    fn look(&mut self, page: u32) -> Result<(), String> {
        let found = self.read(page)?;
        if found.is_none() && self.life()?.cannot_read {
            return Ok(());
        }
        self.pages.judge(page, found)
    }

    fn all(&self) -> std::ops::Range<u32> {
        0..self.settings.layout.geometry.logical_pages()
    }

    /// The medium after a crash of a drive that was opened on `base`. `had_failed`: a sync has, or may
    /// have.
    fn crashed(
        &self,
        base: &State,
        media: &CrashMedia,
        rng: &mut Stream,
        (is_cut, had_failed): (bool, bool),
    ) -> State {
        let mut ops = media.take_history();
        if is_cut {
            ops.truncate(rng.below(ops.len() as u32 + 1) as usize);
        }
        let mut visible = base.visible.clone();
        ops.iter().for_each(|op| op.apply(&mut visible));
        if self.settings.durability != Durability::Power {
            return State::of(visible);
        }
        let all = [base.unsynced.clone(), ops].concat();
        let mut images = Images::new(&base.durable, &all);
        while images.step() {}
        if rng.below(4) > 0 {
            return State::of(images.draw(rng).1);
        }
        // The end of the process leaves all that was written to whoever reads it.
        match had_failed {
            true => State { visible, durable: images.draw(rng).1, unsynced: Vec::new() },
            false => {
                let unsynced = images.unsynced().to_vec();
                State { visible, durable: images.into_durable(), unsynced }
            }
        }
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
        let mut base = self.crashed(&life.base, &life.media, &mut rng, (false, life.failed() > 0));
        drop(life);
        self.tally.crashes += 1;
        if let Some(at) = flip {
            self.probe(&base.visible, at, false)?;
        }
        let failing = match again {
            Again::Failing(failing) => Some(failing),
            Again::No | Again::Crash => None,
        };
        if matches!(failing, Some(Failing::Read(_))) {
            self.damage();
        }
        let (media, opened) = match self.open(base.clone(), failing) {
            Ok(life) => (life.media.clone(), Some(life)),
            Err((_, media)) if failing.is_some() => (media, None),
            Err((error, _)) => return Err(format!("opening: {error}")),
        };
        self.life = match opened {
            Some(life) if again == Again::No => Some(life),
            _ => {
                self.tally.recoveries_cut += 1;
                let how = (again == Again::Crash, failing.is_some());
                base = self.crashed(&base, &media, &mut rng, how);
                let life = self.open(base, None);
                Some(life.map_err(|(error, _)| format!("opening after a cut: {error}"))?)
            }
        };
        self.settle()
    }

    /// Looks at every page after a crash.
    fn settle(&mut self) -> Result<(), String> {
        let is_flipped = std::mem::take(&mut self.is_flipped);
        for page in self.all() {
            let found = self.read(page)?;
            match found {
                Some(version) if is_flipped => {
                    self.tally.went_back += u64::from(self.pages.kept(page, version).is_err());
                    self.pages.knows(page, version)?;
                    self.pages.settle(page, found);
                }
                _ => self.pages.judge_after_crash(page, found)?,
            }
        }
        self.life()?.drive.audit()
    }

    fn reopen(&mut self, draw: u32, flip: Option<u32>) -> Result<(), String> {
        let life = self.end_life()?;
        let Life { drive, media, base, faults, shorts, .. } = life;
        let had_failed = drive.stat().read_only.is_some();
        let closed = drive.close();
        let mut rng = Stream::new(draw.into(), "crash");
        let has_met = faults.failed() + shorts.done() > 0;
        let base = self.crashed(&base, &media, &mut rng, (false, has_met));
        match closed {
            Ok(()) => {
                self.pages.flushed();
                self.tally.reopened += 1;
                if let Some(at) = flip {
                    self.probe(&base.visible, at, true)?;
                }
                self.is_flipped = false;
            }
            // A drive that cannot be closed is one that crashed.
            Err(_) if had_failed || has_met => self.tally.crashes += 1,
            Err(error) => return Err(format!("closing: {error}")),
        }
        let life = self.open(base, None);
        self.life = Some(life.map_err(|(error, _)| format!("opening: {error}"))?);
        self.settle()
    }

    /// Flips a bit of the data, or of the out-of-band records, below a drive that runs.
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

    /// Looks at what a drive on `image` with one flipped bit holds. A drive that was closed has every
    /// page as it was, or an error in its place; one that was not may have lost the end of its journal.
    fn probe(&mut self, image: &[u8], at: u32, was_closed: bool) -> Result<(), String> {
        let bit = bit_of(&self.zones, at);
        let zones = &self.zones;
        // The end of a journal, and what it says of data that no later block vouches for.
        let may_go_back = self.is_flipped || (!was_closed && bit / 8 >= zones.journal(0));
        let mut flipped = image.to_vec();
        flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        self.tally.flips += 1;
        match self.open(State::of(flipped), None) {
            Err(_) => self.tally.refused += 1,
            Ok(life) => {
                self.life = Some(life);
                for page in self.all() {
                    let looked = self.read(page).and_then(|found| {
                        let Some(version) = found else { return Ok(()) };
                        match self.pages.kept(page, version) {
                            Err(_) if may_go_back => {
                                self.tally.went_back += 1;
                                self.pages.knows(page, version)
                            }
                            judged => judged,
                        }
                    });
                    looked.map_err(|what| format!("byte {} flipped: {what}", bit / 8))?;
                }
                self.life = None;
            }
        }
        Ok(())
    }

    /// Looks at everything once more.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.all().try_for_each(|page| self.look(page))?;
        let life = self.end_life()?;
        life.drive.audit()?;
        if self.was_damaged {
            return Ok(());
        }
        let has_failed = life.failed() > 0;
        self.agree(life.media.image())?;
        life.faults.clear();
        life.shorts.set(None);
        if !has_failed {
            life.drive.close().map_err(|error| format!("closing: {error}"))?;
            self.agree(life.media.image())?;
        }
        Ok(())
    }

    /// The two maps of a drive agree, and every page can be read.
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
