//! Tests of the decoder of PostgreSQL's log, with logs that the tests write.

mod builder;
mod damage;
mod stream;
mod structures;

use builder::{Block, Content, Log};
use flashgc_hints::wal::{BlockReference, Decoder, Fork, Record, Relation, WalError};
use proptest::prelude::*;

/// A record as the decoder showed it.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    at: u64,
    end: u64,
    manager: u8,
    info: u8,
    transaction: u32,
    blocks: Vec<BlockReference>,
    what: String,
}

impl Shown {
    fn of(record: &Record<'_>) -> Self {
        Self {
            at: record.at,
            end: record.end,
            manager: record.resource_manager,
            info: record.info,
            transaction: record.transaction,
            blocks: record.blocks.to_vec(),
            what: format!("{:?}", record.what),
        }
    }
}

/// Decodes a log in chunks of these lengths, in turn. Returns the records and the outcome.
fn decode(start: u64, bytes: &[u8], lengths: &[usize]) -> (Vec<Shown>, Result<(), WalError>) {
    let (mut decoder, mut shown, mut at) = (Decoder::new(start), Vec::new(), 0);
    for length in lengths.iter().cycle() {
        let chunk = &bytes[at..bytes.len().min(at + length)];
        let fed =
            decoder.feed(start + at as u64, chunk, &mut |record| shown.push(Shown::of(record)));
        at += chunk.len();
        if fed.is_err() || at == bytes.len() {
            return (shown, fed);
        }
    }
    (shown, Ok(()))
}

/// Returns the records of a log without faults.
fn records(log: &Log) -> Vec<Shown> {
    let (shown, ended) = decode(log.start, &log.bytes, &[usize::MAX >> 1]);
    ended.expect("a log without a fault");
    shown
}

/// Returns the text of the error at the end of a log.
fn refusal(log: &Log) -> String {
    let (_, ended) = decode(log.start, &log.bytes, &[usize::MAX >> 1]);
    ended.expect_err("a fault").to_string()
}

/// Returns the reference that the decoder must return for a block.
fn reference(block: &Block) -> BlockReference {
    let (tablespace, database, number) = block.relation;
    BlockReference {
        relation: Relation { tablespace, database, number },
        fork: [Fork::Main, Fork::FreeSpace, Fork::Visibility, Fork::Init][usize::from(block.fork)],
        block: block.block,
        will_init: block.will_init,
        image: block.image.is_some(),
    }
}

/// Generates any block. Images are those of version 15.
fn any_block() -> impl Strategy<Value = Block> {
    let image =
        proptest::option::weighted(0.2, (0u16..=8192, prop_oneof![Just(0u8), Just(3), Just(13)]));
    let relation = (Just(1663u32), 1u32..3, 1u32..3);
    (relation, 0u8..4, any::<u32>(), any::<bool>(), prop_oneof![Just(0u16), 1u16..300], image)
        .prop_map(|(relation, fork, block, will_init, data, image)| Block {
            relation,
            fork,
            block,
            will_init,
            data,
            image: image.filter(|&(length, _)| length > 0),
        })
}

/// Generates any record that changes no files.
fn any_content() -> impl Strategy<Value = Content> {
    let length = prop_oneof![4 => 0usize..80, 1 => 200usize..300, 1 => 8000usize..30_000];
    let some = (proptest::option::of(any::<u16>()), proptest::option::of(any::<u32>()));
    let blocks = proptest::collection::vec(any_block(), 0..5);
    (9u8..30, any::<u8>(), any::<u32>(), blocks, some, length).prop_map(
        |(manager, info, transaction, blocks, (origin, top), length)| Content {
            manager,
            info,
            transaction,
            blocks,
            origin,
            top,
            main: (0..length).map(|at| (at * 7) as u8).collect(),
        },
    )
}

/// Makes a log of version 15 with these records.
fn written(start: u64, contents: &[Content]) -> Log {
    let mut log = Log::new(0xD110, start);
    for content in contents {
        log.record(content);
    }
    log
}
