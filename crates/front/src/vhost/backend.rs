//! The disk as the vhost-user daemon asks for it: its features, its configuration, its virtqueue.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use super::Disk;
use super::request::{Asked, DISCARD, Request, SECTOR, SECTORS, SEGMENTS, Status, ZEROES};
use crate::command::Answer;
use crate::limits::Limits;
use crate::queue::Queue;
use crate::window::{Room, Window};
use flashgc_device::PAGE;
use flashgc_device::failure::Failure;

/// The most requests that a virtqueue holds.
const DEPTH: usize = 256;

/// The bits of the features.
mod feature {
    pub const SEG_MAX: u64 = 1 << 2;
    pub const RO: u64 = 1 << 5;
    pub const BLK_SIZE: u64 = 1 << 6;
    pub const FLUSH: u64 = 1 << 9;
    pub const DISCARD: u64 = 1 << 13;
    pub const WRITE_ZEROES: u64 = 1 << 14;
    pub const INDIRECT: u64 = 1 << 28;
    pub const EVENT_IDX: u64 = 1 << 29;
    pub const VERSION_1: u64 = 1 << 32;
}

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Vring = VringMutex<Memory>;

/// The disk of one connection.
pub struct Backend {
    queue: Queue,
    disk: Disk,
    /// The features that the machine has chosen.
    chosen: AtomicU64,
    memory: Mutex<Option<Memory>>,
    window: Arc<Window>,
}

impl Backend {
    pub fn new(queue: Queue, disk: &Disk) -> Self {
        let (chosen, memory) = (AtomicU64::new(0), Mutex::new(None));
        // One machine at a time: the whole window is its own.
        let limits = Limits::default();
        let room = Room::new(Limits { own: limits.window, requests: usize::MAX, ..limits });
        let window = Window::new(&room, || {});
        Self { queue, disk: disk.clone(), chosen, memory, window }
    }

    /// Stops taking requests from the virtqueue, as the machine is gone.
    pub fn close(&self) {
        self.window.close();
    }

    /// Returns the configuration, with its limits, as the standard lays it out.
    fn config(&self) -> Vec<u8> {
        let mut bytes = (self.queue.size() / SECTOR).to_le_bytes().to_vec();
        let numbers = |bytes: &mut Vec<u8>, numbers: &[u32]| {
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        };
        // Zeros stand for features that are not offered: the longest piece, cylinders, the
        // topology.
        numbers(&mut bytes, &[0, SEGMENTS, 0, PAGE as u32, 0, 0]);
        bytes.extend([0, 0, 1, 0]); // one virtqueue
        numbers(&mut bytes, &[DISCARD, 1, SECTORS, ZEROES, 1]);
        bytes.extend([1, 0, 0, 0]); // zeros may be holes
        bytes
    }

    /// Takes requests from the virtqueue until it is empty.
    fn take(&self, vring: &Vring) {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(memory) = memory else { return };
        loop {
            let requests = pop(vring, &memory);
            if requests.is_empty() {
                return self.queue.hand_over();
            }
            for request in requests {
                self.execute(request, vring);
            }
        }
    }

    fn execute(&self, request: Request, vring: &Vring) {
        let durable = self.chosen.load(Ordering::Relaxed) & feature::FLUSH == 0;
        let cost = request.cost();
        if !self.window.take_or_wait(cost, || self.queue.hand_over()) {
            return self.window.free(cost);
        }
        let (vring, window) = (vring.clone(), Arc::clone(&self.window));
        let finish = move |request: &Request, status: Option<Status>, data: &[u8]| {
            if let Some(status) = status {
                tell(&vring, request, status, data);
            }
            window.free(cost);
        };
        match request.asked(durable, self.disk.read_only) {
            Ok(Asked::Drive(command)) => {
                self.queue.submit_reserved(cost, command, move |outcome| {
                    let (status, data) = match outcome {
                        Ok(Answer::Data(data)) => (Some(Status::Ok), data),
                        Ok(_) => (Some(Status::Ok), vec![]),
                        Err(failure) => (status(&failure), vec![]),
                    };
                    finish(&request, status, &data);
                })
            }
            Ok(Asked::Serial) => {
                finish(&request, Some(Status::Ok), &request.serial(&self.disk.serial));
            }
            Err(status) => finish(&request, Some(status), &[]),
        }
    }
}

/// Takes the waiting requests out of the virtqueue. Holds its lock for that alone: answers take it.
fn pop(vring: &Vring, memory: &Memory) -> Vec<Request> {
    let mut state = vring.get_mut();
    let queue = state.get_queue_mut();
    if !queue.ready() {
        return vec![];
    }
    let memory = memory.memory();
    loop {
        let _ = queue.disable_notification(&*memory);
        // Where the machine counts wrong there is nothing to take, now or later.
        let Ok(chains) = queue.iter(memory.clone()) else { return vec![] };
        let requests: Vec<_> = chains.map(|chain| Request::new(memory.clone(), chain)).collect();
        // A machine that queued more since must not wait for its next notification.
        let more = queue.enable_notification(&*memory).unwrap_or(false);
        if !requests.is_empty() || !more {
            return requests;
        }
    }
}

/// Puts the answer into the machine's memory, and notifies the machine unless it asked not to be.
fn tell(vring: &Vring, request: &Request, status: Status, data: &[u8]) {
    let mut state = vring.get_mut();
    let written = request.answer(status, data).unwrap_or(0);
    if state.add_used(request.head, written).is_ok() && state.needs_notification().unwrap_or(true) {
        let _ = state.signal_used_queue();
    }
}

/// Returns the status of a failure, or `None` if the machine gets no answer.
fn status(failure: &Failure) -> Option<Status> {
    match failure {
        Failure::Refused(_) => Some(Status::Unsupported),
        Failure::OutOfRange { .. }
        | Failure::ReadOnly(_)
        | Failure::NoSpace(_)
        | Failure::Io(_)
        | Failure::Stopped => Some(Status::Error),
        Failure::Unanswered => None,
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Vring;

    fn num_queues(&self) -> usize {
        1
    }

    fn max_queue_size(&self) -> usize {
        DEPTH
    }

    fn features(&self) -> u64 {
        let read_only = if self.disk.read_only { feature::RO } else { 0 };
        feature::SEG_MAX
            | read_only
            | feature::BLK_SIZE
            | feature::FLUSH
            | feature::DISCARD
            | feature::WRITE_ZEROES
            | feature::INDIRECT
            | feature::EVENT_IDX
            | feature::VERSION_1
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        self.chosen.store(features, Ordering::Relaxed);
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::REPLY_ACK
    }

    /// Does nothing: the virtqueue knows by itself.
    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.config().into_iter().skip(offset as usize).collect();
        bytes.resize(size as usize, 0); // fields of features that are not offered
        bytes
    }

    fn update_memory(&self, memory: Memory) -> io::Result<()> {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        Ok(())
    }

    fn exit_event(&self, _: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    /// Waits for the requests under way, as the machine takes its virtqueue back.
    fn stop_vring(&self, _: u32) -> io::Result<()> {
        self.window.wait_idle();
        Ok(())
    }

    fn handle_event(&self, _: u16, _: EventSet, vrings: &[Vring], _: usize) -> io::Result<()> {
        // While this holds, the virtqueue does not count as idle.
        const HELD: usize = 1;
        if let Some(vring) = vrings.first() {
            if self.window.take(HELD) {
                self.take(vring);
            }
            self.window.free(HELD);
        }
        Ok(()) // an error would end the thread of the virtqueue
    }
}
