//! The control socket: the effect of every request, and wrong clients that a server must survive.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use flashgc_front::command::{Answer, Command};
use flashgc_front::control::request::Pages;
use flashgc_front::control::{
    ClientError, ControlClient, ControlServer, ControlStatus, FileStream, Keeper,
};
use flashgc_front::faults::{Effect, Fault};
use flashgc_front::queue::Engine;
use flashgc_front::ram::{Counts, Ram};
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 20_000;
/// The server's patience in these tests: longer than a correct client needs on a slow machine.
const PATIENCE: Duration = Duration::from_secs(1);

/// A keeper that logs its calls. Its map is larger than the buffer of a socket.
#[derive(Default)]
struct Told {
    recorded: Mutex<Vec<Option<PathBuf>>>,
    files: Mutex<Vec<(u64, Vec<FileStream>)>>,
    stopped: AtomicBool,
}

impl Keeper for Told {
    fn stat(&self) -> Result<String, String> {
        Ok(r#"{"write_amplification": 1.5}"#.into())
    }
    fn blocks(&self) -> Result<Vec<u8>, String> {
        Ok(vec![7; 8 << 20])
    }
    fn record(&self, file: Option<&Path>) -> Result<String, String> {
        self.recorded.lock().unwrap().push(file.map(Path::to_owned));
        match file {
            Some(file) if file.ends_with("bad") => Err("no such folder".into()),
            Some(_) => Ok("recording".into()),
            None => panic!("a keeper that panics takes its client along, and nobody else"),
        }
    }
    fn mark(&self, name: &str) -> Result<String, String> {
        match name {
            "late" => Err("too many phases".into()),
            name => Ok(format!("phase 1: {name}")),
        }
    }
    fn files(&self, device: u64, files: &[FileStream]) -> Result<(), String> {
        self.files.lock().unwrap().push((device, files.to_vec()));
        if device == 0 { Err("the server does not follow files".into()) } else { Ok(()) }
    }
    fn stop(&self) {
        self.stopped.store(true, SeqCst);
    }
}

struct Setup {
    path: PathBuf,
    keeper: Arc<Told>,
    counts: Arc<Counts>,
    server: ControlServer,
    engine: Engine<Ram>,
    _folder: tempfile::TempDir,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let drive = Ram::new(PAGES);
        let (counts, keeper) = (drive.counts(), Arc::<Told>::default());
        let engine = Engine::start(drive).unwrap();
        let server =
            ControlServer::start_with(engine.queue(), &path, keeper.clone(), PATIENCE).unwrap();
        Self { path, keeper, counts, server, engine, _folder: folder }
    }

    fn client(&self) -> ControlClient {
        ControlClient::connect(&self.path).unwrap()
    }

    fn write(&self, page: u64, count: usize) {
        let data = vec![1; count * 4096];
        let write = Command::Write { at: page * 4096, data, fua: false, streams: vec![] };
        assert_eq!(self.engine.queue().call(write), Ok(Answer::Done));
    }

    /// Returns a bare connection, for bytes that may break the protocol.
    fn raw(&self) -> UnixStream {
        let socket = UnixStream::connect(&self.path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }
}

fn pages(first: u64, count: u64) -> Pages {
    Pages { first, count }
}

fn status<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> (ControlStatus, String) {
    match outcome {
        Err(ClientError::Failed { status, text }) => (status, text),
        other => panic!("{other:?}"),
    }
}

fn frame(length: u32, kind: u16, zero: u16, body: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes()[..], &kind.to_le_bytes(), &zero.to_le_bytes(), body].concat()
}

fn whole(kind: u16, body: &[u8]) -> Vec<u8> {
    frame(body.len() as u32, kind, 0, body)
}

fn hello() -> Vec<u8> {
    whole(1, b"flashgc\0\x02\0\0\0")
}

/// Returns the statuses of all answers until the server closes the connection.
fn answers(mut socket: UnixStream) -> Vec<u16> {
    let mut bytes = Vec::new();
    if let Err(error) = socket.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    let (mut rest, mut statuses) = (bytes.as_slice(), Vec::new());
    while let [a, b, c, d, low, high, 0, 0, body @ ..] = rest {
        statuses.push(u16::from_le_bytes([*low, *high]));
        rest = &body[u32::from_le_bytes([*a, *b, *c, *d]) as usize..];
    }
    assert!(rest.is_empty(), "half an answer");
    statuses
}

