//! Tests of the example `serve` with hosts: it serves a drive without Python.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::client::{self, Client};
use crate::initiator::{Host, Queue, Wanted};
use flashgc_front::nbd;
use flashgc_server::{Clock, Opening, Past, ServerError, StoredDrive};

const PAGE: usize = 4096;

/// The process of the example. When this value is dropped, it is killed.
struct Server {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    /// The address and the NVMe qualified name of NVMe/TCP.
    nvme: (String, String),
}

impl Server {
    fn start(file: &Path, socket: &Path) -> Self {
        // The test program is in `deps`, beside the folder of examples.
        let suite = std::env::current_exe().unwrap();
        let program = suite.ancestors().nth(2).unwrap().join("examples/serve");
        let mut child = Command::new(program)
            .arg(file)
            .args(["--blocks", "64", "--nvme-tcp", "127.0.0.1:0", "--nbd"])
            .arg(format!("unix:{}", socket.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            line.trim_end().to_string()
        };
        let nvme = line();
        assert!(line().starts_with("nbd+unix:///?socket="));
        let [protocol, address, name] = nvme.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{nvme}")
        };
        assert_eq!(protocol, "nvme-tcp");
        let nvme = (address.to_string(), name.to_string());
        Self { child, lines, nvme }
    }

    fn host(&self) -> Host {
        let ((address, name), wanted) = (&self.nvme, Wanted::default());
        let mut admin = Queue::connect(address, name, &wanted, 0, 0xffff).unwrap();
        admin.enable();
        let queue = Queue::connect(address, name, &wanted, 1, admin.controller).unwrap();
        Host { admin, queues: vec![queue] }
    }

    /// Lets the server close the drive. Returns the drive's state.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut state = String::new();
        self.lines.read_to_string(&mut state).unwrap();
        assert!(self.child.wait().unwrap().success());
        state
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn hosts_of_both_protocols_share_a_drive_that_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let (file, socket) = (folder.path().join("drive"), folder.path().join("nbd"));
    let address = nbd::NbdAddress::Unix(socket.clone());
    let page = |byte: u8| vec![byte; PAGE];
    let server = Server::start(&file, &socket);
    let (mut nvme, mut nbd) = (server.host(), Client::ready(&address, false));
    assert_eq!(nvme.admin.identify(0, 1).ok()[..8], 3686_u64.to_le_bytes());
    nvme.queues[0].write(7, 1, &page(1), 0).ok();
    assert_eq!(nbd.read(7 * PAGE as u64, PAGE as u32).unwrap(), page(1));
    nbd.write(8 * PAGE as u64, &page(2)).unwrap();
    assert_eq!(nvme.queues[0].read(8, 1, PAGE).ok(), page(2));
    nbd.request(client::TRIM, 0, 7 * PAGE as u64, PAGE as u32, &[]).unwrap();
    assert_eq!(nvme.queues[0].read(7, 1, PAGE).ok(), page(0));
    nbd.request(client::FLUSH, 0, 0, 0, &[]).unwrap();
    drop(server); // killed
    let server = Server::start(&file, &socket);
    assert_eq!(server.host().queues[0].read(8, 1, PAGE).ok(), page(2));
    let state = server.end();
    assert!(state.contains(r#""unsafe_shutdowns":1}"#), "{state}");
    assert!(state.contains(r#""host_pages_written":2,"#), "{state}");
    let state = Server::start(&file, &socket).end();
    assert!(state.contains(r#""unsafe_shutdowns":1}"#), "{state}");
}

#[test]
fn a_closed_drive_refuses_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (path, socket) = (folder.path().join("drive"), folder.path().join("nbd"));
    Server::start(&path, &socket).end();
    let drive = StoredDrive::open(Opening { path, ..Opening::default() }).unwrap();
    drive.close().unwrap();
    drive.close().unwrap();
    let closed = [
        drive.read(0, PAGE).map(drop),
        drive.serve_nbd("127.0.0.1:0", None, false).map(drop),
        drive.clear(None).map(drop),
        drive.stop_serving(),
    ];
    for result in closed {
        assert_eq!(result.unwrap_err().to_string(), "the drive is closed");
    }
}

#[test]
fn other_machines_are_served_only_if_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (path, socket) = (folder.path().join("drive"), folder.path().join("nbd"));
    Server::start(&path, &socket).end();
    let drive = StoredDrive::open(Opening { path, ..Opening::default() }).unwrap();
    let refused = drive.serve_nvme_tcp("0.0.0.0:0", None, false).unwrap_err();
    assert!(matches!(&refused, ServerError::Config(text) if text.contains("other machines")));
    drive.serve_nvme_tcp("0.0.0.0:0", None, true).unwrap();
}

#[test]
fn a_clock_has_a_sensible_speed() {
    let refused = Clock::new("{}", 0.5, Past::Times(0.0), None).err().unwrap();
    assert!(refused.to_string().starts_with("slower: found 0.5, expected 1 to 1000000"));
}
