//! A queue of a host, with everything that its commands need until they are answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use flashgc_device::Origin;
use flashgc_device::failure::Failure;
use zerocopy::little_endian::U16;

use super::controller::Controller;
use super::pdu::{Fatal, Terms};
use super::structures::{Entry, Status};
use super::subsystem::Subsystem;
use crate::command::{Answer, Command};
use crate::queue::Queue;
use crate::window::Window;

/// The properties of a queue.
pub struct Line {
    /// The number of the queue: 0 is the admin queue.
    pub queue: u16,
    /// The number of the queue's entries.
    pub entries: u16,
    /// `true` if completions tell the head of the submission queue.
    pub has_flow_control: bool,
    /// The terms agreed on for the connection.
    pub terms: Terms,
    /// The local address of the connection.
    pub address: Option<SocketAddr>,
    /// The number of commands that are not answered.
    pub under_way: AtomicUsize,
}

/// The memory that a command needs for data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Data from the host.
    pub taken: usize,
    /// Data to the host.
    pub given: usize,
    /// Other memory until the command is done.
    pub held: usize,
}

/// A PDU to send to the host.
pub enum Reply {
    /// The answer to a command. Then `cost` bytes are given back to the window.
    Done { cid: U16, status: Status, result: u64, cost: usize },
    /// The data of a command that has succeeded, and its result. Then `cost` bytes are given back
    /// to the window.
    Data { cid: U16, data: Vec<u8>, result: u64, cost: usize },
    /// The request for the data of a command.
    Grant { cid: U16, tag: u16, bytes: u32 },
    /// The end of the connection, with the header that is the reason.
    End(Fatal, Vec<u8>),
}

/// A queue of a host.
pub struct Link {
    /// The drive's queue, which takes the commands of this host's queue.
    pub queue: Queue,
    pub subsystem: Arc<Subsystem>,
    pub controller: Arc<Controller>,
    pub line: Arc<Line>,
    pub replies: Sender<Reply>,
}

impl Link {
    pub fn new(
        subsystem: Arc<Subsystem>,
        controller: Arc<Controller>,
        line: Arc<Line>,
        window: &Arc<Window>,
        replies: Sender<Reply>,
    ) -> Self {
        let from = Origin { host: Some(controller.host.number()), queue: line.queue };
        let queue = subsystem.queue.of(from).of_client(window);
        Self { queue, subsystem, controller, line, replies }
    }

    /// Sends a PDU. If the host is gone, the PDU is dropped.
    pub fn send(&self, reply: Reply) {
        let _ = self.replies.send(reply);
    }

    /// Submits a command of the drive, for a host's command for which `cost` bytes were reserved.
    pub fn submit(
        &self,
        command: Command,
        cost: usize,
        tell: impl FnOnce(Result<Answer, Failure>) + Send + 'static,
    ) {
        self.queue.submit_reserved(cost, command, tell);
    }

    /// Answers a command.
    pub fn done(&self, entry: &Entry, outcome: Result<u64, Status>, cost: usize) {
        let (status, result) = match outcome {
            Ok(result) => (Status::SUCCESS, result),
            Err(Status::UNANSWERED) => (Status::UNANSWERED, 0),
            Err(status) => {
                self.controller.note_error(self.line.queue, entry, status);
                (status, 0)
            }
        };
        self.send(Reply::Done { cid: entry.cid, status, result, cost });
    }
}

impl Line {
    /// Notes that a command was answered.
    pub fn answered(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a command. Returns `false` if the queue has no entry for it.
    pub fn asked(&self) -> bool {
        self.under_way.fetch_add(1, Ordering::Relaxed) < usize::from(self.entries)
    }
}
