//! PDUs of NVMe/TCP: headers, digests, and the bytes on the connection.
//!
//! A PDU is a header, its digest if one was agreed on, padding, data and the digest of the data.
//! Digests are CRC32C. All numbers are little endian.
//!
//! # Source
//! NVM Express TCP Transport Specification, sections 3.3 and 3.6.

use std::io::{self, Read, Write};

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::structures::{Completion, Entry};

/// The bytes of a digest.
const DIGEST: usize = 4;
/// The size of the largest PDU header that a host sends after its first PDU, in bytes.
pub const LONGEST_HEADER: usize = size_of::<Capsule>();
/// The most bytes of a wrong header that are sent back to the host.
const SHOWN: usize = 128;

/// Types of PDUs.
pub mod kind {
    pub const INITIALIZE: u8 = 0x00;
    pub const INITIALIZED: u8 = 0x01;
    pub const HOST_TERMINATES: u8 = 0x02;
    pub const TERMINATES: u8 = 0x03;
    pub const COMMAND: u8 = 0x04;
    pub const RESPONSE: u8 = 0x05;
    pub const HOST_DATA: u8 = 0x06;
    pub const DATA: u8 = 0x07;
    pub const GRANT: u8 = 0x09;
}

/// Flags of PDUs.
pub mod flag {
    /// The header has a digest.
    pub const HEADER_DIGEST: u8 = 1 << 0;
    /// The data have a digest.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// The PDU has the last data of a transfer.
    pub const LAST: u8 = 1 << 2;
    /// The command has succeeded, and no response follows.
    pub const SUCCESS: u8 = 1 << 3;
}

/// The beginning of every PDU.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Common {
    pub kind: u8,
    pub flags: u8,
    /// The size of the header in bytes, without its digest.
    pub header: u8,
    /// The offset of the data in the PDU in bytes; 0 without data.
    pub data_at: u8,
    /// The size of the whole PDU in bytes.
    pub length: U32,
}

/// The first PDU of each side: ICReq and ICResp.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Initialize {
    pub common: Common,
    /// The version of the format, 0.
    pub format: U16,
    /// The alignment of data that this side wants, in units of 4 bytes, minus one.
    pub alignment: u8,
    /// Bit 0: digests of headers; bit 1: digests of data.
    pub digests: u8,
    /// In a host's PDU, the most R2Ts under way for a command, minus one. In the controller's, the
    /// most bytes of data in a data PDU.
    pub most: U32,
    pub reserved: [u8; 112],
}

/// CapsuleCmd, which a host sends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Capsule {
    pub common: Common,
    pub entry: Entry,
}

/// CapsuleResp, which the controller sends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Response {
    pub common: Common,
    pub completion: Completion,
}

/// H2CData, C2HData and R2T, which have the same fields.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Transfer {
    pub common: Common,
    /// The host's number of the command.
    pub cid: U16,
    /// The controller's number of the transfer.
    pub tag: U16,
    /// The offset of the first byte in the data of the command.
    pub offset: U32,
    /// The number of bytes.
    pub bytes: U32,
    pub reserved: [u8; 4],
}

/// H2CTermReq and C2HTermReq: the end of a connection after an error.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Terminate {
    pub common: Common,
    pub fatal: U16,
    pub information: U32,
    pub reserved: [u8; 10],
}

/// Errors that end a connection (FES). The number in some variants is the additional information
/// (FEI).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// A field of the header has a wrong value. The number is its offset.
    Field(u32),
    /// A PDU that is not allowed at this time.
    Sequence,
    /// The digest of the header is wrong. The number is the received digest.
    Digest(u32),
    /// Data outside the requested range.
    OutOfRange,
    /// A PDU with more data than agreed on.
    TooMuch,
    /// A parameter that is not supported. The number is its offset.
    Parameter(u32),
}

impl Fatal {
    /// Returns the number of the error (FES) and the additional information (FEI).
    pub fn numbers(self) -> (u16, u32) {
        match self {
            Self::Field(place) => (1, place),
            Self::Sequence => (2, 0),
            Self::Digest(digest) => (3, digest),
            Self::OutOfRange => (4, 0),
            Self::TooMuch => (5, 0),
            Self::Parameter(place) => (6, place),
        }
    }
}

/// The end of a connection.
#[derive(Debug)]
pub enum End {
    /// The host is gone, or too slow.
    Gone(io::Error),
    /// The host broke the protocol: the error, and the header with the error.
    Fatal(Fatal, Vec<u8>),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

/// The terms of a connection, from the first PDUs of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// `true` if headers have digests.
    pub header_digests: bool,
    /// `true` if data have digests.
    pub data_digests: bool,
    /// The alignment of data that the host wants, in units of 4 bytes, minus one.
    pub alignment: u8,
}

