//! Every option of NBD's negotiation, and bytes that are no option.

use crate::client;
use crate::client::{Client, contexts, go};
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;

const SIZE: u64 = 100 * 4096;
const ACK: (u32, Vec<u8>) = (1, vec![]);
const UNSUP: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;
const TOO_BIG: u32 = 0x8000_0009;

/// The flags `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES`,
/// `CAN_MULTI_CONN` and `SEND_CACHE`.
const FLAGS: u16 = 0b101_0110_1101;
const DF: u16 = 1 << 7;
const READ_ONLY: u16 = 1 << 1;

struct Served {
    server: NbdServer,
    _engine: Engine<Ram>,
}

fn served(read_only: bool) -> Served {
    let engine = Engine::start(Ram::new(100)).unwrap();
    let export = NbdExport { name: "a drive".into(), description: "of a test".into(), read_only };
    let address = "127.0.0.1:0".parse().unwrap();
    Served { server: NbdServer::start(engine.queue(), &address, export).unwrap(), _engine: engine }
}

impl Served {
    fn client(&self) -> Client {
        Client::greeted(self.server.address(), 3)
    }
}

fn kinds(replies: &[(u32, Vec<u8>)]) -> Vec<u32> {
    replies.iter().map(|reply| reply.0).collect()
}

fn export(flags: u16) -> Vec<u8> {
    [&[0, 0], &SIZE.to_be_bytes()[..], &flags.to_be_bytes()].concat()
}

#[test]
fn the_server_is_listed_with_its_description() {
    let served = served(false);
    let listed = [&7_u32.to_be_bytes()[..], b"a drive", b"of a test"].concat();
    let mut client = served.client();
    assert_eq!(client.option(3, &[]), [(2, listed), ACK]);
    assert_eq!(kinds(&client.option(3, b"x")), [INVALID]);
}

#[test]
fn info_tells_size_flags_and_block_sizes_and_go_begins() {
    let served = served(false);
    let mut client = served.client();
    let blocks = [&[0, 3], &[1, 4096, 32 << 20].map(u32::to_be_bytes).concat()[..]].concat();
    let facts = [(3, export(FLAGS)), (3, blocks.clone()), ACK];
    for name in [&b""[..], b"a drive"] {
        assert_eq!(client.option(6, &go(name, &[])), facts);
        assert_eq!(client.option(6, &go(name, &[3, 99])), facts, "what is unknown is passed over");
    }
    let name = (3, b"\0\x01a drive".to_vec());
    let description = (3, b"\0\x02of a test".to_vec());
    let told = [(3, export(FLAGS)), (3, blocks), name, description, ACK];
    assert_eq!(client.option(7, &go(b"", &[1, 2])), told);
    assert_eq!(client.read(0, 1), Ok(vec![0]));
}

#[test]
fn the_flags_follow_what_was_agreed_on() {
    let served = served(true);
    let mut client = served.client();
    assert_eq!(client.option(6, &go(b"", &[]))[0].1, export(FLAGS | READ_ONLY));
    client.option(8, &[]);
    assert_eq!(client.option(6, &go(b"", &[]))[0].1, export(FLAGS | READ_ONLY | DF));
}

#[test]
fn names_that_are_not_served_are_unknown() {
    let served = served(false);
    let mut client = served.client();
    for option in [6, 7] {
        assert_eq!(kinds(&client.option(option, &go(b"other", &[]))), [UNKNOWN]);
    }
    client.option(8, &[]);
    for option in [9, 10] {
        let wanted = contexts(b"other", &[b"base:allocation"]);
        assert_eq!(kinds(&client.option(option, &wanted)), [UNKNOWN]);
    }
    client.send_option(1, b"other");
    assert!(client.is_closed());
}

#[test]
fn lengths_that_do_not_fit_are_invalid() {
    let served = served(false);
    let mut client = served.client();
    assert_eq!(kinds(&client.option(8, b"x")), [INVALID]);
    client.option(8, &[]);
    let whole = [go(b"a drive", &[1, 2]), contexts(b"a drive", &[b"base:", b"x"])];
    for (options, data) in [[6, 7], [9, 10]].into_iter().zip(whole) {
        let longer = [&data[..], b"x"].concat();
        for option in options {
            for data in (0..data.len()).map(|end| &data[..end]).chain([&longer[..]]) {
                assert_eq!(kinds(&client.option(option, data)), [INVALID], "{option} {data:?}");
            }
            assert_eq!(kinds(&client.option(option, &[0xff; 20])), [INVALID]);
        }
    }
    // The same connection still works.
    assert_eq!(client.option(7, &go(b"", &[])).last(), Some(&ACK));
}

