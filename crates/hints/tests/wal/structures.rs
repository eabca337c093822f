//! The decoder reads each structure of the log in each version.

use flashgc_hints::wal::{Fork, MAGICS, Relation};

use super::builder::{Block, Content, Log, PAGE, SEGMENT, plain};
use super::{any_content, records, reference, refusal, written};
use proptest::prelude::*;

const START: u64 = 16 * SEGMENT;

proptest! {
    #[test]
    fn what_was_written_is_shown(contents in proptest::collection::vec(any_content(), 1..40)) {
        let mut log = Log::new(0xD110, START + 3 * PAGE);
        let places: Vec<u64> = contents.iter().map(|content| log.record(content)).collect();
        let shown = records(&log);
        prop_assert_eq!(shown.len(), contents.len());
        for ((shown, content), at) in shown.iter().zip(&contents).zip(places) {
            let blocks: Vec<_> = content.blocks.iter().map(reference).collect();
            let known = (shown.at, shown.manager, shown.info, shown.transaction);
            prop_assert_eq!(known, (at, content.manager, content.info, content.transaction));
            prop_assert_eq!(&shown.blocks, &blocks);
            prop_assert_eq!(&shown.what, "Blocks");
        }
        // A record ends where the next begins, unless a page header lies between them.
        for pair in shown.windows(2) {
            let header = if pair[0].end % SEGMENT == 0 { 40 } else { 24 };
            let between = if pair[0].end % PAGE == 0 { header } else { 0 };
            prop_assert_eq!(pair[0].end + between, pair[1].at);
        }
    }
}

#[test]
fn every_version_has_its_magic() {
    for (magic, major) in MAGICS {
        let mut log = Log::new(magic, START);
        log.record(&Content { blocks: vec![plain(7, 8)], manager: 10, ..Content::default() });
        assert_eq!(records(&log)[0].blocks, [reference(&plain(7, 8))], "version {major}");
    }
    for magic in [0xD105, 0xD107, 0xD10F, 0xD111, 0xD114, 0xD117, 0xD119, 0] {
        let mut log = Log::new(magic, START);
        log.record(&Content::default());
        let said = refusal(&log);
        assert!(
            said.contains(&format!("at 0/1000000: the page begins with 0x{magic:04X}")),
            "{said}"
        );
        assert!(said.contains("0xD106 (PostgreSQL 13) or 0xD10D (PostgreSQL 14)"), "{said}");
    }
    let mut log = Log::new(0xD110, START);
    log.record(&Content { main: vec![0; 9000], manager: 9, ..Content::default() });
    log.bytes[PAGE as usize] = 0x13;
    let expected = "at 0/1002000: the page begins with 0xD113, expected 0xD110 (PostgreSQL 15)";
    assert!(refusal(&log).ends_with(expected), "{}", refusal(&log));
}

#[test]
fn compression_has_other_flags_since_version_15() {
    // For each version, two lists of flags of an image with a hole. After the first flags, two
    // bytes with the length of the hole follow; after the second they do not.
    let cases: [(u16, &[u8], &[u8]); 6] = [
        (0xD106, &[0x02, 0x06], &[0x00, 0x04]),
        (0xD10D, &[0x02, 0x06], &[0x00, 0x04]),
        (0xD110, &[0x04, 0x08, 0x10, 0x06], &[0x00, 0x02]),
        (0xD113, &[0x04, 0x08, 0x10, 0x06], &[0x00, 0x02]),
        (0xD116, &[0x04, 0x08, 0x10, 0x06], &[0x00, 0x02]),
        (0xD118, &[0x04, 0x08, 0x10, 0x06], &[0x00, 0x02]),
    ];
    for (magic, with, without) in cases {
        for (flags, has_length) in
            with.iter().map(|flags| (flags, true)).chain(without.iter().map(|flags| (flags, false)))
        {
            let mut log = Log::new(magic, START);
            let blocks: Vec<Block> = [1, 2]
                .map(|block| Block { image: Some((700, flags | 1)), data: 5, ..plain(9, block) })
                .into();
            let content = Content { blocks, main: vec![1, 2], manager: 10, ..Content::default() };
            log.record_with(&content, |_| has_length);
            let expected: Vec<_> = content.blocks.iter().map(reference).collect();
            assert_eq!(records(&log)[0].blocks, expected, "0x{magic:X}, flags {flags}");
        }
    }
}

#[test]
fn a_record_has_up_to_33_blocks_on_every_fork() {
    let blocks: Vec<Block> = (0..33)
        .map(|at| Block {
            fork: at as u8 % 4,
            will_init: at % 3 == 0,
            ..plain(at / 5, u32::MAX - at)
        })
        .collect();
    let log =
        written(START, &[Content { blocks: blocks.clone(), manager: 13, ..Content::default() }]);
    assert_eq!(records(&log)[0].blocks, blocks.iter().map(reference).collect::<Vec<_>>());
}

