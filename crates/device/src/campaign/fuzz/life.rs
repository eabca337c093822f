//! A drive from its opening to its crash, on a medium that can be made to fail.

use super::super::drives::bit_of;
use super::script::Failing;
use super::short::{ShortMedia, Shorts};
use crate::bytes::Bytes;
use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::Zones;
use crate::media::{CrashMedia, Fault, FaultMedia, Faults, State};
use crate::settings::Settings;

/// An open drive, its medium, and the handles that make the medium fail.
pub(super) struct Life {
    pub(super) drive: Bytes<Drive>,
    pub(super) media: CrashMedia,
    pub(super) faults: Faults,
    pub(super) shorts: Shorts,
    /// The state of the medium when the drive was opened.
    pub(super) base: State,
    /// `true` if a place of the medium cannot be read, whatever is written there.
    pub(super) cannot_read: bool,
}

/// The parameters that are the same for every opening of a script's drive.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) settings: &'a Settings,
    pub(super) zones: &'a Zones,
    /// `true` if the medium can give room back.
    pub(super) punches: bool,
}

impl Life {
    /// Opens the drive on a medium that has the state `base` and fails as `failing` says. Returns
    /// the open drive, or the error and the medium. Also returns the number of the medium's
    /// operations that failed meanwhile.
    pub(super) fn open(
        base: State,
        how: How<'_>,
        failing: Option<Failing>,
    ) -> (Result<Self, (DeviceError, CrashMedia)>, u64) {
        let media = CrashMedia::of_state(base.clone());
        let shorts = Shorts::default();
        let short = ShortMedia::new(media.clone(), shorts.clone(), how.punches);
        let (outer, faults) = FaultMedia::new(short);
        if let Some(failing) = failing {
            set(failing, (&media, &faults, &shorts), how.zones);
        }
        let opened = Drive::open(Box::new(outer), how.settings);
        let failed = faults.failed() + shorts.done() + media.failed_syncs();
        let opened = match opened {
            Ok(drive) => {
                let cannot_read = matches!(failing, Some(Failing::Read(_)));
                Ok(Self { drive: Bytes::new(drive), media, faults, shorts, base, cannot_read })
            }
            Err(error) => Err((error, media)),
        };
        (opened, failed)
    }

    /// Lets the medium fail from now on, as `failing` says.
    pub(super) fn fail(&mut self, failing: Failing, zones: &Zones) {
        self.cannot_read |= matches!(failing, Failing::Read(_));
        set(failing, (&self.media, &self.faults, &self.shorts), zones);
    }

    /// Lets the medium work again.
    pub(super) fn works(&self) {
        self.faults.clear();
        self.shorts.set(None);
        self.media.works();
    }

    /// Returns the number of operations of the medium that failed.
    pub(super) fn failed(&self) -> u64 {
        self.faults.failed() + self.shorts.done() + self.media.failed_syncs()
    }
}

/// Makes the medium of a drive with these zones fail.
fn set(failing: Failing, (media, faults, shorts): (&CrashMedia, &Faults, &Shorts), zones: &Zones) {
    match failing {
        Failing::Write(after) => faults.add(Fault::Write(after.into())),
        Failing::Full(after) => faults.add(Fault::Full(after.into())),
        Failing::Sync(after, seed) => media.fail_sync(after, seed),
        Failing::Read(at) => faults.add(Fault::Read(bit_of(zones, at) / 8)),
        Failing::Short(short) => shorts.set(Some(short)),
    }
}
