//! The hosts, other than the owner of a drive's file, that could write to the drive since it was made.
//!
//! The drive's file remembers them. Whoever mounts the drive asks: a file system that a stranger could write may hold
//! programs with set-user-ID, or device files.

/// Ways by which strangers reach a drive, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers(u8);

impl Strangers {
    /// A drive whose file remembers strangers, and which none has reached. A file of an earlier version
    /// has no such bit: nobody knows who reached it.
    pub const NONE: Self = Self(1);
    /// A TCP port, which every user of the machine reaches.
    pub const TCP: Self = Self(2);
    /// A socket of vhost-user, by which 0.1.0 served virtual machines.
    const SOCKET: Self = Self(4);

    /// Returns the bits, as a superblock has them.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Returns the strangers that a superblock has as these bits.
    pub(crate) fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns `true` if each way of `other` is one of these, too.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the words for these ways, or `None` if the file does not remember any.
    pub fn words(self) -> Option<Vec<&'static str>> {
        let ways = [(Self::TCP, "tcp"), (Self::SOCKET, "socket")];
        let words = ways.into_iter().filter(|&(way, _)| self.has(way)).map(|(_, word)| word);
        self.has(Self::NONE).then(|| words.collect())
    }
}
