//! A FUSE mount with one file, `disk`, whose bytes are those of the drive. A loop device on this
//! file can carry a file system.
//!
//! Reads and writes bypass the page cache, so that a host immediately sees the data that another
//! host has written. `fsync` is the drive's flush, punching a hole discards,
//! `FALLOC_FL_ZERO_RANGE` writes zeros. The file's size is fixed: truncating the file is refused,
//! and so are changes of its mode, owner and times. A shared mapping is refused by the kernel.
//! `SEEK_DATA` and `SEEK_HOLE` find pages with and without data, and hosts give hints by [`ioctl`].
//!
//! The mount's thread parses requests, and executes them itself if the drive is idle. The thread
//! that executes a request also answers the kernel.

pub mod ioctl;

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, MountOption, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::io::Errno as System;
use rustix::mount::{MountFlags, UnmountFlags};

use super::command::{Answer, Command};
use super::faults::Mounted;
use super::queue::Queue;
use flashgc_device::PAGE;
use flashgc_device::failure::Failure;

/// The name of the file.
pub const NAME: &str = "disk";

// The values of `whence` of `lseek`.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

const ROOT: INodeNo = INodeNo::ROOT;
const DISK: INodeNo = INodeNo(2);
/// The time for which the kernel may cache names and attributes: they never change.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);
/// The largest request of the kernel, in bytes.
const LARGEST: u32 = 1 << 20;
/// The most bytes of memory that a request takes. A read that begins or ends within a page reads
/// the whole page.
const REQUEST: usize = LARGEST as usize + 2 * PAGE;
/// The most requests that the kernel has under way in the background. All requests of a loop device
/// are in the background.
const BACKGROUND: u16 = 256;

/// A mount that root has made and that is not served yet. Its server need not be root.
pub struct Prepared {
    folder: PathBuf,
    device: OwnedFd,
}

impl Prepared {
    /// Mounts in `folder`; only root has access. Requests wait for [`Mount::serve`].
    ///
    /// # Errors
    /// No such folder, no `/dev/fuse`, no right to mount.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let device: OwnedFd = File::options().read(true).write(true).open("/dev/fuse")?.into();
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,default_permissions",
            device.as_raw_fd()
        );
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = CString::new(options)?;
        rustix::mount::mount("flashgc", folder, "fuse.flashgc", flags, options.as_c_str())?;
        Ok(Self { folder: folder.into(), device })
    }
}

/// A mounted drive. When this value is dropped, the drive is unmounted as soon as it is no longer
/// in use.
pub struct Mount {
    folder: PathBuf,
    session: Option<BackgroundSession>,
    /// `true` if root made the mount and will unmount it.
    is_lent: bool,
    _mounted: Mounted,
}

impl Mount {
    /// Mounts the drive of `queue` in `folder`, for the user of this process. A mount that a killed
    /// server left in `folder` is removed first.
    ///
    /// # Errors
    /// There is no such folder, no `/dev/fuse`, or no right to mount.
    pub fn new(queue: Queue, folder: &Path) -> io::Result<Self> {
        if rustix::fs::statfs(folder).err() == Some(System::NOTCONN) {
            detach(folder, true)?;
        }
        let folder = folder.canonicalize()?;
        let mut config = Config::default();
        let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
        config.mount_options = vec![
            MountOption::FSName("flashgc".into()),
            MountOption::Subtype("flashgc".into()),
            MountOption::DefaultPermissions,
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::NoExec,
        ];
        let owner = (user.as_raw(), group.as_raw());
        let mounted = queue.faults().mounted();
        let files = Files { queue, mounted: SystemTime::now(), owner };
        let session = fuser::spawn_mount(files, &folder, &config)?;
        Ok(Self { folder, session: Some(session), is_lent: false, _mounted: mounted })
    }

    /// Serves a mount that root has made. Root also unmounts it, before this value is dropped.
    ///
    /// # Errors
    /// The kernel speaks another protocol.
    pub fn serve(queue: Queue, prepared: Prepared) -> io::Result<Self> {
        let Prepared { folder, device } = prepared;
        let mounted = queue.faults().mounted();
        let files = Files { queue, mounted: SystemTime::now(), owner: (0, 0) };
        // The kernel admits only root to this mount. The server runs as another user, so `fuser`
        // must not compare the users itself.
        let session =
            Session::from_fd(files, device, SessionACL::All, Config::default())?.spawn()?;
        Ok(Self { folder, session: Some(session), is_lent: true, _mounted: mounted })
    }