/// The most bytes of data in PDUs of a host.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// In a command's own PDU.
    pub capsule: usize,
    /// In a data PDU.
    pub data: usize,
}

/// The header of a received PDU, and the number of bytes of data that follow.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    pub head: Head,
    pub bytes: usize,
}

/// The headers of the PDUs that a host sends after its first PDU.
#[derive(Clone, Copy, Debug)]
pub enum Head {
    Command(Entry),
    Data(Transfer),
    Terminates,
}

impl Initialize {
    /// Reads the first PDU of a host. Returns the terms.
    pub fn receive(input: &mut impl Read) -> Result<Terms, End> {
        let mut bytes = [0; size_of::<Self>()];
        let (first, rest) = bytes.split_at_mut(size_of::<Common>());
        input.read_exact(first)?;
        let fatal = |fatal, header: &[u8]| Err(End::Fatal(fatal, header.to_vec()));
        match first[0] {
            kind::INITIALIZE => {}
            kind::COMMAND | kind::HOST_DATA | kind::HOST_TERMINATES => {
                return fatal(Fatal::Sequence, first);
            }
            _ => return fatal(Fatal::Field(0), first),
        }
        if usize::from(first[2]) != size_of::<Self>() {
            return fatal(Fatal::Field(2), first);
        }
        if first[4..] != (size_of::<Self>() as u32).to_le_bytes() {
            return fatal(Fatal::Field(4), first);
        }
        input.read_exact(rest)?;
        let Self { format, alignment, digests, .. } = zerocopy::transmute!(bytes);
        if format.get() != 0 {
            return fatal(Fatal::Parameter(8), &bytes);
        }
        if alignment > 31 {
            return fatal(Fatal::Field(10), &bytes);
        }
        Ok(Terms { header_digests: digests & 1 != 0, data_digests: digests & 2 != 0, alignment })
    }

    /// Returns the first PDU of the controller.
    pub fn agreed(terms: Terms, most: u32) -> Self {
        let digests = u8::from(terms.header_digests) | u8::from(terms.data_digests) << 1;
        let length = size_of::<Self>();
        Self {
            common: Common {
                kind: kind::INITIALIZED,
                header: length as u8,
                length: (length as u32).into(),
                ..Common::new_zeroed()
            },
            digests,
            most: most.into(),
            ..Self::new_zeroed()
        }
    }
}

impl Incoming {
    /// Reads the header of a PDU, and checks it as far as possible without knowing the commands
    /// under way.
    pub fn receive(input: &mut impl Read, terms: Terms, most: Most) -> Result<Self, End> {
        let mut bytes = [0; LONGEST_HEADER];
        let (first, rest) = bytes.split_at_mut(size_of::<Common>());
        input.read_exact(first)?;
        let common = Common::read_from_bytes(first).expect("a header has the size of a header");
        let fatal = |fatal, header: &[u8]| Err(End::Fatal(fatal, header.to_vec()));
        let (length, data) = match common.kind {
            kind::COMMAND => (size_of::<Capsule>(), most.capsule),
            kind::HOST_DATA => (size_of::<Transfer>(), most.data),
            kind::HOST_TERMINATES => (size_of::<Terminate>(), SHOWN),
            kind::INITIALIZE => return fatal(Fatal::Sequence, first),
            _ => return fatal(Fatal::Field(0), first),
        };
        if usize::from(common.header) != length {
            return fatal(Fatal::Field(2), first);
        }
        if common.kind == kind::HOST_TERMINATES {
            return Ok(Self { head: Head::Terminates, bytes: 0 });
        }
        if (common.flags & flag::HEADER_DIGEST != 0) != terms.header_digests {
            return fatal(Fatal::Field(1), first);
        }
        input.read_exact(&mut rest[..length - size_of::<Common>()])?;
        let header = &bytes[..length];
        let digest = if terms.header_digests { DIGEST } else { 0 };
        if terms.header_digests {
            let mut sum = [0; DIGEST];
            input.read_exact(&mut sum)?;
            let sum = u32::from_le_bytes(sum);
            if sum != crc32c::crc32c(header) {
                return fatal(Fatal::Digest(sum), header);
            }
        }
        let whole = common.length.get() as usize;
        let has_data = common.kind == kind::HOST_DATA || whole != length + digest;
        if has_data && (common.flags & flag::DATA_DIGEST != 0) != terms.data_digests {
            return fatal(Fatal::Field(1), header);
        }
        let mut bytes = 0;
        if has_data {
            let at = usize::from(common.data_at);
            if at < length + digest || !at.is_multiple_of(4) {
                return fatal(Fatal::Field(3), header);
            }
            let behind = if terms.data_digests { DIGEST } else { 0 };
            bytes = match whole.checked_sub(at + behind) {
                Some(bytes) if bytes > 0 => bytes,
                _ => return fatal(Fatal::Field(4), header),
            };
            if bytes > data {
                return fatal(Fatal::TooMuch, header);
            }
            // The padding, 255 bytes at most.
            let mut padding = [0; 256];
            input.read_exact(&mut padding[..at - length - digest])?;
        }
        let wrong = "the length was checked";
        Ok(match common.kind {
            kind::COMMAND => {
                let Capsule { entry, .. } = Capsule::read_from_bytes(header).expect(wrong);
                Self { head: Head::Command(entry), bytes }
            }
            _ => {
                let transfer = Transfer::read_from_bytes(header).expect(wrong);
                if transfer.bytes.get() as usize != bytes {
                    return fatal(Fatal::Field(16), header);
                }
                Self { head: Head::Data(transfer), bytes }
            }
        })
    }
}

