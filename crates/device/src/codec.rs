//! Numbers as bytes, little endian, and the check sum that every structure carries.

/// Returns the CRC32C of `bytes`. It begins with the drive's tag, so that a structure of another
/// drive does not verify.
pub(crate) fn crc(tag: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(tag, bytes)
}

/// The form of the check sum of an out-of-band record.
///
/// A CRC is linear: the CRC of the XOR of three records is the XOR of their CRCs. So a record that
/// was rebuilt from parity would have a right plain sum even if other pages of its group are old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seal {
    /// The CRC, on a drive without parity.
    Plain,
    /// The CRC, mixed by a function that is not linear: on a drive with parity.
    Mixed,
}

impl Seal {
    /// Returns the check sum of a record whose CRC is `sum`.
    pub(crate) fn of(self, sum: u32) -> u32 {
        match self {
            Self::Plain => sum,
            Self::Mixed => {
                // The finalizer of MurmurHash3 (Appleby, 2011): one to one, and not linear.
                let sum = (sum ^ (sum >> 16)).wrapping_mul(0x85eb_ca6b);
                let sum = (sum ^ (sum >> 13)).wrapping_mul(0xc2b2_ae35);
                sum ^ (sum >> 16)
            }
        }
    }
}

/// Writes numbers one behind the other into a structure of fixed length.
pub(crate) struct Put<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

/// Reads numbers back from a structure, one behind the other.
pub(crate) struct Get<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Put<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn bytes(&mut self, from: &[u8]) -> &mut Self {
        self.bytes[self.at..][..from.len()].copy_from_slice(from);
        self.at += from.len();
        self
    }

    pub(crate) fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    pub(crate) fn u16(&mut self, number: u16) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }
}

impl<'a> Get<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[self.at..][..N]);
        self.at += N;
        array
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}
