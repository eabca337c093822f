//! The followed device: its number, its size, and the sizes of the file system on it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{FollowError, PAGE};
use crate::tracing::Device;

/// A file system that overwrites its blocks in place and whose events name those blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, also with blocks smaller than a page.
    Ext4,
    /// xfs on one device.
    Xfs,
    /// No file system: programs write to the device file itself, through its page cache.
    Raw,
}

impl FileSystem {
    /// Returns the file system that `/proc/mounts` calls `name`; `raw` stands for a device without
    /// a file system.
    ///
    /// # Errors
    /// [`FollowError::FileSystem`] for every name but `ext4`, `xfs` and `raw`.
    pub fn named(name: &str) -> Result<Self, FollowError> {
        match name {
            "ext4" => Ok(Self::Ext4),
            "xfs" => Ok(Self::Xfs),
            "raw" => Ok(Self::Raw),
            _ => Err(FollowError::FileSystem(name.into())),
        }
    }
}

/// A device, with the sizes from the superblock of its file system.
#[derive(Debug)]
pub(super) struct Place {
    /// The number by which the kernel's events name the device.
    pub(super) number: u64,
    /// The number of pages of the device.
    pub(super) pages: u32,
    /// The length of a block of the file system, in bytes.
    pub(super) block_bytes: u64,
    /// The number of blocks in an allocation group of xfs. It is 0 without xfs, as only xfs
    /// addresses blocks by group.
    pub(super) group_blocks: u64,
}

impl Place {
    pub(super) fn of(device: &Path, kind: FileSystem) -> Result<Self, FollowError> {
        let failed = |source| FollowError::Io {
            what: device.display().to_string(),
            source,
            hint: "name the block device, as root",
        };
        let refused = |found: String, expected: &str| FollowError::Device {
            device: device.display().to_string(),
            found,
            expected: expected.into(),
        };
        let followed = Device::of(device)?;
        let system = format!("/sys/dev/block/{}:{}", followed.major, followed.minor);
        // Events of writes count sectors from the start of the disk, other events from the start of
        // the partition.
        if Path::new(&system).join("partition").exists() {
            return Err(refused("a partition".into(), "a whole device"));
        }
        let sectors = fs::read_to_string(format!("{system}/size")).map_err(failed)?;
        let pages = sectors.trim().parse::<u64>().unwrap_or(0) * 512 / PAGE;
        let pages = u32::try_from(pages)
            .map_err(|_| refused(format!("{pages} pages of 4 KiB"), "fewer than 2^32"))?;
        let mut superblock = [0; 2048];
        let read = File::open(device).and_then(|file| file.read_exact_at(&mut superblock, 0));
        read.map_err(failed)?;
        let (block_bytes, group_blocks) = match kind {
            FileSystem::Ext4 => ext4(&superblock),
            FileSystem::Xfs => xfs(&superblock),
            FileSystem::Raw => Some((PAGE, 0)),
        }
        .ok_or_else(|| refused("another superblock".into(), &format!("one of {kind:?}")))?;
        Ok(Self { number: followed.number(), pages, block_bytes, group_blocks })
    }
}

/// Reads `s_magic` and `s_log_block_size` from the superblock at byte 1024. Returns the block size
/// and no group size.
fn ext4(bytes: &[u8; 2048]) -> Option<(u64, u64)> {
    let magic = u16::from_le_bytes([bytes[1024 + 56], bytes[1024 + 57]]);
    let shift = bytes[1024 + 24];
    (magic == 0xef53 && shift <= 6).then(|| (1024 << shift, 0))
}

/// Reads `sb_magicnum`, `sb_blocksize` and `sb_agblocks`, which are big endian. Returns block size
/// and group size.
fn xfs(bytes: &[u8; 2048]) -> Option<(u64, u64)> {
    let word =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let block_bytes = word(4);
    let is_xfs = &bytes[..4] == b"XFSB" && block_bytes.is_power_of_two() && block_bytes >= 512;
    is_xfs.then(|| (block_bytes.into(), word(84).into()))
}
