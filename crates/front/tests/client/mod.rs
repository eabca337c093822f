//! An NBD client for tests and benchmarks. It has its own copy of the protocol's numbers, so that a
//! wrong number in the server is noticed.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use flashgc_front::nbd::NbdAddress;

pub const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
pub const IHAVEOPT: u64 = 0x4948_4156_454f_5054;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const DF: u16 = 4;
pub const REQ_ONE: u16 = 8;

pub const EPERM: u32 = 1;
pub const EIO: u32 = 5;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;

trait Both: Read + Write + Send {
    fn end(&self);
}

impl Both for TcpStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Both for UnixStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

pub struct Client {
    socket: Box<dyn Both>,
    pub structured: bool,
    /// The first byte and the number of bytes of each hole in the last reply.
    pub holes: Vec<(u64, u32)>,
    cookie: u64,
}

/// The answer of a server to a request.
pub type Outcome = Result<Vec<u8>, u32>;

impl Client {
    /// Connects to a server. If the server hangs, the test fails after 5 seconds, before the
    /// server's limit for a negotiation.
    pub fn connect(address: &NbdAddress) -> Self {
        let patience = Some(Duration::from_secs(5));
        let socket: Box<dyn Both> = match address {
            NbdAddress::Tcp(address) => {
                let socket = TcpStream::connect(address).unwrap();
                socket.set_nodelay(true).unwrap();
                socket.set_read_timeout(patience).unwrap();
                Box::new(socket)
            }
            NbdAddress::Unix(path) => {
                let socket = UnixStream::connect(path).unwrap();
                socket.set_read_timeout(patience).unwrap();
                Box::new(socket)
            }
        };
        Self { socket, structured: false, holes: vec![], cookie: 0 }
    }

    /// Connects, reads the server's flags, and sends `flags`.
    pub fn greeted(address: &NbdAddress, flags: u32) -> Self {
        let mut client = Self::connect(address);
        assert_eq!(client.u64(), NBDMAGIC);
        assert_eq!(client.u64(), IHAVEOPT);
        assert_eq!(client.u16(), 3, "fixed newstyle, no zeroes");
        client.send(&flags.to_be_bytes());
        client
    }

    /// Returns a client in transmission, with structured replies and `base:allocation` or without.
    pub fn ready(address: &NbdAddress, structured: bool) -> Self {
        let mut client = Self::greeted(address, 3);
        if structured {
            assert_eq!(client.option(8, &[]), [(1, vec![])]);
            client.structured = true;
            let chosen = [&1_u32.to_be_bytes()[..], b"base:allocation"].concat();
            assert_eq!(
                client.option(10, &contexts(b"", &[b"base:allocation"])),
                [(4, chosen), (1, vec![])]
            );
        }
        let replies = client.option(7, &go(b"", &[]));
        assert_eq!(replies.last().unwrap().0, 1);
        client
    }

