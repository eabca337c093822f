//! A medium in a sparse file. The file is locked, so that no second process can open it as a drive.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, fdatasync, flock};
use rustix::io::Errno;

use super::Media;
use super::uncached::Uncached;
use crate::layout::PAGE;

/// The flag with which an open does not wait where a pipe is in the place of a file.
const AT_ONCE: i32 = OFlags::NONBLOCK.bits() as i32;

/// A medium in a sparse file.
pub struct FileMedia {
    file: File,
    len: u64,
    /// The buffer for transfers past the page cache, if the file was opened with `O_DIRECT`.
    uncached: Option<Mutex<Uncached>>,
}

impl FileMedia {
    /// Creates a file of `len` bytes, all of them holes, for its owner alone.
    ///
    /// # Errors
    /// A file that exists already, errors of the file system.
    pub fn create(path: &Path, len: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(path)?;
        lock(&file)?;
        file.set_len(len)?;
        Ok(Self { file, len, uncached: None })
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// No such file, or one that another process has open.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::opened(OpenOptions::new().read(true).write(true).custom_flags(AT_ONCE).open(path)?)
    }

    /// Takes a file that is already open for reading and writing.
    ///
    /// # Errors
    /// Another process has the file open as a drive.
    pub fn opened(file: File) -> io::Result<Self> {
        let media = Self::opened_read_only(file)?;
        lock(&media.file)?;
        Ok(media)
    }

    /// Opens the file at `path` to read, also if a process has it open as a drive.
    ///
    /// # Errors
    /// No such file, or one that may not be read.
    pub fn read_only(path: &Path) -> io::Result<Self> {
        Self::opened_read_only(OpenOptions::new().read(true).custom_flags(AT_ONCE).open(path)?)
    }

    /// Takes a file that is already open for reading, also if a process has the file open as a
    /// drive.
    ///
    /// # Errors
    /// Something other than a file, or a file whose size cannot be read.
    pub fn opened_read_only(file: File) -> io::Result<Self> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        let uncached = Uncached::of(&file)?.map(Mutex::new);
        Ok(Self { file, len: about.len(), uncached })
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
        if let Some(uncached) = &self.uncached {
            let mut uncached = uncached.lock().unwrap_or_else(PoisonError::into_inner);
            return uncached.read(&self.file, at, into);
        }
        self.file.read_exact_at(into, at)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            let text = format!("a write at {at} is beyond a file of {} bytes", self.len);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        match self.uncached.as_mut() {
            Some(uncached) => {
                let uncached = uncached.get_mut().unwrap_or_else(PoisonError::into_inner);
                uncached.write(&self.file, at, bytes)
            }
            None => self.file.write_all_at(bytes, at),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(fdatasync(&self.file)?)
    }

    /// Tries to punch a hole behind the end of the file, where no data are.
    fn gives_room_back(&self) -> bool {
        punch(&self.file, self.len, PAGE as u64).is_ok()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        punch(&self.file, at, len)
    }

    /// Reserves room if the file system can. If it cannot, a later write may fail on a full disk.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_file_is_for_its_owner_alone_and_takes_no_name_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive");
        drop(FileMedia::create(&path, 4096).unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "kept").unwrap();
        // A symbolic link is refused, too.
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        symlink(&target, &link).unwrap();
        for there in [&path, &link] {
            let refused = FileMedia::create(there, 4096).err().map(|error| error.kind());
            assert_eq!(refused, Some(io::ErrorKind::AlreadyExists));
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        assert!(!target.exists());
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        for opened in [FileMedia::open(&path), FileMedia::read_only(&path)] {
            assert_eq!(opened.err().unwrap().to_string(), "it is no file");
        }
    }

    /// `/dev/null` has no `fdatasync`, so its error shows that the system was called.
    #[test]
    fn a_sync_asks_the_system() {
        let file = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let error = FileMedia { file, len: 0, uncached: None }.sync().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::INVAL.raw_os_error()));
    }
}
