//! Flushes come after a fixed number of page writes, at the same places for any batch limits.

use crate::generate_common::spec;
use flashgc_workload::requests::{RequestStream, Requests, Space, TimedRequest};
use flashgc_workload::{Batch, Flushing, FlushingRequests, Op, Workload};

/// Returns, for each flush among the first commands, the number of page writes and of commands
/// before it.
fn places(mut workload: impl Workload, limits: &[usize], commands: usize) -> Vec<(u64, usize)> {
    let (mut batch, mut places) = (Batch::default(), Vec::new());
    let (mut writes, mut done) = (0, 0);
    for limit in limits.iter().cycle() {
        workload.fill(&mut batch, *limit).unwrap();
        let mut flushes = batch.flushes.iter().peekable();
        for command in 0..batch.pages.len() {
            while flushes.next_if_eq(&&(command as u32)).is_some() {
                places.push((writes, done));
            }
            if done == commands {
                return places;
            }
            writes += u64::from(batch.ops.get(command).is_none_or(|&op| op == Op::Write));
            done += 1;
        }
        assert_eq!(flushes.next(), None, "a flush behind the last command of a batch");
    }
    places
}

#[test]
fn a_flush_follows_every_so_many_page_writes() {
    for text in ["uniform", "uniform:read=0.4,trim=0.1"] {
        for every in [1, 2, 7, 1000, 4096] {
            for limits in [&[1][..], &[3], &[4096], &[1, 900, 7, 2]] {
                let inner = spec(text).open(1000, 1).unwrap();
                let found = places(Flushing::new(inner, every), limits, 10_000);
                let writes: Vec<u64> = found.iter().map(|place| place.0).collect();
                let expected: Vec<u64> =
                    (1..).map(|flush| flush * every).take(writes.len()).collect();
                assert!(writes == expected, "{text}, every {every}, {limits:?}");
                let share = if text == "uniform" { 1.0 } else { 0.5 };
                let most = 10_000.0 * share / every as f64;
                assert!((writes.len() as f64 - most).abs() <= 1.0 + 0.1 * most, "{}", writes.len());
                let inner = spec(text).open(1000, 1).unwrap();
                assert!(found == places(Flushing::new(inner, every), &[500], 10_000));
            }
        }
    }
}

#[test]
fn a_flush_comes_straight_behind_its_write_and_not_behind_later_reads() {
    let inner = spec("uniform:read=0.9").open(1000, 1).unwrap();
    let mut plain = spec("uniform:read=0.9").open(1000, 1).unwrap();
    let mut batch = Batch::default();
    plain.fill(&mut batch, 5000).unwrap();
    let writes: Vec<usize> = batch
        .ops
        .iter()
        .enumerate()
        .filter(|(_, op)| **op == Op::Write)
        .map(|(at, _)| at)
        .collect();
    let expected: Vec<(u64, usize)> =
        (3..=writes.len()).step_by(3).map(|n| (n as u64, writes[n - 1] + 1)).collect();
    assert_eq!(places(Flushing::new(inner, 3), &[5000], 5000), expected);
}

#[test]
fn two_hosts_that_flush_keep_both_flushes_in_order() {
    let inner = Flushing::new(spec("uniform").open(10, 1).unwrap(), 2);
    let found = places(Flushing::new(Box::new(inner), 3), &[4, 1], 13);
    assert_eq!(
        found.iter().map(|place| place.0).collect::<Vec<_>>(),
        [2, 3, 4, 6, 6, 8, 9, 10, 12, 12]
    );
}

#[test]
fn timed_flushes_come_behind_the_request_that_has_the_write() {
    let source = Requests::parse("disksim:reads=0.3,size=uniform:512B:40KiB,unit=512B").unwrap();
    let space = Space { logical_pages: 300, page_size: 4096, request_size: 4096 };
    let stream = || source.open(space, 1, None, 1.0, None).unwrap();
    let draw = |mut stream: Box<dyn RequestStream>, limit, most: usize| {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while all.len() < most {
            stream.fill(&mut batch, limit).unwrap();
            assert!((1..=limit).contains(&batch.len()));
            all.extend_from_slice(&batch);
        }
        all.truncate(most);
        all
    };
    let plain = draw(stream(), 100, 3000);
    for every in [1, 5, 64] {
        // The expected result is computed page write by page write.
        let (mut expected, mut writes) = (Vec::new(), 0u64);
        for request in &plain {
            expected.push(*request);
            let pages = request.offset / 4096..request.end().div_ceil(4096);
            let mut reached = false;
            for _ in pages.filter(|_| request.op == Op::Write) {
                writes += 1;
                reached |= writes % every == 0;
            }
            if reached {
                expected.push(TimedRequest::flush(request.arrival_ns));
            }
        }
        for limit in [1, 3, 4096] {
            let found = draw(Box::new(FlushingRequests::new(stream(), every, 4096)), limit, 2500);
            assert!(found[..] == expected[..2500], "every {every}, limit {limit}");
        }
    }
}

/// Requests have several pages. A flush comes after the request with the N-th page write, and only
/// once if the request has several such page writes.
#[test]
fn no_flush_comes_inside_a_request() {
    let cases = [(3, 5), (5, 2), (8, 3), (4, 1), (7, 7)];
    for ((pages, every), text) in
        cases.into_iter().flat_map(|case| [(case, "uniform"), (case, "uniform:read=0.3")])
    {
        let sized = || spec(text).open_sized(90, 4096, pages * 4096, 1).unwrap();
        let mut plain = sized();
        let mut batch = Batch::default();
        plain.fill(&mut batch, 3000).unwrap();
        // The expected result is computed command by command; a request has a fixed number of
        // commands.
        let (mut writes, mut expected, mut is_due) = (0, Vec::new(), false);
        for command in 0..batch.pages.len() {
            if batch.op(command) == Op::Write {
                writes += 1;
                is_due |= writes % every == 0;
            }
            if command % pages as usize == pages as usize - 1 && std::mem::take(&mut is_due) {
                expected.push((writes, command + 1));
            }
        }
        expected.retain(|place| place.1 < 2900);
        assert!(expected.len() > 200, "{}", expected.len());
        for limits in [&[3000][..], &[1], &[2, 5, 1, 64], &[4096]] {
            let mut found = places(Flushing::new(sized(), every), limits, 2990);
            found.retain(|place| place.1 < 2900);
            assert!(found == expected, "{pages} pages, every {every}, {text}, {limits:?}");
        }
    }
}
