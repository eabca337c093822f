//! A request of a virtqueue: its pieces in the machine's memory, and the command that it asks for.

use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemoryLoadGuard, GuestMemoryMmap};

use crate::command::Command;
use flashgc_device::PAGE;

/// The memory of the machine, as it is while a request is under way.
pub type Memory = GuestMemoryLoadGuard<GuestMemoryMmap>;

/// The largest read or write, in bytes.
pub const LARGEST: usize = 32 << 20;
/// The most pieces of memory of a request, beside header and status.
pub const SEGMENTS: u32 = 126;
/// The most sectors of a discard, and of a request for zeros.
pub const DISCARD: u32 = (1 << 30) / SECTOR as u32;
pub const ZEROES: u32 = LARGEST as u32 / SECTOR as u32;
/// The bytes of a sector, in which places are counted.
pub const SECTOR: u64 = 512;
/// The number of sectors in a page.
pub const SECTORS: u32 = PAGE as u32 / SECTOR as u32;

/// The bytes of a serial number.
const SERIAL: usize = 20;
const HEADER: usize = 16;
/// The bytes of the range of a discard.
const RANGE: usize = 16;
const UNMAP: u32 = 1;

mod kind {
    pub const IN: u32 = 0;
    pub const OUT: u32 = 1;
    pub const FLUSH: u32 = 4;
    pub const GET_ID: u32 = 8;
    pub const DISCARD: u32 = 11;
    pub const WRITE_ZEROES: u32 = 13;
}

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    Ok = 0,
    Error = 1,
    Unsupported = 2,
}

/// The meaning of a request.
pub enum Asked {
    /// A command for the drive.
    Drive(Command),
    /// A question for the serial number.
    Serial,
}

/// Pieces of memory one behind the other.
#[derive(Default)]
struct Pieces(Vec<(GuestAddress, usize)>);

impl Pieces {
    fn bytes(&self) -> usize {
        self.0.iter().map(|piece| piece.1).sum()
    }

    /// Calls `each` with the place of a piece and its part of the `bytes` bytes from `skip` on.
    fn visit(
        &self,
        mut skip: usize,
        bytes: usize,
        mut each: impl FnMut(GuestAddress, std::ops::Range<usize>) -> Option<()>,
    ) -> Option<()> {
        let mut done = 0;
        for &(address, length) in &self.0 {
            let part = (length - skip.min(length)).min(bytes - done);
            if part > 0 {
                let begin = address.0.checked_add(skip as u64)?;
                each(GuestAddress(begin), done..done + part)?;
            }
            skip -= skip.min(length);
            done += part;
        }
        (done == bytes).then_some(())
    }
}

/// A request, whose pieces are looked up once: the machine may change them while it is under way.
pub struct Request {
    memory: Memory,
    /// The machine's name for the request.
    pub head: u16,
    readable: Pieces,
    writable: Pieces,
}

impl Request {
    /// Returns the request of a chain of descriptors.
    pub fn new(memory: Memory, chain: DescriptorChain<Memory>) -> Self {
        let head = chain.head_index();
        let [mut readable, mut writable] = [Pieces::default(), Pieces::default()];
        for piece in chain {
            let pieces = if piece.is_write_only() { &mut writable } else { &mut readable };
            pieces.0.push((piece.addr(), piece.len() as usize));
        }
        Self { memory, head, readable, writable }
    }

    /// Returns the bytes that the request takes while it is under way: its data, and whole pages of a read that begins
    /// and ends within pages.
    pub fn cost(&self) -> usize {
        (self.readable.bytes().saturating_add(self.writable.bytes())).min(LARGEST) + 2 * PAGE
    }

    /// Returns the meaning of the request. With `durable`, writes must be durable when they are
    /// answered.
    pub fn asked(&self, durable: bool, read_only: bool) -> Result<Asked, Status> {
        let header = self.read(0, HEADER).ok_or(Status::Error)?;
        let (kind, at) = (u32_at(&header, 0), u64_at(&header, 8).checked_mul(SECTOR));
        let at = at.ok_or(Status::Error)?;
        let out = self.readable.bytes() - HEADER;
        let into = self.writable.bytes().checked_sub(1).ok_or(Status::Error)?;
        let writes = matches!(kind, kind::OUT | kind::DISCARD | kind::WRITE_ZEROES);
        if out.max(into) > LARGEST || (writes && read_only) {
            return Err(Status::Error);
        }
        Ok(Asked::Drive(match kind {
            kind::IN => Command::Read { at, bytes: into },
            kind::OUT => {
                let data = self.read(HEADER, out).ok_or(Status::Error)?;
                Command::Write { at, data, fua: durable, streams: vec![] }
            }
            kind::FLUSH => Command::Flush,
            kind::GET_ID => return Ok(Asked::Serial),
            kind::DISCARD | kind::WRITE_ZEROES if out != RANGE => return Err(Status::Error),
            kind::DISCARD | kind::WRITE_ZEROES => {
                let range = self.read(HEADER, RANGE).ok_or(Status::Error)?;
                let at = u64_at(&range, 0).checked_mul(SECTOR).ok_or(Status::Error)?;
                let (sectors, flags) = (u32_at(&range, 8), u32_at(&range, 12));
                let bytes = u64::from(sectors) * SECTOR;
                let (most, allowed) =
                    if kind == kind::DISCARD { (DISCARD, 0) } else { (ZEROES, UNMAP) };
                if flags & !allowed != 0 {
                    return Err(Status::Unsupported);
                }
                if sectors > most {
                    return Err(Status::Error);
                }
                if kind == kind::DISCARD {
                    Command::Trim { at, bytes, fua: durable }
                } else {
                    Command::Zero { at, bytes, keep: flags & UNMAP == 0, fua: durable }
                }
            }
            _ => return Err(Status::Unsupported),
        }))
    }

    /// Writes data and status into the machine's memory. Returns the number of bytes written, or
    /// `None` if there is no place for them.
    pub fn answer(&self, status: Status, data: &[u8]) -> Option<u32> {
        let last = self.writable.bytes().checked_sub(1)?;
        let data = &data[..data.len().min(last)];
        self.write(0, data)?;
        self.write(last, &[status as u8])?;
        // All but a part in the middle that has no data counts as written.
        Some(if status == Status::Ok { last as u32 + 1 } else { 1 })
    }

    /// Returns the serial number as the machine sees it.
    pub fn serial(&self, serial: &str) -> Vec<u8> {
        let mut bytes = serial.as_bytes().to_vec();
        bytes.resize(SERIAL, 0);
        bytes
    }

    fn read(&self, at: usize, bytes: usize) -> Option<Vec<u8>> {
        if at.checked_add(bytes)? > self.readable.bytes() {
            return None;
        }
        let mut data = vec![0; bytes];
        self.readable.visit(at, bytes, |address, part| {
            self.memory.read_slice(&mut data[part], address).ok()
        })?;
        Some(data)
    }

    fn write(&self, at: usize, data: &[u8]) -> Option<()> {
        self.writable.visit(at, data.len(), |address, part| {
            self.memory.write_slice(&data[part], address).ok()
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
}
