//! Compares the rate of random 4 KiB writes to a stored drive with the rate of a bare loop that
//! moves the same pages. The drive is in its steady state, and its durability is `process`.
//!
//! The bare loop decides nothing. For each write of the host it computes the CRC32C of the page and
//! writes the page with one `pwrite` of 4 KiB. For each copy that the drive made, it reads a random
//! page with one `pread`, computes its CRC32C, and writes it with one `pwrite`. It writes a file of
//! the drive's size from begin to end, as a log. It has no map, no out-of-band records and no
//! journal. The drive's file and the loop's file are on the same file system, in memory if
//! possible. The drive and the loop run in turn.
//!
//! `cargo bench -p flashgc-device --bench stored` runs it; `-- --smoke` runs a size that takes one
//! second.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, Durability, PAGE, Settings};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};

/// The folder of a file system in memory.
const MEMORY: &str = "/dev/shm";
const ROUNDS: usize = 7;

fn settings(blocks: u32) -> Settings {
    let layout = Layout {
        frontier: Frontier::Pool { low: 4 },
        fill: Fill::Empty,
        ..Layout::new(Geometry::with_spare(blocks, 256, 0.1).expect("a shape"))
    };
    let victim = Victim::Registered(VictimSpec::parse("greedy").expect("registered"));
    Settings {
        layout,
        victim,
        journal_blocks: Settings::JOURNAL_BLOCKS,
        durability: Durability::Process,
        streams: None,
        parity: None,
    }
}

/// The loop that only moves pages.
struct Bare {
    file: File,
    pages: u32,
    next: u32,
    page: Vec<u8>,
}

impl Bare {
    fn new(path: &Path, pages: u32) -> std::io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let page = vec![7; PAGE];
        for place in 0..pages {
            file.write_all_at(&page, u64::from(place) * PAGE as u64)?;
        }
        Ok(Self { file, pages, next: 0, page })
    }

    fn program(&mut self) -> std::io::Result<u32> {
        let sum = crc32c::crc32c(&self.page);
        self.file.write_all_at(&self.page, u64::from(self.next) * PAGE as u64)?;
        self.next = (self.next + 1) % self.pages;
        Ok(sum)
    }

    /// Writes `writes` pages of the host, with `copies` copies spread among them. Returns the time
    /// in seconds.
    fn run(&mut self, writes: u64, copies: u64, rng: &mut Stream) -> std::io::Result<f64> {
        let begun = Instant::now();
        let (mut done, mut sums) = (0, 0);
        for write in 1..=writes {
            self.page[..8].copy_from_slice(&write.to_le_bytes());
            sums ^= self.program()?;
            while done < copies * write / writes {
                let from = u64::from(rng.below(self.pages)) * PAGE as u64;
                self.file.read_exact_at(&mut self.page, from)?;
                sums ^= self.program()?;
                done += 1;
            }
        }
        std::hint::black_box(sums);
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Writes `writes` random pages. Returns the time in seconds.
fn write(drive: &mut Drive, writes: u64, rng: &mut Stream, data: &mut [u8]) -> f64 {
    let pages = drive.pages() as u32;
    let begun = Instant::now();
    for number in 0..writes {
        data[..8].copy_from_slice(&number.to_le_bytes());
        drive.write(rng.below(pages).into(), data, false).expect("written");
    }
    begun.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_smoke = std::env::args().any(|argument| argument == "--smoke");
    let (blocks, writes) = if is_smoke { (64, 2000) } else { (1140, 150_000) };
    let place = if Path::new(MEMORY).is_dir() { MEMORY.into() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(place)?;
    let settings = settings(blocks);
    let path = folder.path().join("drive.flash");
    let mut media = FileMedia::create(&path, settings.file_bytes()?)?;
    Drive::create(&mut media, &settings, *b"a drive measured")?;
    let mut drive = Drive::open(Box::new(media), &settings)?;
    let mut rng = Stream::new(1, "writes");
    let mut data = vec![7; PAGE];
    for page in 0..drive.pages() {
        drive.write(page, &data, false)?;
    }
    let pages = drive.pages();
    write(&mut drive, 2 * pages, &mut rng, &mut data);
    let physical = settings.layout.geometry.physical_pages() as u32;
    let mut bare = Bare::new(&folder.path().join("bare"), physical)?;
    let (mut rates, mut bare_rates, mut ratios, mut reads) = (vec![], vec![], vec![], vec![]);
    let mut amplification = 0.0;
    for _ in 0..ROUNDS {
        let before = drive.stat().counters;
        let seconds = write(&mut drive, writes, &mut rng, &mut data);
        let copies = drive.stat().counters.copied_pages - before.copied_pages;
        amplification = 1.0 + copies as f64 / writes as f64;
        let bare_seconds = bare.run(writes, copies, &mut rng)?;
        let begun = Instant::now();
        for _ in 0..writes {
            drive.read(rng.below(pages as u32).into(), &mut data)?;
        }
        reads.push(writes as f64 / begun.elapsed().as_secs_f64());
        rates.push(writes as f64 / seconds);
        bare_rates.push(writes as f64 / bare_seconds);
        ratios.push(bare_seconds / seconds);
    }
    println!(
        "{} MiB on {}, write amplification {amplification:.2}",
        pages >> 8,
        folder.path().display()
    );
    println!("stored drive  {:9.0} random writes/s", median(&mut rates));
    println!("bare loop     {:9.0} random writes/s", median(&mut bare_rates));
    println!("ratio         {:9.2} (median of {ROUNDS} rounds)", median(&mut ratios));
    println!("stored drive  {:9.0} random reads/s", median(&mut reads));
    drive.close()?;
    Ok(())
}
