//! The kernel's rings. There is one for each CPU, which receives the events of all followed
//! tracepoints.
//!
//! A ring lives as long as its file descriptors. So the tracing of other programs is not affected,
//! and nothing is left when this process ends, however it ends.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use perf_event_open_sys::{bindings, ioctls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::{FollowError, Subscription};

/// The time after which an event is surely in its ring, in nanoseconds. Younger events are held
/// back until the next read, so that events of all CPUs are returned in order.
const SETTLING: u64 = 200_000;

/// Turns raw events of the kernel into events of the module that reads them.
pub(crate) trait Decode {
    /// The module's type of events.
    type Event;

    /// Decodes the raw bytes of an event; `None` if its tracepoint is not followed.
    fn decode(&self, raw: &[u8]) -> Option<Self::Event>;

    /// Returns the event which says that `events` events were lost.
    fn lost(&self, events: u64) -> Self::Event;
}

/// The rings of all CPUs. Their events are decoded to the type `E`.
pub(crate) struct Rings<E> {
    rings: Vec<Ring>,
    /// Events that are too young to be returned, with their times in nanoseconds.
    young: Vec<(u64, E)>,
}

struct Ring {
    sampler: Sampler,
    /// The counters of all tracepoints but the first. They put their events into the ring of
    /// `sampler`, which is the first one's counter, and end with it.
    others: Vec<Counter>,
}

impl<E> Rings<E> {
    pub(crate) fn open(wanted: &[Subscription], bytes: usize) -> Result<Self, FollowError> {
        let mut rings = Self::prepare(wanted, bytes)?;
        rings.enable()?;
        Ok(rings)
    }

    /// Opens rings that receive no events yet. They must be enabled or, if they have no filters
    /// yet, [narrowed](Self::narrow).
    pub(crate) fn prepare(wanted: &[Subscription], bytes: usize) -> Result<Self, FollowError> {
        let online = fs::read_to_string("/sys/devices/system/cpu/online");
        let cpus = online.map(|online| numbers(&online)).map_err(|source| FollowError::Io {
            what: "the CPUs".into(),
            source,
            hint: "mount /sys",
        })?;
        let rings = cpus.iter().map(|&cpu| Ring::open(wanted, cpu, bytes));
        Ok(Self { rings: rings.collect::<Result<_, _>>()?, young: Vec::new() })
    }

    fn enable(&mut self) -> Result<(), FollowError> {
        let mut rings = self.rings.iter_mut();
        rings.try_for_each(Ring::enable).map_err(|source| refused("the tracepoints".into(), source))
    }

    /// Sets these filters, one for each wanted tracepoint, and lets events that pass them arrive. A
    /// process that has dropped its privileges may call this.
    pub(crate) fn narrow(&mut self, filters: &[String]) -> Result<(), FollowError> {
        for ring in &self.rings {
            let counters = std::iter::once(ring.sampler.as_raw_fd());
            let counters = counters.chain(ring.others.iter().map(AsRawFd::as_raw_fd));
            for (counter, filter) in counters.zip(filters) {
                let narrowed = narrow(counter, filter);
                narrowed.map_err(|source| refused("the tracepoints".into(), source))?;
            }
        }
        self.enable()
    }

    /// Takes all events of all CPUs with their times, including the most recent ones. Events of
    /// other CPUs with earlier times may still be missing.
    pub(crate) fn drain_now(
        &mut self,
        events: &impl Decode<Event = E>,
        bytes: &mut u64,
    ) -> Vec<(u64, E)> {
        let mut read = std::mem::take(&mut self.young);
        for ring in &mut self.rings {
            ring.drain(events, bytes, &mut read);
        }
        read.sort_by_key(|&(time, _)| time);
        read
    }

