//! The owners of pages by block, compared with the places in the out-of-band records of the drive.

use std::path::{Path, PathBuf};

use crate::common::{commands, new_medium, open, page_of, settings, work};
use flashgc_base::stream::NO_STREAM;
use flashgc_device::check::map_from_oob;
use flashgc_device::owners::{Owned, Query, owned};
use flashgc_device::{Backend, BlockState, Drive, Recording, Settings, WriteStreams};
use flashgc_ftl::{Geometry, PlacementSpec, UNMAPPED};
use flashgc_workload::StreamRanges;
use flashgc_workload::trace::{Change, join, tag};

const PAGE: u64 = 4096;

/// Records the requests of `work` on `drive`.
fn recorded(drive: &mut Drive, path: &Path, work: impl FnOnce(&mut Drive)) {
    let (pages, streams) = (drive.pages(), drive.takes_streams());
    drive.replace_recording(Some(Recording::begin(path, pages, streams).unwrap()));
    work(drive);
    drive.replace_recording(None).unwrap().end().unwrap();
}

/// Returns one recording whose writes have owners: owner 0 for all recordings but the last, and the
/// owners of `changes` for the last.
fn named(folder: &Path, recordings: &[PathBuf], changes: &[Change], pages: u64) -> PathBuf {
    let places: Vec<PathBuf> =
        (0..recordings.len()).map(|at| folder.join(format!("named{at}.flashgc"))).collect();
    let parts: Vec<(&Path, &Path)> =
        recordings.iter().zip(&places).map(|(from, to)| (&**from, &**to)).collect();
    tag(&parts, changes, (pages, PAGE)).unwrap();
    let whole = folder.join("whole.flashgc");
    let written: Vec<&Path> = places.iter().map(|place| &**place).collect();
    join(&written, &whole).unwrap();
    whole
}

/// Executes the commands with a stream for each write.
fn work_named(drive: &mut Drive, held: &mut [Option<u64>], commands: &[(u64, bool)], mark: u64) {
    for (number, &(page, is_trim)) in (mark..).zip(commands) {
        match is_trim {
            true => drive.trim(page, 1).unwrap(),
            false => {
                let stream = WriteStreams(&[(number % 5) as u8]);
                drive.write_named(page, &page_of(number), stream, false).unwrap();
            }
        }
        held[page as usize] = (!is_trim).then_some(number);
    }
}

fn change(page: u64, count: u64, owner: u8) -> Change {
    Change { time_ns: 0, page, count, owner }
}

/// Returns the settings of a drive of six blocks of four pages, whose collections begin at two
/// erased blocks; and a recording of writes to `pages`, in which owner 1 has pages 4 to 7.
fn six_blocks(folder: &Path, pages: &[u64]) -> (Settings, PathBuf) {
    let mut made = settings("greedy", "none", "fifo");
    made.layout.geometry = Geometry::new(6, 4, 8).unwrap();
    let mut drive = open(new_medium(&made), &made);
    let path = folder.join("run.flashgc");
    recorded(&mut drive, &path, |drive| {
        for &page in pages {
            drive.write(page, &page_of(page), false).unwrap();
        }
    });
    let trace = named(folder, &[path], &[change(4, 4, 1)], 8);
    (made, trace)
}

/// Returns the owner of each page with data after the commands `all`. The first `early` of them are
/// by owner 0.
fn last_writers(all: &[(u64, bool)], early: usize, owner: impl Fn(u64) -> u8) -> Vec<Option<u8>> {
    let mut held = vec![None; 1000];
    for (at, &(page, is_trim)) in all.iter().enumerate() {
        let by = if at < early { 0 } else { owner(page) };
        held[page as usize] = (!is_trim).then_some(by);
    }
    held
}

