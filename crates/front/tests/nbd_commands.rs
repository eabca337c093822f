//! Every command of NBD's transmission phase, and its errors.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::client::*;
use flashgc_device::{Backend, DeviceError, Hinted, WriteStreams};
use flashgc_front::command::Command;
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::{Counts, Ram};
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 100;
const SIZE: u64 = PAGES * 4096;
const MIB: u32 = 1 << 20;

struct Setup<S: Backend + 'static> {
    server: NbdServer,
    engine: Engine<S>,
}

fn serve<S: Backend + 'static>(drive: S, read_only: bool) -> Setup<S> {
    let engine = Engine::start(drive).unwrap();
    let address = NbdAddress::Tcp("127.0.0.1:0".into());
    let export = NbdExport { read_only, ..NbdExport::default() };
    Setup { server: NbdServer::start(engine.queue(), &address, export).unwrap(), engine }
}

fn ram() -> (Setup<Ram>, Arc<Counts>) {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    (serve(drive, false), counts)
}

fn flushes(counts: &Counts) -> u64 {
    counts.flushes.load(Ordering::SeqCst)
}

/// Returns two clients, one with simple and one with structured replies.
fn clients<S: Backend>(setup: &Setup<S>) -> [Client; 2] {
    [false, true].map(|structured| Client::ready(setup.server.address(), structured))
}

#[test]
fn what_is_written_is_read_at_once_on_every_connection() {
    let (setup, counts) = ram();
    let [mut simple, mut structured] = clients(&setup);
    assert_eq!(simple.write(4090, b"across pages"), Ok(vec![]));
    assert_eq!(structured.read(4089, 14), Ok(b"\0across pages\0".to_vec()));
    assert_eq!(structured.write(0, &vec![7; SIZE as usize]), Ok(vec![]));
    assert_eq!(simple.read(0, SIZE as u32), Ok(vec![7; SIZE as usize]));
    for client in [&mut simple, &mut structured] {
        assert_eq!(client.read(SIZE, 0), Ok(vec![]));
        assert_eq!(client.write(SIZE, &[]), Ok(vec![]));
    }
    assert_eq!(structured.request(READ, DF, 0, 2, &[]), Ok(vec![7, 7]));
    assert_eq!(flushes(&counts), 0);
}

#[test]
fn a_structured_read_sends_no_holes() {
    let (setup, counts) = ram();
    let [mut simple, mut structured] = clients(&setup);
    structured.write(2 * 4096, &[1; 3 * 4096]).unwrap();
    structured.write(9 * 4096, &[2; 4096]).unwrap();
    let expected = simple.read(100, 40_000).unwrap();
    assert!(simple.holes.is_empty());
    assert_eq!(structured.request(READ, DF, 100, 40_000, &[]), Ok(expected.clone()));
    assert!(structured.holes.is_empty(), "a read that may not be cut has no holes");
    let read = || counts.read.load(Ordering::SeqCst);
    let before = read();
    assert_eq!(structured.read(100, 40_000), Ok(expected));
    assert_eq!(structured.holes, [(100, 2 * 4096 - 100), (5 * 4096, 4 * 4096)]);
    assert_eq!(read() - before, 4, "only pages with data are read");
    assert_eq!(structured.read(60 * 4096 - 1, 2), Ok(vec![0; 2]));
    assert_eq!(structured.holes, [(60 * 4096 - 1, 2)]);
    assert_eq!(structured.read(2 * 4096 + 5, 4096), Ok(vec![1; 4096]));
    assert!(structured.holes.is_empty());
    assert_eq!(structured.read(SIZE, 1), Err(EINVAL));
}

#[test]
fn flush_and_fua_flush_the_drive() {
    let (setup, counts) = ram();
    for (index, mut client) in (0..).zip(clients(&setup)) {
        for (done, (kind, data)) in
            (1..).zip([(FLUSH, &b""[..]), (WRITE, b"x"), (TRIM, b""), (WRITE_ZEROES, b"")])
        {
            let (flags, bytes) = if kind == FLUSH { (0, 0) } else { (FUA, 1) };
            assert_eq!(client.request(kind, flags, 0, bytes, data), Ok(vec![]));
            assert_eq!(flushes(&counts), index * 4 + done);
        }
        // A read with FUA has nothing to make durable.
        assert_eq!(client.request(READ, FUA, 0, 1, &[]), Ok(vec![0]));
        assert_eq!(flushes(&counts), index * 4 + 4);
    }
}

