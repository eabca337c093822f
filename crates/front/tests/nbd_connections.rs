//! Clients that disconnect, that read nothing or that send garbage; limits of connections;
//! addresses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::client::*;
use flashgc_device::Backend;
use flashgc_front::limits::Limits;
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 100;
const SIZE: u64 = PAGES * 4096;
const MIB: u32 = 1 << 20;

struct Setup {
    server: NbdServer,
    engine: Engine<Ram>,
}

fn serve(drive: Ram) -> Setup {
    serve_with(drive, Limits::default())
}

fn serve_with(drive: Ram, limits: Limits) -> Setup {
    let engine = Engine::start(drive).unwrap();
    let address = NbdAddress::Tcp("127.0.0.1:0".into());
    let listener = NbdServer::listen(&address).unwrap();
    let server =
        NbdServer::start_with(engine.queue(), &address, listener, NbdExport::default(), limits)
            .unwrap();
    Setup { server, engine }
}

fn full(pages: u64) -> Ram {
    let mut drive = Ram::new(pages);
    drive.write(0, &vec![1; pages as usize * 4096], false).unwrap();
    drive
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn clients_that_go_in_the_middle_cost_nothing() {
    let setup = serve(Ram::new(PAGES));
    let mut whole = Client::ready(setup.server.address(), false);
    whole.write(0, b"whole").unwrap();
    for length in [0, 1, 4095] {
        let mut client = Client::ready(setup.server.address(), true);
        // A write whose data do not arrive completely is not executed.
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

/// A client sends many requests and reads no reply. Others are served, and the server can stop.
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
    // The drive reads data only for the requests that may be under way.
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
    let address = NbdAddress::Unix(folder.path().join("s"));
    let engine = Engine::start(Ram::new(PAGES)).unwrap();
    let start = || NbdServer::start(engine.queue(), &address, NbdExport::default());
    let server = start().unwrap();
    assert_eq!(Client::ready(&address, true).read(0, 1), Ok(vec![0]));
    assert_eq!(start().err().unwrap().kind(), std::io::ErrorKind::AddrInUse);
    server.stop();
    assert!(!folder.path().join("s").exists());
    // A killed server leaves the file of its socket.
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap());
    drop(start().unwrap());
    // A file that is no socket is not replaced.
    std::fs::write(folder.path().join("s"), "data").unwrap();
    start().err().unwrap();
    assert_eq!(std::fs::read(folder.path().join("s")).unwrap(), b"data");
}

#[test]
fn more_connections_than_are_served_are_closed_and_those_that_end_make_room() {
    let limits = Limits { newcomer: Duration::from_secs(60), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), limits);
    let mut all: Vec<_> = (0..128).map(|_| Client::greeted(setup.server.address(), 3)).collect();
    assert!(Client::connect(setup.server.address()).is_refused());
    all.truncate(127);
    let until = Instant::now() + Duration::from_secs(10);
    while Client::connect(setup.server.address()).is_refused() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Each byte arrives in time, but the whole negotiation takes too long.
#[test]
fn a_negotiation_that_trickles_ends() {
    let setup = serve_with(Ram::new(PAGES), Limits { negotiation: ms(300), ..Limits::default() });
    let mut client = Client::greeted(setup.server.address(), 3);
    let before = Instant::now();
    // An option of 100 bytes.
    let option = [&IHAVEOPT.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 0, 100], &[0; 100]].concat();
    for byte in option {
        client.send(&[byte]);
        std::thread::sleep(ms(20));
        if before.elapsed() > ms(1000) {
            break;
        }
    }
    let after = Instant::now();
    assert!(client.is_closed() && after.elapsed() < ms(200), "closed while it trickled");
}

#[test]
fn clients_that_never_asked_give_their_places_to_new_ones() {
    let limits = Limits { connections: 4, newcomer: ms(100), idle: ms(100), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), limits);
    let address = setup.server.address();
    // This client has been silent for the longest time, but it has sent a request.
    let mut user = Client::ready(address, true);
    user.read(0, 1).unwrap();
    std::thread::sleep(ms(20));
    let mut idle: Vec<_> = (0..3).map(|_| Client::ready(address, true)).collect();
    assert!(Client::connect(address).is_refused(), "they are too new to be thrown out");
    std::thread::sleep(ms(120));
    let mut others: Vec<_> = (0..3)
        .map(|_| {
            let before = Instant::now();
            let mut other = Client::ready(address, true);
            assert_eq!(other.read(0, 1), Ok(vec![0]));
            assert!(before.elapsed() < ms(100));
            other
        })
        .collect();
    assert!(idle.iter_mut().all(Client::is_closed));
    assert_eq!(user.read(0, 1), Ok(vec![0]));
    assert!(others.iter_mut().all(|other| other.read(0, 1).is_ok()));
}

