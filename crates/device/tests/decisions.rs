//! The stored drive decides as the counting drive does for the same commands, also after a clean
//! restart, and its pages are at the same places.

use std::path::Path;
use std::sync::Arc;

use crate::common;
use crate::common::{LOW, commands, compare, new_medium, open, settings, work};
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_device::{Backend, Outside, Settings};
use flashgc_ftl::{Translation, allocation_policies, placement_policies, victim_policies};
use flashgc_workload::StreamRanges;

fn follow(counting: &mut dyn Translation, commands: &[(u64, bool)]) {
    for &(page, is_trim) in commands {
        if is_trim {
            counting.trim(&[page as u32]).unwrap();
        } else {
            counting.write(&[page as u32]).unwrap();
        }
    }
}

#[test]
fn decisions_are_those_of_the_counting_drive_across_clean_restarts() {
    let mut allocations = allocation_policies().iter().cycle();
    let chosen = victim_policies().iter().flat_map(|policy| {
        ["none", "dac", "dac:regions=2,threshold=900"].map(|placement| (policy.name, placement))
    });
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    let registered = known.map(|info| ("cost-benefit", info.name));
    for (policy, placement) in chosen.chain(registered) {
        let allocation = allocations.next().unwrap().name;
        let what = format!("{policy} {placement} {allocation}");
        let settings = settings(policy, placement, allocation);
        assert_eq!(settings.layout.frontier.to_string(), format!("pool:low={LOW}"));
        let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
        let media = new_medium(&settings);
        let pages = u64::from(settings.layout.geometry.logical_pages());
        let mut held = vec![None; pages as usize];
        for round in 0..3 {
            let mut drive = open(media.clone(), &settings);
            assert_eq!(drive.stat().recovery, None, "{what}");
            let commands = commands(2000, pages, round);
            work(&mut drive, &mut held, &commands, round * 10_000);
            follow(counting.as_mut(), &commands);
            let stat = drive.stat();
            assert_eq!(stat.counters, counting.counters(), "{what}, round {round}");
            assert_eq!(stat.decisions, counting.decisions(), "{what}, round {round}");
            drive.audit().unwrap_or_else(|why| panic!("{what}: {why}"));
            compare(&mut drive, &held);
            assert_eq!(stat.power_cycles, round + 1);
            assert!(stat.opened.checkpoints > 0 && stat.unsafe_shutdowns == 0, "{what}: {stat:?}");
            drive.close().unwrap();
        }
        assert!(counting.counters().collections > 100, "{what}");
        let checked = flashgc_device::check::check(&media, &settings).unwrap();
        assert!(checked.is_clean && checked.damaged.is_empty(), "{what}: {checked:?}");
        assert!(checked.disagree.is_empty() && checked.mapped > 100, "{what}: {checked:?}");
    }
}

/// A table of streams by address: stream 1 for pages 0 to 99, stream 3 for pages 100 to 299.
const STREAMS: &str = "0, 409600, 1\n409600, 1228800, 3\n";

fn stream_of(page: u32) -> StreamId {
    match page {
        0..100 => 1,
        100..300 => 3,
        _ => NO_STREAM,
    }
}

