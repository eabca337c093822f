//! The structures of NVMe commands and answers: queue entries, statuses, and opcodes.
//!
//! # Source
//! NVM Express Base Specification 2.0, sections 3.3.3, 4.1 and 4.2; NVM Command Set Specification
//! 1.0.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An SGL descriptor: it says where the data of a command are.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Descriptor {
    pub address: U64,
    pub bytes: U32,
    pub reserved: [u8; 3],
    pub kind: u8,
}

/// A descriptor type: the data are in the capsule behind the command, from offset `address` on.
pub const IN_CAPSULE: u8 = 0x01;
/// A descriptor type: the data are in separate PDUs.
pub const IN_PDUS: u8 = 0x5a;

/// An entry of a submission queue: a command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Entry {
    pub opcode: u8,
    /// Bits 1:0: the part of a fused command; bits 7:6: 1 if an SGL descriptor describes the data.
    pub flags: u8,
    /// The host's number of the command.
    pub cid: U16,
    /// The namespace. In a Fabrics command, the first byte is the type.
    pub nsid: U32,
    pub dword2: U32,
    pub dword3: U32,
    pub metadata: U64,
    pub data: Descriptor,
    /// The command's own dwords, 10 to 15.
    pub own: [U32; 6],
}

impl Entry {
    /// Returns dword `number` of the command, 10 to 15.
    pub fn dword(&self, number: usize) -> u32 {
        self.own[number - 10].get()
    }

    /// Returns the 64-bit number in the dwords `number` (the lower half) and `number + 1`.
    pub fn quadword(&self, number: usize) -> u64 {
        u64::from(self.dword(number)) | u64::from(self.dword(number + 1)) << 32
    }

    /// Returns the number of bytes that the host sends for a list of `wanted` bytes. Hosts may send
    /// more, up to `most`: Linux and nvme-cli always send lists of the full size.
    pub fn described(&self, wanted: usize, most: usize) -> usize {
        let described = self.data.bytes.get() as usize;
        if (wanted..=most).contains(&described) { described } else { wanted }
    }

    /// Returns the type of a Fabrics command.
    pub fn fabrics_type(&self) -> u8 {
        self.nsid.get() as u8
    }

    /// Returns `true` if data go from the host to the controller.
    pub fn takes_data(&self) -> bool {
        let number = if self.opcode == opcode::FABRICS { self.fabrics_type() } else { self.opcode };
        number & 3 == 1
    }
}

/// An entry of a completion queue: the answer to a command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Completion {
    pub result: U64,
    pub head: U16,
    pub queue: U16,
    pub cid: U16,
    /// The status in bits 15:1.
    pub status: U16,
}

/// The status of a command: the status code, its type, and a bit which says that a retry cannot
/// help (DNR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(u16);

impl Status {
    pub const SUCCESS: Self = Self(0);
    /// Not a status of the specification: the host gets no answer.
    pub const UNANSWERED: Self = Self(0x7fff);
    pub const INVALID_OPCODE: Self = Self::lasting(0x001);
    pub const INVALID_FIELD: Self = Self::lasting(0x002);
    pub const INTERNAL: Self = Self(0x006);
    pub const ABORTED: Self = Self(0x007);
    pub const INVALID_NAMESPACE: Self = Self::lasting(0x00b);
    pub const SEQUENCE: Self = Self::lasting(0x00c);
    pub const DATA_LENGTH: Self = Self::lasting(0x00f);
    pub const DESCRIPTOR_TYPE: Self = Self::lasting(0x011);
    pub const DESCRIPTOR_OFFSET: Self = Self::lasting(0x016);
    pub const WRITE_PROTECTED: Self = Self::lasting(0x020);
    pub const TRANSPORT: Self = Self(0x022);
    pub const OUT_OF_RANGE: Self = Self::lasting(0x080);
    pub const CAPACITY: Self = Self::lasting(0x081);
    pub const NOT_READY: Self = Self(0x082);
    pub const EVENT_LIMIT: Self = Self::lasting(0x105);
    pub const INVALID_LOG: Self = Self::lasting(0x109);
    pub const NOT_SAVEABLE: Self = Self::lasting(0x10d);
    pub const NOT_CHANGEABLE: Self = Self::lasting(0x10e);
    pub const SIZE_LIMIT: Self = Self::lasting(0x183);
    pub const CONNECT_FORMAT: Self = Self::lasting(0x180);
    pub const CONNECT_BUSY: Self = Self(0x181);
    pub const CONNECT_PARAMETER: Self = Self::lasting(0x182);
    pub const CONNECT_HOST: Self = Self::lasting(0x184);
    pub const CONNECT_QUEUE: Self = Self::lasting(0x185);
    pub const WRITE_FAULT: Self = Self(0x280);
    pub const UNRECOVERED_READ: Self = Self::lasting(0x281);
    pub const COMPARE_FAILURE: Self = Self::lasting(0x285);

    /// Returns a status after which a retry cannot help.
    const fn lasting(code: u16) -> Self {
        Self(code | 1 << 14)
    }

    /// Returns the status as the field of a completion.
    pub fn field(self) -> U16 {
        (self.0 << 1).into()
    }
}

/// Commands.
pub mod opcode {
    pub const FABRICS: u8 = 0x7f;
    // Commands of the admin queue.
    pub const GET_LOG: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0a;
    pub const EVENT: u8 = 0x0c;
    pub const KEEP_ALIVE: u8 = 0x18;
    pub const DIRECTIVE_SEND: u8 = 0x19;
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    // Commands of I/O queues.
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET: u8 = 0x09;
    pub const VERIFY: u8 = 0x0c;
    pub const COPY: u8 = 0x19;
    pub const IO_RECEIVE: u8 = 0x12;
    pub const IO_SEND: u8 = 0x1d;
}

/// Types of Fabrics commands.
pub mod fabrics {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const DISCONNECT: u8 = 0x08;
}

/// The data of a Connect.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ConnectData {
    pub host_id: [u8; 16],
    pub controller: U16,
    pub reserved: [u8; 238],
    pub subsystem: [u8; 256],
    pub host: [u8; 256],
    pub reserved_end: [u8; 256],
}

/// A range of Dataset Management.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Range {
    pub attributes: U32,
    pub blocks: U32,
    pub first: U64,
}

/// A range of Copy, in format 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct CopySource {
    pub reserved_0: U64,
    pub first: U64,
    /// The number of blocks, minus one.
    pub last: U16,
    pub reserved_18: [u8; 6],
    pub tag: U32,
    pub application_tag: [u8; 4],
}

/// Returns a field with `text`, filled up with spaces.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    field.iter_mut().zip(text.bytes()).for_each(|(field, byte)| *field = byte);
    field
}

/// Returns a field with `text`, filled up with zeros.
pub fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    field.iter_mut().zip(text.bytes()).for_each(|(field, byte)| *field = byte);
    field
}
