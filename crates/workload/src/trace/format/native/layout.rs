//! The bytes of the `flashgc` format: header, block, index, trailer, and the coding of requests.
//! There is no I/O here. All numbers are little-endian.

use crate::Op;
use crate::trace::format::check;
use crate::trace::request::{self, Asker, Coding, Declared, FIELDS, Field, Fields, Request};

/// The first bytes of a file. As in PNG, the bytes 0x89, CR LF and LF show whether a transfer in
/// text mode has changed the file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FGC\r\n\x1a\n";
/// The newest version. Versions later than 4 can have optional fields. Version 3 has no clean
/// events and no address space, version 2 no flushes, and version 1 no dirty events. All versions
/// can be read. A file is written in the oldest version that can store what it declares.
pub(crate) const VERSION: u16 = newest(PLAIN);
/// The oldest version that is written. It has no optional fields.
const PLAIN: u16 = 4;
/// The oldest version whose header has flags. Files of older versions have all fields of their
/// version.
const FLAGS: u16 = 6;

/// Returns the newest version that a field needs, or `than` if that is newer.
const fn newest(than: u16) -> u16 {
    let (mut newest, mut at) = (than, 0);
    while at < FIELDS.len() {
        if FIELDS[at].since > newest {
            newest = FIELDS[at].since;
        }
        at += 1;
    }
    newest
}

pub(crate) const HEADER: usize = 32;
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"BLK\0";
pub(crate) const BLOCK_HEADER: usize = 32;
pub(crate) const INDEX_MAGIC: [u8; 4] = *b"IDX\0";
pub(crate) const INDEX_HEADER: usize = 16;
pub(crate) const INDEX_ENTRY: usize = 24;
pub(crate) const TRAILER: usize = 40;
pub(crate) const END_MAGIC: [u8; 8] = *b"FGC-END\n";

/// The number of requests in a block that is written. A block has about 30 KB, so that a random
/// access decodes little.
pub(crate) const BLOCK_REQUESTS: u32 = 4096;
/// The largest number of requests in a block that is read, so that a damaged count cannot request
/// too much memory.
pub(crate) const MAX_BLOCK_REQUESTS: u32 = 1 << 16;
/// The largest number of bytes of a coded request: a tag, possibly a kind, at most four integers of
/// at most ten bytes each, and the bytes of its fields.
const MAX_REQUEST: usize = 42 + field_bytes();

/// Returns the largest number of bytes that the fields of one request need.
const fn field_bytes() -> usize {
    let (mut bytes, mut at) = (0, 0);
    while at < FIELDS.len() {
        bytes += match FIELDS[at].coding {
            Coding::Change => 3,
            Coding::Number => 10,
            Coding::Byte => 1,
        };
        at += 1;
    }
    bytes
}

/// The contents of the header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub payload: u32,
    pub requests: u32,
    pub first_index: u64,
    pub first_time: u64,
}

/// An entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub byte: u64,
    pub first_index: u64,
    pub first_time: u64,
}

/// The contents of the trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub index_byte: u64,
    pub requests: u64,
    pub blocks: u64,
    pub index_crc: u32,
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The contents of a file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub version: u16,
    /// The properties that hold for all requests.
    pub declared: Declared,
}