#[test]
fn of_clients_that_asked_the_longest_idle_gives_its_place() {
    let limits = Limits { connections: 3, idle: ms(200), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), limits);
    let address = setup.server.address();
    let mut all: Vec<_> = (0..3).map(|_| Client::ready(address, true)).collect();
    for client in &mut all {
        client.read(0, 1).unwrap();
        std::thread::sleep(ms(20));
    }
    std::thread::sleep(ms(250));
    all[0].read(0, 1).unwrap();
    let mut other = Client::ready(address, true);
    other.read(0, 1).unwrap();
    assert!(all[1].is_closed());
    assert!(all[0].read(0, 1).is_ok() && all[2].read(0, 1).is_ok());
}

/// A silent client keeps its place while no other client needs it.
#[test]
fn an_idle_client_stays_while_there_is_room() {
    let limits = Limits { patience: ms(50), idle: ms(50), newcomer: ms(50), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), limits);
    let mut client = Client::ready(setup.server.address(), true);
    std::thread::sleep(ms(300));
    assert_eq!(client.read(0, 1), Ok(vec![0]));
    std::thread::sleep(ms(300));
    assert_eq!(client.read(0, 1), Ok(vec![0]));
}

#[test]
fn a_client_that_takes_nothing_or_sends_half_a_request_is_closed() {
    let limits = Limits { patience: ms(300), ..Limits::default() };
    let setup = serve_with(full(16 << 8), limits);
    let address = setup.server.address();
    let mut deaf = Client::ready(address, false);
    deaf.send_request(READ, 0, 0, 16 * MIB, &[]);
    let mut head = Client::ready(address, false);
    head.send(&[0x25, 0x60]);
    let mut body = Client::ready(address, false);
    body.send_request(WRITE, 0, 0, MIB, &[7; 1000]);
    let before = Instant::now();
    let mut trickle = Client::ready(address, false);
    trickle.send_request(WRITE, 0, 0, MIB, &[]);
    while before.elapsed() < ms(900) {
        trickle.send(&[7]);
        std::thread::sleep(ms(20));
    }
    let after = Instant::now();
    assert!(trickle.is_closed() && after.elapsed() < ms(200), "closed while it trickled");
    for mut client in [deaf, head, body] {
        // Bytes that are in the kernel's buffers still arrive.
        assert!(client.is_closed());
    }
    assert!(before.elapsed() < ms(3000));
    assert_eq!(Client::ready(address, false).read(0, 1), Ok(vec![1]));
}

/// Slow readers hold as much room as they are allowed to, and other clients are served.
#[test]
fn slow_readers_fill_their_room_alone() {
    const SHARED: u64 = 12;
    const OWN: u64 = 1;
    const SLOW: u64 = 12;
    let drive = full(4 << 8);
    let counts = drive.counts();
    let limits = Limits {
        own: (OWN as usize) << 20,
        // Beyond the slow readers' share, the room is less than a request of the other client.
        shared: ((SHARED as usize) << 20) + (128 << 10),
        stalled: Duration::from_secs(60),
        ..Limits::default()
    };
    let setup = serve_with(drive, limits);
    let address = setup.server.address();
    let slow: Vec<_> = (0..SLOW)
        .map(|_| {
            let mut client = Client::ready(address, true);
            for _ in 0..20 {
                client.send_request(READ, 0, 0, 4 * MIB, &[]);
            }
            client
        })
        .collect();
    std::thread::sleep(ms(500));
    let read = || counts.read.load(Ordering::SeqCst) >> 8;
    // The kernel buffers some of the read data: a little more than 4 MiB for each socket.
    let most = SHARED + SLOW * (OWN + 8);
    assert!((SHARED / 2..=most).contains(&read()), "{} MiB read, expected {most}", read());
    for _ in 0..50 {
        let before = Instant::now();
        let mut other = Client::ready(address, true);
        other.read(0, MIB / 2).unwrap();
        other.write(0, &[1; 4096]).unwrap();
        assert!(before.elapsed() < ms(100), "{:?}", before.elapsed());
    }
    drop(slow);
}

/// A large request needs the room that slow readers hold, so these are closed after a while.
#[test]
fn slow_readers_give_way_where_their_room_is_needed() {
    let limits = Limits { shared: 8 << 20, stalled: ms(200), ..Limits::default() };
    let setup = serve_with(full(8 << 8), limits);
    let address = setup.server.address();
    let mut slow: Vec<_> = (0..4)
        .map(|_| {
            let mut client = Client::ready(address, true);
            for _ in 0..8 {
                client.send_request(READ, 0, 0, 8 * MIB, &[]);
            }
            client
        })
        .collect();
    std::thread::sleep(ms(400));
    let before = Instant::now();
    let mut other = Client::ready(address, true);
    assert_eq!(other.read(0, 8 * MIB).map(|data| data.len()), Ok(8 << 20));
    assert!(before.elapsed() < ms(3000), "{:?}", before.elapsed());
    assert!(slow.iter_mut().any(Client::is_closed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// If a client sends random bytes as options or requests, the connection ends, but the server
    /// goes on.
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
