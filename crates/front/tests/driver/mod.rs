//! A driver of virtio-blk over vhost-user, with a virtqueue of its own making.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

pub const OK: u8 = 0;
pub const ERROR: u8 = 1;
pub const UNSUPPORTED: u8 = 2;
/// The bytes in the memory of an answer before the answer.
pub const UNTOUCHED: u8 = 0x5a;
/// The number of kinds of garbage.
pub const GARBAGE: usize = 10;

const PROTOCOL: u64 = 1 << 30;
const MEMORY: u64 = 64 << 20;
const SIZE: u16 = 256;
// The places of the parts of the virtqueue, and then of the requests.
const TABLE: u64 = 0x1000;
const AVAIL: u64 = 0x3000;
const USED: u64 = 0x4000;
const REQUESTS: u64 = 1 << 16;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// The data that the disk reads.
pub struct Out<'a>(pub &'a [u8]);

/// A connection whose features are agreed on.
pub struct Machine {
    pub offered: u64,
    pub config: Vec<u8>,
    frontend: Frontend,
}

impl Machine {
    pub fn connect(path: &Path) -> Self {
        Self::choose(path, u64::MAX)
    }

    /// Chooses those of the offered features that are in `features`.
    fn choose(path: &Path, features: u64) -> Self {
        let mut frontend = Frontend::connect(path, 1).unwrap();
        frontend.set_owner().unwrap();
        let offered = frontend.get_features().unwrap();
        frontend.set_features(offered & (features | PROTOCOL)).unwrap();
        let wanted = VhostUserProtocolFeatures::CONFIG;
        assert!(frontend.get_protocol_features().unwrap().contains(wanted));
        frontend.set_protocol_features(wanted).unwrap();
        let flags = VhostUserConfigFlags::WRITABLE;
        let config = frontend.get_config(0, 60, flags, &[0; 60]).unwrap().1;
        Self { offered, config, frontend }
    }
}

pub struct Driver {
    pub offered: u64,
    machine: Machine,
    memory: GuestMemoryMmap,
    file: File,
    call: EventFd,
    kick: EventFd,
    /// The next free descriptor and byte; requests do not give them back before all are answered.
    descriptor: u16,
    byte: u64,
    /// The number of requests made, and below that of answers seen.
    avail: u16,
    used: u16,
    waiting: u16,
    /// `true` if requests are in a list of descriptors of their own.
    indirect: bool,
    /// The places of status and data of each head, and the bytes of data.
    places: Vec<(u64, u64, usize)>,
    /// Answers that nobody has asked for yet: heads and numbers of bytes written.
    answers: Vec<(u32, u32)>,
}

impl Driver {
    pub fn new(path: &Path) -> Self {
        Self::with(path, u64::MAX)
    }

    /// Returns a driver that knows neither indirect descriptors nor event indices.
    pub fn plain(path: &Path) -> Self {
        Self::with(path, !(3 << 28))
    }

    pub fn with(path: &Path, features: u64) -> Self {
        let machine = Machine::choose(path, features);
        let file: File = rustix::fs::memfd_create("memory", MemfdFlags::CLOEXEC).unwrap().into();
        file.set_len(MEMORY).unwrap();
        let part = Some(FileOffset::new(file.try_clone().unwrap(), 0));
        let ranges = [(GuestAddress(0), MEMORY as usize, part)];
        let memory = GuestMemoryMmap::from_ranges_with_files(ranges).unwrap();
        let [call, kick] = [(); 2].map(|()| EventFd::new(EFD_NONBLOCK).unwrap());
        let mut driver = Self {
            offered: machine.offered,
            machine,
            memory,
            file,
            call,
            kick,
            descriptor: 0,
            byte: REQUESTS,
            avail: 0,
            used: 0,
            waiting: 0,
            indirect: features & 1 << 28 != 0,
            places: vec![(0, 0, 0); SIZE.into()],
            answers: vec![],
        };
        driver.share(MEMORY);
        driver.start(0);
        driver
    }

