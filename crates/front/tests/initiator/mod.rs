//! An NVMe/TCP host for tests. It builds PDUs byte by byte, and shares no code with the target.
#![allow(dead_code)] // each suite uses its part

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flashgc_front::limits::Limits;
use flashgc_front::nvme::{Block, NvmeAddress, NvmeExport, NvmeServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;

pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
pub const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";
/// The bit of a status that says that a retry cannot help.
pub const DNR: u16 = 0x4000;

pub const UUID: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";

/// A served drive in memory.
pub struct Setup {
    pub server: NvmeServer,
    pub engine: Engine<Ram>,
    pub name: String,
}

pub fn serve(drive: Ram) -> Setup {
    serve_with(drive, NvmeExport { uuid: UUID, ..NvmeExport::default() }, Limits::default())
}

pub fn serve_with(drive: Ram, export: NvmeExport, limits: Limits) -> Setup {
    let engine = Engine::start(drive).unwrap();
    let address: NvmeAddress = "127.0.0.1:0".parse().unwrap();
    let listener = NvmeServer::listen(&address).unwrap();
    let server =
        NvmeServer::start_with(engine.queue(), &address, listener, &export, limits).unwrap();
    Setup { server, engine, name: export.name() }
}

pub fn sectors() -> NvmeExport {
    NvmeExport { uuid: UUID, block: Block::Sector, ..NvmeExport::default() }
}

impl Setup {
    pub fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// Connects a host with one I/O queue.
    pub fn host(&self) -> Host {
        self.host_with(&Wanted::default(), 1)
    }

    /// Connects a host with `queues` I/O queues.
    pub fn host_with(&self, wanted: &Wanted, queues: u16) -> Host {
        let mut admin = Queue::connect(&self.address(), &self.name, wanted, 0, 0xffff).unwrap();
        admin.enable();
        let open =
            |id| Queue::connect(&self.address(), &self.name, wanted, id, admin.controller).unwrap();
        let queues = (1..=queues).map(open).collect();
        Host { admin, queues }
    }
}

/// A host with its queues; its controller is ready.
pub struct Host {
    pub admin: Queue,
    pub queues: Vec<Queue>,
}

/// The terms that a host wants.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub header_digests: bool,
    pub data_digests: bool,
    /// The alignment of data, in units of 4 bytes, minus one.
    pub alignment: u8,
    pub flow_control: bool,
    pub entries: u16,
    pub keep_alive: u32,
    pub host: &'static str,
    pub host_id: u8,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            header_digests: false,
            data_digests: false,
            alignment: 0,
            flow_control: true,
            entries: 128,
            keep_alive: 0,
            host: HOST,
            host_id: 7,
        }
    }
}

/// An answer: status, result and data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub result: u64,
    pub data: Vec<u8>,
    /// The head of the submission queue, as the target has told it.
    pub head: u16,
}

impl Answer {
    /// Returns the data of a command that has succeeded.
    pub fn ok(self) -> Vec<u8> {
        assert_eq!(self.status, 0, "status {:#x}", self.status);
        self.data
    }
}

/// A PDU of the target.
#[derive(Debug)]
pub struct Pdu {
    pub kind: u8,
    pub flags: u8,
    pub header: Vec<u8>,
    pub data: Vec<u8>,
}

impl Pdu {
    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.header[at..at + 2].try_into().unwrap())
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.header[at..at + 4].try_into().unwrap())
    }
}

/// A command: its entry, and the data that it sends.
pub struct Sent<'a> {
    pub entry: [u8; 64],
    pub data: &'a [u8],
    pub in_capsule: bool,
}

/// Returns an entry with these fields.
pub fn entry(opcode: u8, nsid: u32, dwords: &[u32]) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1]) = (opcode, 0x40);
    entry[4..8].copy_from_slice(&nsid.to_le_bytes());
    for (place, dword) in dwords.iter().enumerate() {
        entry[40 + place * 4..44 + place * 4].copy_from_slice(&dword.to_le_bytes());
    }
    entry
}

