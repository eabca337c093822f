//! The major and minor number of a followed block device.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::FollowError;

/// The numbers of a block device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Device {
    /// Returns the numbers of the block device at `path`.
    ///
    /// # Errors
    /// No such file, or no block device.
    pub(crate) fn of(path: &Path) -> Result<Self, FollowError> {
        let metadata = fs::metadata(path).map_err(|source| FollowError::Io {
            what: path.display().to_string(),
            source,
            hint: "name the block device, as root",
        })?;
        if !metadata.file_type().is_block_device() {
            return Err(FollowError::Device {
                device: path.display().to_string(),
                found: "no block device".into(),
                expected: "the device under a file system".into(),
            });
        }
        let number = metadata.rdev();
        Ok(Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) })
    }

    /// Returns the number by which kernel events name the device: the lower 20 bits are the minor
    /// number, the bits above the major number.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.major) << 20 | u64::from(self.minor)
    }
}
