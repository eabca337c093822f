//! One sparse file, locked: a second opener is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, fdatasync, flock};
use rustix::io::Errno;

use super::Media;
use crate::layout::PAGE;
use crate::mutants::{self, Mutant};

/// See the module's text.
pub struct FileMedia {
    file: File,
    len: u64,
}

impl FileMedia {
    /// A new file of `len` bytes, all of them holes, for its owner alone.
    ///
    /// # Errors
    /// A file that exists, a system that refuses.
    pub fn create(path: &Path, len: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(path)?;
        lock(&file)?;
        file.set_len(len)?;
        Ok(Self { file, len })
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// No such file, or one that another process has open.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::opened(OpenOptions::new().read(true).write(true).open(path)?)
    }

    /// The file that is open already, to read and to write.
    ///
    /// # Errors
    /// Another process has it open as a drive.
    pub fn opened(file: File) -> io::Result<Self> {
        lock(&file)?;
        let len = file.metadata()?.len();
        Ok(Self { file, len })
    }

    /// The file at `path` to read, whoever else has it open.
    ///
    /// # Errors
    /// No such file, or one that may not be read.
    pub fn read_only(path: &Path) -> io::Result<Self> {
        Self::opened_read_only(File::open(path)?)
    }

    /// The file that is open already, to read, whoever else has it open.
    ///
    /// # Errors
    /// Its size cannot be told.
    pub fn opened_read_only(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file, len })
    }
}

fn punch(file: &File, at: u64, len: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, flags, at, len) {
        Ok(()) => Ok(()),
        Err(error @ (Errno::OPNOTSUPP | Errno::NOSYS)) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, error))
        }
        Err(error) => Err(error.into()),
    }
}

fn lock(file: &File) -> io::Result<()> {
    if mutants::on(Mutant::FileNotLocked) {
        return Ok(());
    }
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "it is in use by another process; hint: one drive has one server",
        )),
        Err(error) => Err(error.into()),
    }
}

impl Media for FileMedia {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            let text = format!("a write at {at} is beyond a file of {} bytes", self.len);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        self.file.write_all_at(bytes, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        if mutants::on(Mutant::FileNotSynced) {
            return Ok(());
        }
        Ok(fdatasync(&self.file)?)
    }

    /// Punches a hole behind the end, where there is nothing to lose.
    fn gives_room_back(&self) -> bool {
        punch(&self.file, self.len, PAGE as u64).is_ok()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        punch(&self.file, at, len)
    }

    /// Where the file system cannot, a full disk is met by the write instead.
    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()> {
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, at, len) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn len(&self) -> u64 {
        self.len
    }
}
