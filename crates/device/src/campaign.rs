//! The crash campaign: it cuts off the work of a drive at every possible point, and compares the
//! data that the drive still has with the expected data.
//!
//! A *schedule* is a series of commands on a small drive, drawn from a seed: writes of whole pages
//! and of parts, discards, flushes, idle seconds. The medium has two images, the bytes that reads
//! return and the bytes on the disk, and it records every operation. Syncs of the medium fail, or
//! lie. The process ends, and the drive is opened again on the same medium. In half of the
//! schedules the host survives the process: it connects again and flushes. After that flush all
//! acknowledged writes must be there, also after a loss of power.
//!
//! For every position among the operations, the campaign makes images that a crash may leave: all
//! that was written, nothing since the last sync, any part of that, writes torn at 512 bytes. It
//! opens the drive from each image. Every page must hold its last flushed version or a later one
//! that was written: nothing lost, nothing torn, nothing resurrected, nothing invented. A drive
//! whose life is over stays read-only. In some images the checkpoint is damaged, so that recovery
//! must use the checkpoint before. In others a bit is flipped, or a write is missing that the
//! medium had said was durable. In these a page may be a media error. It may also have an older
//! version, but only if nothing on the medium says that the newer version was durable. Some
//! recoveries are cut off themselves, and some recovered drives go on to work and crash again. At
//! the end the drive is closed, and images are made in which the medium has lost a write or swapped
//! two pages: a read must then return an error.
//!
//! All random choices follow from the seed.
//!
//! [`sweep`] runs these schedules. [`fuzz`] draws scripts in which the medium also fails.
//! [`replay`] replays the commands of a real file system and cuts them off.

mod drives;
pub mod fuzz;
mod images;
mod oracle;
pub mod replay;
mod schedule;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use flashgc_base::rng::Stream;

use schedule::Schedule;

/// Makes the allocator keep freed memory. The images of a campaign are allocated and freed again and
/// again; if the system takes their memory back each time, four fifths of the time go into page faults.
///
/// glibc keeps twice as much freed memory as the largest block that it has mapped and freed.
fn keep_freed_memory() {
    const BYTES: usize = 31 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BYTES)));
}

/// The counts of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Series of commands.
    pub schedules: u64,
    /// Images from which a drive was opened and compared.
    pub images: u64,
    /// Images, among these, that a crash of a recovery left.
    pub of_recoveries: u64,
    /// Images, among these, of a crash of a drive that had been recovered and had worked on.
    pub of_recovered: u64,
    /// Images, among these, with a damaged checkpoint: the drive was opened from the checkpoint
    /// before.
    pub of_fallbacks: u64,
    /// Images, among these, with a lost write or swapped pages.
    pub of_lies: u64,
    /// Pages that were rebuilt from parity in these images.
    pub rebuilt: u64,
    /// Images, among these, of a drive that had said that its life is over.
    pub of_ended: u64,
    /// Images from which no drive could be opened. That is allowed if the drive does not promise to
    /// survive such a crash, or if a bit was flipped.
    pub refused: u64,
    /// Pages that were a media error, in images with a flipped bit or of a medium that had lied.
    pub lost: u64,
    /// Openings after the process had ended, on the same medium.
    pub of_lives: u64,
    /// Images that the end of the drive's process left to a host that survived it.
    pub of_hosts: u64,
    /// Lost writes and swapped pages that reading found.
    pub lies_found: u64,
    /// Records that recoveries skipped.
    pub skipped: u64,
    /// Images whose two maps were compared.
    pub compared: u64,
}

/// The progress of a campaign. Another thread can read it, and can stop the campaign.
#[derive(Debug, Default)]
pub struct Pace {
    done: AtomicU64,
    is_over: AtomicBool,
    until: Option<Instant>,
}

impl Pace {
    /// Returns the pace of a campaign that ends at this moment.
    pub fn until(moment: Instant) -> Self {
        Self { until: Some(moment), ..Self::default() }
    }

    /// Returns the number of images checked, or of operations done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the campaign as soon as possible. The counts so far are its result.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let is_late = self.until.is_some_and(|moment| Instant::now() >= moment);
        is_late || self.is_over.load(Ordering::Relaxed)
    }

    fn note(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }
}

/// A promise that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The seed of the schedule or script. A campaign that starts with this seed meets the failure
    /// in its first schedule or script.
    pub seed: u64,
    /// The point at which the work was cut off, and the promise that was broken there.
    pub what: String,
    /// The shortest script that was found to break the promise; empty except after fuzzing.
    pub script: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what)?;
        self.script.iter().try_for_each(|step| write!(f, "\n  {step}"))
    }
}

/// The result of a campaign, up to the first promise that was broken.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The counts.
    pub tally: T,
    /// The first promise that was broken.
    pub broken: Option<Broken>,
}

/// Does `run`. A panic is a broken promise too.
fn guarded(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the drive panicked: {}", text.unwrap_or("no text")))
    })
}

/// Runs schedules from `seed` on until at least `images` images were checked.
pub fn sweep(seed: u64, images: u64, pace: &Pace) -> Outcome<Tally> {
    keep_freed_memory();
    let mut tally = Tally::default();
    while tally.images < images && !pace.is_over() {
        let seed = seed + tally.schedules;
        let mut rng = Stream::new(seed, "crash campaign");
        let mut schedule = Schedule::draw(&mut rng, pace);
        if let Err(what) = guarded(|| schedule.run(&mut rng, &mut tally)) {
            let broken = Some(Broken { seed, what, script: Vec::new() });
            return Outcome { tally, broken };
        }
        tally.schedules += 1;
    }
    Outcome { tally, broken: None }
}
