//! The negotiation between client and server, before the first request.
//!
//! Its reads are unbuffered, so that no byte of the first request is lost.

use std::io::{self, Read, Write};
use std::time::Instant;

use super::NbdExport;
use super::wire::LARGEST;
use super::wire::{
    self, IHAVEOPT, NBDMAGIC, OPTION_REPLY, allocation, garbage, handshake, info, option, reply,
};
use crate::socket::{Socket, Until};
use flashgc_device::PAGE;

/// The longest data of an option, in bytes. An option with more is refused.
const LONGEST: u32 = 64 << 10;
/// The longest data that are skipped, in bytes. An option with more closes the connection.
const TOO_LONG: u32 = 1 << 20;
/// The most options in one negotiation.
const OPTIONS: usize = 1000;

/// The terms that client and server agreed on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreed {
    /// `true` if replies are structured.
    pub structured: bool,
    /// `true` if block status reports `base:allocation`.
    pub allocation: bool,
}

struct Negotiation<'a> {
    socket: Until<'a>,
    export: &'a NbdExport,
    size: u64,
    agreed: Agreed,
}

/// Negotiates with a client until `deadline`. Returns `None` if the client wants no transmission.
pub fn negotiate(
    socket: &Socket,
    deadline: Instant,
    export: &NbdExport,
    size: u64,
) -> io::Result<Option<Agreed>> {
    let until = || Until { socket, deadline };
    let mut negotiation = Negotiation { socket: until(), export, size, agreed: Agreed::default() };
    let flags = handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES;
    let mut hello = Vec::new();
    hello.extend(NBDMAGIC.to_be_bytes());
    hello.extend(IHAVEOPT.to_be_bytes());
    hello.extend(flags.to_be_bytes());
    let mut socket = until();
    socket.write_all(&hello)?;
    let client = wire::read_u32(&mut socket)?;
    if client & !u32::from(flags) != 0 {
        return Err(garbage("unknown flags of the client"));
    }
    let no_zeroes = client & u32::from(handshake::NO_ZEROES) != 0;
    for _ in 0..OPTIONS {
        if wire::read_u64(&mut socket)? != IHAVEOPT {
            return Err(garbage("no option"));
        }
        let number = wire::read_u32(&mut socket)?;
        let length = wire::read_u32(&mut socket)?;
        if length > TOO_LONG {
            return Err(garbage("an endless option"));
        }
        if length > LONGEST {
            wire::skip(&mut socket, length.into())?;
            if number == option::EXPORT_NAME {
                return Err(garbage("an endless name"));
            }
            negotiation.reply(number, reply::ERR_TOO_BIG, b"the option is too long")?;
            continue;
        }
        let mut data = vec![0; length as usize];
        socket.read_exact(&mut data)?;
        match number {
            option::EXPORT_NAME => return negotiation.export_name(&data, no_zeroes),
            option::ABORT => {
                negotiation.reply(number, reply::ACK, &[])?;
                return Ok(None);
            }
            _ => {
                if negotiation.option(number, &data)? {
                    return Ok(Some(negotiation.agreed));
                }
            }
        }
    }
    Err(garbage("an endless negotiation"))
}

