//! A server is killed while a file system is mounted on a loop device on its drive, and another
//! server takes over.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common;
use crate::machine::{Folder, Loop, Mounted, has_fuse, has_loop, run};
use flashgc_device::media::FileMedia;
use flashgc_device::{Drive, Durability, Settings};
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use flashgc_ftl::{Geometry, Layout};

const FILE: &str = "FLASHGC_TEST_DRIVE";
const FOLDER: &str = "FLASHGC_TEST_FOLDER";

fn settings() -> Settings {
    let small = common::plain();
    let geometry = Geometry::with_spare(400, 64, 0.2).unwrap();
    let layout = Layout { geometry, ..small.layout };
    Settings { layout, journal_blocks: 256, durability: Durability::Process, ..small }
}

/// Serves a drive in the child process. It is not a test by itself.
#[test]
fn serve_until_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let folder = std::env::var_os(FOLDER).unwrap();
    let media = FileMedia::open(Path::new(&file)).unwrap();
    let drive = Drive::open(Box::new(media), &settings()).unwrap();
    let engine = Engine::start(drive).unwrap();
    let _mount = Mount::new(engine.queue(), Path::new(&folder)).unwrap();
    println!("\nserved");
    loop {
        std::thread::park();
    }
}

/// The child process. When this value is dropped, it is killed.
struct Server(Child);

impl Server {
    fn start(file: &Path, folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["killed::serve_until_killed", "--exact", "--nocapture"]);
        command.env(FILE, file).env(FOLDER, folder).stdout(Stdio::piped());
        let mut server = Self(command.spawn().unwrap());
        let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "served"), "it did not start");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_file_system_survives_the_kill_of_its_server() {
    let test = "a_file_system_survives_the_kill_of_its_server";
    if !has_fuse(test) || !has_loop(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive");
    let mut media = FileMedia::create(&file, settings().file_bytes().unwrap()).unwrap();
    Drive::create(&mut media, &settings(), common::UUID).unwrap();
    drop(media);
    let mounted = Folder::new();
    for round in 0..4_u8 {
        let server = Server::start(&file, mounted.path());
        FileMedia::open(&file).err().expect("one drive has one server");
        let device = Loop::new(&mounted.path().join("disk"));
        if round == 0 {
            run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.device));
        } else {
            // Replays the journal of the file system. Nothing else must need a repair.
            let status = Command::new("e2fsck").arg("-p").arg(&device.device).output().unwrap();
            assert!(matches!(status.status.code(), Some(0 | 1)), "{status:?}");
            run(Command::new("e2fsck").args(["-f", "-n"]).arg(&device.device));
        }
        let place = Folder::new();
        let file_system = Mounted::new(&device.device, &place);
        for before in 0..round {
            let kept = std::fs::read(place.path().join(format!("synced {before}"))).unwrap();
            assert!(kept == vec![before + 1; 3_000_000], "round {before}, {} bytes", kept.len());
        }
        let synced = place.path().join(format!("synced {round}"));
        std::fs::write(&synced, vec![round + 1; 3_000_000]).unwrap();
        std::fs::File::open(&synced).unwrap().sync_all().unwrap();
        std::fs::write(place.path().join("not synced"), vec![99; 5_000_000]).unwrap();
        drop(server); // killed while the system is writing back
        let late = std::fs::File::create(place.path().join("late"));
        let late = late.and_then(|file| file.sync_all());
        assert!(late.is_err(), "nobody is there to take it");
        run(Command::new("umount").arg("-l").arg(place.path()));
        drop((file_system, device));
    }
}
