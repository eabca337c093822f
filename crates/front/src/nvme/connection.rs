//! A connection that is a queue: reads commands and their data, checks them and executes them.
//!
//! The data of a command are in the command's PDU, or the controller asks the host for them (R2T).
//! A command waits until the window has room for its data. The reader itself may wait for room only
//! while no requested data are on their way, since it must read these data.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zerocopy::IntoBytes;

use super::admin::{self, Outcome};
use super::link::{Link, Need, Reply};
use super::pdu::{self, End, Fatal, Head, Incoming, Most, Transfer, flag};
use super::structures::{Entry, IN_CAPSULE, IN_PDUS, Status, fabrics, opcode};
use super::{commands, fabrics as fabric};
use crate::socket::Requests;
use crate::window::Window;

/// The bytes of memory that a command takes besides its data.
const OVERHEAD: usize = 4096;
/// The time in which a host must send its data does not include waits for room that are longer than
/// this.
const NOTED: Duration = Duration::from_millis(10);

/// The reader of a host's PDUs.
pub trait Input: BufRead {
    /// Sets the time since which the host has to send bytes; `None` if it may be silent.
    fn owes(&mut self, since: Option<Instant>);
}

impl Input for BufReader<Requests<'_>> {
    fn owes(&mut self, since: Option<Instant>) {
        self.get_mut().set_since(since);
    }
}

impl Input for &[u8] {
    fn owes(&mut self, _: Option<Instant>) {}
}

/// A command that waits for room in the window.
struct Waiting {
    entry: Entry,
    need: Need,
    /// The data that came in the command's own PDU.
    data: Vec<u8>,
}

/// A command whose data are on their way.
struct Coming {
    entry: Entry,
    data: Vec<u8>,
    got: usize,
    cost: usize,
    /// `true` while all digests of the data were right.
    is_whole: bool,
    /// The time at which the last data arrived, or at which they were asked for.
    since: Instant,
}

/// The reader of one queue's commands.
pub struct Reader<'a, I> {
    input: I,
    link: Arc<Link>,
    window: &'a Window,
    most: Most,
    waiting: VecDeque<Waiting>,
    /// The transfers of data, by their tags.
    coming: Vec<Option<Coming>>,
    /// The number of transfers under way.
    transfers: usize,
}

impl<'a, I: Input> Reader<'a, I> {
    pub fn new(input: I, link: Arc<Link>, window: &'a Window) -> Self {
        let most = fabric::most(link.line.queue);
        let (waiting, coming) = (VecDeque::new(), Vec::new());
        Self { input, link, window, most, waiting, coming, transfers: 0 }
    }

    /// Executes commands until the host disconnects.
    pub fn run(&mut self) -> Result<(), End> {
        let ended = self.read();
        // Data that have not arrived will not arrive any more, so their room is given back.
        self.coming.drain(..).flatten().for_each(|coming| self.window.free(coming.cost));
        ended
    }

    fn read(&mut self) -> Result<(), End> {
        loop {
            self.input.owes(self.owed_since());
            if self.input.fill_buf()?.is_empty() {
                return Ok(());
            }
            self.input.owes(Some(Instant::now()));
            let terms = self.link.line.terms;
            let incoming = Incoming::receive(&mut self.input, terms, self.most)?;
            match incoming.head {
                Head::Terminates => return Ok(()),
                Head::Data(transfer) => self.data(&transfer)?,
                Head::Command(entry) => {
                    let mut data = vec![0; incoming.bytes];
                    let is_whole = pdu::receive_data(&mut self.input, &mut data, terms)?;
                    self.link.controller.hear();
                    if !self.link.line.asked() {
                        // The host has sent more commands than its queue has entries.
                        return Err(End::Fatal(Fatal::Sequence, entry.as_bytes().to_vec()));
                    }
                    if !self.command(entry, data, is_whole)? {
                        return Ok(());
                    }
                }
            }
            if !self.go_on() {
                return Ok(());
            }
        }
    }

    /// Returns the earliest time since which the host has owed data that it was asked for.
    fn owed_since(&self) -> Option<Instant> {
        match self.transfers {
            0 => None,
            _ => self.coming.iter().flatten().map(|coming| coming.since).min(),
        }
    }

    /// Handles a command. Returns `false` if the command disconnects the queue.
    fn command(&mut self, entry: Entry, data: Vec<u8>, is_whole: bool) -> Result<bool, End> {
        let need = match is_whole {
            true => self.check(&entry, data.len()),
            false => Err(Status::TRANSPORT),
        };
        match need {
            Ok(need) => {
                let is_end = entry.opcode == opcode::FABRICS
                    && entry.fabrics_type() == fabrics::DISCONNECT
                    && self.link.line.queue > 0;
                if is_end {
                    self.execute(entry, data, 0);
                } else {
                    self.waiting.push_back(Waiting { entry, need, data });
                }
                Ok(!is_end)
            }
            Err(status) => {
                self.link.done(&entry, Err(status), 0);
                Ok(true)
            }
        }
    }