    /// Waits until a ring is half full, a signal comes, or `timeout` has passed.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<(), FollowError> {
        let borrowed = self.rings.iter().map(|ring| ring.fd());
        let mut fds: Vec<_> =
            borrowed.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(refused("waiting for events".into(), error.into())),
        }
    }

    /// Takes the settled events of all CPUs in the order of their times. Adds the bytes read to
    /// `bytes`.
    pub(crate) fn drain(&mut self, events: &impl Decode<Event = E>, bytes: &mut u64) -> Vec<E> {
        self.drain_timed(events, bytes).into_iter().map(|(_, event)| event).collect()
    }

    /// Does the same as [`Rings::drain`], and also returns the times, in nanoseconds of the
    /// monotonic clock.
    pub(crate) fn drain_timed(
        &mut self,
        events: &impl Decode<Event = E>,
        bytes: &mut u64,
    ) -> Vec<(u64, E)> {
        let now = clock_gettime(ClockId::Monotonic);
        let settled = (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) - SETTLING;
        let mut read = std::mem::take(&mut self.young);
        for ring in &mut self.rings {
            ring.drain(events, bytes, &mut read);
        }
        // The sort is stable, so that events of one CPU stay in their order.
        read.sort_by_key(|&(time, _)| time);
        self.young = read.split_off(read.partition_point(|&(time, _)| time <= settled));
        read
    }
}

impl Ring {
    fn open(wanted: &[Subscription], cpu: usize, bytes: usize) -> Result<Self, FollowError> {
        let mut sampler: Option<Sampler> = None;
        let mut others = Vec::new();
        for subscription in wanted {
            let failed = |source| refused(format!("tracepoint {}", subscription.name), source);
            let counter = counter(subscription, cpu, bytes).map_err(failed)?;
            match &sampler {
                None => sampler = Some(counter.sampled(bytes).map_err(failed)?),
                Some(first) => {
                    share(&counter, first).map_err(failed)?;
                    others.push(counter);
                }
            }
        }
        let sampler = sampler.expect("a file system has tracepoints");
        Ok(Self { sampler, others })
    }

    fn enable(&mut self) -> io::Result<()> {
        self.others.iter_mut().try_for_each(Counter::enable)?;
        self.sampler.enable()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the sampler, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.sampler.as_raw_fd()) }
    }

    /// Reads the ring empty. A record is one of
    /// - a sample: time (8), bytes of the event (4), the event
    /// - a loss: number of the tracepoint (8), events (8), time (8)
    fn drain<D: Decode>(&mut self, events: &D, bytes: &mut u64, read: &mut Vec<(u64, D::Event)>) {
        while let Some(record) = self.sampler.next_record() {
            let data = record.to_contiguous();
            *bytes += data.len() as u64 + size_of::<bindings::perf_event_header>() as u64;
            let event =
                match record.ty() {
                    bindings::PERF_RECORD_SAMPLE => number(&data, 0)
                        .and_then(|time| Some((time, events.decode(data.get(12..)?)?))),
                    bindings::PERF_RECORD_LOST => number(&data, 16)
                        .and_then(|time| Some((time, events.lost(number(&data, 8)?)))),
                    _ => None,
                };
            read.extend(event);
        }
    }
}

/// Opens a counter of every event of a tracepoint on one CPU, of all processes. It starts disabled.
fn counter(subscription: &Subscription, cpu: usize, bytes: usize) -> io::Result<Counter> {
    let mut builder = Builder::new(Tracepoint::with_id(subscription.id.into()));
    builder.any_pid().one_cpu(cpu).include_kernel().include_hv();
    builder.sample_period(1).sample(SampleFlag::TIME | SampleFlag::RAW).sample_id_all(true);
    builder.clockid(Clock::MONOTONIC).wakeup_watermark(bytes / 2);
    let counter = builder.build()?;
    // The filter of a counter can be set only once.
    if !subscription.filter.is_empty() {
        narrow(counter.as_raw_fd(), &subscription.filter)?;
    }
    Ok(counter)
}

/// Lets only events that pass `filter` reach the counter `counter`.
fn narrow(counter: RawFd, filter: &str) -> io::Result<()> {
    let filter = CString::new(filter)?;
    // SAFETY: the descriptor belongs to a counter, and the kernel copies the filter, which ends
    // with 0.
    checked(unsafe { ioctls::SET_FILTER(counter, filter.as_ptr().cast_mut()) })
}

/// Lets a counter put its events into the ring of another counter on the same CPU.
fn share(counter: &Counter, first: &Sampler) -> io::Result<()> {
    // SAFETY: both descriptors are open, and the kernel keeps the ring as long as anyone uses it.
    checked(unsafe { ioctls::SET_OUTPUT(counter.as_raw_fd(), first.as_raw_fd()) })
}

fn checked(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn refused(what: String, source: io::Error) -> FollowError {
    let hint =
        "follow the kernel as root; /proc/sys/kernel/perf_event_paranoid forbids it to others";
    FollowError::Io { what, source, hint }
}

fn number(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

/// Returns the numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}