/// Executes random commands on a drive, and checks the result of [`owned`].
fn check(settings: &Settings) -> Owned {
    let folder = tempfile::tempdir().unwrap();
    let media = new_medium(settings);
    let mut drive = open(media.clone(), settings);
    let pages = drive.pages();
    let all = commands(6000, pages, 9);
    let (past, run) = all.split_at(2500);
    let mut held = vec![None; pages as usize];
    let [first, second] = ["past", "run"].map(|name| folder.path().join(format!("{name}.flashgc")));
    let names_streams = drive.takes_streams();
    let work = if names_streams { work_named } else { work };
    recorded(&mut drive, &first, |drive| work(drive, &mut held, past, 0));
    let before = drive.stat().counters;
    recorded(&mut drive, &second, |drive| work(drive, &mut held, run, 2500));
    let (blocks, counters) = (drive.blocks().collect::<Vec<_>>(), drive.stat().counters);
    drive.close().unwrap();
    let owner = |page: u64| 1 + (page % 3) as u8;
    let changes: Vec<Change> = (0..pages).map(|page| change(page, 1, owner(page))).collect();
    let trace = named(folder.path(), &[first.clone(), second.clone()], &changes, pages);
    // Owners 2 and 3 are in one group.
    let recordings: [&Path; 2] = [&first, &second];
    let recordings = if names_streams { &recordings[..] } else { &[] };
    let past_pages = before.host_pages;
    let asked = Query {
        groups: &[0, 1, 2],
        count: 3,
        counted: past_pages..u64::MAX,
        recordings,
        placement: None,
    };
    let found = owned(settings, &trace, &asked).unwrap();
    let valid: Vec<u32> = blocks.iter().map(|block| block.valid).collect();
    let erases: Vec<u32> = blocks.iter().map(|block| block.erases).collect();
    assert_eq!((&found.valid, &found.erases), (&valid, &erases));
    let map = map_from_oob(&media, settings).unwrap().map;
    let geometry = settings.layout.geometry;
    let mut live = vec![vec![0; valid.len()]; 3];
    for (page, owner) in last_writers(&all, past.len(), owner).iter().enumerate() {
        if let Some(owner) = owner {
            assert_ne!(map[page], UNMAPPED);
            live[usize::from(*owner).min(2)][geometry.place_of(map[page]).0 as usize] += 1;
        }
    }
    assert_eq!(found.live, live);
    let most = |block: usize| live.iter().map(|pages| pages[block]).max().unwrap();
    assert_eq!(found.purest, (0..valid.len()).map(most).map(u64::from).sum::<u64>());
    for (block, &invalid) in found.invalid.iter().enumerate() {
        let expected = match blocks[block].state {
            BlockState::Erased => 0,
            BlockState::Closed => geometry.pages_per_block() - valid[block],
            BlockState::Open | BlockState::Bad => continue,
        };
        assert_eq!(invalid, expected, "block {block}");
    }
    let copied = counters.copied_pages - before.copied_pages;
    assert!(copied > 100, "{copied}");
    assert_eq!(found.copied_of.iter().sum::<u64>(), copied);
    assert_eq!(found.company.iter().flatten().sum::<u64>(), copied);
    assert_eq!(found.company[2].iter().sum::<u64>(), found.copied_of[2] + found.copied_of[3]);
    assert_eq!(found.copied_of[usize::from(NO_STREAM)], 0);
    assert_eq!(found.collections, counters.collections - before.collections);
    assert!(found.victims.iter().all(|&victims| victims <= found.collections - found.empty));
    found
}

#[test]
fn pages_lie_where_the_drive_itself_has_them() {
    for (victim, placement, allocation) in [
        ("greedy", "none", "fifo"),
        ("d-choices:d=3", "none", "random"),
        ("random", "dac:regions=3", "sfl"),
        ("cost-benefit", "sfs:classes=3", "lowest-erase"),
    ] {
        check(&settings(victim, placement, allocation));
    }
}

#[test]
fn a_drive_with_handles_by_address_collects_as_it_did() {
    let mut made = settings("greedy", "fdp:handles=4", "fifo");
    let table = b"0, 409600, 1\n409600, 4096000, 2\n";
    made.streams = Some(std::sync::Arc::new(StreamRanges::parse(Path::new("s"), table).unwrap()));
    made.layout.streams = true;
    check(&made);
}

#[test]
fn a_drive_with_handles_that_the_host_names_collects_as_it_did() {
    check(&settings("greedy", "fdp:handles=4,persistent=1", "fifo"));
}