pub(crate) fn header(declared: Declared) -> [u8; HEADER] {
    let Declared { address_space, fields } = declared;
    let version = fields.each().map(|field| field.since).fold(PLAIN, u16::max);
    let flags = if version < FLAGS { 0 } else { fields.flags() };
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    bytes[10..12].copy_from_slice(&flags.to_le_bytes());
    bytes[12..16].copy_from_slice(&BLOCK_REQUESTS.to_le_bytes());
    bytes[16..24].copy_from_slice(&address_space.unwrap_or(0).to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks and decodes the header of a file. An error is a message.
pub(crate) fn check_header(bytes: &[u8]) -> Result<Header, String> {
    if bytes.len() < HEADER {
        let length = bytes.len();
        return Err(format!(
            "found {length} bytes, expected a header of {HEADER}: the file is cut off"
        ));
    }
    if bytes[..8] != MAGIC {
        return Err("found no flashgc header".to_owned());
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if !(1..=VERSION).contains(&version) {
        return Err(format!("found version {version} of the format, expected 1 to {VERSION}"));
    }
    if crc32fast::hash(&bytes[..28]) != u32_at(bytes, 28) {
        return Err("the header's checksum does not fit: the file is damaged".to_owned());
    }
    // Before version 4 this number is 0, which means an unknown size.
    let address_space = Some(u64_at(bytes, 16)).filter(|&bytes| bytes > 0);
    let flags = u16::from_le_bytes([bytes[10], bytes[11]]);
    let known = Fields::known(version);
    let fields = if version < FLAGS { Some(known) } else { Fields::of_flags(flags, known) };
    let fields = fields.ok_or_else(|| {
        format!("found flags {flags} of the format, expected 0 to {}", known.flags())
    })?;
    Ok(Header { version, declared: Declared { address_space, fields } })
}

impl BlockHeader {
    /// Returns the header's bytes, with the checksum over them and the payload.
    pub fn bytes(&self, payload: &[u8]) -> [u8; BLOCK_HEADER] {
        let mut bytes = [0; BLOCK_HEADER];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.requests.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.first_index.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.first_time.to_le_bytes());
        let crc = block_crc(&bytes, payload);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes a header. An error is a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes[..4] != BLOCK_MAGIC {
            return Err("found no block, expected the bytes 'BLK': the file is damaged");
        }
        let header = Self {
            payload: u32_at(bytes, 4),
            requests: u32_at(bytes, 8),
            first_index: u64_at(bytes, 12),
            first_time: u64_at(bytes, 20),
        };
        let most = header.requests as usize * MAX_REQUEST;
        if header.requests == 0
            || header.requests > MAX_BLOCK_REQUESTS
            || header.payload as usize > most
        {
            return Err("the block's lengths make no sense: the file is damaged");
        }
        Ok(header)
    }
}

/// Returns `true` if the checksum of a block is right.
pub(crate) fn block_fits(header: &[u8], payload: &[u8]) -> bool {
    block_crc(header, payload) == u32_at(header, 28)
}

/// Returns the checksum of a block: its header up to the checksum, then its payload.
pub(crate) fn block_crc(header: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..28]);
    crc.update(payload);
    crc.finalize()
}

impl IndexEntry {
    pub fn bytes(&self) -> [u8; INDEX_ENTRY] {
        let mut bytes = [0; INDEX_ENTRY];
        bytes[..8].copy_from_slice(&self.byte.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_index.to_le_bytes());
        bytes[16..].copy_from_slice(&self.first_time.to_le_bytes());
        bytes
    }
}

pub(crate) fn index_header(blocks: u64) -> [u8; INDEX_HEADER] {
    let mut bytes = [0; INDEX_HEADER];
    bytes[..4].copy_from_slice(&INDEX_MAGIC);
    bytes[8..].copy_from_slice(&blocks.to_le_bytes());
    bytes
}

impl Trailer {
    pub fn bytes(&self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        bytes[..8].copy_from_slice(&self.index_byte.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.requests.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.index_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        bytes[32..].copy_from_slice(&END_MAGIC);
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() < TRAILER || bytes[32..40] != END_MAGIC {
            return Err("found no trailer, expected 'FGC-END' at the end: the file is cut off");
        }
        if crc32fast::hash(&bytes[..28]) != u32_at(bytes, 28) {
            return Err("the trailer's checksum does not fit: the file is damaged");
        }
        Ok(Self {
            index_byte: u64_at(bytes, 0),
            requests: u64_at(bytes, 8),
            blocks: u64_at(bytes, 16),
            index_crc: u32_at(bytes, 24),
        })
    }
}

// The bits of a request's tag. The two lowest bits are the operation, or `KIND` if a byte with the
// kind follows.
const KIND: u8 = 3;
const DIRTY: u8 = 0;
const FLUSH: u8 = 1;
const CLEAN: u8 = 2;
/// An entry of this kind is not a request. It has the asker (host and queue) of the requests that
/// follow. The number of the queue is added to the kind, and the next byte is the number of the
/// host.
const ASKER: u8 = 3;
const DEVICE: u8 = 1 << 2;
const SECTORS: u8 = 1 << 3;
const SEQUENTIAL: u8 = 1 << 4;
const SAME_SIZE: u8 = 1 << 5;
const MICROSECONDS: u8 = 1 << 6;
const BACKWARDS: u8 = 1 << 7;

/// The previous request. The next request is coded relative to it. Each block starts anew, so that
/// it can be decoded alone.
#[derive(Debug)]
pub(crate) struct Previous {
    time: u64,
    end: i64,
    size: u64,
    device: u32,
    asker: Asker,
}

impl Previous {
    fn new(first_time: u64) -> Self {
        Self { time: first_time, end: 0, size: 0, device: 0, asker: Asker::UNKNOWN }
    }

