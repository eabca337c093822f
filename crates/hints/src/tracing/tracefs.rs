//! The kernel's file system of tracepoints, tracefs.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::FollowError;

/// The mount points of tracefs. The second is that of older systems.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mount of our own, in no folder: it goes with this process.
static PRIVATE: OnceLock<OwnedFd> = OnceLock::new();

/// Returns the folder of tracefs: where it is mounted, or a private mount that nobody else sees.
pub(super) fn root() -> Result<PathBuf, FollowError> {
    let mounted = MOUNTS.iter().find(|root| Path::new(root).join("events").exists());
    if let Some(root) = mounted {
        return Ok((*root).into());
    }
    if PRIVATE.get().is_none() {
        let mounted = mount().map_err(|source| FollowError::Io {
            what: "tracefs".into(),
            source,
            hint: "mount -t tracefs nodev /sys/kernel/tracing, as root",
        })?;
        // Another thread's mount serves as well.
        let _ = PRIVATE.set(mounted);
    }
    // A folder that is opened by way of a descriptor needs no place in the tree.
    Ok(format!("/proc/self/fd/{}", PRIVATE.get().map_or(-1, AsRawFd::as_raw_fd)).into())
}

fn mount() -> io::Result<OwnedFd> {
    let opened = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&opened)?;
    Ok(fsmount(&opened, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?)
}
