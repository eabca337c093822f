//! Faults as NBD hosts see them.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::client::*;
use crate::faults::{fail, fault, unreadable};
use flashgc_front::faults::{Effect, Fault, FaultKind, Faults, LONGEST};
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::{Counts, Ram};

struct Setup {
    faults: Arc<Faults>,
    counts: Arc<Counts>,
    server: NbdServer,
    _engine: Engine<Ram>,
}

fn serve() -> Setup {
    let drive = Ram::new(16 << 10); // 64 MiB
    let counts = drive.counts();
    let engine = Engine::start(drive).unwrap();
    let address = NbdAddress::Tcp("127.0.0.1:0".into());
    let server = NbdServer::start(engine.queue(), &address, NbdExport::default()).unwrap();
    Setup { faults: Arc::clone(engine.queue().faults()), counts, server, _engine: engine }
}

impl Setup {
    fn client(&self, structured: bool) -> Client {
        Client::ready(self.server.address(), structured)
    }
}

#[test]
fn commands_that_fail_have_the_error_of_the_protocol() {
    let setup = serve();
    for structured in [false, true] {
        let mut client = setup.client(structured);
        client.write(0, &[1; 4096]).unwrap();
        for (kind, asked, bytes) in [
            (FaultKind::Read, READ, 4096),
            (FaultKind::Discard, TRIM, 4096),
            (FaultKind::Flush, FLUSH, 0),
        ] {
            setup.faults.inject(fail(kind, 1)).unwrap();
            assert_eq!(client.request(asked, 0, 0, bytes, &[]), Err(EIO), "{kind:?}");
            client.request(asked, 0, 0, bytes, &[]).unwrap();
        }
        setup.faults.inject(fail(FaultKind::Write, 1)).unwrap();
        let written = setup.counts.written.load(SeqCst);
        assert_eq!(client.write(4096, &[1; 4096]), Err(EIO));
        assert_eq!(setup.counts.written.load(SeqCst), written);
        assert_eq!(client.read(4096, 4096), Ok(vec![0; 4096]));
        setup.faults.inject(unreadable(1, 1)).unwrap();
        assert_eq!(client.read(0, 8192), Err(EIO));
        client.write(4096, &[2; 4096]).unwrap();
        assert_eq!(client.read(4096, 4096), Ok(vec![2; 4096]));
        client.request(WRITE_ZEROES, 0, 4096, 4096, &[]).unwrap();
        setup.faults.inject(fault(Effect::EndOfLife)).unwrap();
        assert_eq!(client.write(0, b"x"), Err(EPERM));
        assert_eq!(client.request(TRIM, 0, 0, 4096, &[]), Err(EPERM));
        setup.faults.clear(None).unwrap();
    }
}

#[test]
fn a_late_answer_lets_others_pass() {
    let setup = serve();
    let mut client = setup.client(false);
    let by = Duration::from_millis(150);
    setup
        .faults
        .inject(Fault { kind: Some(FaultKind::Read), next: Some(1), ..fault(Effect::Delay(by)) })
        .unwrap();
    let began = Instant::now();
    let late = client.send_request(READ, 0, 0, 4096, &[]);
    let prompt = client.send_request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.reply(0, 0), (prompt, Ok(vec![])));
    assert!(began.elapsed() < by);
    assert_eq!(client.reply(0, 4096), (late, Ok(vec![0; 4096])));
    assert!(began.elapsed() >= by);
}

#[test]
fn a_dropped_command_has_no_reply_and_takes_no_room() {
    let setup = serve();
    let mut client = setup.client(true);
    // 20 requests of 32 MiB are more than the room of one connection, and of all connections
    // together.
    setup
        .faults
        .inject(Fault { kind: Some(FaultKind::Read), next: Some(20), ..fault(Effect::Drop) })
        .unwrap();
    for _ in 0..20 {
        client.send_request(READ, 0, 0, 32 << 20, &[]);
    }
    let flushed = client.send_request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.reply(0, 0), (flushed, Ok(vec![])));
    assert_eq!(setup.counts.read.load(SeqCst), 0);
    let mut other = setup.client(false);
    assert_eq!(other.read(0, 32 << 20).map(|data| data.len()), Ok(32 << 20));
    setup
        .faults
        .inject(Fault { kind: Some(FaultKind::Write), next: Some(1), ..fault(Effect::Drop) })
        .unwrap();
    client.send_request(WRITE, FUA, 0, 4096, &[9; 4096]);
    assert_eq!(client.read(0, 4096), Ok(vec![0; 4096]), "what gets no answer is not executed");
    // The client can disconnect, and the server can stop.
    client.send_request(DISC, 0, 0, 0, &[]);
    assert!(client.is_closed());
    setup.server.stop();
}

#[test]
fn connections_end_at_once_or_after_some_commands() {
    let setup = serve();
    let mut clients = [setup.client(false), setup.client(true)];
    clients.iter_mut().for_each(|client| drop(client.request(FLUSH, 0, 0, 0, &[]).unwrap()));
    assert_eq!(setup.faults.inject(fault(Effect::Disconnect)), Ok(2));
    assert!(clients.iter_mut().all(Client::is_closed));
    // New connections work for two more commands.
    let mut clients = [setup.client(false), setup.client(true)];
    setup.faults.inject(Fault { next: Some(2), ..fault(Effect::Disconnect) }).unwrap();
    clients[0].write(0, &[1; 4096]).unwrap();
    assert_eq!(clients[1].read(0, 4096), Ok(vec![1; 4096]));
    clients[0].send_request(WRITE, 0, 0, 4096, &[2; 4096]);
    assert!(clients.iter_mut().all(Client::is_closed));
    let mut again = setup.client(false);
    assert_eq!(again.read(0, 4096), Ok(vec![1; 4096]), "the third is not executed");
    let (all, hits) = setup.faults.list();
    assert_eq!((all[0].left, all[0].hits, all[0].is_over, hits), (Some(0), 1, true, 2));
    let faults = Arc::clone(&setup.faults);
    setup.server.stop();
    faults.inject(fault(Effect::Disconnect)).unwrap_err();
}

/// A fault ends connections while others begin and the server stops, without a deadlock.
#[test]
fn connections_may_end_while_the_server_stops() {
    for _ in 0..20 {
        let setup = serve();
        let address = setup.server.address().clone();
        setup.faults.inject(Fault { next: Some(3), ..fault(Effect::Disconnect) }).unwrap();
        let clients = [(); 3].map(|()| Client::ready(&address, false));
        std::thread::scope(|scope| {
            for mut client in clients {
                scope.spawn(move || {
                    for _ in 0..3 {
                        client.send_request(FLUSH, 0, 0, 0, &[]);
                    }
                });
            }
            let ended = scope.spawn(|| setup.faults.inject(fault(Effect::Disconnect)));
            ended.join().unwrap().unwrap();
        });
        setup.server.stop();
    }
}

#[test]
fn a_client_that_goes_with_a_late_answer_is_left_when_the_faults_go() {
    let setup = serve();
    setup.faults.inject(fault(Effect::Delay(LONGEST))).unwrap();
    let mut client = setup.client(false);
    client.send_request(FLUSH, 0, 0, 0, &[]);
    while setup.faults.list().1 == 0 {
        std::thread::yield_now();
    }
    drop(client);
    let began = Instant::now();
    setup.faults.clear(None).unwrap();
    setup.server.stop();
    assert!(began.elapsed() < Duration::from_secs(5));
}