#[test]
fn a_record_crosses_pages_and_segments() {
    for length in [7000, 8152, 8153, 9000, 100_000, 3_000_000] {
        let long = Content {
            main: vec![3; length],
            blocks: vec![plain(1, 2)],
            manager: 21,
            ..Content::default()
        };
        let log = written(
            START + SEGMENT - 2 * PAGE,
            &[
                Content::default(),
                long,
                Content { transaction: 9, manager: 9, ..Content::default() },
            ]
            .map(|content| Content { manager: content.manager.max(9), ..content }),
        );
        let shown = records(&log);
        assert_eq!(shown.len(), 3, "{length}");
        assert_eq!((&shown[1].blocks, shown[2].transaction), (&vec![reference(&plain(1, 2))], 9));
    }
}

/// Returns the numbers one behind the other, 4 bytes each.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the change of files that a record of a version describes, as text.
fn said(magic: u16, manager: u8, info: u8, main: &[u8]) -> String {
    let mut log = Log::new(magic, START);
    log.record(&Content { manager, info, main: main.to_vec(), ..Content::default() });
    records(&log).remove(0).what
}

#[test]
fn checkpoints_say_where_recovery_begins() {
    let main = [words(&[0x20, 0x16]), vec![0; 72]].concat();
    assert_eq!(said(0xD110, 0, 0x10, &main), "Checkpoint { redo: 94489280544, shutdown: false }");
    assert_eq!(said(0xD110, 0, 0x00, &main), "Checkpoint { redo: 94489280544, shutdown: true }");
    assert_eq!(said(0xD110, 0, 0x20, &main), "Blocks");
}

#[test]
fn files_are_made_and_cut() {
    let relation = "Relation { tablespace: 1663, database: 5, number: 77 }";
    let made = said(0xD110, 2, 0x11, &words(&[1663, 5, 77, 2]));
    assert_eq!(made, format!("Create {{ relation: {relation}, fork: Visibility }}"));
    for (flags, forks) in [(1, [true, false, false]), (6, [false, true, true])] {
        let [main, map, free] = forks;
        let cut = said(0xD110, 2, 0x21, &words(&[10, 1663, 5, 77, flags]));
        assert_eq!(
            cut,
            format!(
                "Truncate {{ relation: {relation}, blocks: 10, main: {main}, visibility: {map}, \
                 free_space: {free} }}"
            )
        );
    }
}

#[test]
fn transactions_take_relations_with_them() {
    let dropped = |info, flags: &[u32], rest: &[u32]| {
        said(0xD110, 1, info, &words(&[&[1, 2], flags, rest].concat()))
    };
    let relations = [2, 1663, 5, 70, 1700, 5, 71];
    // Commit and abort, also of prepared transactions; with and without database and children.
    for info in [0x80, 0xA0, 0xB0, 0xC0] {
        for (flags, before) in
            [(4, vec![]), (5, vec![5, 1663]), (7, vec![5, 1663, 2, 8, 9]), (6, vec![1, 8])]
        {
            let what = dropped(info, &[flags], &[&before[..], &relations, &[9, 9]].concat());
            let expected = format!("Drop {{ relations: Relations({:?}) }}", words(&relations[1..]));
            assert_eq!(what, expected, "info {info}, flags {flags}");
        }
        assert_eq!(dropped(info, &[0x18], &[1, 2]), "Blocks");
        assert_eq!(dropped(info & 0x7F, &[], &[]), "Blocks");
    }
    // Prepare, assignment and invalidations drop no relations.
    for info in [0x90, 0xD0, 0xE0] {
        assert_eq!(dropped(info, &[4], &relations), "Blocks");
    }
}

#[test]
fn listed_relations_and_tablespaces_can_be_read() {
    let mut log = Log::new(0xD110, START);
    let main = words(&[1, 2, 4, 2, 1663, 5, 70, 1700, 5, 71]);
    log.record(&Content { manager: 1, info: 0x80, main, ..Content::default() });
    log.record(&Content {
        manager: 4,
        info: 0x20,
        main: words(&[5, 2, 1663, 1700]),
        ..Content::default()
    });
    let mut found = Vec::new();
    let mut decoder = flashgc_hints::wal::Decoder::new(START);
    let mut visit = |record: &flashgc_hints::wal::Record<'_>| match record.what {
        flashgc_hints::wal::What::Drop { relations } => {
            found.extend(relations.iter().map(|one| (one.tablespace, one.number)))
        }
        flashgc_hints::wal::What::DropDatabase { database, tablespaces } => {
            found.extend(tablespaces.iter().map(|one| (one, database)))
        }
        other => panic!("{other:?}"),
    };
    decoder.feed(START, &log.bytes, &mut visit).expect("a whole log");
    assert_eq!(found, [(1663, 70), (1700, 71), (1663, 5), (1700, 5)]);
}

