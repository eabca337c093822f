//! Other NBD programs as clients of the server. Each test is skipped if its program is not
//! installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use crate::machine::{have, run};
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::{Counts, Ram};

/// The number of pages of the drive: 16 MiB.
const PAGES: u64 = 4 << 10;
const SIZE: usize = 16 << 20;

struct Setup {
    server: NbdServer,
    folder: tempfile::TempDir,
    counts: Arc<Counts>,
    _engine: Engine<Ram>,
}

impl Setup {
    fn new(unix: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let drive = Ram::new(PAGES);
        let counts = drive.counts();
        let engine = Engine::start(drive).unwrap();
        let address = if unix {
            NbdAddress::Unix(folder.path().join("socket"))
        } else {
            NbdAddress::Tcp("127.0.0.1:0".into())
        };
        let export = NbdExport { name: "drive".into(), ..NbdExport::default() };
        let server = NbdServer::start(engine.queue(), &address, export).unwrap();
        Self { server, folder, counts, _engine: engine }
    }

    fn uri(&self) -> String {
        self.server.address().to_string()
    }

    /// Writes a file of the drive's size: data, a hole, data. Returns its path and its bytes.
    fn image(&self) -> (PathBuf, Vec<u8>) {
        let mut data: Vec<u8> = (0..SIZE as u32)
            .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
            .take(SIZE)
            .collect();
        data[SIZE / 4..SIZE / 2].fill(0);
        let path = self.folder.path().join("image");
        std::fs::write(&path, &data).unwrap();
        (path, data)
    }
}

fn same(path: &Path, data: &[u8]) {
    assert!(std::fs::read(path).unwrap() == data, "{}", path.display());
}

#[test]
fn nbdinfo_sees_what_the_server_can() {
    if !have("nbdinfo_sees_what_the_server_can", &["nbdinfo"]) {
        return;
    }
    for unix in [false, true] {
        let setup = Setup::new(unix);
        let told = run(Command::new("nbdinfo").arg(setup.uri()));
        for line in [
            "protocol: newstyle-fixed without TLS, using structured packets",
            "export-size: 16777216 (16M)",
            "base:allocation",
            "is_read_only: false",
            "can_cache: true",
            "can_df: true",
            "can_fast_zero: false",
            "can_flush: true",
            "can_fua: true",
            "can_multi_conn: true",
            "can_trim: true",
            "can_zero: true",
            "block_size_minimum: 1",
            "block_size_preferred: 4096",
            "block_size_maximum: 33554432",
        ] {
            assert!(told.contains(line), "{line} is not in\n{told}");
        }
        assert!(
            run(Command::new("nbdinfo").args(["--list"]).arg(setup.uri())).contains("\"drive\"")
        );
        let map = run(Command::new("nbdinfo").arg("--map").arg(setup.uri()));
        let words: Vec<_> = map.split_whitespace().collect();
        assert_eq!(words, ["0", "16777216", "3", "hole,zero"]);
    }
}

#[test]
fn nbdcopy_copies_there_and_back() {
    if !have("nbdcopy_copies_there_and_back", &["nbdcopy", "nbdinfo"]) {
        return;
    }
    for unix in [false, true] {
        let setup = Setup::new(unix);
        let (image, data) = setup.image();
        run(Command::new("nbdcopy").arg("--flush").arg(&image).arg(setup.uri()));
        assert!(setup.counts.flushes.load(SeqCst) > 0);
        let back = setup.folder.path().join("back");
        run(Command::new("nbdcopy").arg(setup.uri()).arg(&back));
        same(&back, &data);
        let map = run(Command::new("nbdinfo").arg("--map").arg(setup.uri()));
        let hole = map.lines().find(|line| line.contains("hole,zero")).expect("a hole");
        let words: Vec<_> = hole.split_whitespace().collect();
        assert_eq!(words, ["4194304", "4194304", "3", "hole,zero"], "{map}");
    }
}

#[test]
fn qemu_img_converts_compares_and_maps() {
    if !have("qemu_img_converts_compares_and_maps", &["qemu-img"]) {
        return;
    }
    let setup = Setup::new(true);
    let (image, data) = setup.image();
    let qemu = |arguments: &[&str]| run(Command::new("qemu-img").args(arguments));
    let (image, uri) = (image.to_str().unwrap(), setup.uri());
    qemu(&["convert", "-n", "-f", "raw", "-O", "raw", image, &uri]);
    qemu(&["compare", "-f", "raw", "-F", "raw", image, &uri]);
    let map = qemu(&["map", "--output=json", "-f", "raw", &uri]);
    assert!(map.contains("\"start\": 4194304, \"length\": 4194304"), "{map}");
    let back = setup.folder.path().join("back");
    qemu(&["convert", "-f", "raw", "-O", "raw", &uri, back.to_str().unwrap()]);
    same(&back, &data);
}

#[test]
fn qemu_io_discards_and_writes_zeroes() {
    if !have("qemu_io_discards_and_writes_zeroes", &["qemu-io"]) {
        return;
    }
    let setup = Setup::new(false);
    let commands = [
        "write -P 7 0 1M",
        "discard 64k 64k",
        "read -P 0 64k 64k",
        "write -z 256k 64k",
        "read -P 0 256k 64k",
        "write -z -u 384k 64k",
        "read -P 0 384k 64k",
        "write -f -P 9 4095 513",
        "read -P 9 4095 513",
        "read -P 7 0 4095",
        "flush",
    ];
    let told = run(Command::new("qemu-io")
        .args(["-f", "raw", "-t", "none"])
        .args(commands.iter().flat_map(|command| ["-c", command]))
        .arg(setup.uri()));
    assert!(!told.contains("fail"), "{told}");
    // The discard, and the zeroes that may become holes, have 16 pages each.
    assert_eq!(setup.counts.trimmed.load(SeqCst), 32);
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !have("fio_verifies_what_it_wrote", &["fio"]) {
        return;
    }
    for size in ["4k", "512"] {
        let setup = Setup::new(true);
        let told = run(Command::new("fio")
            .args(["--name=verify", "--ioengine=nbd", "--rw=randwrite", "--iodepth=32"])
            .args(["--verify=crc32c", "--do_verify=1", "--size=4m", "--fsync=64"])
            .arg(format!("--bs={size}"))
            .arg(format!("--uri={}", setup.uri()))
            .current_dir(setup.folder.path()));
        assert!(told.contains("err= 0"), "{told}");
        assert!(setup.counts.flushes.load(SeqCst) > 0);
    }
}
