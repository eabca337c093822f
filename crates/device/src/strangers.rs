//! Strangers: hosts other than the owner of a drive's file that could write to the drive since it
//! was made.
//!
//! The drive's file remembers them, since mounting is then dangerous: a file system that a stranger
//! could write may hold programs with set-user-ID, or device files.

/// Ways by which strangers reach a drive, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers(u8);

impl Strangers {
    /// The bit of every file that remembers strangers. Alone it means that no stranger could reach
    /// the drive. A file of an earlier version lacks the bit: it does not say who could reach the
    /// drive.
    pub const NONE: Self = Self(1);
    /// A TCP port, which every user of the machine can reach.
    pub const TCP: Self = Self(2);
    /// A socket of vhost-user, by which version 0.1.0 served virtual machines.
    const SOCKET: Self = Self(4);

    /// Returns the bits, as a superblock has them.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Returns the strangers for these bits of a superblock.
    pub(crate) fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns `true` if these ways include every way of `other`.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the words for these ways, or `None` if the file does not remember strangers.
    pub fn words(self) -> Option<Vec<&'static str>> {
        let ways = [(Self::TCP, "tcp"), (Self::SOCKET, "socket")];
        let words = ways.into_iter().filter(|&(way, _)| self.has(way)).map(|(_, word)| word);
        self.has(Self::NONE).then(|| words.collect())
    }
}
