//! Tests of streams: a page leaves a cache with the stream of the last write to it, or with that of
//! its range of addresses. Caches, hints and the sizes of batches do not change that.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_host::{ClockedHost, HostSpec, Leaving};
use flashgc_workload::{Batch, Op, StreamRanges, Workload, WorkloadError};

const PAGES: u32 = 300;
const PAGE: u32 = 4096;

/// Caches that write pages back in the background, in the writer's own time, and at evictions.
const CACHES: [&str; 3] = [
    "page-cache:size=400KiB,rate=100,speed=60,expire=300ms,writeback=100ms",
    "page-cache:size=200KiB,rate=1000,speed=50,expiry=page,expire=1s,limit=40%",
    "buffer-cache:size=200KiB,rate=100,checkpoint=3s,delay=100ms,pages=2",
];

/// Returns writes, reads and discards of random pages. Some writes have a stream.
fn requests(seed: u64) -> impl Iterator<Item = (Op, u32, StreamId)> {
    let mut stream = Stream::new(seed, "requests");
    std::iter::repeat_with(move || {
        let page = stream.below(PAGES).min(stream.below(PAGES));
        let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim][stream.below(5) as usize];
        let entry = [0, 1, 7, NO_STREAM][stream.below(4) as usize];
        (op, page, if op == Op::Write { entry } else { NO_STREAM })
    })
}

/// Takes all commands that leave `host`, and checks that each write has the stream that `expected`
/// returns. Returns the number of writes.
fn take(host: &mut ClockedHost, expected: impl Fn(u32) -> StreamId) -> u32 {
    let mut writes = 0;
    while let Some(leaving) = host.next_leaving() {
        match leaving {
            Leaving::Command(page, Op::Write, stream) => {
                assert_eq!(stream, expected(page), "page {page}");
                writes += 1;
            }
            Leaving::Command(_, _, stream) => assert_eq!(stream, NO_STREAM),
            Leaving::Hint(_) | Leaving::HintCommand => {}
            Leaving::Served(_) => {
                panic!("a host on a clock says of no requests that they are served")
            }
        }
    }
    writes
}

/// Returns a table of ranges, and a simple function that gives the same streams by page.
fn ranges() -> (Arc<StreamRanges>, impl Fn(u32) -> Option<StreamId>) {
    // The second range begins inside page 20, whose first byte has no stream.
    let text = b"0, 40960, 3\n83968, 409600, 9\n";
    let naive = |page| match page {
        0..10 => Some(3),
        21..100 => Some(9),
        _ => None,
    };
    (Arc::new(StreamRanges::parse(Path::new("streams.csv"), text).unwrap()), naive)
}

#[test]
fn a_page_leaves_with_the_stream_of_the_last_write_to_it() {
    let (table, ranged) = ranges();
    for cache in CACHES {
        for (by_writes, by_ranges) in [(true, false), (false, true), (true, true), (false, false)] {
            let spec = HostSpec::parse(cache, "piggyback").unwrap();
            let spec = spec.with_streams(by_writes, by_ranges.then(|| Arc::clone(&table)));
            let mut host = spec.open_clocked(PAGE, PAGES, 5).unwrap();
            let mut last = vec![NO_STREAM; PAGES as usize];
            let stream_of = |last: &[StreamId], page: u32| {
                let written = if by_writes { last[page as usize] } else { NO_STREAM };
                ranged(page).filter(|_| by_ranges).unwrap_or(written)
            };
            let (mut by_itself, mut for_requests) = (0, 0);
            host.start();
            for (moment, (op, page, stream)) in (1..6000).zip(requests(3)) {
                host.advance(moment * 10_000_000);
                if moment % 3 == 0 {
                    host.flush_next();
                }
                by_itself += take(&mut host, |page| stream_of(&last, page));
                host.request(op, page, stream);
                if op == Op::Write {
                    last[page as usize] = stream;
                }
                for_requests += take(&mut host, |page| stream_of(&last, page));
            }
            assert!(by_itself > 300 && for_requests > 5, "{cache}: {by_itself} {for_requests}");
        }
    }
}

/// A workload that has the listed requests and then ends.
#[derive(State)]
#[snapshot(refused = "a script is not saved")]
struct Script(std::vec::IntoIter<(Op, u32, StreamId)>);

impl Workload for Script {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        for (op, page, stream) in self.0.by_ref().take(limit) {
            batch.extend(op, stream, page..page + 1);
        }
        Ok(())
    }
}

/// Returns the commands that the drive gets, in batches of at most `limit` commands.
fn seen(
    spec: &HostSpec,
    script: Vec<(Op, u32, StreamId)>,
    limit: usize,
) -> Vec<(Op, u32, StreamId)> {
    let mut host = spec.open(Box::new(Script(script.into_iter())), PAGE, PAGES, 5).unwrap();
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    loop {
        host.fill(&mut batch, limit).unwrap();
        assert!(batch.streams.is_empty() || batch.streams.len() == batch.pages.len());
        if batch.pages.is_empty() {
            return all;
        }
        all.extend(
            (0..batch.pages.len()).map(|at| (batch.op(at), batch.pages[at], batch.stream(at))),
        );
    }
}

#[test]
fn streams_change_no_command_and_no_batch_changes_them() {
    let script: Vec<_> = requests(9).take(3000).collect();
    let bare: Vec<_> = script.iter().map(|&(op, page, _)| (op, page, NO_STREAM)).collect();
    let (table, ranged) = ranges();
    for cache in CACHES {
        for hints in ["none", "piggyback", "perfect", "oracle:horizon=0.2"] {
            let plain = HostSpec::parse(cache, hints).unwrap();
            let without = seen(&plain, bare.clone(), 4096);
            // If writes name no streams, a cache does not keep streams, and batches have no list of
            // them.
            assert_eq!(seen(&plain, script.clone(), 4096), without, "{cache} {hints}");
            let named = plain.clone().with_streams(true, None);
            let whole = seen(&named, script.clone(), 4096);
            for limit in [1, 7, 500] {
                assert_eq!(seen(&named, script.clone(), limit), whole, "{cache} {hints} {limit}");
            }
            let commands: Vec<_> =
                whole.iter().map(|&(op, page, _)| (op, page, NO_STREAM)).collect();
            assert_eq!(commands, without, "{cache} {hints}");
            // Streams by range are the same, whether the application's writes get them before the
            // cache or pages get them when they leave it.
            let before = script.iter().map(|&(op, page, stream)| {
                (op, page, ranged(page).filter(|_| op == Op::Write).unwrap_or(stream))
            });
            let behind = plain.with_streams(true, Some(Arc::clone(&table)));
            assert_eq!(seen(&behind, script.clone(), 64), seen(&named, before.collect(), 64));
        }
    }
}

#[test]
fn a_page_that_is_written_again_before_it_leaves_has_its_new_stream() {
    // The cache has two pages and no background writer. Page 3 evicts 1, then page 4 evicts 2.
    let cache = "buffer-cache:size=8KiB,checkpoint=0s,pages=0";
    let spec = HostSpec::parse(cache, "none").unwrap().with_streams(true, None);
    let (write, read) =
        (|page, stream| (Op::Write, page, stream), |page| (Op::Read, page, NO_STREAM));
    let script = vec![write(1, 5), write(1, 6), write(2, 5), write(2, NO_STREAM), read(3), read(4)];
    let expected = [read(1), read(2), write(1, 6), read(3), write(2, NO_STREAM), read(4)];
    assert_eq!(seen(&spec, script, 100), expected);
}
