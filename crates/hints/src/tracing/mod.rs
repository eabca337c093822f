//! Reads events of the kernel's tracepoints as they happen: the formats of this kernel, and the
//! rings into which it writes.

mod device;
mod format;
mod points;
mod rings;
mod tracefs;

pub(crate) use device::Device;
pub(crate) use format::{Field, Format};
pub(crate) use points::{FIELDS, Points, Subscription, Wanted};
pub(crate) use rings::{Decode, Rings};

/// Returns `true` if this kernel has the tracepoint `name`, for example `block/block_dirty_buffer`.
///
/// # Errors
/// [`FollowError`] if tracefs is not mounted and this process may not mount it for itself.
pub fn has_tracepoint(name: &str) -> Result<bool, FollowError> {
    Ok(tracefs::root()?.join("events").join(name).exists())
}

/// The usual size of a ring in bytes. There is one ring for each CPU, which holds about 25000
/// events between two polls.
pub const RING_BYTES: usize = 2 << 20;

/// The reason why a device cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The file system is not supported, since its overwrites cannot be followed.
    #[error(
        "found {0}, expected ext4 or xfs; hint: a file system that copies on write (btrfs, zfs, f2fs) \
         overwrites elsewhere, so it has nothing to hint"
    )]
    FileSystem(String),
    /// A device of a kind that cannot be followed.
    #[error("{device}: found {found}, expected {expected}")]
    Device {
        /// The device, as it was named.
        device: String,
        /// The property that the device has.
        found: String,
        /// The property that it must have.
        expected: String,
    },
    /// The kernel lacks a tracepoint or one of its fields.
    #[error("this kernel's tracepoint {name} has no {missing}; hint: {hint}")]
    Tracepoint {
        /// The tracepoint.
        name: &'static str,
        /// The missing field or value.
        missing: &'static str,
        /// The advice to the user.
        hint: &'static str,
    },
    /// The kernel refused.
    #[error("{what}: {source}; hint: {hint}")]
    Io {
        /// The operation or file that failed.
        what: String,
        /// The system's error.
        source: std::io::Error,
        /// The advice to the user.
        hint: &'static str,
    },
}
