//! A drive from its opening to its crash, on a medium that can be made to fail.

use super::script::Failing;
use super::short::{ShortMedia, Shorts};
use crate::engine::Drive;
use crate::layout::{PAGE, Zones};
use crate::media::{CrashMedia, Fault, FaultMedia, Faults, Op};
use crate::served::DeviceError;
use crate::settings::Settings;
use crate::verify::Rules;

/// A medium between two lives of a drive. What reads give and what the disk holds differ where the process
/// ended, and not the power.
#[derive(Clone)]
pub(super) struct State {
    /// The bytes that reads give.
    pub(super) visible: Vec<u8>,
    /// The bytes that a loss of power leaves for certain.
    pub(super) durable: Vec<u8>,
    /// Operations that the next sync makes durable. Those of a sync that failed are not among them: the
    /// system takes their pages for written.
    pub(super) unsynced: Vec<Op>,
}

impl State {
    /// A medium on which all of `image` is durable.
    pub(super) fn of(image: Vec<u8>) -> Self {
        Self { visible: image.clone(), durable: image, unsynced: Vec::new() }
    }
}

/// An open drive, its medium and how to make that fail.
pub(super) struct Life {
    pub(super) drive: Drive,
    pub(super) media: CrashMedia,
    pub(super) faults: Faults,
    pub(super) shorts: Shorts,
    /// The medium when it was opened.
    pub(super) base: State,
    /// A place of the medium cannot be read, whatever is written there.
    pub(super) cannot_read: bool,
}

impl Life {
    /// Opens the drive on `base`, on a medium that fails so, and says how often it failed by then. If
    /// the drive cannot be opened, the medium is there.
    pub(super) fn open(
        base: State,
        (settings, rules): (&Settings, Rules),
        zones: &Zones,
        failing: Option<Failing>,
    ) -> (Result<Self, (DeviceError, CrashMedia)>, u64) {
        let media = CrashMedia::of(base.visible.clone());
        let shorts = Shorts::default();
        let (outer, faults) = FaultMedia::new(ShortMedia::new(media.clone(), shorts.clone()));
        if let Some(failing) = failing {
            set(failing, &faults, &shorts, zones);
        }
        let opened = Drive::open_by(Box::new(outer), settings, settings.durability, rules);
        let failed = faults.failed() + shorts.done();
        let opened = match opened {
            Ok(drive) => {
                let cannot_read = matches!(failing, Some(Failing::Read(_)));
                Ok(Self { drive, media, faults, shorts, base, cannot_read })
            }
            Err(error) => Err((error, media)),
        };
        (opened, failed)
    }

    /// Lets the medium fail from now on.
    pub(super) fn fail(&mut self, failing: Failing, zones: &Zones) {
        self.cannot_read |= matches!(failing, Failing::Read(_));
        set(failing, &self.faults, &self.shorts, zones);
    }

    /// Operations of the medium that failed.
    pub(super) fn failed(&self) -> u64 {
        self.faults.failed() + self.shorts.done()
    }
}

/// A bit of the file, drawn by `at`: every kind of structure comes as often.
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

/// Makes the medium of a drive with these zones fail.
fn set(failing: Failing, faults: &Faults, shorts: &Shorts, zones: &Zones) {
    match failing {
        Failing::Write(after) => faults.add(Fault::Write(after.into())),
        Failing::Full(after) => faults.add(Fault::Full(after.into())),
        Failing::Sync(after) => faults.add(Fault::Sync(after.into())),
        Failing::Read(at) => faults.add(Fault::Read(bit_of(zones, at) / 8)),
        Failing::Short(short) => shorts.set(Some(short)),
    }
}