    fn update(&mut self, request: &Request) {
        if request.op == Op::Flush {
            (self.time, self.device) = (request.time_ns, request.device);
            return;
        }
        *self = Self {
            time: request.time_ns,
            end: request.end(),
            size: request.size,
            device: request.device,
            ..*self
        };
    }
}

/// Appends a number in groups of seven bits, lowest first (LEB128).
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes a number in groups of seven bits at `at`, and moves `at` behind it. Returns `None` if
/// there is no such number.
#[inline]
pub(crate) fn take(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(first.into());
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        // The tenth byte has only the last bit of the number.
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

/// The requests of a block that were coded so far.
#[derive(Debug)]
pub(crate) struct Block {
    /// The requests without their optional fields, which are in `columns`.
    coded: Vec<u8>,
    columns: [Vec<u8>; request::COUNT],
    previous: Previous,
    pub first_time: u64,
    pub requests: u32,
}

impl Block {
    pub fn new() -> Self {
        Self {
            coded: Vec::new(),
            columns: std::array::from_fn(|_| Vec::new()),
            previous: Previous::new(0),
            first_time: 0,
            requests: 0,
        }
    }

    /// Appends a request with these fields.
    pub fn push(&mut self, request: &Request, fields: Fields) {
        if self.requests == 0 {
            self.first_time = request.time_ns;
            self.previous = Previous::new(request.time_ns);
        }
        if fields.has(Fields::HOST) && self.previous.asker != request.asker {
            let Asker { host, queue } = request.asker;
            self.coded.extend([KIND, ASKER + queue.min(Asker::MOST_QUEUES), host]);
            self.previous.asker = request.asker;
        }
        encode_next(&mut self.previous, request, &mut self.coded);
        for (field, column) in FIELDS.iter().zip(&mut self.columns) {
            match field.coding {
                _ if !fields.has(field.set) => {}
                Coding::Change => {}
                Coding::Number => put(column, (field.get)(request)),
                Coding::Byte => column.push((field.get)(request) as u8),
            }
        }
        self.requests += 1;
    }

    /// Returns the parts of the payload, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let columns = |coding| {
            let all = FIELDS.iter().zip(&self.columns);
            all.filter(move |(field, _)| field.coding == coding).map(|(_, column)| column)
        };
        let columns = columns(Coding::Number).chain(columns(Coding::Byte));
        std::iter::once(&self.coded).chain(columns).map(Vec::as_slice)
    }

    /// Returns the bytes of memory that the block needs.
    pub fn memory(&self) -> usize {
        self.coded.capacity() + self.columns.iter().map(Vec::capacity).sum::<usize>()
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.coded.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.requests = 0;
    }
}

/// Appends the coded form of `request`, which follows `previous` in a block, without its optional
/// fields.
fn encode_next(previous: &mut Previous, request: &Request, out: &mut Vec<u8>) {
    // Differences wrap around here and in the decoder, so that every pair of offsets is exact.
    let flush = request.op == Op::Flush;
    // A flush has no offset and no size. It is written like a sequential request of the same size.
    let (offset, size) =
        if flush { (previous.end, previous.size) } else { (request.offset, request.size) };
    let delta = offset.wrapping_sub(previous.end);
    let (mut time, backwards) = match request.time_ns.checked_sub(previous.time) {
        Some(forward) => (forward, false),
        None => (previous.time - request.time_ns, true),
    };
    let sectors = delta % 512 == 0 && size % 512 == 0;
    let unit = if sectors { 512 } else { 1 };
    let microseconds = time % 1000 == 0;
    if microseconds {
        time /= 1000;
    }
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let (op, kind) = match request.op {
        Op::Write | Op::Read | Op::Trim => (request.op as u8, None),
        Op::Dirty => (KIND, Some(DIRTY)),
        Op::Flush => (KIND, Some(FLUSH)),
        Op::Clean => (KIND, Some(CLEAN)),
    };
    out.push(
        op | bit(request.device != previous.device, DEVICE)
            | bit(sectors, SECTORS)
            | bit(delta == 0, SEQUENTIAL)
            | bit(size == previous.size, SAME_SIZE)
            | bit(microseconds, MICROSECONDS)
            | bit(backwards, BACKWARDS),
    );
    out.extend(kind);
    put(out, time);
    if request.device != previous.device {
        put(out, request.device.into());
    }
    if delta != 0 {
        let delta = delta / unit;
        put(out, ((delta << 1) ^ (delta >> 63)) as u64);
    }
    if size != previous.size {
        put(out, size / unit as u64);
    }
    previous.update(request);
}

