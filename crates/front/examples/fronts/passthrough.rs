//! The simplest FUSE file, as a baseline: a plain file that is passed through, with the options and
//! threads of the drive's mount. One thread parses requests, another reads or writes the file and
//! answers the kernel.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

const DISK: INodeNo = INodeNo(2);
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

enum Job {
    Read(u64, u32, ReplyData),
    Write(u64, Vec<u8>, ReplyWrite),
}

struct Files {
    jobs: SyncSender<Job>,
    size: u64,
}

/// Mounts the file at `path` as `disk` in `folder`.
pub fn mount(path: &Path, folder: &Path) -> io::Result<(BackgroundSession, PathBuf)> {
    let file = File::options().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let (jobs, queued) = sync_channel(256);
    std::thread::spawn(move || queued.iter().for_each(|job| execute(&file, job)));
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("passthrough".into()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoExec,
    ];
    let session = fuser::spawn_mount(Files { jobs, size }, folder, &config)?;
    Ok((session, folder.join("disk")))
}

fn execute(file: &File, job: Job) {
    match job {
        Job::Read(at, bytes, reply) => {
            let mut data = vec![0; bytes as usize];
            match file.read_exact_at(&mut data, at) {
                Ok(()) => reply.data(&data),
                Err(_) => reply.error(Errno::EIO),
            }
        }
        Job::Write(at, data, reply) => match file.write_all_at(&data, at) {
            Ok(()) => reply.written(data.len() as u32),
            Err(_) => reply.error(Errno::EIO),
        },
    }
}

impl Files {
    fn attributes(&self, file: INodeNo) -> FileAttr {
        let is_disk = file == DISK;
        let then = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: file,
            size: if is_disk { self.size } else { 0 },
            blocks: self.size / 512,
            atime: then,
            mtime: then,
            ctime: then,
            crtime: then,
            kind: if is_disk { FileType::RegularFile } else { FileType::Directory },
            perm: 0o700,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_write(1 << 20);
        let _ = config.set_max_background(256);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "disk" {
            reply.entry(&FOR_EVER, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, file: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_EVER, &self.attributes(file));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), direct);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
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
        let _ = self.jobs.send(Job::Read(at, bytes, reply));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let _ = self.jobs.send(Job::Write(at, data.to_vec(), reply));
    }
}