#[test]
fn databases_have_other_kinds_since_version_15() {
    let made =
        |copied| format!("CreateDatabase {{ tablespace: 1663, database: 5, copied: {copied} }}");
    let dropped =
        format!("DropDatabase {{ database: 5, tablespaces: Tablespaces({:?}) }}", words(&[1663]));
    let (four, two, drop) = (words(&[5, 1663, 1, 1663]), words(&[5, 1663]), words(&[5, 1, 1663]));
    for magic in [0xD106, 0xD10D] {
        assert_eq!(said(magic, 4, 0x00, &four), made(true));
        assert_eq!(said(magic, 4, 0x10, &drop), dropped);
        assert_eq!(said(magic, 4, 0x20, &drop), "Blocks");
    }
    for magic in [0xD110, 0xD113, 0xD116, 0xD118] {
        assert_eq!(said(magic, 4, 0x00, &four), made(true));
        assert_eq!(said(magic, 4, 0x10, &two), made(false));
        assert_eq!(said(magic, 4, 0x20, &drop), dropped);
    }
    assert_eq!(
        said(0xD110, 5, 0x00, &[words(&[1700]), b"/x\0".into()].concat()),
        "CreateTablespace { tablespace: 1700 }"
    );
    assert_eq!(said(0xD110, 5, 0x10, &words(&[1700])), "DropTablespace { tablespace: 1700 }");
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    let block = [0, 0x00, 0, 0]; // Number, flags, length of data.
    let relation = words(&[1663, 5, 7]);
    let place = words(&[3]);
    let whole = [&block[..], &relation, &place].concat();
    let cases: [(Vec<u8>, &str); 12] = [
        (vec![33], "part is 33"),
        (vec![251, 0], "part is 251"),
        ([&whole[..], &whole].concat(), "block reference is 0, expected a higher number"),
        ([&[0, 4, 0, 0], &relation[..], &place].concat(), "fork is 4, expected 0 to 3"),
        ([&[0, 0, 1, 0], &relation[..], &place, &[1]].concat(), "block's data length is 1"),
        ([&[0, 0x20, 0, 0], &relation[..], &place].concat(), "block's data length is 0"),
        ([&[0, 0x80, 0, 0], &place[..]].concat(), "block's flags is 128, expected a relation"),
        (
            [&[0, 0x10, 0, 0, 1, 0x20, 0, 0, 0][..], &relation, &place].concat(),
            "image's length is 8193",
        ),
        (whole[..19].to_vec(), "length is 19, expected that of its parts"),
        ([&whole[..], &[255, 9, 1]].concat(), "length is 23, expected that of its parts"),
        ([&whole[..], &[255, 0, 1]].concat(), "length is 23, expected that of its parts"),
        (vec![254, 0xFF, 0xFF, 0xFF, 0xFF, 1], "length is 6, expected that of its parts"),
    ];
    for (rest, expected) in cases {
        let mut log = Log::new(0xD110, START);
        log.sealed(&Content { manager: 10, ..Content::default() }, &rest);
        let said = refusal(&log);
        let begin = "write-ahead log at 0/1000028: the record's ";
        assert!(said.starts_with(&format!("{begin}{expected}")), "{said}");
    }
    // Part 252 exists only since version 14.
    let mut log = Log::new(0xD106, START);
    log.sealed(&Content::default(), &[252, 1, 0, 0, 0]);
    assert!(refusal(&log).contains("part is 252"), "{}", refusal(&log));
    // Records that are shorter than their kind allows.
    let log = written(START, &[Content { main: vec![0; 7], ..Content::default() }]);
    assert!(refusal(&log).contains("data's length is 7, expected more"), "{}", refusal(&log));
}

#[test]
fn a_relation_lies_where_the_server_puts_it() {
    // A file of 1 GiB has 131,072 blocks of 8 KiB.
    let at = |tablespace, database, fork, block| {
        Relation { tablespace, database, number: 16384 }.path(fork, block, "PG_15_202209061")
    };
    assert_eq!(at(1663, 5, Fork::Main, 0), "base/5/16384");
    assert_eq!(at(1663, 5, Fork::Main, 131_071), "base/5/16384");
    assert_eq!(at(1663, 5, Fork::Main, 131_072), "base/5/16384.1");
    assert_eq!(at(1663, 5, Fork::FreeSpace, 3 * 131_072 + 1), "base/5/16384_fsm.3");
    assert_eq!(at(1664, 0, Fork::Visibility, 1), "global/16384_vm");
    assert_eq!(at(1700, 5, Fork::Init, 1), "pg_tblspc/1700/PG_15_202209061/5/16384_init");
}