/// Decodes the requests of a block and appends them. `of` is the header of the file. Returns the
/// number of flushes among them; `None` if the bytes are not such requests.
pub(crate) fn decode(
    of: &Header,
    header: &BlockHeader,
    payload: &[u8],
    out: &mut Vec<Request>,
) -> Option<u64> {
    let Header { version, declared: Declared { fields, .. } } = *of;
    out.reserve(header.requests as usize);
    let mut flushes = 0;
    let mut previous = Previous::new(header.first_time);
    let mut at = 0;
    let hosts = fields.has(Fields::HOST);
    // After the requests come the fields that are coded as numbers, then those coded as bytes.
    let coded_as = |coding| fields.each().filter(move |field| field.coding == coding);
    let bytes = coded_as(Coding::Byte).count() * header.requests as usize;
    let (payload, bytes) = payload.split_at_checked(payload.len().checked_sub(bytes)?)?;
    let first = out.len();
    while out.len() - first < header.requests as usize {
        let tag = *payload.get(at)?;
        at += 1;
        let op = match tag & 3 {
            0 => Op::Write,
            1 => Op::Read,
            2 => Op::Trim,
            _ if version < 3 => Op::Dirty,
            _ => {
                at += 1;
                match *payload.get(at - 1)? {
                    DIRTY => Op::Dirty,
                    FLUSH => Op::Flush,
                    CLEAN if version >= 4 => Op::Clean,
                    coded if hosts && tag == KIND && coded >= ASKER => {
                        let (queue, host) = (coded - ASKER, *payload.get(at)?);
                        previous.asker = Asker { host, queue };
                        at += 1;
                        continue;
                    }
                    _ => return None,
                }
            }
        };
        let mut time = take(payload, &mut at)?;
        if tag & MICROSECONDS != 0 {
            time = time.checked_mul(1000)?;
        }
        let time_ns = if tag & BACKWARDS != 0 {
            previous.time.checked_sub(time)?
        } else {
            previous.time.checked_add(time)?
        };
        let mut device = previous.device;
        if tag & DEVICE != 0 {
            device = u32::try_from(take(payload, &mut at)?).ok()?;
        }
        if op == Op::Flush {
            if tag & (SEQUENTIAL | SAME_SIZE) != SEQUENTIAL | SAME_SIZE {
                return None;
            }
            let flush = Request { asker: previous.asker, ..Request::flush(time_ns, device) };
            previous.update(&flush);
            out.push(flush);
            flushes += 1;
            continue;
        }
        let unit = if tag & SECTORS != 0 { 512 } else { 1 };
        let mut offset = previous.end;
        if tag & SEQUENTIAL == 0 {
            let coded = take(payload, &mut at)?;
            let delta = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            offset = offset.wrapping_add(delta.wrapping_mul(unit));
        }
        let mut size = previous.size;
        if tag & SAME_SIZE == 0 {
            size = take(payload, &mut at)?.checked_mul(unit as u64)?;
        }
        let asker = previous.asker;
        let request = Request { asker, ..check(time_ns, op, device, offset, size, 0).ok()?? };
        previous.update(&request);
        out.push(request);
    }
    for field in coded_as(Coding::Number) {
        for request in &mut out[first..] {
            set(field, request, take(payload, &mut at)?)?;
        }
    }
    for (field, column) in coded_as(Coding::Byte).zip(bytes.chunks(header.requests as usize)) {
        for (request, &byte) in out[first..].iter_mut().zip(column) {
            set(field, request, byte.into())?;
        }
    }
    (at == payload.len()).then_some(flushes)
}

/// Sets a field of a request. Returns `None` if the field has no such value, or if the request is a
/// flush that may not have the field.
#[inline]
fn set(field: &Field, request: &mut Request, value: u64) -> Option<()> {
    (field.set_to)(request, value);
    let is_wrong = (field.get)(request) != value
        || request.op == Op::Flush && field.wrong_for_flush(request).is_some();
    (!is_wrong).then_some(())
}

#[cfg(test)]
mod tests {
    use flashgc_base::stream::NO_STREAM;
    use proptest::prelude::*;

    use super::*;

