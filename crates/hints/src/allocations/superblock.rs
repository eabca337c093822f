//! The part of the superblock of an xfs that says where blocks and inodes are (`struct xfs_dsb` of
//! Linux).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::tracing::FollowError;

/// The bytes that a superblock begins with.
const MAGIC: &[u8; 4] = b"XFSB";

/// Block numbers from this one on stand for no block: the extent's blocks are not allocated yet.
const NO_BLOCK: u64 = ((1 << 35) - 1) << 17;

/// The superblock of an xfs. The default is for file systems whose events already name blocks of
/// the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Superblock {
    /// The number of blocks in an allocation group.
    group_blocks: u64,
    /// The number of low bits of a block number that give the block in its group.
    group_bits: u32,
    /// The number of low bits of an inode number that give the inode in its block.
    inode_bits: u32,
    /// The number of the journal's first block, and the number of its blocks.
    log: (u64, u64),
}

impl Superblock {
    /// Reads the superblock of the xfs on `device`.
    pub(super) fn read(device: &Path) -> Result<Self, FollowError> {
        let mut bytes = [0; 128];
        let read = File::open(device).and_then(|mut file| file.read_exact(&mut bytes));
        let superblock = read.and_then(|()| {
            Self::parse(&bytes).ok_or_else(|| std::io::Error::other("found no xfs"))
        });
        superblock.map_err(|source| FollowError::Io {
            what: format!("the superblock of {}", device.display()),
            source,
            hint: "a mounted xfs",
        })
    }

    /// Parses the first bytes of a device; `None` if they are no superblock of xfs.
    pub(super) fn parse(bytes: &[u8; 128]) -> Option<Self> {
        let number = |at: usize, len: usize| {
            bytes[at..at + len].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        (&bytes[..4] == MAGIC).then(|| Self {
            group_blocks: number(84, 4),
            group_bits: bytes[124].into(),
            inode_bits: bytes[123].into(),
            log: (number(48, 8), number(96, 4)),
        })
    }

    /// Converts the block number `start` of xfs to a block of the device; `None` if it stands for
    /// no block.
    pub(super) fn block(&self, start: u64) -> Option<u64> {
        let in_group = start & ((1 << self.group_bits) - 1);
        (start < NO_BLOCK).then(|| self.block_of_group(start >> self.group_bits, in_group))
    }

    /// Returns the block of the device that is number `block` in its group.
    pub(super) fn block_of_group(&self, group: u64, block: u64) -> u64 {
        group * self.group_blocks + block
    }

    /// Returns the number of the inode that is number `inode` in its group.
    pub(super) fn inode(&self, group: u64, inode: u64) -> u64 {
        group << (self.group_bits + self.inode_bits) | inode
    }

    /// Returns the first block of the journal and the number of its blocks; `None` if it is on
    /// another device.
    pub(super) fn journal(&self) -> Option<(u64, u64)> {
        let (start, count) = self.log;
        (start > 0).then(|| (self.block(start).unwrap_or(start), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_xfs_db_says() {
        // mkfs.xfs 6.1 on 400 MiB: `xfs_db -c "sb 0" -c "print agblocks agblklog inopblog logstart
        // logblocks"`. `convert fsblock 65542 daddr` is 409648, in sectors of 512 bytes.
        let mut bytes = [0; 128];
        bytes[..4].copy_from_slice(b"XFSB");
        bytes[84..88].copy_from_slice(&25600_u32.to_be_bytes());
        bytes[48..56].copy_from_slice(&65542_u64.to_be_bytes());
        bytes[96..100].copy_from_slice(&16384_u32.to_be_bytes());
        (bytes[123], bytes[124]) = (3, 15);
        let superblock = Superblock::parse(&bytes).unwrap();
        assert_eq!(superblock.block(65542), Some(409_648 / 8));
        assert_eq!(superblock.journal(), Some((51206, 16384)));
        assert_eq!(superblock.block_of_group(3, 7), 3 * 25600 + 7);
        assert_eq!(superblock.inode(1, 131), 262_144 + 131);
        // The numbers of an extent with delayed allocation, and of a hole.
        assert_eq!(superblock.block(NO_BLOCK | 5), None);
        assert_eq!(superblock.block(u64::MAX - 1), None);
        assert_eq!(Superblock::parse(&[0; 128]), None);
    }
}
