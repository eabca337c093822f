//! The log as a stream: chunks, starts at any place, segment switches and torn records.

use flashgc_hints::wal::{Decoder, Lsn};
use proptest::prelude::*;

use super::builder::{Content, Log, PAGE, SEGMENT, plain};
use super::{any_content, decode, records, refusal, written};

const START: u64 = 16 * SEGMENT;

fn short(block: u32) -> Content {
    Content { manager: 10, blocks: vec![plain(7, block)], ..Content::default() }
}

fn long(length: usize) -> Content {
    Content { manager: 21, main: vec![5; length], ..Content::default() }
}

proptest! {
    #[test]
    fn chunks_do_not_matter(
        contents in proptest::collection::vec(any_content(), 1..30),
        lengths in proptest::collection::vec(prop_oneof![0usize..50, 0usize..20_000], 1..20),
    ) {
        prop_assume!(lengths.iter().any(|&length| length > 0));
        let log = written(START - 2 * PAGE, &contents);
        let (shown, ended) = decode(log.start, &log.bytes, &lengths);
        prop_assert_eq!(ended, Ok(()));
        prop_assert_eq!(shown, records(&log));
    }

    #[test]
    fn a_prefix_of_the_bytes_has_a_prefix_of_the_records(
        contents in proptest::collection::vec(any_content(), 1..30), share in 0.0f64..1.0,
    ) {
        let log = written(START - PAGE, &contents);
        let cut = (log.bytes.len() as f64 * share) as usize;
        let (shown, ended) = decode(log.start, &log.bytes[..cut], &[4000]);
        prop_assert_eq!(ended, Ok(()));
        let whole = records(&log);
        let mut expected = whole.clone();
        // The last bytes before `end` may only align the next record.
        expected.retain(|record| record.end <= log.start + cut as u64);
        prop_assert!(shown.len() >= expected.len());
        prop_assert_eq!(&shown[..], &whole[..shown.len()]);
        prop_assert!(shown.iter().all(|record| record.end < log.start + cut as u64 + 8));
    }

    #[test]
    fn a_log_begins_anywhere(
        contents in proptest::collection::vec(any_content(), 1..60), share in 0.0f64..1.0,
    ) {
        let log = written(START - PAGE, &contents);
        let skipped = (log.bytes.len() as f64 * share) as usize;
        let begin = log.start + skipped as u64;
        let (shown, ended) = decode(begin, &log.bytes[skipped..], &[3000]);
        prop_assert_eq!(ended, Ok(()));
        let mut expected = records(&log);
        expected.retain(|record| record.at >= begin.next_multiple_of(PAGE));
        prop_assert_eq!(shown, expected);
    }
}

#[test]
fn a_beginning_within_a_record_of_many_pages_shows_the_next_one() {
    let mut log = Log::new(0xD110, START);
    log.spread(&vec![9; 100_000]);
    let at = log.record(&short(1));
    assert_eq!(records(&log).iter().map(|record| record.at).collect::<Vec<_>>(), [at]);
}

#[test]
fn a_gap_is_refused_with_both_places() {
    let log = written(START, &[short(1), short(2)]);
    let mut decoder = Decoder::new(START);
    decoder.feed(START, &log.bytes[..100], &mut |_| ()).expect("a log");
    assert_eq!(decoder.next(), START + 100);
    let error = decoder.feed(START + 99, &log.bytes[99..], &mut |_| ()).expect_err("a gap");
    let expected = "write-ahead log at 0/1000064: the next bytes are those at 0/1000063, expected";
    assert!(error.to_string().starts_with(expected), "{error}");
    // After an error nothing is decoded.
    let again = decoder.feed(START + 100, &log.bytes[100..], &mut |_| panic!("a record"));
    assert_eq!(again, Err(error));
}

#[test]
fn no_place_is_too_far() {
    for start in [u64::MAX, u64::MAX - PAGE, u64::MAX - 2 * PAGE] {
        let error = Decoder::new(start).feed(start, &[1; 16384], &mut |_| ()).expect_err("the end");
        assert!(error.to_string().contains("16384 bytes lie there"), "{error}");
    }
    assert_eq!(Lsn(u64::MAX).to_string(), "FFFFFFFF/FFFFFFFF");
}

#[test]
fn the_end_of_the_log_is_named() {
    let mut log = written(START, &[short(1)]);
    log.bytes.resize(log.bytes.len() + 1000, 0);
    let said = refusal(&log);
    assert!(said.contains("at 0/1000058: there is no record but zeros"), "{said}");
    for (length, said) in [(23u32, "23 bytes"), (1_069_547_521, "1069547521 bytes")] {
        let mut log = written(START, &[short(1)]);
        log.bytes.resize(log.bytes.len().next_multiple_of(8), 0);
        log.bytes.extend(length.to_le_bytes());
        log.bytes.extend([1; 200]);
        assert!(refusal(&log).contains(said), "{}", refusal(&log));
    }
}