#[test]
fn trim_discards_whole_pages_and_zeroes_zero_every_byte() {
    let (setup, _) = ram();
    let mut client = Client::ready(setup.server.address(), true);
    let ones = vec![1; 5 * 4096];
    let between = |a: usize, b: usize| {
        let mut data = ones.clone();
        data[a..b].fill(0);
        data
    };
    client.write(0, &ones).unwrap();
    assert_eq!(client.request(TRIM, 0, 4000, 9000, &[]), Ok(vec![]));
    assert_eq!(client.read(0, 5 * 4096), Ok(between(4096, 3 * 4096)));
    client.write(0, &ones).unwrap();
    assert_eq!(client.request(WRITE_ZEROES, 0, 4000, 9000, &[]), Ok(vec![]));
    assert_eq!(client.read(0, 5 * 4096), Ok(between(4000, 13000)));
    let states = [(4096, false), (2 * 4096, true), (2 * 4096, false)];
    assert_eq!(client.status(0, 0, 5 * 4096), Ok(states.to_vec()));
    assert_eq!(client.request(WRITE_ZEROES, NO_HOLE, 4096, 8192, &[]), Ok(vec![]));
    assert_eq!(client.read(0, 5 * 4096), Ok(between(4000, 13000)));
    assert_eq!(client.status(0, 0, 5 * 4096), Ok(vec![(5 * 4096, false)]));
}

#[test]
fn block_status_is_of_the_range_asked_for() {
    let (setup, _) = ram();
    let mut client = Client::ready(setup.server.address(), true);
    client.write(4096, &[1; 4096]).unwrap();
    let all = vec![(4096, true), (4096, false), (98 * 4096, true)];
    assert_eq!(client.status(0, 0, SIZE as u32), Ok(all));
    assert_eq!(client.status(0, 4095, 3), Ok(vec![(1, true), (2, false)]));
    assert_eq!(client.status(REQ_ONE, 4095, 3), Ok(vec![(1, true)]));
    assert_eq!(client.status(0, 0, 0), Err(EINVAL));
    assert_eq!(client.status(0, SIZE, 1), Err(EINVAL));
    // A client without structured replies, and so without the context.
    let mut simple = Client::ready(setup.server.address(), false);
    assert_eq!(simple.request(BLOCK_STATUS, 0, 0, 1, &[]), Err(EINVAL));
}

type Case<'a> = (u16, u16, u64, u32, &'a [u8], u32);

#[test]
fn what_cannot_be_done_is_refused_and_the_connection_goes_on() {
    let (setup, counts) = ram();
    for mut client in clients(&setup) {
        let long = 32 * MIB + 1;
        let payload = vec![1; long as usize];
        let whole = vec![1; SIZE as usize + 1];
        // A case: command, flags, first byte, number of bytes, data; the expected error.
        let cases: [Case; 18] = [
            (READ, 0, SIZE, 1, &[], EINVAL),
            (READ, 0, u64::MAX, 2, &[], EINVAL),
            (READ, 0, 0, long, &[], EINVAL),
            (READ, 0, 0, u32::MAX, &[], EINVAL),
            (READ, NO_HOLE, 0, 1, &[], EINVAL),
            (WRITE, 0, SIZE, 1, b"x", ENOSPC),
            (WRITE, 0, 0, SIZE as u32 + 1, &whole, ENOSPC),
            (WRITE, 0, 0, long, &payload, EINVAL),
            (WRITE, 0x8000, 0, 1, b"x", EINVAL),
            (TRIM, 0, 1, SIZE as u32, &[], EINVAL),
            (TRIM, 0, 0, u32::MAX, &[], EINVAL),
            (WRITE_ZEROES, 0, 0, u32::MAX, &[], ENOSPC),
            (WRITE_ZEROES, 16, 0, 1, &[], EINVAL), // fast zero
            (FLUSH, 0, 1, 0, &[], EINVAL),
            (FLUSH, 0, 0, 1, &[], EINVAL),
            (CACHE, 0, SIZE, 1, &[], EINVAL),
            (8, 0, 0, 1, &[], EINVAL), // resize
            (u16::MAX, 0, 0, 1, &[], EINVAL),
        ];
        for (kind, flags, at, bytes, data, error) in cases {
            let outcome = client.request(kind, flags, at, bytes, data);
            assert_eq!(outcome, Err(error), "command {kind}, flags {flags}, {bytes} at {at}");
        }
        assert_eq!(client.request(CACHE, 0, 0, SIZE as u32, &[]), Ok(vec![]));
        assert_eq!(client.read(0, 4), Ok(vec![0; 4]));
    }
    assert_eq!(counts.written.load(Ordering::SeqCst), 0);
}

#[test]
fn a_read_only_export_refuses_writes_alone() {
    let setup = serve(Ram::new(PAGES), true);
    for mut client in clients(&setup) {
        assert_eq!(client.write(0, b"x"), Err(EPERM));
        assert_eq!(client.request(TRIM, 0, 0, 1, &[]), Err(EPERM));
        assert_eq!(client.request(WRITE_ZEROES, 0, 0, 1, &[]), Err(EPERM));
        assert_eq!(client.request(FLUSH, 0, 0, 0, &[]), Ok(vec![]));
        assert_eq!(client.read(0, 1), Ok(vec![0]));
    }
}