    /// Returns the path of the file with the drive's bytes.
    pub fn disk(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Unmounts the drive.
    ///
    /// # Errors
    /// The file is still in use (`EBUSY`), for example by a loop device. It stays mounted.
    pub fn unmount(&mut self) -> io::Result<()> {
        if self.session.is_none() {
            return Ok(());
        }
        if self.is_lent {
            // The thread of the session ends when root unmounts.
            self.session = None;
            return Ok(());
        }
        let detached = detach(&self.folder, false)?;
        match self.session.take() {
            Some(session) if detached => session.join(),
            // If somebody has unmounted the folder by hand, its file may still be open: do not wait
            // for it to be closed.
            _ => Ok(()),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.session.is_some() && self.unmount().is_err() {
            let _ = detach(&self.folder, true);
        }
    }
}

/// Unmounts a folder; with `lazy`, as soon as it is no longer in use. If this process may not
/// unmount, FUSE's helper program does it. Returns `false` if the folder was not mounted.
fn detach(folder: &Path, lazy: bool) -> io::Result<bool> {
    let flags = if lazy { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(folder, flags) {
        Ok(()) => Ok(true),
        Err(System::INVAL) => Ok(false),
        Err(System::PERM) => {
            let options = if lazy { "-uz" } else { "-u" };
            let helper = Process::new("fusermount3").arg(options).arg(folder).output()?;
            if helper.status.success() {
                return Ok(true);
            }
            Err(io::Error::other(String::from_utf8_lossy(&helper.stderr).trim().to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

struct Files {
    queue: Queue,
    mounted: SystemTime,
    /// The user and the group that own the files.
    owner: (u32, u32),
}

impl Files {
    fn attributes(&self, file: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match file {
            ROOT => (FileType::Directory, 0o700, 0),
            DISK => (FileType::RegularFile, 0o600, self.queue.size()),
            _ => return None,
        };
        Some(FileAttr {
            ino: file,
            size,
            blocks: size / 512,
            atime: self.mounted,
            mtime: self.mounted,
            ctime: self.mounted,
            crtime: self.mounted,
            kind,
            perm,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: PAGE as u32,
            flags: 0,
        })
    }

    /// Returns the number of bytes of a range that are on the drive.
    fn within(&self, at: u64, bytes: u64) -> u64 {
        bytes.min(self.queue.size().saturating_sub(at))
    }

    fn change(&self, command: Command, reply: ReplyEmpty) {
        self.queue.submit_reserved(REQUEST, command, move |outcome| match outcome {
            Ok(_) => reply.ok(),
            Err(failure) => reply.error(errno(&failure)),
        });
    }
}

pub(super) fn errno(failure: &Failure) -> Errno {
    match failure {
        Failure::OutOfRange { .. } | Failure::Refused(_) => Errno::EINVAL,
        Failure::ReadOnly(_) => Errno::EROFS,
        Failure::NoSpace(_) => Errno::ENOSPC,
        // A mount would hang without an answer, so it gets an error.
        Failure::Io(_) | Failure::Unanswered => Errno::EIO,
        Failure::Stopped => Errno::ENODEV,
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel without this ability sends the requests of a loop device one by one.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_write(LARGEST);
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(DISK) {
            Some(disk) if parent == ROOT && name == NAME => {
                reply.entry(&FOR_EVER, &disk, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, file: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(file) {
            Some(attributes) => reply.attr(&FOR_EVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(Errno::EPERM);
    }

    fn readdir(
        &self,
        _: &Request,
        folder: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if folder != ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (ROOT, FileType::Directory, "."),
            (ROOT, FileType::Directory, ".."),
            (DISK, FileType::RegularFile, NAME),
        ];
        for (next, (file, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(file, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let page = PAGE as u32;
        reply.statfs(self.queue.size() / PAGE as u64, 0, 0, 1, 0, page, 255, page);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), direct);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = self.within(at, bytes.into()) as usize;
        if bytes == 0 {
            return reply.data(&[]);
        }
        self.queue.submit_reserved(REQUEST, Command::Read { at, bytes }, move |outcome| {
            match outcome {
                Ok(Answer::Data(data)) => reply.data(&data),
                Ok(_) => reply.error(Errno::EIO),
                Err(failure) => reply.error(errno(&failure)),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // As on a block device, a write is cut off at the end of the file, and fails behind the
        // end.
        let data = &data[..self.within(at, data.len() as u64) as usize];
        if data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let written = data.len() as u32;
        // O_SYNC includes the bit of O_DSYNC.
        let fua = flags.0 & rustix::fs::OFlags::DSYNC.bits() as i32 != 0;
        let write = Command::Write { at, data: data.to_vec(), fua, streams: vec![] };
        self.queue.submit_reserved(REQUEST, write, move |outcome| match outcome {
            Ok(_) => reply.written(written),
            Err(failure) => reply.error(errno(&failure)),
        });
    }

    /// Closes a file. This makes nothing durable.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.change(Command::Flush, reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let within = self.within(at, bytes);
        let keep = match mode - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE => false,
            FallocateFlags::ZERO_RANGE => true,
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        if within < bytes && !mode.contains(FallocateFlags::KEEP_SIZE) {
            return reply.error(Errno::ENOSPC);
        }
        if within == 0 {
            return reply.ok();
        }
        self.change(Command::Zero { at, bytes: within, keep, fua: false }, reply);
    }

    /// Finds the next data or hole. The kernel answers calls with another `whence` itself.
    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        from: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let size = self.queue.size();
        let data = match whence {
            SEEK_DATA => true,
            SEEK_HOLE => false,
            _ => return reply.error(Errno::EINVAL),
        };
        let Some(at) = u64::try_from(from).ok().filter(|&at| at < size) else {
            return reply.error(Errno::ENXIO);
        };
        let extents = Command::Extents { at, bytes: size - at, most: 1 };
        self.queue.submit_reserved(REQUEST, extents, move |outcome| {
            let first = match &outcome {
                Ok(Answer::Extents(extents)) => extents.first(),
                Ok(_) => None,
                Err(failure) => return reply.error(errno(failure)),
            };
            match first.map(|first| if first.data == data { at } else { at + first.bytes }) {
                // The hole goes on to the end of the file, so no data follow.
                Some(end) if end == size && data => reply.error(Errno::ENXIO),
                Some(offset) => reply.offset(offset as i64),
                None => reply.error(Errno::EIO),
            }
        });
    }

    fn ioctl(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        number: u32,
        given: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        if file != DISK {
            return reply.error(Errno::ENOTTY);
        }
        ioctl::answer(&self.queue, number, given, reply);
    }
}
