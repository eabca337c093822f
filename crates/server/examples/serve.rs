//! Serves a stored drive without Python until standard input ends:
//!
//! ```sh
//! cargo run --release -p flashgc-server --example serve -- drive.flash --nbd 127.0.0.1:10809 --nvme-tcp 127.0.0.1:4420
//! ```
//!
//! `flashgc device create` makes the file. With `--blocks N` this program makes it if there is
//! none, with the policy `greedy`. `--control PATH` is the control socket, and `--record FILE`
//! records all requests as a trace. At the end it prints the drive's state as JSON.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flashgc_device::media::FileMedia;
use flashgc_device::{Drive, Durability, Settings};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};
use flashgc_server::{Opening, StoredDrive};

const USAGE: &str = "usage: serve FILE [--blocks N] [--nbd ADDRESS] [--nvme-tcp ADDRESS] \
                     [--control PATH] [--record FILE]";

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match serve(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let path = PathBuf::from(arguments.next().ok_or(USAGE)?);
    let mut options = Vec::new();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match option.as_str() {
            "--blocks" if path.exists() => {}
            "--blocks" => create(&path, value.parse()?)?,
            _ => options.push((option, value)),
        }
    }
    let drive = StoredDrive::open(Opening { path, ..Opening::default() })?;
    for (option, value) in &options {
        match option.as_str() {
            "--nbd" => drop(drive.serve_nbd(value, None, false)?),
            "--nvme-tcp" => drop(drive.serve_nvme_tcp(value, None, false)?),
            "--control" => drive.serve_control(Path::new(value), None)?,
            "--record" => drop(drive.record(Some(Path::new(value)))?),
            _ => return Err(USAGE.into()),
        }
    }
    for line in drive.state().serving() {
        println!("{line}");
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drive.stop_serving()?;
    println!("{}", drive.state().stat().map_err(|failure| failure.to_string())?);
    drive.close()?;
    Ok(())
}

/// Makes a drive of `blocks` blocks of 64 pages in a new file, with a spare factor of 0.1.
fn create(path: &Path, blocks: u32) -> Result<(), Failure> {
    let geometry = Geometry::with_spare(blocks, 64, 0.1)?;
    let settings = Settings {
        layout: Layout {
            frontier: Frontier::Pool { low: 2 },
            fill: Fill::Empty,
            ..Layout::new(geometry)
        },
        victim: Victim::Registered(VictimSpec::parse("greedy")?),
        journal_blocks: Settings::JOURNAL_BLOCKS,
        durability: Durability::Process,
        streams: None,
        parity: None,
    };
    let mut uuid = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut uuid)?;
    let mut media = FileMedia::create(path, settings.file_bytes()?)?;
    Ok(Drive::create(&mut media, &settings, uuid)?)
}