    /// Returns the payload of a block of `requests`.
    fn payload_of(requests: &[Request], fields: Fields) -> Vec<u8> {
        let mut block = Block::new();
        requests.iter().for_each(|request| block.push(request, fields));
        block.parts().collect::<Vec<_>>().concat()
    }

    #[test]
    fn a_request_is_coded_as_the_page_of_formats_says() {
        let request = |time_ns, offset, size, device| Request {
            time_ns,
            offset,
            size,
            device,
            ..Request::default()
        };
        let three =
            [request(7, 1024, 4096, 0), request(2_007, 5120, 4096, 0), request(2_006, 5, 1, 300)];
        let bytes = payload_of(&three, Fields::NONE);
        // Computed by hand. First request: in sectors, 0 us later, +2 sectors (zigzag 4), 8
        // sectors. Second: sequential, same size, 2 us later. Third: 1 ns earlier, on device 300
        // (0xac 0x02), 5 - 9216 = -9211 bytes (zigzag 18421 = 0xf5 0x8f 0x01), 1 byte.
        let first = [SECTORS | MICROSECONDS, 0, 4, 8];
        let second = [SECTORS | SEQUENTIAL | SAME_SIZE | MICROSECONDS, 2];
        let third = [DEVICE | BACKWARDS, 1, 0xac, 0x02, 0xf5, 0x8f, 0x01, 1];
        assert_eq!(bytes, [first.as_slice(), &second, &third].concat());
    }

    #[test]
    fn a_flush_and_a_dirty_event_have_a_kind_behind_their_tag() {
        let request =
            |op| Request { time_ns: 3000, offset: 512, size: 512, op, ..Request::default() };
        let flush = Request::flush(5000, 7);
        let after = Request { time_ns: 5000, offset: 1024, device: 7, ..request(Op::Write) };
        let requests = [request(Op::Dirty), flush, after];
        let bytes = payload_of(&requests, Fields::NONE);
        // Computed by hand. First request: 0 us later, +1 sector (zigzag 2), 1 sector. Second: 2 us
        // later, device 7. Third: it follows the first on its device, with the same size.
        let first = [3 | SECTORS | MICROSECONDS, 0, 0, 2, 1];
        let second = [3 | DEVICE | SECTORS | SEQUENTIAL | SAME_SIZE | MICROSECONDS, 1, 2, 7];
        let third = [SECTORS | SEQUENTIAL | SAME_SIZE | MICROSECONDS, 0];
        assert_eq!(bytes, [first.as_slice(), &second, &third].concat());
        let header = |payload: &[u8], requests| {
            let payload = payload.len() as u32;
            BlockHeader { payload, requests, first_index: 0, first_time: 3000 }
        };
        let mut out = Vec::new();
        let of = |version| Header { version, declared: Declared::default() };
        assert_eq!(decode(&of(4), &header(&bytes, 3), &bytes, &mut out), Some(1));
        assert_eq!(out, requests);
        // In a file of version 2, a dirty event has no kind byte.
        let old = [first[0], 0, 2, 1];
        out.clear();
        assert_eq!(decode(&of(2), &header(&old, 1), &old, &mut out), Some(0));
        assert_eq!(out, requests[..1]);
        // A clean event is coded like a dirty one, from version 4 on.
        let clean = [first[0], 2, 0, 2, 1];
        out.clear();
        assert_eq!(decode(&of(4), &header(&clean, 1), &clean, &mut out), Some(0));
        assert_eq!(out, [request(Op::Clean)]);
        assert_eq!(decode(&of(3), &header(&clean, 1), &clean, &mut out), None);
        // There is no kind 3 without hosts, and no flush with a size.
        for wrong in [[first[0], 3, 0, 2, 1], [3 | SECTORS | SEQUENTIAL, 1, 0, 2, 1]] {
            assert_eq!(decode(&of(4), &header(&wrong, 1), &wrong, &mut out), None);
        }
    }

