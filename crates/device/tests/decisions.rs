//! The stored drive decides as the counting drive does on the same commands, also across a clean
//! restart, and its pages are where the counting drive has them.

mod common;

use common::{LOW, commands, compare, new_medium, open, settings, work};
use flashgc_device::Served;
use flashgc_ftl::{Translation, allocation_policies, placement_policies, victim_policies};

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
            assert!(stat.checkpoints > 0 && stat.unsafe_shutdowns == 0, "{what}: {stat:?}");
            drive.close().unwrap();
        }
        assert!(counting.counters().collections > 100, "{what}");
        let checked = flashgc_device::check::check(&media, &settings).unwrap();
        assert!(checked.is_clean && checked.damaged.is_empty(), "{what}: {checked:?}");
        assert!(checked.disagree.is_empty() && checked.mapped > 100, "{what}: {checked:?}");
    }
}

/// Commands of many pages are those of one page each, one after the other.
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
    assert!(counting.zombies().unwrap().copied + counting.zombies().unwrap().overwritten > 100);
}
