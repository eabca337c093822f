//! The drive as an NVM subsystem: its names, its namespace and its controllers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flashgc_base::stream::StreamId;
use flashgc_base::sync::lock;
use flashgc_device::{Drive, PAGE};

pub use super::controller::ControllerKind;
use super::controller::{Controller, Host};
use super::fdp::{Fdp, Moved};
use super::{Connected, DISCOVERY, NvmeExport};
use crate::health::{Health, READ_ONLY};
use crate::queue::Queue;

/// The most controllers at a time.
const CONTROLLERS: usize = 64;
/// The largest number of a controller.
const LARGEST: u16 = 0xffef;

/// The drive as an NVM subsystem.
pub struct Subsystem {
    pub queue: Queue,
    /// The NVMe qualified name.
    pub name: String,
    pub uuid: [u8; 16],
    pub serial: String,
    pub read_only: bool,
    /// The logarithm of the size of a logical block in bytes.
    pub block_shift: u8,
    /// `false` if a host has disabled the write cache: then every write is durable when it is
    /// answered.
    pub write_cache: AtomicBool,
    /// The placement handles; `None` for a drive that takes no streams.
    pub fdp: Option<Fdp>,
    controllers: Mutex<Controllers>,
}

#[derive(Default)]
struct Controllers {
    all: HashMap<u16, Arc<Controller>>,
    /// The number of the newest controller.
    last: u16,
}

impl Subsystem {
    /// Returns the subsystem of the drive of `queue`.
    pub fn new(queue: Queue, export: &NvmeExport) -> Self {
        let hex: String = export.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut subsystem = Self {
            queue: queue.outliving(),
            name: export.name(),
            uuid: export.uuid,
            serial: hex[..20].into(),
            read_only: export.read_only,
            block_shift: export.block.shift(),
            write_cache: AtomicBool::new(true),
            fdp: None,
            controllers: Mutex::default(),
        };
        let handles = export.handles.filter(|_| subsystem.queue.takes_streams());
        subsystem.fdp = handles.map(|handles| Fdp::new(handles, subsystem.moved()));
        subsystem
    }

    /// Returns the name by which hosts know a controller of this kind.
    pub fn name_of(&self, kind: ControllerKind) -> &str {
        match kind {
            ControllerKind::Drive => &self.name,
            ControllerKind::Discovery => DISCOVERY,
        }
    }

    /// Returns the number of logical blocks.
    pub fn blocks(&self) -> u64 {
        self.queue.size() >> self.block_shift
    }

    /// Returns the number of logical blocks of a page.
    pub fn blocks_per_page(&self) -> u64 {
        PAGE as u64 >> self.block_shift
    }