    /// Checks a command with `bytes` bytes of data in its own PDU. Returns the memory that it needs
    /// for data.
    fn check(&self, entry: &Entry, bytes: usize) -> Result<Need, Status> {
        let Link { subsystem, controller, line, .. } = &*self.link;
        // Fused commands and PRP lists are not supported.
        if entry.flags != 1 << 6 {
            return Err(Status::INVALID_FIELD);
        }
        let need = match (entry.opcode, line.queue) {
            (opcode::FABRICS, _) => return Ok(Need::default()),
            (opcode::KEEP_ALIVE, 0) => return Ok(Need::default()),
            _ if !controller.is_ready() => return Err(Status::SEQUENCE),
            (_, 0) => admin::need(entry)?,
            _ => commands::need(subsystem, entry)?,
        };
        let described = entry.data.bytes.get() as usize;
        let (wanted, is_taken) = (need.taken + need.given, need.taken > 0);
        if wanted == 0 {
            return if bytes == 0 { Ok(need) } else { Err(Status::DATA_LENGTH) };
        }
        match entry.data.kind {
            IN_CAPSULE if is_taken && entry.data.address.get() != 0 => {
                Err(Status::DESCRIPTOR_OFFSET)
            }
            IN_CAPSULE if is_taken && bytes == described && bytes == wanted => Ok(need),
            IN_PDUS if bytes == 0 && described == wanted => Ok(need),
            IN_CAPSULE | IN_PDUS => Err(Status::DATA_LENGTH),
            _ => Err(Status::DESCRIPTOR_TYPE),
        }
    }

    /// Executes waiting commands, or asks for their data, while the window has room. Returns
    /// `false` if the host is gone.
    fn go_on(&mut self) -> bool {
        let began = Instant::now();
        let mut is_here = true;
        while is_here && let Some(first) = self.waiting.front() {
            let Need { taken, given, held } = first.need;
            let cost = OVERHEAD + taken + given + held;
            if self.transfers > 0 {
                if !self.window.try_take(cost) {
                    break;
                }
            } else if !self.window.take_or_wait(cost, || self.link.queue.hand_over()) {
                self.window.free(cost);
                return false;
            }
            is_here = !self.window.is_gone();
            let Some(Waiting { entry, need, data }) = self.waiting.pop_front() else { break };
            if need.taken > data.len() {
                self.ask(entry, need.taken, cost);
            } else {
                self.execute(entry, data, cost);
            }
        }
        // The time waited here does not count as time of the host.
        let waited = began.elapsed();
        if waited > NOTED {
            self.coming.iter_mut().flatten().for_each(|coming| coming.since += waited);
        }
        is_here
    }

    /// Asks for the data of a command.
    fn ask(&mut self, entry: Entry, bytes: usize, cost: usize) {
        let tag = self.coming.iter().position(Option::is_none).unwrap_or(self.coming.len());
        if tag == self.coming.len() {
            self.coming.push(None);
        }
        let (data, since) = (vec![0; bytes], Instant::now());
        self.coming[tag] = Some(Coming { entry, data, got: 0, cost, is_whole: true, since });
        self.transfers += 1;
        self.link.send(Reply::Grant { cid: entry.cid, tag: tag as u16, bytes: bytes as u32 });
    }

    /// Handles a PDU with data of a command.
    fn data(&mut self, transfer: &Transfer) -> Result<(), End> {
        let fatal = |fatal| Err(End::Fatal(fatal, transfer.as_bytes().to_vec()));
        let tag = usize::from(transfer.tag.get());
        let Some(coming) = self.coming.get_mut(tag).and_then(Option::as_mut) else {
            return fatal(Fatal::Field(10));
        };
        if transfer.cid != coming.entry.cid {
            return fatal(Fatal::Field(8));
        }
        let (from, bytes) = (transfer.offset.get() as usize, transfer.bytes.get() as usize);
        if from != coming.got || bytes > coming.data.len() - from {
            return fatal(Fatal::OutOfRange);
        }
        let is_last = transfer.common.flags & flag::LAST != 0;
        if is_last != (from + bytes == coming.data.len()) {
            return fatal(Fatal::Field(1));
        }
        let into = &mut coming.data[from..from + bytes];
        let terms = self.link.line.terms;
        coming.is_whole &= pdu::receive_data(&mut self.input, into, terms)?;
        coming.got += bytes;
        coming.since = Instant::now();
        self.link.controller.hear();
        if is_last && let Some(Coming { entry, data, cost, is_whole, .. }) = self.coming[tag].take()
        {
            self.transfers -= 1;
            match is_whole {
                // A command is not executed after the end of its connection: the host may have sent
                // the command again on another connection.
                _ if self.window.is_gone() => self.link.done(&entry, Err(Status::ABORTED), cost),
                true => self.execute(entry, data, cost),
                false => self.link.done(&entry, Err(Status::TRANSPORT), cost),
            }
        }
        Ok(())
    }

    fn execute(&self, entry: Entry, data: Vec<u8>, cost: usize) {
        let link = &self.link;
        let outcome = match (entry.opcode, link.line.queue) {
            (opcode::FABRICS, _) => fabric::execute(link, &entry).map(Outcome::Done),
            (_, 0) => admin::execute(link, &entry, &data),
            _ => return commands::execute(link, entry, data, cost),
        };
        match outcome {
            Ok(Outcome::Done(result)) => link.done(&entry, Ok(result), cost),
            Ok(Outcome::Data(data, result)) => {
                link.send(Reply::Data { cid: entry.cid, data, result, cost });
            }
            // A request for an event takes no room while it waits.
            Ok(Outcome::Later) => self.window.free(cost),
            Err(status) => link.done(&entry, Err(status), cost),
        }
    }
}
