//! Damaged logs are refused, or decode to the same records.

use flashgc_hints::wal::Decoder;
use proptest::prelude::*;

use super::builder::{Content, Log, PAGE, SEGMENT, plain};
use super::{any_content, decode, records};

const START: u64 = 16 * SEGMENT - 2 * PAGE;

/// The number of bytes of the record that continues on the first page.
const REST: u8 = 100;

/// Makes a log of four pages and a part of a fifth. A segment begins with the third page. The first
/// page begins with the rest of an earlier record.
fn log() -> Log {
    let mut log = Log::new(0xD110, START);
    log.spread(&[9; REST as usize]);
    for number in 0.. {
        let main = vec![number as u8; 20 + number as usize * 37 % 400];
        let blocks = vec![plain(number, 1), plain(number, 2)];
        log.record(&Content { manager: 10, blocks, main, ..Content::default() });
        if log.bytes.len() as u64 > 4 * PAGE + 500 {
            return log;
        }
    }
    log
}

/// Returns `true` if a flipped byte may go unnoticed in this log. All such bytes are listed here.
fn is_harmless(log: &Log, at: usize, flip: u8) -> bool {
    let (page, within) = (at as u64 / PAGE, at as u64 % PAGE);
    let has_long_header = page == 2;
    match within {
        2 => flip == 0x04,            // Backup blocks that may be removed.
        24..128 if page == 0 => true, // The rest of a record whose begin was not decoded.
        16 if page == 0 => (REST ^ flip).next_multiple_of(8) == REST.next_multiple_of(8),
        20..24 => true,                    // Padding of the header.
        24..32 if has_long_header => true, // The system identifier, which no other page names.
        // The segment size, which no other page names, if a segment of the changed size may begin
        // here.
        32..36 if has_long_header => {
            let length = SEGMENT ^ u64::from(flip) << ((within - 32) * 8);
            length.is_power_of_two() && (SEGMENT..=16 * SEGMENT).contains(&length)
        }
        _ => log.padding.contains(&at),
    }
}

#[test]
fn every_flipped_byte_is_refused_or_harmless() {
    let mut log = log();
    let whole = records(&log);
    // The header of the next page shows if a record's length is wrong.
    for at in 0..4 * PAGE as usize {
        let header = at as u64 % PAGE < 40;
        let flips = if header { (1..=255).collect() } else { vec![1 << (at % 8), 0xFF] };
        for flip in flips {
            log.bytes[at] ^= flip;
            let (shown, ended) = decode(log.start, &log.bytes, &[usize::MAX >> 1]);
            log.bytes[at] ^= flip;
            let place = format!("byte {at} flipped by {flip:02X}: {ended:?}");
            assert_eq!(shown[..], whole[..shown.len()], "{place}");
            assert_eq!(ended.is_ok(), is_harmless(&log, at, flip), "{place}");
            assert!(ended.is_err() || shown == whole, "{place}");
        }
    }
}

proptest! {
    #[test]
    fn flips_in_any_log_are_refused_or_change_nothing(
        contents in proptest::collection::vec(any_content(), 1..20),
        flips in proptest::collection::vec((0.0f64..1.0, 1u8..), 1..4),
        chunk in 1usize..20_000,
    ) {
        let mut log = super::written(START, &contents);
        let whole = records(&log);
        for (share, flip) in flips {
            let at = (log.bytes.len() as f64 * share) as usize;
            log.bytes[at] ^= flip;
        }
        let (shown, ended) = decode(log.start, &log.bytes, &[chunk]);
        prop_assert!(shown.len() <= whole.len());
        prop_assert_eq!(&shown[..], &whole[..shown.len()]);
        // Without an error only the last record can be missing, if its length became larger.
        prop_assert!(ended.is_err() || shown.len() + 1 >= whole.len());
    }

    #[test]
    fn garbage_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..40_000), start in any::<u64>(),
        chunk in 1usize..10_000,
    ) {
        let _ = decode(start, &bytes, &[chunk]);
    }

    #[test]
    fn garbage_behind_a_page_header_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        let mut log = Log::new(0xD110, START);
        log.spread(&[9; 8]);
        log.bytes.extend(bytes);
        let _ = decode(log.start, &log.bytes, &[700]);
    }

    #[test]
    fn garbage_in_a_record_never_panics(
        rest in proptest::collection::vec(prop_oneof![0u8..4, 252u8.., any::<u8>()], 0..200),
        manager in 0u8..8, info in any::<u8>(), version in 0usize..6,
    ) {
        let mut log = Log::new(flashgc_hints::wal::MAGICS[version].0, START);
        log.sealed(&Content { manager, info, ..Content::default() }, &rest);
        let _ = decode(log.start, &log.bytes, &[usize::MAX >> 1]);
    }

    #[test]
    fn garbage_as_main_data_never_panics(
        main in proptest::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..60),
        manager in 0u8..8, info in any::<u8>(), version in 0usize..6,
    ) {
        let mut log = Log::new(flashgc_hints::wal::MAGICS[version].0, START);
        log.record(&Content { manager, info, main, ..Content::default() });
        let _ = decode(log.start, &log.bytes, &[usize::MAX >> 1]);
    }
}

#[test]
fn a_length_that_is_a_lie_takes_no_memory() {
    // The longest possible record, and pages that do not continue it.
    let mut log = Log::new(0xD110, START);
    log.spread(&[9; 8]);
    log.bytes.extend(1_069_547_520u32.to_le_bytes());
    log.bytes.resize(3 * PAGE as usize, 1);
    let mut decoder = Decoder::new(START);
    let error = decoder.feed(START, &log.bytes, &mut |_| ()).expect_err("a page");
    assert_eq!(error.at, START + PAGE);
}
