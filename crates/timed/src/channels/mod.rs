//! A drive whose channels are simulated separately, and in parallel on several cores.
//!
//! This is possible if pages stay on their planes, requests arrive in an open loop and collections
//! stay within a channel. Channels then share only two things: requests of several pages, and the
//! queue of the drive, which takes a limited number of requests at a time. So each channel is
//! simulated as a separate drive ([`channel`]), which gets the requests on its pages ([`split`]).
//!
//! While the queue cannot get full, channels do not depend on each other. They get a number of
//! requests, and each runs alone until the arrival of the next request after these. When the queue
//! may get full, before the drive must stop after a number of requests, and where measurement
//! begins, [`desk`] handles events one by one in the order of the drive ([`order`]). So the results
//! are exactly those of [`TimedDrive`](super::TimedDrive), with any number of threads.
//!
//! [`desk`] has the requests before the channels, [`split`] and `joint.rs` have their parts,
//! [`order`] has the order of events, and `crew.rs` has the threads. Each channel has a separate
//! map. `PlaneLayout::first` is the number of the channel's first plane in the drive, so that the
//! map draws from the same random streams as the map of the whole drive.

mod channel;
mod crew;
mod desk;
mod joint;
mod meter;
mod order;
mod source;
mod split;
mod sums;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use flashgc_base::cpu;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_drive::error::DriveError;
use flashgc_ftl::Stepwise;
use flashgc_workload::Batch;
use flashgc_workload::requests::RequestStream;

use super::config::{Loop, Placement, Settings, Unit};
use super::drive::{Stop, TimedDrive};
use super::front::Shape;
use super::measure::Meter;
use crate::tenants::InTurn;
use channel::Channel;
use crew::Crew;
use desk::Desk;
use meter::ChannelMeter;
use order::ChannelOrder;
use source::{Post, REFILLS, RequestSource};
use split::PageSplit;

/// A drive whose channels are simulated separately. See the module's text.
pub struct Channels {
    channels: Vec<Mutex<Channel>>,
    source: Mutex<RequestSource>,
    post: Post,
    desk: Desk,
    threads: usize,
}

/// Returns `true` if the settings allow channels to be simulated separately: they share only
/// requests of several pages and the queue of the drive. The map must also treat its planes
/// separately, which is not checked here.
pub fn are_apart(settings: &Settings) -> bool {
    settings.hardware.channels > 1
        && settings.hardware.members.dies == 1
        && settings.power().is_none()
        && settings.placement != Placement::Dynamic
        && settings.host == Loop::Open
        && settings.collecting.unit != Unit::Drive
        && settings.slc.is_none()
        && settings.write_cache == 0
        && settings.flush_after_ns == u64::MAX
        && settings.details.link.is_none()
        && !settings.details.serial_overwrites
}