#[test]
fn hints_hold_from_a_moment_and_are_taken_back() {
    let setup = Setup::new();
    let mut client = setup.client();
    assert_eq!((client.pages(), client.moment().unwrap()), (PAGES, 0));
    setup.write(3, 4);
    let moment = client.moment().unwrap();
    assert_eq!(moment, 4);
    setup.write(5, 4);
    // Pages 5 to 8 were written after the moment.
    let ranges = [pages(0, 6), pages(7, 1), pages(8, 2)];
    assert_eq!(client.hint(Some(moment), &ranges).unwrap(), 3);
    assert_eq!(setup.counts.hinted.load(SeqCst), 6);
    client.cancel(&ranges[..1]).unwrap();
    assert_eq!(setup.counts.hinted.load(SeqCst), 0);
    assert_eq!(client.hint(None, &ranges).unwrap(), 0);
    let (refused, text) = status(client.hint(Some(9), &ranges));
    assert_eq!(refused, ControlStatus::Refused);
    assert!(text.contains("moment 9 is later than the drive's present moment, 8"), "{text}");
}

/// A list that is longer than a request can be, and a range that is longer than the server's step.
#[test]
fn long_requests_are_done_in_parts() {
    let setup = Setup::new();
    let mut client = setup.client();
    setup.write(0, PAGES as usize);
    let odd: Vec<Pages> = (0..PAGES / 2).map(|page| pages(2 * page + 1, 1)).collect();
    client.trim(&odd).unwrap();
    assert_eq!(setup.counts.trimmed.load(SeqCst), PAGES / 2);
    assert_eq!(client.hint(Some(0), &[pages(0, PAGES)]).unwrap(), PAGES / 2);
    client.trim(&[pages(0, PAGES)]).unwrap();
    assert_eq!(setup.counts.trimmed.load(SeqCst), PAGES / 2 + PAGES);
}

#[test]
fn a_flush_flushes_and_the_keeper_is_asked_for_the_rest() {
    let setup = Setup::new();
    let mut client = setup.client();
    client.flush().unwrap();
    assert_eq!(setup.counts.flushes.load(SeqCst), 1);
    assert_eq!(client.stat().unwrap(), r#"{"write_amplification": 1.5}"#);
    assert_eq!(client.blocks().unwrap(), vec![7; 8 << 20]);
    assert_eq!(client.record(Some(Path::new("a.trace"))).unwrap(), "recording");
    let bad = status(client.record(Some(Path::new("/bad"))));
    assert_eq!(bad, (ControlStatus::Refused, "no such folder".into()));
    let here = std::path::absolute("a.trace").unwrap();
    assert_eq!(*setup.keeper.recorded.lock().unwrap(), [Some(here), Some("/bad".into())]);
    client.stop().unwrap();
    // The keeper is called after the answer.
    client.moment().unwrap();
    assert!(setup.keeper.stopped.load(SeqCst));
    // A keeper that panics.
    assert!(matches!(client.record(None), Err(ClientError::Broken(_))));
    setup.client().flush().unwrap();
}

#[test]
fn pages_beyond_the_drive_are_refused_before_anything_is_done() {
    let setup = Setup::new();
    let mut client = setup.client();
    for bad in [pages(PAGES, 1), pages(0, PAGES + 1), pages(u64::MAX, 2), pages(1, u64::MAX)] {
        let ranges = [pages(0, 1), bad];
        assert_eq!(status(client.hint(None, &ranges)).0, ControlStatus::OutOfRange);
        assert_eq!(status(client.cancel(&ranges)).0, ControlStatus::OutOfRange);
        assert_eq!(status(client.trim(&ranges)).0, ControlStatus::OutOfRange);
    }
    // The ranges of one request must not have more pages than the drive.
    assert_eq!(status(client.trim(&[pages(0, PAGES), pages(0, 1)])).0, ControlStatus::OutOfRange);
    client.trim(&[pages(PAGES, 0)]).unwrap();
    assert_eq!(setup.counts.hinted.load(SeqCst) + setup.counts.trimmed.load(SeqCst), 0);
}

#[test]
fn a_drive_that_is_no_longer_served_says_so() {
    let setup = Setup::new();
    let mut client = setup.client();
    setup.engine.stop().1.unwrap();
    assert_eq!(status(client.moment()).0, ControlStatus::Stopped);
    assert_eq!(status(client.flush()).0, ControlStatus::Stopped);
}

#[test]
fn what_is_no_request_is_answered_once_and_the_connection_closed() {
    let setup = Setup::new();
    let greeted = |bytes: Vec<u8>| ([hello(), bytes, whole(2, &[])].concat(), vec![0, 1]);
    let cases = [
        // A first request that is not HELLO, a wrong name, another version.
        (whole(2, &[]), vec![1]),
        (whole(1, b"flashgcX\x01\0\0\0"), vec![1]),
        ([whole(1, b"flashgc\0\x01\0\0\0"), whole(2, &[])].concat(), vec![2]),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![1]),
        // Unknown kinds, wrong lengths, and nonzero bytes that must be 0.
        greeted(whole(0, &[])),
        greeted(whole(12, &[])),
        greeted(whole(2, b"x")),
        greeted(whole(3, &[0; 7])),
        greeted(whole(4, &[0; 17])),
        greeted(whole(11, &[0; 17])),
        greeted(whole(9, b"relative")),
        greeted(whole(9, b"/a\0b")),
        greeted(whole(9, &[b'/'; 4097])),
        greeted(frame(0, 2, 1, &[])),
        greeted(frame(u32::MAX, 4, 0, &[])),
        greeted(frame(65537, 4, 0, &[])),
    ];
    for (bytes, expected) in cases {
        let mut socket = setup.raw();
        let _ = socket.write_all(&bytes); // the server may have closed it already
        let found = answers(socket);
        // If the server closes with unread bytes, its last answer may be lost.
        assert!(found == expected || found.len() < expected.len(), "{bytes:?}: {found:?}");
    }
    setup.client().flush().unwrap();
}

