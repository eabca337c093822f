//! Checks for features of the machine that tests need, and guards that clean up mounts.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command, which must succeed. Returns its output.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}{errors}", output.status);
    text
}

/// Returns `true` if a program is installed.
pub fn has(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
}

/// Returns `true` if all programs are installed; if not, says that `test` is skipped.
pub fn have(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !has(program));
    if let Some(program) = missing {
        eprintln!("skipped: {test}: {program} is not installed");
    }
    missing.is_none()
}

/// Returns `true` if FUSE can be mounted; if not, says that `test` is skipped.
pub fn has_fuse(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let opens = std::fs::File::options().read(true).write(true).open("/dev/fuse").is_ok();
    let fuse = opens && (root || has("fusermount3"));
    if !fuse {
        eprintln!("skipped: {test}: no FUSE for this user");
    }
    fuse
}

/// Returns `true` if a loop device can carry a file system; if not, says that `test` is skipped.
pub fn has_loop(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let device = Path::new("/dev/loop-control").exists();
    if !root || !device {
        eprintln!("skipped: {test}: loop devices need root and /dev/loop-control");
    }
    root && device && have(test, &["losetup", "mkfs.ext4", "e2fsck", "mount", "umount", "fstrim"])
}

/// A folder to mount in. When it is dropped, everything there is unmounted, even after a failure.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

/// A loop device on a file. It is detached when this value is dropped.
pub struct Loop {
    pub device: PathBuf,
}

impl Loop {
    pub fn new(file: &Path) -> Self {
        let set = ["--find", "--show", "--direct-io=on", "--sector-size=4096"];
        let device = run(Command::new("losetup").args(set).arg(file));
        Self { device: device.trim().into() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.device).output();
    }
}

/// A mounted file system on a device, in a [`Folder`]. It is unmounted when this value is dropped.
pub struct Mounted {
    folder: PathBuf,
}

impl Mounted {
    pub fn new(device: &Path, folder: &Folder) -> Self {
        run(Command::new("mount").arg(device).arg(folder.path()));
        Self { folder: folder.path().into() }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).output();
    }
}