/// Locks a mutex that no other thread holds now. A poisoned mutex is locked, too, as a thread that
/// panics ends the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Channels {
    /// Returns the drive of `settings` at time 0, with `pages` logical pages, simulated by at most
    /// `threads` threads. `meter` makes a meter for a number of dies. `layer` makes the map of a
    /// channel from the channel's settings, its number and its number of logical pages. The planes
    /// of that map must have the numbers after those of the channels before.
    ///
    /// # Errors
    /// The errors of `layer`; settings that do not go together.
    pub fn new(
        settings: &Settings,
        pages: u32,
        requests: Box<dyn RequestStream>,
        threads: usize,
        meter: impl Fn(u32) -> Meter,
        mut layer: impl FnMut(&Settings, u32, u32) -> Result<Box<dyn Stepwise>, DriveError>,
    ) -> Result<Self, DriveError> {
        debug_assert!(are_apart(settings));
        settings.check().map_err(flashgc_ftl::FtlError::from)?;
        let split = PageSplit::new(settings);
        let mut channels = Vec::new();
        let hardware = settings.hardware;
        let dies = hardware.dies_per_channel();
        let mut alone = settings.clone();
        alone.hardware.channels = 1;
        alone.queue_depth = u32::MAX;
        for channel in 0..hardware.channels {
            let map = layer(&alone, channel, split.pages(channel, pages))?;
            let order = ChannelOrder::new(channel, hardware.channels, dies);
            let meter = ChannelMeter::new(meter(dies), order);
            let none = Box::new(InTurn::none());
            let drive = TimedDrive::new(alone.clone(), map, none, meter)
                .map_err(flashgc_ftl::FtlError::from)?;
            channels.push(Mutex::new(drive));
        }
        let shape = Shape::new(hardware.unit_bytes(), pages);
        let source = RequestSource::new(requests, split.clone(), shape, settings.queue_depth);
        Ok(Self {
            desk: Desk::new(settings, split, pages, meter(hardware.all_dies())),
            channels,
            source: Mutex::new(source),
            post: Post::new(hardware.channels),
            threads: threads.clamp(1, hardware.channels as usize),
        })
    }

    /// Sets the number of requests that are read from the workload at a time. The results do not
    /// depend on it.
    pub fn read_at_a_time(&mut self, requests: usize) {
        lock(&self.source).at_a_time = requests;
    }

    /// Simulates until `until` requests are completed since the drive was made. If `about` is less,
    /// stops soon after `about` requests.
    ///
    /// # Errors
    /// The errors of the map or the workload.
    pub fn run(&mut self, until: u64, about: u64) -> Result<Stop, DriveError> {
        let Self { channels, source, post, desk, threads } = self;
        let bound = AtomicU64::new(0);
        let failed = Mutex::new(None);
        let orders = desk.orders.clone();
        let job = |it: usize| {
            let Some(channel) = channels.get(it) else { return lock(source).refill() };
            let end = orders[it].of_channel(orders[it].arrival(bound.load(Ordering::Acquire)));
            let mut drive = lock(channel);
            post.deliver(it, |request, number| drive.push(request, number));
            if let Err(error) = drive.advance(end) {
                lock(&failed).get_or_insert(error);
            }
        };
        let crew = Crew::new(*threads, channels.len() + REFILLS);
        let used = AtomicU64::new(0);
        let stop = std::thread::scope(|scope| {
            let others: Vec<Thread> = (1..*threads)
                .map(|member| {
                    let (crew, job, used) = (&crew, &job, &used);
                    let work = move || {
                        crew.follow(member, job);
                        used.fetch_add(cpu::of_thread().as_nanos() as u64, Ordering::Relaxed);
                    };
                    scope.spawn(work).thread().clone()
                })
                .collect();
            let _dismissed = crew.dismissed_in_the_end(&others);
            desk.run(channels, (source, post), (until, about), |time| {
                bound.store(time, Ordering::Release);
                crew.round(&others, &job);
                lock(&failed).take().map_or(Ok(()), Err)
            })
        });
        cpu::add_helper(Duration::from_nanos(used.into_inner()));
        self.catch_up()?;
        stop
    }

    /// Executes commands before the clock starts, with the collections that they need. Their
    /// streams are ignored.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn precede(&mut self, commands: &Batch) -> Result<(), DriveError> {
        let mut parts = vec![Batch::default(); self.channels.len()];
        for (index, &page) in commands.pages.iter().enumerate() {
            let (channel, number) = self.desk.split.place(page);
            let part = &mut parts[channel as usize];
            part.pages.push(number);
            if let Some(&op) = commands.ops.get(index) {
                part.ops.push(op);
            }
        }
        let each = parts.len().div_ceil(self.threads);
        let mut jobs: Vec<(&mut Channel, Batch)> = self.drives().zip(parts).collect();
        let execute = |jobs: &mut [(&mut Channel, Batch)]| {
            jobs.iter_mut().try_for_each(|(drive, part)| drive.precede(part, u64::MAX).map(drop))
        };
        std::thread::scope(|scope| {
            let work = |jobs| move || (execute(jobs), cpu::of_thread());
            let threads: Vec<_> =
                jobs.chunks_mut(each).map(|jobs| scope.spawn(work(jobs))).collect();
            let done = threads.into_iter().map(|thread| {
                let ended = thread.join();
                let (done, used) = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                cpu::add_helper(used);
                done
            });
            done.collect::<Result<Vec<()>, _>>()
        })?;
        Ok(())
    }

    /// Returns the rule that divides requests into pages.
    pub fn shape(&self) -> &Shape {
        &self.desk.shape
    }

    /// Brings all maps and measurements up to the last event.
    fn catch_up(&mut self) -> Result<(), DriveError> {
        let (orders, reached) = (self.desk.orders.clone(), self.desk.reached);
        for (drive, order) in self.drives().zip(orders) {
            drive.catch_up(order.of_channel(reached))?;
        }
        Ok(())
    }
}

impl State for Channels {
    fn save(&self, to: &mut Writer<'_>) {
        to.section("channels");
        self.desk.save(to);
        lock(&self.source).save(to);
        for channel in &self.channels {
            lock(channel).save(to);
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        from.section("channels")?;
        self.desk.restore(from)?;
        self.source.get_mut().unwrap_or_else(PoisonError::into_inner).restore(from)?;
        self.drives().try_for_each(|drive| drive.restore(from))
    }
}