#[test]
fn behind_a_switch_the_next_segment_follows() {
    for before in [0, 3] {
        // With and without an earlier page that names the segment size.
        let mut log = Log::new(0xD110, START - SEGMENT + before * PAGE);
        log.record(&short(1));
        let switch = log.switch();
        let next = log.record(&short(2));
        assert_eq!(next, START + 40);
        let shown = records(&log);
        assert_eq!(shown.iter().map(|record| record.at).collect::<Vec<_>>()[1..], [switch, next]);
        assert_eq!(shown[1].what, "Switch");
        assert_eq!(shown, decode(log.start, &log.bytes, &[1000]).0);
        // The page that follows must be the expected one, and must not be skipped.
        let at = (START - log.start) as usize;
        for damaged in [0, 2, 8, 32] {
            log.bytes[at + damaged] ^= 0x55;
            assert!(refusal(&log).contains("at 0/1000000: "), "byte {damaged}: {}", refusal(&log));
            log.bytes[at + damaged] ^= 0x55;
        }
    }
}

#[test]
fn what_lies_behind_a_switch_is_passed_over() {
    let mut log = Log::new(0xD110, START - 4 * PAGE);
    log.record(&short(1));
    log.switch();
    let next = log.record(&short(2));
    log.bytes[200..4 * PAGE as usize].fill(0xEE);
    assert_eq!(records(&log).last().map(|record| record.at), Some(next));
}

#[test]
fn an_empty_segment_behind_a_switch_is_refused_if_one_must_begin() {
    for (begin, refused) in [(START - SEGMENT, true), (START - PAGE, false)] {
        let mut log = Log::new(0xD110, begin);
        log.switch();
        log.bytes.resize(log.bytes.len() + PAGE as usize, 0);
        let (shown, ended) = decode(log.start, &log.bytes, &[1 << 14]);
        assert_eq!((shown.len(), ended.is_err()), (1, refused), "{ended:?}");
    }
}

#[test]
fn segments_agree_with_each_other() {
    let mut log = written(START, &[long(2 * SEGMENT as usize + 9000), short(1)]);
    let at = 2 * SEGMENT as usize;
    for (byte, flip, expected) in [
        (2, 2, "flags is 1, expected flag 2, as a segment begins here"),
        (24, 1, "system identifier is 7777776, expected 7777777"),
        (34, 0x30, "segment size is 2097152, expected 1048576"),
        (37, 1, "page size is 8448, expected 8192"),
    ] {
        log.bytes[at + byte] ^= flip;
        let said = refusal(&log);
        log.bytes[at + byte] ^= flip;
        let begin = "write-ahead log at 0/1200000: the page header's ";
        assert!(said.starts_with(&format!("{begin}{expected}")), "{said}");
    } // A segment of 2 MiB does not begin at 17 MiB.
    let mut log = written(START + SEGMENT, &[short(1)]);
    log.bytes[34] ^= 0x30;
    let expected = "segment size is 2097152, expected a power of two from 1 MiB to 1 GiB";
    assert!(refusal(&log).contains(expected), "{}", refusal(&log));
}

#[test]
fn a_switch_that_fills_its_segment_needs_no_rest() {
    let mut log = Log::new(0xD110, START - PAGE);
    // The page has room for 8168 bytes; the switch takes the last 24 of them.
    log.record(&long(8168 - 24 - 24 - 5));
    log.switch();
    let next = log.record(&short(2));
    assert_eq!(next, START + 40);
    assert_eq!(records(&log).len(), 3);
}

#[test]
fn a_torn_record_is_not_shown() {
    let mut log = written(START, &[short(1)]);
    log.torn(&long(20_000));
    let next = log.record(&short(2));
    assert_eq!(next, START + PAGE + 24);
    for lengths in [1, 10, 8192, 1 << 20] {
        let (shown, ended) = decode(log.start, &log.bytes, &[lengths]);
        assert_eq!(ended, Ok(()));
        assert_eq!(shown.iter().map(|record| record.at).collect::<Vec<_>>(), [START + 40, next]);
    }
    // The same log, decoded from the page on which the record should have ended.
    let (shown, ended) = decode(START + PAGE, &log.bytes[PAGE as usize..], &[100]);
    assert_eq!((shown.len(), ended), (1, Ok(())));
    // Nothing was torn: the flag is wrong.
    let mut log = written(START, &[long(8152 - 24 - 5), short(2)]);
    log.bytes[PAGE as usize + 2] = 8;
    assert!(refusal(&log).contains("flags is 8, expected no flag 8"), "{}", refusal(&log));
}

#[test]
fn a_record_that_was_left_out_is_missed() {
    let mut log = written(START, &[short(1), short(2)]);
    let (first, second) = (40, 40 + 48);
    let left_out = [&log.bytes[..first], &log.bytes[second..]].concat();
    let (shown, ended) = decode(log.start, &left_out, &[99]);
    assert!(shown.is_empty());
    let said = ended.expect_err("a record is missing").to_string();
    assert!(
        said.contains("the first record follows one at 0/1000028, expected one before"),
        "{said}"
    );
    let third = log.bytes.len();
    log.record(&short(3));
    log.record(&short(4));
    let fourth = third + 48;
    let left_out = [&log.bytes[..third], &log.bytes[fourth..]].concat();
    let said = decode(log.start, &left_out, &[99]).1.expect_err("a record is missing").to_string();
    assert!(said.contains("follows one at 0/1000088, expected one at 0/1000058"), "{said}");
}