/// Streams by address: the data of a page keep its stream, also after a crash.
#[test]
fn streams_are_those_of_the_counting_drive_and_survive_a_crash() {
    let groups = "fdp:handles=2,persistent=1,groups=2";
    for placement in ["none", "sepbit", "fdp:handles=4", "fdp:handles=2,persistent=1", groups] {
        let mut settings = settings("cost-benefit", placement, "fifo");
        settings.layout.streams = true;
        let ranges = StreamRanges::parse(Path::new("streams"), STREAMS.as_bytes());
        settings.streams = Some(Arc::new(ranges.unwrap()));
        let text = settings.text();
        let settings = Settings::parse(&text, Outside::default()).unwrap();
        assert_eq!((settings.text(), settings.layout.streams), (text, true));
        let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
        let media = new_medium(&settings);
        let pages = u64::from(settings.layout.geometry.logical_pages());
        let mut held = vec![None; pages as usize];
        for round in 0..3 {
            let mut drive = open(media.clone(), &settings);
            let commands = commands(3000, pages, round);
            work(&mut drive, &mut held, &commands, round * 10_000);
            for one in &commands {
                let page = one.0 as u32;
                counting.streams().unwrap().name(&[page], &[stream_of(page)]).unwrap();
                follow(counting.as_mut(), &[*one]);
            }
            let stat = drive.stat();
            assert_eq!(stat.decisions, counting.decisions(), "{placement}, round {round}");
            assert_eq!(stat.streams.as_ref(), counting.counts().streams.as_ref(), "{placement}");
            drive.close().unwrap();
        }
        let mut drive = open(media.clone(), &settings);
        drive.write(5, &common::page_of(1), true).unwrap();
        drop(drive); // Not closed.
        let mut drive = open(media, &settings);
        assert!(drive.stat().recovery.is_some());
        // The host writes no more to the ranges; copies of their pages keep their streams.
        for (page, _) in commands(3000, pages - 300, 9) {
            drive.write(300 + page, &common::page_of(page), false).unwrap();
        }
        let totals = drive.stat().streams.unwrap();
        let of = |entry: StreamId| totals.streams[usize::from(entry)];
        assert_eq!((of(1).host_pages, of(3).host_pages), (0, 0), "{placement}");
        assert!(of(1).copied_pages > 20 && of(3).copied_pages > 20, "{placement}: {totals:?}");
        assert_eq!(of(NO_STREAM).host_pages, 3000, "{placement}");
    }
}

/// A command of many pages is equal to commands of one page each, one after the other.
#[test]
fn a_command_of_many_pages_decides_as_its_pages() {
    let settings = common::plain();
    let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
    let mut drive = open(new_medium(&settings), &settings);
    let pages = drive.pages();
    for (first, is_trim) in commands(1000, pages - 20, 1) {
        let count = 1 + first % 20;
        let range: Vec<u32> = (first..first + count).map(|page| page as u32).collect();
        if is_trim {
            drive.trim(first, count).unwrap();
            counting.trim(&range).unwrap();
        } else {
            let data: Vec<u8> = (first..first + count).flat_map(common::page_of).collect();
            drive.write(first, &data, false).unwrap();
            counting.write(&range).unwrap();
        }
    }
    assert_eq!(drive.stat().counters, counting.counters());
    assert_eq!(drive.stat().decisions, counting.decisions());
}

#[test]
fn hints_reach_the_policy_and_survive_a_clean_restart() {
    let settings = settings("z-greedy", "none", "fifo");
    let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
    let media = new_medium(&settings);
    let pages = u64::from(settings.layout.geometry.logical_pages());
    let mut held = vec![None; pages as usize];
    for round in 0..2 {
        let mut drive = open(media.clone(), &settings);
        for step in 0..200 {
            let hinted = (step * 37 + round) % (pages - 8);
            drive.hint(hinted, 8, None).unwrap();
            drive.cancel(hinted + 6, 2).unwrap();
            let range: Vec<u32> = (hinted..hinted + 8).map(|page| page as u32).collect();
            let hints = counting.hints().unwrap();
            hints.hint(&range).unwrap();
            hints.cancel(&range[6..]).unwrap();
            let commands = commands(20, pages, round * 1000 + step);
            work(&mut drive, &mut held, &commands, (round * 1000 + step) * 100);
            follow(counting.as_mut(), &commands);
        }
        assert_eq!(drive.stat().decisions, counting.decisions(), "round {round}");
        drive.close().unwrap();
    }
    assert!(
        counting.counts().zombies.unwrap().copied + counting.counts().zombies.unwrap().overwritten
            > 100
    );
}