#[test]
fn contexts_are_listed_and_chosen() {
    let served = served(false);
    let mut client = served.client();
    let wanted = contexts(b"", &[b"base:allocation"]);
    for option in [9, 10] {
        assert_eq!(kinds(&client.option(option, &wanted)), [INVALID], "not without structure");
    }
    client.option(8, &[]);
    let context = |id: u32| (4, [&id.to_be_bytes()[..], b"base:allocation"].concat());
    for queries in [&[][..], &[&b"base:"[..]], &[b"base:allocation"], &[b"x", b"base:allocation"]] {
        assert_eq!(client.option(9, &contexts(b"", queries)), [context(0), ACK]);
    }
    for queries in [&[&b"qemu:"[..]][..], &[b"base:x"], &[b""]] {
        assert_eq!(client.option(9, &contexts(b"", queries)), [ACK]);
        assert_eq!(client.option(10, &contexts(b"", queries)), [ACK]);
    }
    assert_eq!(client.option(10, &contexts(b"", &[])), [ACK], "to choose none takes all back");
    assert_eq!(client.option(10, &wanted), [context(1), ACK]);
    assert_eq!(client.option(10, &contexts(b"", &[])), [ACK]);
    client.option(7, &go(b"", &[]));
    client.structured = true;
    assert_eq!(client.status(0, 0, 4096), Err(client::EINVAL));
}

#[test]
fn options_that_are_not_supported_are_refused_and_the_negotiation_goes_on() {
    let served = served(false);
    let mut client = served.client();
    // TLS, extended headers, an old option, and two unknown numbers.
    for option in [5, 11, 4, 0, u32::MAX] {
        assert_eq!(kinds(&client.option(option, b"data")), [UNSUP]);
    }
    assert_eq!(kinds(&client.option(7, &vec![0; (64 << 10) + 1])), [TOO_BIG]);
    assert_eq!(client.option(2, &[]), [ACK]);
    assert!(client.is_closed());
}

#[test]
fn export_name_begins_with_padding_or_without() {
    let served = served(false);
    for (flags, padding) in [(1, 124), (3, 0)] {
        let mut client = Client::greeted(served.server.address(), flags);
        client.send_option(1, b"a drive");
        let told = [&SIZE.to_be_bytes()[..], &FLAGS.to_be_bytes(), &vec![0; padding]].concat();
        assert_eq!(client.bytes(told.len()), told);
        assert_eq!(client.write(5, b"five"), Ok(vec![]));
        assert_eq!(client.read(4, 6), Ok(b"\0five\0".to_vec()));
    }
}

#[test]
fn what_is_not_nbd_is_closed() {
    let served = served(false);
    let address = served.server.address();
    assert!({
        let mut client = Client::greeted(address, 4);
        client.is_closed()
    });
    let long = [&client::IHAVEOPT.to_be_bytes()[..], &[0, 0, 0, 7, 0, 0x10, 0, 1]].concat();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 16], &[0xff; 100], &long] {
        let mut client = served.client();
        client.send(garbage);
        assert!(client.is_closed());
    }
    // Clients that send a part of a message and disconnect.
    for length in 0..long.len() {
        served.client().send(&long[..length]);
    }
    assert_eq!(Client::ready(address, true).read(0, 1), Ok(vec![0]));
}

#[test]
fn an_endless_negotiation_is_ended() {
    let served = served(false);
    let mut client = served.client();
    for _ in 0..1000 {
        client.option(3, &[]);
    }
    assert!(client.is_closed());
}

#[test]
fn addresses_are_read_and_refused() {
    let parse = |typed: &str| typed.parse::<NbdAddress>();
    assert_eq!(parse("localhost:10809"), Ok(NbdAddress::Tcp("localhost:10809".into())));
    assert_eq!(parse("[::1]:0"), Ok(NbdAddress::Tcp("[::1]:0".into())));
    assert_eq!(parse("unix:/run/x"), Ok(NbdAddress::Unix("/run/x".into())));
    for wrong in ["", "10809", ":10809", "localhost", "localhost:", "localhost:99999", "unix:"] {
        let text = parse(wrong).unwrap_err().to_string();
        let hint = "is no address; hint: HOST:PORT (127.0.0.1:10809) or unix:PATH";
        assert_eq!(text, format!("`{wrong}` {hint}"));
    }
}
