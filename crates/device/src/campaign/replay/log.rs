//! The log: for each command a head of 24 bytes (kind, first page, number of pages), and the data
//! of writes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::engine::Drive;
use crate::engine::{Backend, Hinted, WriteStreams};
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::{Uncached, bypass_page_cache};
use crate::usage::Usage;

const WRITE: u64 = 1;
const TRIM: u64 = 2;
const FLUSH: u64 = 3;
/// The most pages of one write. A larger number means that the file is no log.
const MOST: u64 = 1 << 16;

/// A command that changed the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A write: the first page, and the data.
    Write(u64, Vec<u8>),
    /// A discard: the first page, and the number of pages.
    Trim(u64, u64),
    /// A flush: all earlier commands are durable.
    Flush,
}

/// A drive whose commands are logged once they are done.
///
/// The entry of a command is in the file before the command is answered. So when a flush has ended,
/// its entry lies within the present length of the file.
pub struct Recorder<S> {
    drive: S,
    log: File,
    /// The buffer for writes past the page cache; `None` if the log is written through the page
    /// cache.
    uncached: Option<Uncached>,
    /// The length of the log in bytes. It is counted only for writes past the page cache.
    len: u64,
}

impl<S> Recorder<S> {
    /// Logs the commands of `drive` into a new file. With `uncached` the log is written past the
    /// page cache, if the file system can do that.
    ///
    /// # Errors
    /// A file that exists or cannot be made.
    pub fn new(drive: S, log: &Path, uncached: bool) -> io::Result<Self> {
        let log = File::options().read(true).write(true).create_new(true).open(log)?;
        if uncached {
            let _ = bypass_page_cache(&log);
        }
        let uncached = Uncached::of(&log)?;
        Ok(Self { drive, log, uncached, len: 0 })
    }

    /// Returns the drive without the recorder.
    pub fn into_drive(self) -> S {
        self.drive
    }

    fn note(&mut self, kind: u64, page: u64, count: u64, data: &[u8]) -> io::Result<()> {
        let head = [kind, page, count].into_iter().flat_map(u64::to_le_bytes);
        let entry: Vec<u8> = head.chain(data.iter().copied()).collect();
        match &mut self.uncached {
            Some(uncached) => {
                uncached.write(&self.log, self.len, &entry)?;
                self.len += entry.len() as u64;
                // Whole pages were written, so the file is cut to the length of the log.
                self.log.set_len(self.len)
            }
            None => self.log.write_all(&entry),
        }
    }
}

impl<S: Backend> Backend for Recorder<S> {
    fn pages(&self) -> u64 {
        self.drive.pages()
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.drive.read(page, into)
    }

    fn takes_streams(&mut self) -> bool {
        self.drive.takes_streams()
    }

    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        self.drive.write_named(page, data, streams, fua)?;
        self.note(WRITE, page, (data.len() / PAGE) as u64, data)?;
        if fua {
            self.note(FLUSH, 0, 0, &[])?;
        }
        Ok(())
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.drive.trim(page, count)?;
        Ok(self.note(TRIM, page, count, &[])?)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.drive.flush()?;
        Ok(self.note(FLUSH, 0, 0, &[])?)
    }

    fn hand_over(&mut self) -> Result<(), DeviceError> {
        self.drive.hand_over()
    }

    fn moment(&self) -> u64 {
        self.drive.moment()
    }

    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError> {
        self.drive.hint(page, count, moment)
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.drive.cancel(page, count)
    }

    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        self.drive.extent(page, count)
    }

    fn account(&mut self, usage: &Usage) {
        self.drive.account(usage);
    }

    fn as_drive(&mut self) -> Option<&mut Drive> {
        self.drive.as_drive()
    }
}

/// A log opened for reading.
pub(super) struct Log {
    file: BufReader<File>,
    position: u64,
}

impl Log {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(path)?), position: 0 })
    }

    /// Returns the number of bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Goes on reading at `position`.
    pub(super) fn seek(&mut self, position: u64) -> io::Result<()> {
        self.position = self.file.seek(SeekFrom::Start(position))?;
        Ok(())
    }

    fn head(&mut self) -> io::Result<Option<[u64; 3]>> {
        let mut bytes = [0; 24];
        if self.file.read(&mut bytes[..1])? == 0 {
            return Ok(None);
        }
        self.file.read_exact(&mut bytes[1..])?;
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.position += 24;
        Ok(Some(words))
    }

    /// Reads the next command; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        Ok(match self.head()? {
            None => None,
            Some([WRITE, page, count]) if count <= MOST => {
                let mut data = vec![0; count as usize * PAGE];
                self.file.read_exact(&mut data)?;
                self.position += data.len() as u64;
                Some(Entry::Write(page, data))
            }
            Some([TRIM, page, count]) => Some(Entry::Trim(page, count)),
            Some([FLUSH, ..]) => Some(Entry::Flush),
            Some(_) => return Err(no_log(self.position)),
        })
    }
}

fn no_log(position: u64) -> io::Error {
    let text = format!("there is no command in the log before byte {position}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// A command of a log, without the data of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCommand {
    /// The byte of the log at which the command begins.
    pub begin: u64,
    /// The first byte of the log behind the command.
    pub end: u64,
    /// The kind: 1 for a write, 2 for a discard, 3 for a flush.
    pub kind: u64,
    /// The first page.
    pub page: u64,
    /// The number of pages.
    pub count: u64,
}

/// Returns the commands of the log at `path`.
///
/// # Errors
/// The errors of the file; `InvalidData` if a command is not whole. The error names the byte at
/// which that command begins.
pub fn commands(path: &Path) -> io::Result<Vec<LogCommand>> {
    let mut log = Log::open(path)?;
    let size = log.file.get_ref().metadata()?.len();
    let mut commands = Vec::new();
    while log.position < size {
        let begin = log.position;
        let wrong = || {
            let text = format!("there is no command at byte {begin}");
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let head = match log.head() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(wrong()),
            head => head?,
        };
        let Some([kind @ WRITE..=FLUSH, page, count]) = head else { return Err(wrong()) };
        let data = if kind == WRITE { count.checked_mul(PAGE as u64) } else { Some(0) };
        let end = data.and_then(|data| log.position.checked_add(data));
        let end = end.filter(|end| *end <= size).ok_or_else(wrong)?;
        log.file.seek_relative((end - log.position) as i64)?;
        log.position = end;
        commands.push(LogCommand { begin, end, kind, page, count });
    }
    Ok(commands)
}
