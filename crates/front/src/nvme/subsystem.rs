//! The drive as an NVM subsystem: its names, its namespace and its controllers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashgc_device::{Drive, PAGE};

pub use super::controller::Kind;
use super::controller::{Controller, Host};
use super::{DISCOVERY, Export};
use crate::health::Health;
use crate::queue::Queue;

/// The most controllers at a time.
const CONTROLLERS: usize = 64;
/// The largest number of a controller.
const LARGEST: u16 = 0xffef;

/// See the module's text.
pub struct Subsystem {
    pub queue: Queue,
    /// The NVMe qualified name.
    pub name: String,
    pub uuid: [u8; 16],
    pub serial: String,
    pub read_only: bool,
    /// The logarithm of the bytes of a logical block.
    pub block_shift: u8,
    /// `false` if hosts have disabled the write cache: every write is durable when it is answered.
    pub write_cache: AtomicBool,
    controllers: Mutex<Controllers>,
}

#[derive(Default)]
struct Controllers {
    all: HashMap<u16, Arc<Controller>>,
    /// The number of the controller that was made last.
    last: u16,
}

impl Subsystem {
    /// Returns the subsystem of the drive of `queue`.
    pub fn new(queue: Queue, export: &Export) -> Self {
        let hex: String = export.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            queue,
            name: export.name(),
            uuid: export.uuid,
            serial: hex[..20].into(),
            read_only: export.read_only,
            block_shift: export.block.shift(),
            write_cache: AtomicBool::new(true),
            controllers: Mutex::default(),
        }
    }

    /// Returns the name by which hosts know a controller of this kind.
    pub fn name_of(&self, kind: Kind) -> &str {
        match kind {
            Kind::Drive => &self.name,
            Kind::Discovery => DISCOVERY,
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

    /// Returns the drive's health and the number of its pages with data. A drive of tests has every page.
    pub fn health(&self) -> (Health, u64) {
        let report = |drive: &mut Drive| {
            let report = drive.stat();
            (Health::of(&report), report.mapped_pages)
        };
        let visit = self.queue.visit(move |drive, _| drive.as_drive().map(report));
        visit.ok().flatten().unwrap_or_else(|| {
            let health = Health { available_spare: 100, ..Health::default() };
            (health, self.queue.size() / PAGE as u64)
        })
    }

    /// Makes a controller for a host. Returns `None` if there are too many.
    pub fn make(&self, kind: Kind, host: Host, keep_alive: u32) -> Option<Arc<Controller>> {
        let mut controllers = self.lock();
        if controllers.all.len() >= CONTROLLERS {
            return None;
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
        self.lock().all.get(&id).cloned()
    }

    /// Removes a controller, and ends the connections of its queues.
    pub fn remove(&self, controller: &Controller) {
        // Another one may have its number now.
        let mut controllers = self.lock();
        if controllers.all.get(&controller.id).is_some_and(|one| std::ptr::eq(&**one, controller)) {
            controllers.all.remove(&controller.id);
        }
        drop(controllers);
        controller.forget_events();
        controller.end(0);
    }

    /// Removes the controllers whose hosts have sent nothing for the time that they promised.
    pub fn remove_lost(&self) {
        let all: Vec<_> = self.lock().all.values().cloned().collect();
        all.iter().filter(|one| one.is_lost()).for_each(|one| self.remove(one));
    }

    /// Returns the numbers of the drive's controllers.
    pub fn controllers(&self) -> Vec<u16> {
        let controllers = self.lock();
        let of_drive = controllers.all.values().filter(|one| one.kind == Kind::Drive);
        of_drive.map(|one| one.id).collect()
    }

    /// Tells all hosts that the drive has become read-only.
    pub fn warn(&self) {
        let all: Vec<_> = self.lock().all.values().cloned().collect();
        all.iter().for_each(|one| one.warn());
    }

    /// Returns `true` if a write must be durable when it is answered, whatever the host says.
    pub fn writes_through(&self) -> bool {
        !self.write_cache.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Controllers> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