    #[test]
    fn answers_follow_the_requests_and_streams_come_last() {
        let request = |offset, took_ns, stream| Request {
            offset,
            size: 512,
            stream,
            took_ns,
            ..Request::default()
        };
        let requests = [request(0, 299, 7), request(512, Request::UNANSWERED, NO_STREAM)];
        let fields = Fields::STREAM.with(Fields::ANSWER);
        let bytes = payload_of(&requests, fields);
        // Computed by hand: two requests as above, then 300 = 0xac 0x02 and 0, then streams 7 and
        // 255.
        let first = [SECTORS | SEQUENTIAL | MICROSECONDS, 0, 1];
        let second = [SECTORS | SEQUENTIAL | SAME_SIZE | MICROSECONDS, 0];
        let rest = [0xac, 0x02, 0, 7, 255];
        assert_eq!(bytes, [first.as_slice(), &second, &rest].concat());
        let payload = bytes.len() as u32;
        let header = BlockHeader { payload, requests: 2, first_index: 0, first_time: 0 };
        let declared = Declared { fields, ..Declared::default() };
        let mut out = Vec::new();
        assert_eq!(decode(&Header { version: 6, declared }, &header, &bytes, &mut out), Some(0));
        assert_eq!(out, requests);
        let parsed = check_header(&super::header(declared)).unwrap();
        assert_eq!(parsed, Header { version: 6, declared });
        let without = Declared { fields: Fields::ANSWER, ..declared };
        assert_eq!(check_header(&super::header(without)).unwrap().declared, without);
        assert_eq!(
            decode(&Header { version: 6, declared: without }, &header, &bytes, &mut out),
            None
        );
    }

    #[test]
    fn a_host_is_coded_where_it_changes() {
        let request = |host, queue| Request { asker: Asker { host, queue }, ..Request::default() };
        let flush = Request { asker: Asker { host: 2, queue: 252 }, ..Request::flush(0, 0) };
        let requests = [request(0, 0), request(1, 4), request(1, 4), flush];
        let bytes = payload_of(&requests, Fields::HOST);
        // Computed by hand: the first request has no host. Before the second request, the kind 3 +
        // 4 (queue 4) and host 1 come. The third request has the same host. Before the flush, the
        // kind 3 + 252 and host 2 come.
        let same = SECTORS | SEQUENTIAL | SAME_SIZE | MICROSECONDS;
        let coded = [same, 0, 3, 7, 1, same, 0, same, 0, 3, 255, 2, KIND | same, 1, 0];
        assert_eq!(bytes, coded);
        let header = |payload: &[u8]| BlockHeader {
            payload: payload.len() as u32,
            requests: 4,
            first_index: 0,
            first_time: 0,
        };
        let declared = Declared { fields: Fields::HOST, ..Declared::default() };
        let of = Header { version: 7, declared };
        let mut out = Vec::new();
        assert_eq!(decode(&of, &header(&bytes), &bytes, &mut out), Some(1));
        assert_eq!(out, requests);
        assert_eq!(check_header(&super::header(declared)), Ok(of));
        // Without hosts, a file leaves the hosts out, and kind 3 is an error in it.
        let without = Header { version: 7, declared: Declared::default() };
        assert_eq!(decode(&without, &header(&bytes), &bytes, &mut out), None);
        let plain = payload_of(&requests, Fields::NONE);
        assert_eq!(plain, [same, 0, same, 0, same, 0, KIND | same, 1, 0]);
        // With kind 3, the other bits of the tag must be 0. A host needs a request after it.
        // Version 6 has no hosts.
        let tagged = [&[same, 0, 3 | DEVICE], &bytes[3..]].concat();
        let behind = [bytes.as_slice(), &[3, 7, 1]].concat();
        let cut = [&bytes[..bytes.len() - 3], &[3]].concat();
        for wrong in [tagged, behind, cut] {
            assert_eq!(decode(&of, &header(&wrong), &wrong, &mut out), None);
        }
        let mut old = super::header(declared);
        old[8] = 6;
        let sum = crc32fast::hash(&old[..28]);
        old[28..].copy_from_slice(&sum.to_le_bytes());
        let refused = check_header(&old).unwrap_err();
        assert_eq!(refused, "found flags 4 of the format, expected 0 to 3");
    }

    proptest! {
        // Such payloads can only come from a wrong writer, because changed bits would fail the
        // checksum.
        #[test]
        fn any_payload_is_decoded_or_refused(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            requests in 1..50u32,
            first_time in any::<u64>(),
            version in 1..=VERSION,
            flags in 0..=Fields::known(VERSION).flags(),
        ) {
            let fields = Fields::of_flags(flags, Fields::known(VERSION)).unwrap();
            let declared = Declared { address_space: None, fields };
            let of = Header { version, declared };
            let header =
                BlockHeader { payload: payload.len() as u32, requests, first_index: 0, first_time };
            let mut out = Vec::new();
            if decode(&of, &header, &payload, &mut out).is_some() {
                prop_assert_eq!(out.len(), requests as usize);
            }
        }
    }
}