/// Reads the data of a PDU. Returns `true` if the digest is right, or if data have no digests.
pub fn receive_data(input: &mut impl Read, into: &mut [u8], terms: Terms) -> io::Result<bool> {
    input.read_exact(into)?;
    if !terms.data_digests || into.is_empty() {
        return Ok(true);
    }
    let mut digest = [0; DIGEST];
    input.read_exact(&mut digest)?;
    Ok(u32::from_le_bytes(digest) == crc32c::crc32c(into))
}

/// Writes a header, its digest, padding, the data and their digest.
pub fn send<H>(out: &mut impl Write, mut header: H, data: &[u8], terms: Terms) -> io::Result<()>
where
    H: IntoBytes + FromBytes + Immutable + KnownLayout,
{
    let length = size_of::<H>();
    let digest = if terms.header_digests { DIGEST } else { 0 };
    let mut whole = length + digest;
    let mut padding = 0;
    let bytes = header.as_mut_bytes();
    let (common, _) = Common::mut_from_prefix(bytes).expect("a header begins with the common one");
    common.header = length as u8;
    if terms.header_digests {
        common.flags |= flag::HEADER_DIGEST;
    }
    if !data.is_empty() {
        let at = whole.next_multiple_of((usize::from(terms.alignment) + 1) * 4);
        padding = at - whole;
        common.data_at = at as u8;
        whole = at + data.len();
        if terms.data_digests {
            common.flags |= flag::DATA_DIGEST;
            whole += DIGEST;
        }
    }
    common.length = (whole as u32).into();
    let header = header.as_bytes();
    out.write_all(header)?;
    if terms.header_digests {
        out.write_all(&crc32c::crc32c(header).to_le_bytes())?;
    }
    out.write_all(&[0; SHOWN][..padding])?;
    out.write_all(data)?;
    if terms.data_digests && !data.is_empty() {
        out.write_all(&crc32c::crc32c(data).to_le_bytes())?;
    }
    Ok(())
}

fn common(kind: u8, flags: u8) -> Common {
    Common { kind, flags, ..Common::new_zeroed() }
}

/// Sends a response.
pub fn respond(out: &mut impl Write, completion: Completion, terms: Terms) -> io::Result<()> {
    send(out, Response { common: common(kind::RESPONSE, 0), completion }, &[], terms)
}

/// Sends the data of a command. With `succeeds` they also stand for its response.
pub fn send_data(
    out: &mut impl Write,
    cid: U16,
    data: &[u8],
    succeeds: bool,
    terms: Terms,
) -> io::Result<()> {
    let flags = flag::LAST | if succeeds { flag::SUCCESS } else { 0 };
    let bytes = (data.len() as u32).into();
    let common = common(kind::DATA, flags);
    send(out, Transfer { common, cid, bytes, ..Transfer::new_zeroed() }, data, terms)
}

/// Asks the host for all data of a command (R2T).
pub fn grant(out: &mut impl Write, cid: U16, tag: u16, bytes: u32, terms: Terms) -> io::Result<()> {
    let (tag, bytes) = (tag.into(), bytes.into());
    let common = common(kind::GRANT, 0);
    send(out, Transfer { common, cid, tag, bytes, ..Transfer::new_zeroed() }, &[], terms)
}

/// Tells the host why its connection ends (C2HTermReq), and sends the wrong header back.
pub fn terminate(out: &mut impl Write, fatal: Fatal, header: &[u8]) -> io::Result<()> {
    let header = &header[..header.len().min(SHOWN)];
    let (fatal, information) = fatal.numbers();
    let length = size_of::<Terminate>();
    let common = Common {
        header: length as u8,
        length: ((length + header.len()) as u32).into(),
        ..common(kind::TERMINATES, 0)
    };
    let (fatal, information) = (fatal.into(), information.into());
    let terminate = Terminate { common, fatal, information, ..Terminate::new_zeroed() };
    out.write_all(terminate.as_bytes())?;
    out.write_all(header)
}
