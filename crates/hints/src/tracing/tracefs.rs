//! The folder of tracefs, the kernel's file system of tracepoints.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::FollowError;

/// The usual mount points of tracefs. Older systems use the second one.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A private mount that is in no folder. It ends with this process.
static PRIVATE: OnceLock<OwnedFd> = OnceLock::new();

/// Returns the folder of tracefs: its mount point, or a private mount if it is not mounted.
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
        // If another thread has mounted it meanwhile, its mount is used.
        let _ = PRIVATE.set(mounted);
    }
    // The path goes through the file descriptor, since the private mount is in no folder.
    Ok(format!("/proc/self/fd/{}", PRIVATE.get().map_or(-1, AsRawFd::as_raw_fd)).into())
}

fn mount() -> io::Result<OwnedFd> {
    let opened = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&opened)?;
    Ok(fsmount(&opened, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?)
}