impl Negotiation<'_> {
    /// Answers an option of fixed newstyle. Returns `true` if transmission begins.
    fn option(&mut self, number: u32, data: &[u8]) -> io::Result<bool> {
        match number {
            option::LIST | option::STRUCTURED_REPLY if !data.is_empty() => {
                self.reply(number, reply::ERR_INVALID, b"the option has no data")?;
            }
            option::LIST => {
                let mut server = (self.export.name.len() as u32).to_be_bytes().to_vec();
                server.extend(self.export.name.as_bytes());
                server.extend(self.export.description.as_bytes());
                self.reply(number, reply::SERVER, &server)?;
                self.reply(number, reply::ACK, &[])?;
            }
            option::STRUCTURED_REPLY => {
                self.agreed.structured = true;
                self.reply(number, reply::ACK, &[])?;
            }
            option::INFO | option::GO => return self.go(number, data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(number, data)?,
            _ => self.reply(number, reply::ERR_UNSUP, b"the option is not supported")?,
        }
        Ok(false)
    }

    /// Answers the old option EXPORT_NAME. The only way to refuse it is to close the connection.
    fn export_name(&mut self, name: &[u8], no_zeroes: bool) -> io::Result<Option<Agreed>> {
        if !self.known(name) {
            return Err(garbage("no such export"));
        }
        let mut answer = self.size.to_be_bytes().to_vec();
        answer.extend(self.flags().to_be_bytes());
        if !no_zeroes {
            answer.extend([0; 124]);
        }
        self.socket.write_all(&answer)?;
        Ok(Some(self.agreed))
    }

    fn go(&mut self, number: u32, data: &[u8]) -> io::Result<bool> {
        let Some((name, wanted)) = parse_go(data) else {
            self.reply(number, reply::ERR_INVALID, b"lengths do not fit the option")?;
            return Ok(false);
        };
        if !self.known(name) {
            self.reply(number, reply::ERR_UNKNOWN, b"there is no export of this name")?;
            return Ok(false);
        }
        let piece =
            |kind: u16, parts: &[&[u8]]| [&kind.to_be_bytes()[..], &parts.concat()].concat();
        let (size, flags) = (self.size.to_be_bytes(), self.flags().to_be_bytes());
        self.reply(number, reply::INFO, &piece(info::EXPORT, &[&size, &flags]))?;
        // Every client gets the sizes of blocks: smallest, best and largest.
        let blocks = [1, PAGE as u32, LARGEST].map(u32::to_be_bytes).concat();
        self.reply(number, reply::INFO, &piece(info::BLOCK_SIZE, &[&blocks]))?;
        if wanted.contains(&info::NAME) {
            self.reply(number, reply::INFO, &piece(info::NAME, &[self.export.name.as_bytes()]))?;
        }
        if wanted.contains(&info::DESCRIPTION) {
            let description = self.export.description.as_bytes();
            self.reply(number, reply::INFO, &piece(info::DESCRIPTION, &[description]))?;
        }
        self.reply(number, reply::ACK, &[])?;
        Ok(number == option::GO)
    }

    fn contexts(&mut self, number: u32, data: &[u8]) -> io::Result<()> {
        let set = number == option::SET_META_CONTEXT;
        if set {
            // Even a request that fails cancels the choice of an earlier request.
            self.agreed.allocation = false;
        }
        if !self.agreed.structured {
            return self.reply(number, reply::ERR_INVALID, b"contexts need structured replies");
        }
        let Some((name, queries)) = parse_contexts(data) else {
            return self.reply(number, reply::ERR_INVALID, b"lengths do not fit the option");
        };
        if !self.known(name) {
            return self.reply(number, reply::ERR_UNKNOWN, b"there is no export of this name");
        }
        // A LIST without queries asks for every context. The query `base:` asks for every context
        // of this name space.
        let all = !set && (queries.is_empty() || queries.contains(&&b"base:"[..]));
        if all || queries.contains(&allocation::NAME) {
            let id = if set { allocation::ID } else { 0 };
            let context = [&id.to_be_bytes()[..], allocation::NAME].concat();
            self.reply(number, reply::META_CONTEXT, &context)?;
            self.agreed.allocation |= set;
        }
        self.reply(number, reply::ACK, &[])
    }

    fn known(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn flags(&self) -> u16 {
        use wire::transmission as flag;
        let mut flags = flag::HAS_FLAGS | flag::SEND_FLUSH | flag::SEND_FUA | flag::SEND_TRIM;
        flags |= flag::SEND_WRITE_ZEROES | flag::CAN_MULTI_CONN | flag::SEND_CACHE;
        if self.agreed.structured {
            flags |= flag::SEND_DF;
        }
        if self.export.read_only {
            flags |= flag::READ_ONLY;
        }
        flags
    }

    fn reply(&mut self, number: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let mut answer = OPTION_REPLY.to_be_bytes().to_vec();
        answer.extend(number.to_be_bytes());
        answer.extend(kind.to_be_bytes());
        answer.extend((data.len() as u32).to_be_bytes());
        answer.extend(data);
        self.socket.write_all(&answer)
    }
}

/// Takes a name, with its length before it, from the front of `data`.
fn take_name<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = wire::read_u32(data).ok()?;
    let (name, rest) = data.split_at_checked(length as usize)?;
    *data = rest;
    Some(name)
}

/// Parses the options `INFO` and `GO`. Returns the name, and the requested pieces of information.
fn parse_go(mut data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let name = take_name(&mut data)?;
    let count = wire::read_u16(&mut data).ok()?;
    if data.len() != usize::from(count) * 2 {
        return None;
    }
    let pieces = data.chunks_exact(2).map(|piece| u16::from_be_bytes([piece[0], piece[1]]));
    Some((name, pieces.collect()))
}

/// Parses the options of meta contexts. Returns the name, and the queries.
fn parse_contexts(mut data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let name = take_name(&mut data)?;
    let count = wire::read_u32(&mut data).ok()?;
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(take_name(&mut data)?);
    }
    data.is_empty().then_some((name, queries))
}