    fn share(&self, bytes: u64) {
        let host = self.memory.get_host_address(GuestAddress(0)).unwrap();
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: bytes,
            userspace_addr: host as u64,
            mmap_offset: 0,
            mmap_handle: std::os::fd::AsRawFd::as_raw_fd(&self.file),
        };
        self.machine.frontend.set_mem_table(&[region]).unwrap();
    }

    /// Starts the virtqueue at request `base`.
    pub fn start(&mut self, base: u16) {
        let host = self.memory.get_host_address(GuestAddress(0)).unwrap() as u64;
        let front = &mut self.machine.frontend;
        front.set_vring_num(0, SIZE).unwrap();
        let places = VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: host + TABLE,
            used_ring_addr: host + USED,
            avail_ring_addr: host + AVAIL,
            log_addr: None,
        };
        front.set_vring_addr(0, &places).unwrap();
        front.set_vring_base(0, base).unwrap();
        front.set_vring_call(0, &self.call).unwrap();
        front.set_vring_kick(0, &self.kick).unwrap();
        front.set_vring_enable(0, true).unwrap();
    }

    /// Stops the virtqueue. Returns the number of requests that were taken from it.
    pub fn stop(&mut self) -> u16 {
        self.machine.frontend.get_vring_base(0).unwrap() as u16
    }

    /// Returns the number of requests answered.
    pub fn answered(&self) -> u16 {
        self.memory.load(GuestAddress(USED + 2), Ordering::Acquire).unwrap()
    }

    pub fn kick(&self) {
        self.kick.write(1).unwrap();
    }

    /// Makes a request and waits for its answer. Returns status and data.
    pub fn request(&mut self, kind: u32, sector: u64, out: &[Out], into: usize) -> (u8, Vec<u8>) {
        let head = self.submit(kind, sector, out, into);
        self.kick();
        self.wait(head)
    }

    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.byte;
        self.memory.write_slice(bytes, GuestAddress(at)).unwrap();
        self.byte = (at + bytes.len() as u64).next_multiple_of(16);
        at
    }

    /// Queues a request of which `into` bytes are read.
    pub fn submit(&mut self, kind: u32, sector: u64, out: &[Out], into: usize) -> u16 {
        let header = [u64::from(kind).to_le_bytes(), sector.to_le_bytes()].concat();
        let mut pieces = vec![(self.put(&header), 16, 0)];
        pieces.extend(out.iter().map(|out| (self.put(out.0), out.0.len(), 0)));
        let data = self.put(&vec![UNTOUCHED; into]);
        // Data in two pieces, of which one may be empty.
        pieces.extend([(data, into / 3, WRITE), (data + into as u64 / 3, into - into / 3, WRITE)]);
        pieces.retain(|piece| piece.1 > 0);
        let status = self.put(&[UNTOUCHED]);
        pieces.push((status, 1, WRITE));
        let head = self.chain(&pieces);
        self.places[usize::from(head)] = (status, data, into);
        self.offer(head);
        head
    }

    fn descriptor_at(&self, at: u64, piece: (u64, usize, u16), next: u16) {
        let (address, length, flags) = piece;
        let parts = [
            &address.to_le_bytes()[..],
            &(length as u32).to_le_bytes(),
            &flags.to_le_bytes(),
            &next.to_le_bytes(),
        ];
        self.memory.write_slice(&parts.concat(), GuestAddress(at)).unwrap();
    }

    fn chain(&mut self, pieces: &[(u64, usize, u16)]) -> u16 {
        let (head, count) = (self.descriptor, pieces.len());
        let table = if self.indirect { self.byte } else { TABLE + u64::from(head) * 16 };
        let base = if self.indirect { 0 } else { head };
        for (index, &(address, length, flags)) in pieces.iter().enumerate() {
            let flags = if index + 1 < count { flags | NEXT } else { flags };
            let next = base + index as u16 + 1;
            self.descriptor_at(table + index as u64 * 16, (address, length, flags), next);
        }
        if self.indirect {
            self.byte += count as u64 * 16;
            let at = TABLE + u64::from(head) * 16;
            self.descriptor_at(at, (table, count * 16, INDIRECT), 0);
        }
        self.descriptor += if self.indirect { 1 } else { count as u16 };
        head
    }

    fn offer(&mut self, head: u16) {
        let slot = AVAIL + 4 + u64::from(self.avail % SIZE) * 2;
        self.memory.write_obj(head, GuestAddress(slot)).unwrap();
        // Asks for a notification of the very next answer.
        let event = AVAIL + 4 + u64::from(SIZE) * 2;
        self.memory.write_obj(self.used, GuestAddress(event)).unwrap();
        self.avail = self.avail.wrapping_add(1);
        self.waiting += 1;
        self.memory.store(self.avail, GuestAddress(AVAIL + 2), Ordering::Release).unwrap();
    }

    /// Waits for the answer of the request with this head. Returns status and data.
    pub fn wait(&mut self, head: u16) -> (u8, Vec<u8>) {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(index) = self.answers.iter().position(|a| a.0 == u32::from(head)) {
                let (_, written) = self.answers.swap_remove(index);
                return self.answer(head, written);
            }
            if self.answered() == self.used {
                assert!(Instant::now() < until, "no answer");
                std::thread::yield_now();
                continue;
            }
            let at = USED + 4 + u64::from(self.used % SIZE) * 8;
            let answer: [u32; 2] = self.memory.read_obj(GuestAddress(at)).unwrap();
            self.used = self.used.wrapping_add(1);
            self.answers.push((answer[0], answer[1]));
        }
    }

    fn answer(&mut self, head: u16, written: u32) -> (u8, Vec<u8>) {
        let (status, place, into) = self.places[usize::from(head)];
        let status: u8 = self.memory.read_obj(GuestAddress(status)).unwrap();
        assert_eq!(written as usize, if status == OK { into + 1 } else { 1 });
        let mut data = vec![0; into];
        self.memory.read_slice(&mut data, GuestAddress(place)).unwrap();
        self.waiting -= 1;
        if self.waiting == 0 {
            (self.descriptor, self.byte) = (0, REQUESTS);
            let until = Instant::now() + Duration::from_secs(5);
            while self.call.read().is_err() {
                assert!(Instant::now() < until, "the machine was not told");
                std::thread::yield_now();
            }
        }
        (status, data)
    }

    /// Puts bytes that no driver would write into the virtqueue: a write of a page, spoilt.
    pub fn garbage(&mut self, which: usize) {
        self.indirect = false;
        let header = [1_u64.to_le_bytes(), 0_u64.to_le_bytes()].concat();
        let (header, data) = (self.put(&header), self.put(&[1; 4096]));
        let status = self.put(&[UNTOUCHED]);
        let whole = [(header, 16, 0), (data, 4096, 0), (status, 1, WRITE)];
        let head = match which {
            // Without a header, without a place for the status, memory that is not there.
            0 => self.chain(&whole[2..]),
            1 => self.chain(&whole[..2]),
            2 => self.chain(&[(MEMORY - 8, 16, 0), whole[1], whole[2]]),
            3 => self.chain(&[whole[0], (MEMORY * 9, 4096, 0), whole[2]]),
            4 => self.chain(&[whole[0], (u64::MAX - 3, 4096, 0), whole[2]]),
            // Far too much of it.
            5 => self.chain(&[whole[0], (data, u32::MAX as usize, 0), whole[2]]),
            // A list of descriptors that goes round, one that is not there, and a wrong length.
            6 => {
                let at = TABLE + u64::from(self.descriptor) * 16;
                self.descriptor_at(at, (header, 16, NEXT), self.descriptor);
                self.descriptor
            }
            7 => {
                self.descriptor_at(TABLE, (MEMORY * 2, 32, INDIRECT), 0);
                0
            }
            8 => {
                self.descriptor_at(TABLE, (header, 7, INDIRECT), 0);
                0
            }
            // A head that is none, and more requests than there is room for.
            _ => {
                self.offer(SIZE + 5);
                self.avail = self.avail.wrapping_add(9999);
                SIZE
            }
        };
        self.offer(head);
    }
}