/// A drive on which each page gives another error.
struct Faulty;

impl Backend for Faulty {
    fn pages(&self) -> u64 {
        PAGES
    }
    fn read(&mut self, page: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        self.write(page, &[], false)
    }
    fn write_named(
        &mut self,
        page: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        Err(match page {
            0 => DeviceError::Media("a page \u{fc}".repeat(2000)),
            1 => DeviceError::ReadOnly("worn".into()),
            2 => DeviceError::NoSpace("full".into()),
            _ => std::io::Error::from_raw_os_error(EPERM as i32).into(),
        })
    }
    fn trim(&mut self, page: u64, _: u64) -> Result<(), DeviceError> {
        self.write(page, &[], false)
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        self.write(3, &[], false)
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(&mut self, page: u64, _: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        self.write(page, &[], false).map(|()| Hinted::default())
    }
    fn cancel(&mut self, page: u64, _: u64) -> Result<(), DeviceError> {
        self.write(page, &[], false)
    }
    fn extent(&mut self, page: u64, _: u64) -> Result<(u64, bool), DeviceError> {
        self.write(page, &[], false).map(|()| (1, true))
    }
}

#[test]
fn faults_of_the_drive_have_their_numbers() {
    let setup = serve(Faulty, false);
    for mut client in clients(&setup) {
        for (page, error) in (0..).zip([EIO, EPERM, ENOSPC, EIO]) {
            assert_eq!(client.read(page * 4096, 1), Err(error));
            assert_eq!(client.write(page * 4096, &[1; 4096]), Err(error));
            assert_eq!(client.request(TRIM, 0, page * 4096, 4096, &[]), Err(error));
        }
        assert_eq!(client.request(FLUSH, 0, 0, 0, &[]), Err(EIO));
    }
    assert_eq!(Client::ready(setup.server.address(), true).status(0, 0, 1), Err(EIO));
}

#[test]
fn many_requests_are_under_way_at_once() {
    let (setup, _) = ram();
    for mut client in clients(&setup) {
        let cookies: Vec<_> = (0..PAGES)
            .map(|page| client.send_request(WRITE, FUA, page * 4096, 4096, &[page as u8; 4096]))
            .collect();
        let mut answered: Vec<_> = cookies.iter().map(|_| client.reply(0, 0)).collect();
        answered.sort_unstable_by_key(|reply| reply.0);
        assert!(answered.iter().map(|reply| reply.0).eq(cookies));
        assert!(answered.iter().all(|reply| reply.1 == Ok(vec![])));
        assert_eq!(client.read(99 * 4096, 1), Ok(vec![99]));
    }
}

#[test]
fn requests_before_a_disconnect_are_answered() {
    let (setup, _) = ram();
    for mut client in clients(&setup) {
        let write = client.send_request(WRITE, FUA, 0, 1, b"x");
        client.send_request(DISC, 0, 0, 0, &[]);
        assert_eq!(client.reply(0, 0), (write, Ok(vec![])));
        assert!(client.is_closed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random commands over two connections, compared with a vector of bytes.
    #[test]
    fn a_served_drive_is_a_vector_of_bytes(
        ops in vec((0..4_u16, 0..9 * 4096_u64, 0..3 * 4096_u32, 1..=u8::MAX, any::<bool>()), 1..40)
    ) {
        let (setup, _) = ram();
        let mut clients = clients(&setup);
        let mut model = vec![0_u8; 12 * 4096];
        for (kind, at, bytes, fill, structured) in ops {
            let client = &mut clients[usize::from(structured)];
            let range = at as usize..at as usize + bytes as usize;
            match kind {
                0 => prop_assert_eq!(&client.read(at, bytes).unwrap(), &model[range]),
                1 => {
                    client.write(at, &vec![fill; bytes as usize]).unwrap();
                    model[range].fill(fill);
                }
                2 => {
                    client.request(TRIM, 0, at, bytes, &[]).unwrap();
                    for page in range.start.div_ceil(4096)..range.end / 4096 {
                        model[page * 4096..][..4096].fill(0);
                    }
                }
                _ => {
                    let flags = if fill % 2 == 0 { NO_HOLE } else { FUA };
                    client.request(WRITE_ZEROES, flags, at, bytes, &[]).unwrap();
                    model[range].fill(0);
                }
            }
        }
        let drive = setup.engine.queue().call(Command::Read { at: 0, bytes: model.len() });
        prop_assert_eq!(drive, Ok(flashgc_front::command::Answer::Data(model)));
    }
}