    /// Calls `with` with the stored drive, between two commands. Returns `None` for another kind of
    /// drive, or if the drive has stopped.
    pub fn drive<T: Send + 'static>(
        &self,
        with: impl FnOnce(&mut Drive) -> T + Send + 'static,
    ) -> Option<T> {
        self.queue.visit(move |drive, _| drive.as_drive().map(with)).ok().flatten()
    }

    /// Returns how much data the drive has moved.
    pub fn moved(&self) -> Moved {
        let blocks_per_page = self.blocks_per_page();
        let moved = self.drive(move |drive| {
            let report = drive.stat();
            let units = report.streams.map_or(0, |totals| totals.moved_blocks);
            Moved { units, blocks: report.counters.copied_pages * blocks_per_page }
        });
        moved.unwrap_or_default()
    }

    /// Returns the size of a reclaim unit in bytes.
    pub fn unit(&self) -> u64 {
        let pages = self.drive(|drive| drive.stat().geometry.pages_per_block());
        u64::from(pages.unwrap_or_default()) * PAGE as u64
    }

    /// Returns the room left in the reclaim unit of each of these streams, in logical blocks.
    pub fn rooms(&self, streams: Vec<StreamId>) -> Vec<u64> {
        let count = streams.len();
        let room = |drive: &mut Drive| streams.into_iter().map(|it| drive.room_of(it)).collect();
        let pages: Vec<u32> = self.drive(room).unwrap_or_else(|| vec![0; count]);
        pages.iter().map(|pages| u64::from(*pages) * self.blocks_per_page()).collect()
    }

    /// Returns the drive's health and the number of its pages with data. A drive that is not stored
    /// counts as full.
    pub fn health(&self) -> (Health, u64) {
        let report = |drive: &mut Drive| {
            let report = drive.stat();
            (Health::of(&report), report.mapped_pages)
        };
        let (mut health, pages) = self.drive(report).unwrap_or_else(|| {
            let health = Health { available_spare: 100, ..Health::default() };
            (health, self.queue.size() / PAGE as u64)
        });
        if self.queue.faults().why_read_only().is_some() {
            health.critical_warning |= READ_ONLY;
        }
        (health, pages)
    }

    /// Makes a controller for a host. If there are too many, it removes the most useless one.
    /// Returns `None` if all are in use.
    pub fn make(
        &self,
        kind: ControllerKind,
        host: Host,
        keep_alive: u32,
    ) -> Option<Arc<Controller>> {
        let mut controllers = lock(&self.controllers);
        while controllers.all.len() >= CONTROLLERS {
            let useless = controllers
                .all
                .values()
                .filter_map(|controller| Some((controller.useless()?, controller)));
            let (_, least) = useless.max_by_key(|(time, _)| *time)?;
            let least = Arc::clone(least);
            drop(controllers);
            self.remove(&least);
            controllers = lock(&self.controllers);
        }
        let mut id = controllers.last;
        loop {
            id = if id >= LARGEST { 1 } else { id + 1 };
            if !controllers.all.contains_key(&id) {
                break;
            }
        }
        controllers.last = id;
        let controller = Arc::new(Controller::new(id, kind, host, keep_alive));
        controllers.all.insert(id, Arc::clone(&controller));
        Some(controller)
    }

    /// Returns the controller of this number.
    pub fn find(&self, id: u16) -> Option<Arc<Controller>> {
        lock(&self.controllers).all.get(&id).cloned()
    }

    /// Removes a controller, and ends the connections of its queues.
    pub fn remove(&self, controller: &Controller) {
        // Another controller may have its number by now.
        let mut controllers = lock(&self.controllers);
        if controllers
            .all
            .get(&controller.id)
            .is_some_and(|known| std::ptr::eq(&**known, controller))
        {
            controllers.all.remove(&controller.id);
        }
        drop(controllers);
        controller.forget_events();
        controller.end(0);
    }

    /// Removes the controllers whose hosts have exceeded their keep alive time.
    pub fn remove_lost(&self) {
        let all: Vec<_> = lock(&self.controllers).all.values().cloned().collect();
        all.iter()
            .filter(|controller| controller.is_lost())
            .for_each(|controller| self.remove(controller));
    }

    /// Returns the numbers of the drive's controllers.
    pub fn controllers(&self) -> Vec<u16> {
        let controllers = lock(&self.controllers);
        let of_drive =
            controllers.all.values().filter(|controller| controller.kind == ControllerKind::Drive);
        of_drive.map(|controller| controller.id).collect()
    }

    /// Returns the hosts that are connected, in the order of their controllers.
    pub fn connected(&self) -> Vec<Connected> {
        let mut all: Vec<_> = lock(&self.controllers).all.values().cloned().collect();
        all.sort_unstable_by_key(|controller| controller.id);
        let seen = |controller: &Arc<Controller>| Connected {
            host: controller.host.name.clone(),
            controller: controller.id,
            discovers: controller.kind == ControllerKind::Discovery,
            queues: controller.queues(),
        };
        all.iter().map(seen).collect()
    }

    /// Reports to all hosts that the drive has become read-only.
    pub fn warn(&self) {
        let all: Vec<_> = lock(&self.controllers).all.values().cloned().collect();
        all.iter().for_each(|controller| controller.warn());
    }

    /// Returns `true` if a write must be durable when it is answered, whatever the host says.
    pub fn writes_through(&self) -> bool {
        !self.write_cache.load(Ordering::Relaxed)
    }
}
