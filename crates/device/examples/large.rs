//! The costs of a sparse drive of 1 TB: the time to create it, to open it after a clean shutdown
//! and after a crash, and to discard all of it; the longest write during a checkpoint; and the peak
//! memory of each step.
//!
//! `cargo run --release -p flashgc-device --example large -- FOLDER [GB]`. Each step is a process
//! of its own. One page in 4096 has data, so that each group of the map has a page to store in a
//! checkpoint. A drive of 1 TB takes 3 GB in the folder.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flashgc_base::rng::Stream;
use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, Durability, PAGE, Settings};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};

type Any = Box<dyn std::error::Error>;

/// The number of pages in a block.
const B: u32 = 256;
/// The distance between pages with data: the first of each `GAP` pages has data.
const GAP: u64 = 4096;

fn settings(gigabytes: u64) -> Result<Settings, Any> {
    let pages = gigabytes * 1_000_000_000 / PAGE as u64;
    let blocks = (pages as f64 * 1.07 / f64::from(B)) as u32;
    let layout = Layout {
        frontier: Frontier::Pool { low: 4 },
        fill: Fill::Empty,
        ..Layout::new(Geometry::new(blocks, B, pages)?)
    };
    let victim = Victim::Registered(VictimSpec::parse("greedy")?);
    let journal_blocks = Settings::JOURNAL_BLOCKS;
    Ok(Settings {
        layout,
        victim,
        journal_blocks,
        durability: Durability::Process,
        streams: None,
        parity: None,
    })
}

fn page_of(number: u64) -> Vec<u8> {
    (number + 1).to_le_bytes().repeat(PAGE / 8)
}

/// Returns the peak memory of this process in bytes.
fn peak() -> Result<u64, Any> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib << 10)
}

fn open(path: &Path, settings: &Settings) -> Result<Drive, Any> {
    Ok(Drive::open(Box::new(FileMedia::open(path)?), settings)?)
}

/// Reads a thousand of the pages with data.
fn check(drive: &mut Drive) -> Result<(), Any> {
    let mut rng = Stream::new(2, "reads");
    let mut bytes = vec![0; PAGE];
    for _ in 0..1000 {
        let page = u64::from(rng.below((drive.pages() / GAP) as u32)) * GAP;
        drive.read(page, &mut bytes)?;
        if bytes != page_of(page) {
            return Err(format!("page {page} has other data").into());
        }
    }
    Ok(())
}

/// The elapsed time and the processor time.
type Took = (Duration, Duration);

/// Measures both times of [`Took`].
struct Clock {
    wall: Instant,
    processor: Duration,
}

impl Clock {
    fn start() -> Result<Self, Any> {
        Ok(Self { wall: Instant::now(), processor: Self::processor()? })
    }

    fn processor() -> Result<Duration, Any> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
        let nanoseconds = text.split_whitespace().next().ok_or("no time of the processor")?;
        Ok(Duration::from_nanos(nanoseconds.parse()?))
    }

    fn elapsed(&self) -> Result<Took, Any> {
        Ok((self.wall.elapsed(), Self::processor()? - self.processor))
    }
}

/// Runs a step. Returns the name of the figure, and the time that the step took.
fn step(step: &str, path: &Path, settings: &Settings) -> Result<(&'static str, Took), Any> {
    let begun = Clock::start()?;
    match step {
        "create" => {
            let mut media = FileMedia::create(path, settings.file_bytes()?)?;
            Drive::create(&mut media, settings, *b"a drive of 1 TB.")?;
            Ok(("created", begun.elapsed()?))
        }
        "fill" => {
            let mut drive = open(path, settings)?;
            for page in (0..drive.pages()).step_by(GAP as usize) {
                drive.write(page, &page_of(page), false)?;
            }
            let begun = Clock::start()?;
            drive.close()?;
            Ok(("closed", begun.elapsed()?))
        }
        "clean" => {
            let mut drive = open(path, settings)?;
            let opened = begun.elapsed()?;
            check(&mut drive)?;
            Ok(("opened after a clean shutdown", opened))
        }
        "trim" => {
            let mut drive = open(path, settings)?;
            let pages = drive.pages();
            let begun = Clock::start()?;
            drive.trim(0, pages)?;
            let extent = drive.extent(0, pages)?;
            let took = begun.elapsed()?;
            assert_eq!(extent, (pages, false));
            Ok(("all pages discarded, and the extent without data found", took))
        }
        "write" => {
            let mut drive = open(path, settings)?;
            let checkpoints = drive.stat().opened.checkpoints;
            let (mut longest, mut page) = ((Duration::ZERO, Duration::ZERO), 0);
            // Each write with FUA takes a block of the journal, so that a checkpoint soon begins.
            while drive.stat().opened.checkpoints < checkpoints + 2 {
                page = (page + GAP) % (drive.pages() / GAP * GAP);
                let begun = Clock::start()?;
                drive.write(page, &page_of(page), true)?;
                let (wall, processor) = begun.elapsed()?;
                longest = (longest.0.max(wall), longest.1.max(processor));
            }
            Ok(("longest of the writes beside two checkpoints", longest))
        }
        _ => {
            let mut drive = open(path, settings)?;
            let opened = begun.elapsed()?;
            assert!(drive.stat().recovery.is_some_and(|recovery| recovery.records > 0));
            check(&mut drive)?;
            Ok(("opened after a crash", opened))
        }
    }
}

fn main() -> Result<(), Any> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let gigabytes = arguments.get(1).map_or(Ok(1000), |gigabytes| gigabytes.parse())?;
    let folder = arguments.first().ok_or("usage: large FOLDER [GB]")?;
    let settings = settings(gigabytes)?;
    let pages = settings.layout.geometry.logical_pages();
    if let Some(name) = arguments.get(2) {
        let (what, (wall, processor)) =
            step(name, &Path::new(folder).join("drive.flash"), &settings)?;
        let per_page = peak()? as f64 / f64::from(pages);
        println!(
            "{:8.3} s, {:7.3} s of the processor, {per_page:5.2} bytes of memory a page at most: {what}",
            wall.as_secs_f64(),
            processor.as_secs_f64(),
        );
        // A crash: the drive is not closed.
        return Ok(());
    }
    println!("{gigabytes} GB, {pages} pages");
    let folder = tempfile::tempdir_in(folder)?;
    for name in ["create", "fill", "clean", "write", "crash", "trim"] {
        let mut child = Command::new(std::env::current_exe()?);
        let done = child.arg(folder.path()).arg(gigabytes.to_string()).arg(name).status()?;
        if !done.success() {
            return Err(format!("{name} failed").into());
        }
    }
    Ok(())
}