#[test]
fn owners_with_handles_of_their_own_meet_in_no_block() {
    let plain = settings("greedy", "none", "fifo");
    let folder = tempfile::tempdir().unwrap();
    let mut drive = open(new_medium(&plain), &plain);
    let pages = drive.pages();
    let path = folder.path().join("run.flashgc");
    let mut held = vec![None; pages as usize];
    recorded(&mut drive, &path, |drive| work(drive, &mut held, &commands(6000, pages, 9), 0));
    // Owner 1 has the pages that are often written.
    let changes = [change(0, pages, 0), change(0, pages / 8, 1)];
    let trace = named(folder.path(), &[path], &changes, pages);
    let ask = |placement| Query {
        groups: &[0, 1],
        count: 2,
        counted: 0..u64::MAX,
        recordings: &[],
        placement,
    };
    let mixed = owned(&plain, &trace, &ask(None)).unwrap();
    let fdp = PlacementSpec::parse("fdp:handles=2,persistent=2").unwrap();
    let apart = owned(&plain, &trace, &ask(Some((fdp, &[0, 1])))).unwrap();
    let valid = |found: &Owned| u64::from(found.valid.iter().sum::<u32>());
    assert_eq!(valid(&mixed), valid(&apart));
    assert_eq!(apart.purest, valid(&apart));
    assert!(mixed.purest * 100 < valid(&mixed) * 95, "{} of {}", mixed.purest, valid(&mixed));
    // If each owner has a handle, the invalid pages of a victim belong to the owner of its copied
    // pages.
    assert_eq!((apart.company[0][1], apart.company[1][0]), (0, 0));
    assert!(mixed.company[0][1] > 0);
}

#[test]
fn copies_are_counted_by_the_owner_of_most_invalid_pages_beside_them() {
    // In block 0, page 1 is live and 0, 4 and 5 are invalid. In block 1, pages 2 and 3 are live. In
    // block 2, page 0 is live and 4, 5 and 6 are invalid. The 17th write collects blocks 0 and 2.
    // Later one block has page 0 four times, and the 21st write collects it.
    let pages = [0, 4, 1, 5, 2, 6, 3, 7, 4, 5, 6, 0, 7, 4, 5, 6, /**/ 0, 0, 0, 0, /**/ 0];
    let folder = tempfile::tempdir().unwrap();
    let (made, trace) = six_blocks(folder.path(), &pages);
    let asked =
        |counted| Query { groups: &[0, 1], count: 2, counted, recordings: &[], placement: None };
    let found = owned(&made, &trace, &asked(0..u64::MAX)).unwrap();
    assert_eq!((found.collections, found.empty), (3, 0));
    assert_eq!(found.victims, [3, 0]);
    assert_eq!(found.company, [[1, 2, 0], [0, 0, 0]]);
    let found = owned(&made, &trace, &asked(20..21)).unwrap();
    assert_eq!((found.collections, found.victims), (1, vec![1, 0]));
    assert_eq!(found.company, [[1, 0, 0], [0, 0, 0]]);
    // The 17th page write runs two collections; the writes before it, and the three behind it, run
    // none.
    for (counted, collections) in [(16..17, 2), (0..16, 0), (17..20, 0), (16..21, 3), (21..99, 0)] {
        let found = owned(&made, &trace, &asked(counted.clone())).unwrap();
        assert_eq!(found.collections, collections, "{counted:?}");
    }
}

#[test]
fn of_equal_owners_beside_a_copy_the_first_counts() {
    // Each block has equally many invalid pages of both owners: 0 and 4, or 2 and 6.
    let pages = [0, 4, 1, 5, 2, 6, 3, 7, 0, 4, 0, 4, 0, 4, 0, 4, 2, 6, 2, 6, 2, 6];
    let folder = tempfile::tempdir().unwrap();
    let (made, trace) = six_blocks(folder.path(), &pages);
    let asked =
        Query { groups: &[0, 1], count: 2, counted: 0..u64::MAX, recordings: &[], placement: None };
    let found = owned(&made, &trace, &asked).unwrap();
    assert!(found.collections > found.empty);
    assert_eq!(found.company, [[2, 0, 0], [2, 0, 0]]);
}