    pub fn send(&mut self, data: &[u8]) {
        // The server may have closed the connection already; a later read shows that.
        let _ = self.socket.write_all(data);
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut data = vec![0; count];
        self.socket.read_exact(&mut data).unwrap();
        data
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes(8).try_into().unwrap())
    }

    /// Reads the rest of the connection. Returns `true` if the server has closed it.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// Returns `true` if the server closed the connection without sending anything.
    pub fn is_refused(&mut self) -> bool {
        matches!(self.socket.read(&mut [0]), Ok(0) | Err(_))
    }

    /// Ends the sending side of the connection.
    pub fn end(&mut self) {
        self.socket.end();
    }

    pub fn send_option(&mut self, number: u32, data: &[u8]) {
        let mut option = IHAVEOPT.to_be_bytes().to_vec();
        option.extend(number.to_be_bytes());
        option.extend((data.len() as u32).to_be_bytes());
        option.extend(data);
        self.send(&option);
    }

    /// Sends an option. Returns the types and data of all replies to it.
    pub fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(number, data);
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
            assert_eq!(self.u32(), number);
            let kind = self.u32();
            let length = self.u32();
            replies.push((kind, self.bytes(length as usize)));
            if kind == 1 || kind & 0x8000_0000 != 0 {
                return replies;
            }
        }
    }

    pub fn send_request(&mut self, kind: u16, flags: u16, at: u64, bytes: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(kind.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(at.to_be_bytes());
        request.extend(bytes.to_be_bytes());
        request.extend(data);
        self.send(&request);
        self.cookie
    }

    /// Returns the cookie and the outcome of the next reply. A simple reply without error has
    /// `read` bytes.
    pub fn reply(&mut self, at: u64, read: usize) -> (u64, Outcome) {
        if !self.structured {
            assert_eq!(self.u32(), 0x6744_6698);
            let error = self.u32();
            let cookie = self.u64();
            return (cookie, if error == 0 { Ok(self.bytes(read)) } else { Err(error) });
        }
        let (mut data, mut holes) = (vec![], vec![]);
        loop {
            let (is_last, cookie, outcome) = self.chunk(at + data.len() as u64, &mut holes);
            match outcome {
                Ok(part) => data.extend(part),
                Err(error) => return (cookie, Err(error)),
            }
            if is_last {
                self.holes = holes;
                return (cookie, Ok(data));
            }
        }
    }

    /// Reads a chunk of a structured reply. Returns `true` if it is the last one, the cookie, and
    /// the outcome. The data of a read begin at byte `at`.
    fn chunk(&mut self, at: u64, holes: &mut Vec<(u64, u32)>) -> (bool, u64, Outcome) {
        assert_eq!(self.u32(), 0x668e_33ef);
        let flags = self.u16();
        assert!(flags <= 1);
        let kind = self.u16();
        let cookie = self.u64();
        let length = self.u32() as usize;
        let payload = self.bytes(length);
        let outcome = match kind {
            0 => {
                assert!(payload.is_empty());
                Ok(vec![])
            }
            1 => {
                assert!(payload.len() > 8, "a chunk of data has data");
                assert_eq!(payload[..8], at.to_be_bytes());
                Ok(payload[8..].to_vec())
            }
            2 => {
                assert_eq!((&payload[..8], payload.len()), (&at.to_be_bytes()[..], 12));
                let bytes = u32::from_be_bytes(payload[8..].try_into().unwrap());
                assert!(bytes > 0, "a hole has bytes");
                holes.push((at, bytes));
                Ok(vec![0; bytes as usize])
            }
            5 => {
                assert_eq!(payload[..4], 1_u32.to_be_bytes());
                Ok(payload[4..].to_vec())
            }
            0x8001 => {
                let text = u16::from_be_bytes([payload[4], payload[5]]);
                assert_eq!(payload.len(), 6 + usize::from(text));
                assert!((1..=4096).contains(&text), "the protocol's longest text");
                assert!(std::str::from_utf8(&payload[6..]).is_ok());
                Err(u32::from_be_bytes(payload[..4].try_into().unwrap()))
            }
            _ => panic!("chunk {kind}"),
        };
        (flags == 1, cookie, outcome)
    }

    pub fn request(&mut self, kind: u16, flags: u16, at: u64, bytes: u32, data: &[u8]) -> Outcome {
        let cookie = self.send_request(kind, flags, at, bytes, data);
        let (answered, outcome) = self.reply(at, if kind == READ { bytes as usize } else { 0 });
        assert_eq!(answered, cookie);
        outcome
    }

    pub fn read(&mut self, at: u64, bytes: u32) -> Outcome {
        self.request(READ, 0, at, bytes, &[])
    }

    pub fn write(&mut self, at: u64, data: &[u8]) -> Outcome {
        self.request(WRITE, 0, at, data.len() as u32, data)
    }

    /// Returns the lengths of the extents of a range, each with `true` for a hole of zeros.
    pub fn status(&mut self, flags: u16, at: u64, bytes: u32) -> Result<Vec<(u32, bool)>, u32> {
        let data = self.request(BLOCK_STATUS, flags, at, bytes, &[])?;
        assert!(data.len().is_multiple_of(8));
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        let extent = |pair: &[u8]| {
            let state = number(&pair[4..]);
            assert!(state == 0 || state == 3, "data, or a hole that reads as zeros");
            (number(&pair[..4]), state == 3)
        };
        Ok(data.chunks_exact(8).map(extent).collect())
    }
}

fn named(name: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name].concat()
}

/// Returns the data of the options `INFO` and `GO`.
pub fn go(name: &[u8], pieces: &[u16]) -> Vec<u8> {
    let mut data = named(name);
    data.extend((pieces.len() as u16).to_be_bytes());
    pieces.iter().for_each(|piece| data.extend(piece.to_be_bytes()));
    data
}

/// Returns the data of the options of meta contexts.
pub fn contexts(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let mut data = named(name);
    data.extend((queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| data.extend(named(query)));
    data
}