#[test]
fn half_a_frame_is_given_up_and_holds_up_nobody() {
    let setup = Setup::new();
    let mut idle = setup.client();
    let mut silent = setup.raw();
    let mut half = setup.raw();
    half.write_all(&hello()[..3]).unwrap();
    let mut body = setup.raw();
    body.write_all(&[hello(), frame(16, 4, 0, &[1; 8])].concat()).unwrap();
    // A client that sends a byte now and then must be closed like one that hangs.
    let mut drop_by_drop = setup.raw();
    let started = Instant::now();
    let begun = std::thread::spawn(move || {
        let many = frame(60_000, 4, 0, &[]);
        drop_by_drop.write_all(&[hello(), many].concat()).unwrap();
        while drop_by_drop.write_all(&[0]).is_ok() {
            std::thread::sleep(PATIENCE / 20);
        }
    });
    setup.client().flush().unwrap();
    assert!(started.elapsed() < PATIENCE, "others are served at once");
    assert_eq!(silent.read(&mut [0; 99]).unwrap(), 0);
    assert_eq!(half.read(&mut [0; 99]).unwrap(), 0);
    assert_eq!(answers(body), [0]);
    begun.join().unwrap();
    let waited = started.elapsed();
    assert!(waited >= PATIENCE && waited < PATIENCE * 10, "{waited:?}");
    // A client that has sent HELLO may be silent as long as it likes.
    idle.flush().unwrap();
}

#[test]
fn a_client_that_reads_no_answers_is_left() {
    let setup = Setup::new();
    let mut deaf = setup.raw();
    deaf.write_all(&[hello(), whole(8, &[]), whole(8, &[])].concat()).unwrap();
    setup.client().flush().unwrap();
    std::thread::sleep(PATIENCE * 2);
    let mut bytes = Vec::new();
    let _ = deaf.read_to_end(&mut bytes);
    assert!(bytes.len() < 8 << 20, "the rest was not sent");
    setup.client().flush().unwrap();
}

#[test]
fn a_client_that_goes_in_the_middle_leaves_nothing() {
    let setup = Setup::new();
    for length in 0..60 {
        let mut socket = setup.raw();
        let bytes = [hello(), whole(8, &[]), whole(3, &[0; 24])].concat();
        socket.write_all(&bytes[..length]).unwrap();
    }
    // The number of connections is limited. Those of the clients before have ended, or will end
    // soon.
    let until = Instant::now() + PATIENCE * 10;
    let connected = || {
        let mut tries = std::iter::repeat_with(|| ControlClient::connect(&setup.path));
        tries.find(|client| client.is_ok() || Instant::now() >= until).unwrap().unwrap()
    };
    let clients: Vec<_> = (0..50).map(|_| connected()).collect();
    drop(clients);
    setup.client().flush().unwrap();
}

