//! Logs the commands that a file system sends to a drive, and makes drives as a crash would leave
//! them.
//!
//! A [`Recorder`] stands between a front end and a drive. It logs every command that succeeded,
//! with its data, in the order in which the drive did them. So a flush in the log says that all
//! commands before it are durable. A [`Replay`] does the commands again on another drive, up to a
//! flush. [`Replay::cut`] changes a copy of the drive's file into one that a crash may leave: with
//! some of the commands after that flush, and with any part of what the drive wrote for them since
//! its last sync.

mod log;
mod lossy;

pub use log::{LogCommand, Recorder, commands};

use std::path::Path;

use flashgc_base::rng::Stream;

use crate::engine::Backend;
use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::FileMedia;
use crate::settings::{Durability, Outside, Settings, configuration};
use log::{Entry, Log};
use lossy::Lossy;

/// The approximate number of pages and commands after the flush that may survive a cut.
const AHEAD: usize = 512;

/// The counts of one cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Pages and discards after the last flush that survived.
    pub kept: u64,
    /// Pages and discards after the last flush that did not survive.
    pub dropped: u64,
    /// Writes to the file since the last sync that were lost, or torn.
    pub lost: u64,
}

/// A drive on which the commands of a log are done again.
pub struct Replay {
    log: Log,
    drive: Drive,
    position: u64,
}

fn open(path: &Path, is_lossy: bool) -> Result<(Drive, Option<Lossy>), DeviceError> {
    // A copy of the file has everything that was written, so no sync is needed, except on a lossy
    // file.
    let media = FileMedia::open(path)?;
    let text = configuration(&media)?;
    let settings = Settings::parse(&text, Outside::default())?;
    if !is_lossy {
        return Ok((Drive::open_as(Box::new(media), &settings, Durability::Process)?, None));
    }
    let lossy = Lossy::new(media);
    let drive = Drive::open_as(Box::new(lossy.clone()), &settings, Durability::Power)?;
    Ok((drive, Some(lossy)))
}

impl Replay {
    /// Opens the drive in `file`, on which the commands of `log` will be done.
    ///
    /// # Errors
    /// A log or a drive that cannot be opened.
    pub fn new(log: &Path, file: &Path) -> Result<Self, DeviceError> {
        let (drive, _) = open(file, false)?;
        Ok(Self { log: Log::open(log)?, drive, position: 0 })
    }

    /// Does commands up to the flush that ends at `end` in the log.
    ///
    /// # Errors
    /// The errors of log and drive.
    pub fn advance(&mut self, end: u64) -> Result<(), DeviceError> {
        while self.position < end {
            let Some(entry) = self.log.next()? else { break };
            self.position = self.log.position();
            entry.apply(&mut self.drive)?;
        }
        Ok(())
    }

    /// Changes `copy`, a copy of the drive's file, into one that a crash may leave.
    ///
    /// # Errors
    /// The errors of log and drive.
    pub fn cut(&mut self, copy: &Path, seed: u64) -> Result<Cut, DeviceError> {
        let mut rng = Stream::new(seed, "cut");
        let mut cut = Cut::default();
        let (mut drive, lossy) = open(copy, true)?;
        let ahead = self.ahead()?;
        let (end, all) = (rng.below(ahead.len() as u32 + 1) as usize, rng.below(2) == 0);
        for (index, entry) in ahead.iter().enumerate() {
            if index < end && (all || rng.below(2) == 0) {
                entry.apply(&mut drive)?;
                cut.kept += 1;
            } else {
                cut.dropped += 1;
            }
        }
        drop(drive);
        // Half of the cuts are only the end of the process, after which no write is lost.
        if let Some(lossy) = lossy
            && rng.below(2) == 0
        {
            cut.lost = lossy.lose(&mut rng)?;
        }
        Ok(cut)
    }

    /// Returns the commands up to the next flush. A write is split into one for each page, since
    /// pages survive one by one.
    fn ahead(&mut self) -> Result<Vec<Entry>, DeviceError> {
        let mut ahead = Vec::new();
        while ahead.len() < AHEAD {
            match self.log.next()? {
                Some(Entry::Flush) | None => break,
                Some(Entry::Write(first, data)) => {
                    let pages = (first..).zip(data.chunks(PAGE));
                    ahead.extend(pages.map(|(page, data)| Entry::Write(page, data.to_vec())));
                }
                Some(entry) => ahead.push(entry),
            }
        }
        self.log.seek(self.position)?;
        Ok(ahead)
    }
}

impl Entry {
    fn apply(&self, drive: &mut Drive) -> Result<(), DeviceError> {
        match self {
            Self::Write(page, data) => drive.write(*page, data, false),
            Self::Trim(page, count) => drive.trim(*page, *count),
            Self::Flush => drive.flush(),
        }
    }
}
