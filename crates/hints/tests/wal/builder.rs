//! Writes logs for tests. This counterpart of the decoder shares no code with it.

/// A block reference to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub relation: (u32, u32, u32),
    pub fork: u8,
    pub block: u32,
    pub will_init: bool,
    /// The number of bytes of the block's data.
    pub data: u16,
    /// The image: its length, and its flags as in the log.
    pub image: Option<(u16, u8)>,
}

/// Makes a block without image or data.
pub fn plain(number: u32, block: u32) -> Block {
    let relation = (1663, 5, number);
    Block { relation, fork: 0, block, will_init: false, data: 0, image: None }
}

/// A record to write.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub manager: u8,
    pub info: u8,
    pub transaction: u32,
    pub blocks: Vec<Block>,
    pub origin: Option<u16>,
    pub top: Option<u32>,
    pub main: Vec<u8>,
}

/// A log that begins at the place `start`.
pub struct Log {
    pub bytes: Vec<u8>,
    pub start: u64,
    /// The indices in `bytes` of the bytes that align records.
    pub padding: Vec<usize>,
    /// The magic of the pages.
    pub magic: u16,
    previous: u64,
}

pub const PAGE: u64 = 8192;
pub const SEGMENT: u64 = 1 << 20;

/// Returns `true` if the length of an image's hole follows, by the flags of version 15 and later.
fn has_hole_length(flags: u8) -> bool {
    flags & 1 != 0 && flags & 0x1C != 0
}

impl Log {
    /// Makes an empty log that begins with a page at `start`.
    pub fn new(magic: u16, start: u64) -> Self {
        assert_eq!(start % PAGE, 0);
        Self { bytes: Vec::new(), start, padding: Vec::new(), magic, previous: start - 40 }
    }

    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn header(&mut self, flags: u16, left: u32) {
        let at = self.end();
        let long = at.is_multiple_of(SEGMENT);
        self.bytes.extend(self.magic.to_le_bytes());
        self.bytes.extend((flags | if long { 2 } else { 0 }).to_le_bytes());
        self.bytes.extend(1u32.to_le_bytes());
        self.bytes.extend(at.to_le_bytes());
        self.bytes.extend(left.to_le_bytes());
        self.bytes.extend([0; 4]);
        if long {
            self.bytes.extend(7_777_777u64.to_le_bytes());
            self.bytes.extend((SEGMENT as u32).to_le_bytes());
            self.bytes.extend((PAGE as u32).to_le_bytes());
        }
    }

    /// Begins a new page if the log is at a page border. `left` is the number of missing bytes of
    /// the record that continues there.
    fn page(&mut self, left: u32) {
        if self.end().is_multiple_of(PAGE) {
            self.header(u16::from(left > 0), left);
        }
    }

    /// Writes bytes of a record over as many pages as it takes.
    pub fn spread(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.page(bytes.len() as u32);
            let room = (PAGE - self.end() % PAGE) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.bytes.extend(now);
            bytes = later;
        }
    }

    /// Writes a record. Returns its place.
    pub fn record(&mut self, content: &Content) -> u64 {
        self.record_with(content, has_hole_length)
    }

    /// Writes a record like [`record`](Self::record). `has_hole` gets an image's flags, and returns
    /// true if the length of its hole follows.
    pub fn record_with(&mut self, content: &Content, has_hole: impl Fn(u8) -> bool) -> u64 {
        self.sealed(content, &encode(content, has_hole))
    }

    /// Writes a record with these bytes behind its header. Returns its place.
    pub fn sealed(&mut self, content: &Content, rest: &[u8]) -> u64 {
        let at = self.begin();
        let bytes = seal(content, self.previous, rest);
        self.spread(&bytes);
        self.previous = at;
        at
    }

    /// Aligns the log and returns the place of the next record.
    fn begin(&mut self) -> u64 {
        let aligned = self.end().next_multiple_of(8);
        let aligned = (aligned - self.start) as usize;
        self.padding.extend(self.bytes.len()..aligned);
        self.bytes.resize(aligned, 0);
        self.page(0);
        self.end()
    }

    /// Writes a segment switch and the empty rest of the segment. Returns the place of the switch.
    pub fn switch(&mut self) -> u64 {
        let at = self.record(&Content { info: 0x40, ..Content::default() });
        let next = self.end().next_multiple_of(SEGMENT);
        self.bytes.resize((next - self.start) as usize, 0);
        at
    }

    /// Writes a record only up to the next page border. Then it begins the next page as the server
    /// does after a crash.
    pub fn torn(&mut self, content: &Content) -> u64 {
        let at = self.begin();
        let bytes = seal(content, self.previous, &encode(content, has_hole_length));
        let room = (PAGE - at % PAGE) as usize;
        assert!(bytes.len() > room, "it does not reach the page's end");
        self.bytes.extend(&bytes[..room]);
        self.header(8, 0);
        at
    }
}

/// Returns the bytes behind the header of a record.
fn encode(content: &Content, has_hole: impl Fn(u8) -> bool) -> Vec<u8> {
    let (mut heads, mut data) = (Vec::new(), Vec::new());
    let mut last = None;
    for (id, block) in content.blocks.iter().enumerate() {
        let same = last == Some(block.relation);
        last = Some(block.relation);
        let flags = [
            (block.image.is_some(), 0x10),
            (block.data > 0, 0x20),
            (block.will_init, 0x40),
            (same, 0x80),
        ];
        let flags =
            flags.iter().filter(|(set, _)| *set).fold(block.fork, |sum, (_, bit)| sum | bit);
        heads.extend([id as u8, flags]);
        heads.extend(block.data.to_le_bytes());
        if let Some((length, flags)) = block.image {
            heads.extend(length.to_le_bytes());
            heads.extend(64u16.to_le_bytes());
            heads.push(flags);
            if has_hole(flags) {
                heads.extend(100u16.to_le_bytes());
            }
            data.extend((0..length).map(|at| at as u8));
        }
        if !same {
            let (tablespace, database, number) = block.relation;
            [tablespace, database, number].iter().for_each(|oid| heads.extend(oid.to_le_bytes()));
        }
        heads.extend(block.block.to_le_bytes());
        data.extend((0..block.data).map(|at| !at as u8));
    }
    if let Some(origin) = content.origin {
        heads.push(253);
        heads.extend(origin.to_le_bytes());
    }
    if let Some(top) = content.top {
        heads.push(252);
        heads.extend(top.to_le_bytes());
    }
    match content.main.len() {
        0 => {}
        short @ ..=255 => heads.extend([255, short as u8]),
        long => {
            heads.push(254);
            heads.extend((long as u32).to_le_bytes());
        }
    }
    [heads, data, content.main.clone()].concat()
}

/// Returns a record with `rest` behind its header, and the check sum of both.
fn seal(content: &Content, previous: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((24 + rest.len() as u32).to_le_bytes());
    bytes.extend(content.transaction.to_le_bytes());
    bytes.extend(previous.to_le_bytes());
    bytes.extend([content.info, content.manager, 0, 0]);
    let sum = crc32c::crc32c_append(crc32c::crc32c(rest), &bytes);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(rest);
    bytes
}