#[test]
fn a_server_stops_with_clients_connected() {
    let setup = Setup::new();
    let mut client = setup.client();
    let _silent = setup.raw();
    let started = Instant::now();
    drop(setup.server);
    assert!(started.elapsed() < PATIENCE * 10);
    assert!(matches!(client.flush(), Err(ClientError::Broken(_))));
    assert!(!setup.path.exists());
    let error = ControlClient::connect(&setup.path).err().unwrap().to_string();
    assert!(error.starts_with("no drive is served at"), "{error}");
}

#[test]
fn the_socket_is_its_owners_and_has_one_server() {
    let setup = Setup::new();
    let again = || ControlServer::start(setup.engine.queue(), &setup.path, setup.keeper.clone());
    assert_eq!(setup.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let error = again().err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains("is in use; hint:"), "{error}");
    setup.client().flush().unwrap();
    // If the file was removed and another server made a new one, the first server must not remove
    // the new file.
    std::fs::remove_file(&setup.path).unwrap();
    let second = again().unwrap();
    drop(setup.server);
    ControlClient::connect(second.path()).unwrap().flush().unwrap();
    drop(second);
    assert!(!setup.path.exists());
    // A file that is no socket stays. A file name can be too long, but a path cannot.
    std::fs::write(&setup.path, "mine").unwrap();
    let start =
        |path: &Path| ControlServer::start(setup.engine.queue(), path, setup.keeper.clone());
    start(&setup.path).err().unwrap();
    assert_eq!(std::fs::read(&setup.path).unwrap(), b"mine");
    let long = setup.path.with_file_name("x".repeat(200));
    assert_eq!(start(&long).err().unwrap().kind(), std::io::ErrorKind::InvalidInput);
    let nowhere = setup.path.join("no/such/folder");
    start(&nowhere).err().unwrap();
    let deep = setup.path.with_file_name("y".repeat(200));
    std::fs::create_dir(&deep).unwrap();
    let server = start(&deep.join("s")).unwrap();
    ControlClient::connect(server.path()).unwrap().flush().unwrap();
    drop(server);
    assert!(!deep.join("s").exists());
}

/// Several servers find the same abandoned socket at once. Only one of them replaces it.
#[test]
fn an_abandoned_socket_is_replaced_by_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let engine = Engine::start(Ram::new(1)).unwrap();
    for _ in 0..50 {
        drop(UnixListener::bind(&path).unwrap()); // the file of the socket stays
        let start = Barrier::new(4);
        let servers: Vec<_> = std::thread::scope(|scope| {
            let server = || {
                start.wait();
                ControlServer::start(engine.queue(), &path, Arc::<Told>::default()).ok()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(server)).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(servers.len(), 1);
        ControlClient::connect(&path).unwrap().flush().unwrap();
    }
}

/// Draws bytes that are almost requests.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        vec(any::<u8>(), 0..100),
        vec(0..PAGES + 2, 0..20).prop_map(|n| n.iter().flat_map(|n| n.to_le_bytes()).collect()),
    ];
    let near = (0..14_u16, body, prop_oneof![9 => Just(0_i64), 1 => -9..9_i64], 0..20_u16);
    let framed = near.prop_map(|(kind, body, wrong, zero)| {
        // Skips RECORD, as this keeper panics if a recording ends, and STOP.
        let kind = if kind >= 9 { kind + 2 } else { kind };
        frame((body.len() as i64 + wrong) as u32, kind, zero / 19, &body)
    });
    let bytes = prop_oneof![3 => framed, 1 => vec(any::<u8>(), 0..50)];
    (any::<bool>(), vec(bytes, 0..8)).prop_map(|(greets, pieces)| {
        let greeting = if greets { hello() } else { vec![] };
        greeting.into_iter().chain(pieces.concat()).collect()
    })
}

#[test]
fn garbage_harms_nobody() {
    let setup = Setup::new();
    let good = Mutex::new(setup.client());
    proptest!(ProptestConfig::with_cases(300), |(bytes in garbage())| {
        let mut socket = setup.raw();
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        for status in answers(socket) {
            prop_assert!(ControlStatus::of(status).is_some());
        }
        good.lock().unwrap().flush().unwrap();
    });
}

