//! Clients that go, that listen to nothing or that send garbage; connections and where they come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::client::*;
use flashgc_device::Served;
use flashgc_device::front::nbd::{Address, Export, Server};
use flashgc_device::front::queue::Engine;
use flashgc_device::front::ram::Ram;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 100;
const SIZE: u64 = PAGES * 4096;
const MIB: u32 = 1 << 20;

struct Setup {
    server: Server,
    engine: Engine<Ram>,
}

fn serve(drive: Ram) -> Setup {
    let engine = Engine::start(drive).unwrap();
    let address = Address::Tcp("127.0.0.1:0".into());
    Setup { server: Server::start(engine.queue(), &address, Export::default()).unwrap(), engine }
}

#[test]
fn clients_that_go_in_the_middle_cost_nothing() {
    let setup = serve(Ram::new(PAGES));
    let mut whole = Client::ready(setup.server.address(), false);
    whole.write(0, b"whole").unwrap();
    for length in [0, 1, 4095] {
        let mut client = Client::ready(setup.server.address(), true);
        // A write of which the data do not all come is not executed.
        client.send_request(WRITE, 0, 0, 4096, &vec![9; length]);
    }
    for _ in 0..20 {
        let mut client = Client::ready(setup.server.address(), true);
        for _ in 0..50 {
            client.send_request(READ, 0, 0, SIZE as u32, &[]);
        }
    }
    let mut garbage = Client::ready(setup.server.address(), true);
    garbage.send(&[0xab; 28]);
    assert!(garbage.is_closed());
    assert_eq!(whole.read(0, 6), Ok(b"whole\0".to_vec()));
}

/// A client asks for much and reads nothing: others are served, and the server can stop.
#[test]
fn a_client_that_reads_no_replies_holds_up_nobody() {
    let mut drive = Ram::new(32 << 8);
    drive.write(0, &vec![1; 32 << 20], false).unwrap();
    let counts = drive.counts();
    let setup = serve(drive);
    let address = setup.server.address().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let deaf = {
        let (address, stop) = (address.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut client = Client::ready(&address, true);
            for _ in 0..50 {
                client.send_request(READ, 0, 0, 32 * MIB, &[]);
            }
            while !stop.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let mut other = Client::ready(&address, true);
    for _ in 0..100 {
        other.write(0, &[1; 4096]).unwrap();
        other.read(0, 4096).unwrap();
    }
    // Nothing more is read for it than what may be under way.
    let read = || counts.read.load(Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(5);
    while read() < 32 << 8 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!((32 << 8..=100 + (64 << 8)).contains(&read()), "{} pages", read());
    let before = Instant::now();
    setup.server.stop();
    assert!(before.elapsed() < Duration::from_secs(5));
    assert!(other.is_closed());
    assert!(read() <= 100 + (64 << 8), "the rest is not read for who is gone");
    stop.store(true, Ordering::SeqCst);
    deaf.join().unwrap();
    setup.engine.stop().1.unwrap();
}

#[test]
fn a_stopped_drive_says_so_and_the_server_still_stops() {
    let setup = serve(Ram::new(PAGES));
    let mut client = Client::ready(setup.server.address(), true);
    setup.engine.stop().1.unwrap();
    assert_eq!(client.read(0, 1), Err(108));
    setup.server.stop();
    assert!(client.is_closed());
}

#[test]
fn a_unix_socket_is_taken_over_from_the_dead_alone() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("s"));
    let engine = Engine::start(Ram::new(PAGES)).unwrap();
    let start = || Server::start(engine.queue(), &address, Export::default());
    let server = start().unwrap();
    assert_eq!(Client::ready(&address, true).read(0, 1), Ok(vec![0]));
    assert_eq!(start().err().unwrap().kind(), std::io::ErrorKind::AddrInUse);
    server.stop();
    assert!(!folder.path().join("s").exists());
    // A killed server leaves its socket.
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap());
    drop(start().unwrap());
    // A file is nobody's to take.
    std::fs::write(folder.path().join("s"), "data").unwrap();
    start().err().unwrap();
    assert_eq!(std::fs::read(folder.path().join("s")).unwrap(), b"data");
}

#[test]
fn more_connections_than_are_served_are_closed_and_those_that_end_make_room() {
    let setup = serve(Ram::new(PAGES));
    let mut all: Vec<_> = (0..64).map(|_| Client::greeted(setup.server.address(), 3)).collect();
    assert!(Client::connect(setup.server.address()).is_refused());
    all.truncate(63);
    let until = Instant::now() + Duration::from_secs(10);
    while Client::connect(setup.server.address()).is_refused() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any bytes in place of options or requests: the connection ends, the server does not.
    #[test]
    fn garbage_is_answered_or_closed(
        bytes in vec(any::<u8>(), 0..200), magic in any::<bool>(), ready in any::<bool>()
    ) {
        let setup = serve(Ram::new(PAGES));
        let address = setup.server.address();
        let mut client = if ready { Client::ready(address, true) } else { Client::greeted(address, 3) };
        let start = if ready { 0x2560_9513_u32.to_be_bytes().to_vec() }
            else { IHAVEOPT.to_be_bytes().to_vec() };
        client.send(&if magic { [start, bytes].concat() } else { bytes });
        client.end();
        prop_assert!(client.is_closed());
        prop_assert_eq!(Client::ready(address, true).read(0, 1), Ok(vec![0]));
    }
}