/// Returns `entry` with an SGL descriptor for `bytes` bytes of data in separate PDUs.
pub fn moves(mut entry: [u8; 64], bytes: usize) -> [u8; 64] {
    entry[32..36].copy_from_slice(&(bytes as u32).to_le_bytes());
    entry[39] = 0x5a;
    entry
}

/// Returns an entry for `blocks` blocks from `first` on.
pub fn io(opcode: u8, first: u64, blocks: u32, flags: u32) -> [u8; 64] {
    let dwords = [first as u32, (first >> 32) as u32, (blocks - 1) | flags];
    entry(opcode, 1, &dwords)
}

/// A connection, which becomes a queue.
pub struct Queue {
    pub stream: TcpStream,
    pub wanted: Wanted,
    pub controller: u16,
    /// The most bytes of data in a PDU of the host.
    pub most: usize,
    pub next: u16,
    /// The data that the target may ask for, by the number of the command.
    pub owed: HashMap<u16, Vec<u8>>,
    /// The data received so far, by the number of the command.
    data: HashMap<u16, Vec<u8>>,
    /// The answers that were not taken yet, by the number of the command.
    answers: HashMap<u16, Answer>,
}

impl Queue {
    /// Opens a connection and exchanges the first PDUs.
    pub fn open(address: &str, wanted: &Wanted) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut first = vec![0; 128];
        (first[2], first[4]) = (128, 128);
        first[10] = wanted.alignment;
        first[11] = u8::from(wanted.header_digests) | u8::from(wanted.data_digests) << 1;
        stream.write_all(&first).unwrap();
        let mut agreed = [0; 128];
        stream.read_exact(&mut agreed).unwrap();
        assert_eq!((agreed[0], agreed[11]), (1, first[11]));
        let most = u32::from_le_bytes(agreed[12..16].try_into().unwrap()) as usize;
        Self { most, ..Self::detached(stream, *wanted) }
    }

    /// Returns a queue on a connection on which nothing was sent.
    pub fn detached(stream: TcpStream, wanted: Wanted) -> Self {
        let (owed, data, answers) = Default::default();
        Self { stream, wanted, controller: 0, most: 4096, next: 0, owed, data, answers }
    }

    /// Connects a queue. If the Connect fails, returns its status and its result.
    pub fn connect(
        address: &str,
        subsystem: &str,
        wanted: &Wanted,
        queue: u16,
        controller: u16,
    ) -> Result<Self, (u16, u64)> {
        let mut one = Self::open(address, wanted);
        let answer = one.ask_to_connect(subsystem, queue, controller);
        if answer.status != 0 {
            return Err((answer.status, answer.result));
        }
        one.controller = answer.result as u16;
        Ok(one)
    }

    pub fn ask_to_connect(&mut self, subsystem: &str, queue: u16, controller: u16) -> Answer {
        let attributes = if self.wanted.flow_control { 0 } else { 1 << 2 };
        let dwords = [
            u32::from(queue) << 16,
            u32::from(self.wanted.entries - 1) | attributes << 16,
            self.wanted.keep_alive,
        ];
        let mut data = vec![0; 1024];
        data[..16].fill(self.wanted.host_id);
        data[16..18].copy_from_slice(&controller.to_le_bytes());
        data[256..256 + subsystem.len()].copy_from_slice(subsystem.as_bytes());
        data[512..512 + self.wanted.host.len()].copy_from_slice(self.wanted.host.as_bytes());
        // A Fabrics command has its type at the place of the namespace.
        let entry = entry(0x7f, 1, &dwords);
        self.call(Sent { entry, data: &data, in_capsule: true })
    }

    /// Enables the controller, as Linux does.
    pub fn enable(&mut self) {
        self.set_property(0x14, 6 << 16 | 4 << 20 | 1).ok();
        assert_eq!(self.property(0x1c, 0).result, 1);
    }

    pub fn property(&mut self, place: u32, size: u32) -> Answer {
        self.ask(entry(0x7f, 4, &[size, place]))
    }

    pub fn set_property(&mut self, place: u32, value: u32) -> Answer {
        self.ask(entry(0x7f, 0, &[0, place, value, 0]))
    }

    pub fn identify(&mut self, structure: u32, nsid: u32) -> Answer {
        self.get(entry(0x06, nsid, &[structure]), 4096)
    }

    pub fn log(&mut self, page: u32, from: u64, bytes: usize) -> Answer {
        let dwords = bytes as u32 / 4 - 1;
        let low = [page | dwords << 16, 1 << 16, from as u32, (from >> 32) as u32];
        self.get(entry(0x02, 0xffff_ffff, &low), bytes)
    }

    pub fn read(&mut self, first: u64, blocks: u32, bytes: usize) -> Answer {
        self.get(io(2, first, blocks, 0), bytes)
    }

    /// Writes data, in the command's own PDU if they are short.
    pub fn write(&mut self, first: u64, blocks: u32, data: &[u8], flags: u32) -> Answer {
        let entry = io(1, first, blocks, flags);
        self.call(Sent { entry, data, in_capsule: data.len() <= 8192 })
    }

    /// Executes a command without data.
    pub fn ask(&mut self, entry: [u8; 64]) -> Answer {
        self.call(Sent { entry, data: &[], in_capsule: false })
    }

    /// Executes a command that returns data.
    pub fn get(&mut self, entry: [u8; 64], bytes: usize) -> Answer {
        self.ask(moves(entry, bytes))
    }

    pub fn call(&mut self, sent: Sent) -> Answer {
        let cid = self.submit(sent);
        self.wait(cid)
    }

    /// Sends a command, and returns its number.
    pub fn submit(&mut self, sent: Sent) -> u16 {
        let cid = self.next;
        self.next = self.next.wrapping_add(1);
        let Sent { mut entry, data, in_capsule } = sent;
        entry[2..4].copy_from_slice(&cid.to_le_bytes());
        if !data.is_empty() {
            entry = moves(entry, data.len());
            if in_capsule {
                entry[39] = 0x01;
            } else {
                self.owed.insert(cid, data.to_vec());
            }
        }
        let capsule = if in_capsule { data } else { &[] };
        self.send(4, 0, &entry, capsule);
        cid
    }

    /// Sends a PDU.
    pub fn send(&mut self, kind: u8, flags: u8, header: &[u8], data: &[u8]) {
        let bytes = self.pdu(kind, flags, header, data);
        let _ = self.stream.write_all(&bytes);
    }

    /// Returns the bytes of a PDU. `header` is its header without the first 8 bytes.
    pub fn pdu(&self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
        let Wanted { header_digests, data_digests, .. } = self.wanted;
        let length = 8 + header.len();
        let at = length + if header_digests { 4 } else { 0 };
        let behind = if data_digests && !data.is_empty() { 4 } else { 0 };
        let flags = flags | u8::from(header_digests) | if behind > 0 { 2 } else { 0 };
        let place = if data.is_empty() { 0 } else { at as u8 };
        let mut bytes = vec![kind, flags, length as u8, place];
        bytes.extend(((at + data.len() + behind) as u32).to_le_bytes());
        bytes.extend(header);
        if header_digests {
            bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        }
        bytes.extend(data);
        if behind > 0 {
            bytes.extend(crc32c::crc32c(data).to_le_bytes());
        }
        bytes
    }

    /// Waits for the answer to a command. Meanwhile it sends data that the target asks for.
    pub fn wait(&mut self, cid: u16) -> Answer {
        loop {
            if let Some(answer) = self.answers.remove(&cid) {
                return answer;
            }
            self.step().unwrap();
        }
    }

    /// Receives a PDU of the target and handles it.
    fn step(&mut self) -> io::Result<()> {
        let pdu = self.receive()?;
        let cid = pdu.u16(8);
        match pdu.kind {
            5 => {
                let cid = pdu.u16(20);
                let result = u64::from_le_bytes(pdu.header[8..16].try_into().unwrap());
                let data = self.data.remove(&cid).unwrap_or_default();
                let (status, head) = (pdu.u16(22) >> 1, pdu.u16(16));
                self.answers.insert(cid, Answer { status, result, data, head });
            }
            7 => {
                let data = self.data.entry(cid).or_default();
                assert_eq!(pdu.u32(12) as usize, data.len(), "data come in order");
                assert_eq!(pdu.u32(16) as usize, pdu.data.len());
                data.extend(&pdu.data);
                if pdu.flags & 8 != 0 {
                    let data = self.data.remove(&cid).unwrap();
                    let answer = Answer { status: 0, result: 0, data, head: 0xffff };
                    self.answers.insert(cid, answer);
                }
            }
            9 => {
                let (tag, from, bytes) = (pdu.u16(10), pdu.u32(12) as usize, pdu.u32(16) as usize);
                let data = self.owed[&cid][from..from + bytes].to_vec();
                self.send_data(cid, tag, from, &data);
            }
            kind => panic!("a PDU of type {kind:#x}: {:?}", pdu.header),
        }
        Ok(())
    }

    /// Sends data in PDUs as large as the target takes.
    pub fn send_data(&mut self, cid: u16, tag: u16, from: usize, data: &[u8]) {
        let mut at = from;
        let pieces: Vec<_> = data.chunks(self.most).collect();
        for (index, piece) in pieces.iter().enumerate() {
            let last = if index + 1 == pieces.len() { 4 } else { 0 };
            self.send(6, last, &transfer(cid, tag, at, piece.len()), piece);
            at += piece.len();
        }
    }

    /// Receives a PDU and checks its digests.
    pub fn receive(&mut self) -> io::Result<Pdu> {
        let mut header = vec![0; 8];
        self.stream.read_exact(&mut header)?;
        let (kind, flags, length) = (header[0], header[1], usize::from(header[2]));
        let (at, whole) =
            (usize::from(header[3]), u32::from_le_bytes(header[4..8].try_into().unwrap()));
        let whole = whole as usize;
        header.resize(length, 0);
        self.stream.read_exact(&mut header[8..])?;
        let mut rest = vec![0; whole - length];
        self.stream.read_exact(&mut rest)?;
        let mut data = Vec::new();
        // The PDU that ends a connection has no digests.
        if kind != 3 {
            assert_eq!(flags & 1 != 0, self.wanted.header_digests);
            if flags & 1 != 0 {
                assert_eq!(rest[..4], crc32c::crc32c(&header).to_le_bytes());
            }
            if at > 0 {
                assert_eq!(at % ((usize::from(self.wanted.alignment) + 1) * 4), 0);
                data = rest.split_off(at - length);
            }
            if flags & 2 != 0 {
                let digest = data.split_off(data.len() - 4);
                assert_eq!(digest, crc32c::crc32c(&data).to_le_bytes());
            }
        } else {
            data = rest;
        }
        Ok(Pdu { kind, flags, header, data })
    }

    /// Receives PDUs until the target ends the connection. Returns the number of the error and the
    /// additional information.
    pub fn end(&mut self) -> (u16, u32) {
        loop {
            let pdu = self.receive().unwrap();
            if pdu.kind == 3 {
                assert!(self.is_closed());
                return (pdu.u16(8), pdu.u32(10));
            }
        }
    }

    /// Returns `true` if the target closes the connection.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Returns the header of a data PDU without its first 8 bytes.
pub fn transfer(cid: u16, tag: u16, from: usize, bytes: usize) -> Vec<u8> {
    let mut header = cid.to_le_bytes().to_vec();
    header.extend(tag.to_le_bytes());
    header.extend((from as u32).to_le_bytes());
    header.extend((bytes as u32).to_le_bytes());
    header.extend([0; 4]);
    header
}