#[test]
fn a_phase_has_a_name_of_one_line() {
    let setup = Setup::new();
    let mut client = setup.client();
    assert_eq!(client.mark("load done").unwrap(), "phase 1: load done");
    assert_eq!(status(client.mark("late")), (ControlStatus::Refused, "too many phases".into()));
    for name in ["", "two\nlines", &"x".repeat(201)] {
        // Bytes that are no request end the connection.
        let mut client = setup.client();
        assert_eq!(status(client.mark(name)).0, ControlStatus::Malformed, "{name:?}");
    }
    assert_eq!(client.mark(&"x".repeat(200)).unwrap().len(), 209);
}

#[test]
fn files_have_streams() {
    let setup = Setup::new();
    let mut client = setup.client();
    let file = |inode| FileStream { inode, life: 3, stream: 1 };
    // More files than fit into one request.
    let many: Vec<FileStream> = (0..5000).map(file).collect();
    client.files(7 << 20, &many).unwrap();
    client.files(7 << 20, &[]).unwrap();
    let told = std::mem::take(&mut *setup.keeper.files.lock().unwrap());
    assert_eq!(told.iter().map(|(_, files)| files.len()).collect::<Vec<_>>(), [2048, 2048, 904, 0]);
    assert!(told.iter().all(|&(device, _)| device == 7 << 20));
    assert_eq!(told.into_iter().flat_map(|(_, files)| files).collect::<Vec<_>>(), many);
    let refused = (ControlStatus::Refused, "the server does not follow files".into());
    assert_eq!(status(client.files(0, &[])), refused);
}

#[test]
fn faults_are_for_hosts_and_set_and_cleared_by_any_client() {
    let setup = Setup::new();
    let mut clients = [setup.client(), setup.client()];
    let all = Fault { effect: Effect::Fail, kind: None, range: None, next: Some(1) };
    assert_eq!(clients[0].inject(&all).unwrap(), 1);
    // Requests of the control socket meet no fault.
    clients[0].flush().unwrap();
    clients[1].trim(&[pages(0, 1)]).unwrap();
    setup.engine.queue().call(Command::Flush).unwrap_err();
    setup.engine.queue().call(Command::Flush).unwrap();
    assert_eq!(clients[1].inject(&all).unwrap(), 2);
    let beyond = Fault { range: Some(0..u64::MAX), ..all.clone() };
    let (refused, text) = status(clients[1].inject(&beyond));
    assert_eq!(refused, ControlStatus::Refused);
    assert!(text.starts_with("fail: found a range up to byte"), "{text}");
    assert_eq!(clients[1].clear(Some(1)).unwrap(), 1);
    assert_eq!(status(clients[0].clear(Some(1))).0, ControlStatus::Refused);
    assert_eq!(clients[0].clear(None).unwrap(), 1);
    setup.engine.queue().call(Command::Flush).unwrap();
    // Bytes that are no fault: a wrong length, effect and kind, a time without a delay, a range
    // that wraps, a die that is no number of one.
    let good = [&[2, 0, 0, 0, 0, 0, 0, 0][..], &[0; 32]].concat();
    for (at, byte) in [(0, 0), (0, 8), (1, 5), (2, 1), (32, 1)] {
        let mut wrong = good.clone();
        wrong[at] = byte;
        let mut socket = setup.raw();
        socket.write_all(&[hello(), whole(14, &wrong)].concat()).unwrap();
        assert_eq!(answers(socket), [0, 1], "byte {at}");
    }
    let mut wraps = good.clone();
    wraps[16..32].fill(0xff);
    // A die has a number of 32 bits.
    let mut large_die = good.clone();
    (large_die[0], large_die[36]) = (7, 1);
    for body in [&wraps[..], &large_die, &good[..39]] {
        let mut socket = setup.raw();
        socket.write_all(&[hello(), whole(14, body)].concat()).unwrap();
        assert_eq!(answers(socket), [0, 1]);
    }
    assert!(setup.engine.queue().faults().list().0.is_empty());
    // A die is a part of a drive with parity.
    let lost = Fault { effect: Effect::LostDie(0), kind: None, range: None, next: None };
    let (refused, text) = status(clients[0].inject(&lost));
    assert_eq!(refused, ControlStatus::Refused);
    assert!(text.starts_with("lost-die: the drive has no parity"), "{text}");
}
