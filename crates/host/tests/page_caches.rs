//! Tests of page caches: compared with sequences worked out by hand, with a textbook LRU, and with
//! the reference of `3-region` in `naive`.

use crate::naive;
use crate::naive::Naive;
use flashgc_base::residency::Region;
use flashgc_base::rng::Stream;
use flashgc_host::{Evicted, PageCache, PageCacheSpec, page_caches};

fn cache(spec: &str, pages: u32, capacity: u32) -> Box<dyn PageCache> {
    PageCacheSpec::parse(spec).unwrap().build(pages, capacity).unwrap()
}

/// Reads or writes a page as a virtual memory system does. Returns the evicted page, if any.
fn reference(cache: &mut dyn PageCache, page: u32, write: bool) -> Option<Evicted> {
    if cache.touch(page, write) {
        return None;
    }
    let evicted = cache.make_room();
    cache.insert(page, write);
    evicted
}

/// Returns the pages of the three regions, and the dirty pages.
fn lists(cache: &dyn PageCache) -> ([Vec<u32>; 3], Vec<u32>) {
    let regions = Region::ALL.map(|region| cache.region_pages(region));
    let mut dirty: Vec<u32> = regions.iter().flatten().copied().collect();
    dirty.retain(|&page| cache.lookup(page).unwrap().dirty);
    (regions, dirty)
}

#[test]
fn a_sequence_worked_by_hand_in_three_regions() {
    // C = 8: sizes I = 2, M = 4, L = 2; no resizing before 8 insertions. Lists newest first.
    let mut cache = cache("3-region", 20, 8);
    let cache = cache.as_mut();
    for page in 1..=4 {
        assert_eq!(reference(cache, page, page == 3), None);
    }
    // Pages 1 and 2 overflowed from I.
    assert_eq!(lists(cache), ([vec![4, 3], vec![], vec![2, 1]], vec![3]));
    // A write hit in L moves page 1 to the head of M and makes it dirty.
    reference(cache, 1, true);
    assert_eq!(lists(cache), ([vec![4, 3], vec![1], vec![2]], vec![3, 1]));
    // A read hit in I.
    reference(cache, 4, false);
    assert_eq!(lists(cache), ([vec![3], vec![4, 1], vec![2]], vec![3, 1]));
    for page in [5, 6] {
        reference(cache, page, false);
    }
    for page in [6, 2, 3] {
        reference(cache, page, false);
    }
    // Pages 6 (from I), 2 and 3 (from L) moved to M, which is 3 2 6 4 now; page 1 overflowed to L.
    assert_eq!(lists(cache), ([vec![5], vec![3, 2, 6, 4], vec![1]], vec![3, 1]));
    assert_eq!(reference(cache, 7, false), None);
    assert_eq!(cache.len(), 7);
    assert_eq!(cache.make_room(), None);
    // The eighth insertion ends the epoch. Pages 1, 2 and 3 moved from I to L, and all were hit
    // there: 3/3. Page 1 moved from M to L, and was not hit: 0/1. So I grows by d = 1 at the cost
    // of M. L had 3 hits on 1 page, M none on 4 pages, so M grows at the cost of L. Now 8, 7 and 5
    // fit into I.
    reference(cache, 8, true);
    assert_eq!(lists(cache).0, [vec![8, 7, 5], vec![3, 2, 6, 4], vec![1]]);
    // The tail of L, page 1, is evicted; it is dirty.
    assert_eq!(reference(cache, 9, false), Some(Evicted { page: 1, dirty: true }));
    // L has page 5 now, which overflowed from I when page 9 was inserted.
    assert_eq!(lists(cache).0, [vec![9, 8, 7], vec![3, 2, 6, 4], vec![5]]);
}

#[test]
fn update_probabilities_are_the_share_of_stays_with_a_write() {
    // C = 4 without resizing: the sizes are 1, 2, 1. All probabilities start at 0.5.
    let mut cache = cache("3-region:resize=no", 10, 4);
    let cache = cache.as_mut();
    assert_eq!(cache.update_probability(Region::Lru), 0.5);
    assert_eq!(cache.update_probability(Region::Mru), 0.5 + 0.5 * 0.5);
    reference(cache, 0, true); // page 0 enters I; this write does not count
    reference(cache, 0, true); // page 0 is written in I, and moves to M
    reference(cache, 0, true); // page 0 is written in M
    reference(cache, 0, true); // a second write in the same stay does not count
    reference(cache, 1, false); // page 1 enters I
    reference(cache, 2, false); // page 2 enters I; page 1 leaves I unwritten, for L
    reference(cache, 1, true); // page 1 is written in L
    reference(cache, 3, false); // page 3 comes, which ends the epoch before page 2 leaves I

    // In this epoch 1 of 2 stays in I had a write, 1 of 1 in M, and 1 of 1 in L.
    let learnt = |share: f64| 0.75 * 0.5 + 0.25 * share;
    let (initial, mru, lru) = (learnt(0.5), learnt(1.0), learnt(1.0));
    assert_eq!(cache.update_probability(Region::Lru), lru);
    assert_eq!(cache.update_probability(Region::Mru), mru + (1.0 - mru) * lru);
    assert_eq!(cache.update_probability(Region::Initial), initial + (1.0 - initial) * lru);
}

#[test]
fn a_collection_changes_dirty_bits_and_nothing_else() {
    for info in page_caches() {
        let mut cache = cache(info.name, 20, 8);
        let cache = cache.as_mut();
        for page in 0..8 {
            reference(cache, page, page % 2 == 0);
        }
        let (before, _) = lists(cache);
        cache.set_dirty(0, false);
        cache.set_dirty(1, true);
        let (after, dirty) = lists(cache);
        assert_eq!(before, after, "{}", info.name);
        assert!(dirty.contains(&1) && !dirty.contains(&0), "{}", info.name);
        assert_eq!(cache.lookup(15), None);
    }
}

#[test]
fn three_regions_are_what_their_definition_says() {
    for (resize, gain) in [(true, 0.25), (false, 0.25), (true, 1.0)] {
        for (seed, capacity) in [(1, 4), (2, 5), (3, 8), (4, 33), (5, 64), (6, 100)] {
            let pages = 3 * capacity;
            let spec = format!("3-region:resize={},g={gain}", if resize { "yes" } else { "no" });
            let mut cache = cache(&spec, pages, capacity);
            let mut naive = Naive::new(capacity as usize, gain, resize);
            let mut sizes_seen = std::collections::BTreeSet::new();
            let mut rng = Stream::new(seed, "three regions");
            for step in 0..20_000 {
                // Phases of different locality, so that sizes move both ways.
                let within = [pages, capacity, capacity / 2 + 1][step / 1500 % 3];
                let page = (rng.below(within) + (step as u32 / 4000) * capacity) % pages;
                let write = rng.below(10) < [1, 5, 9][step / 700 % 3];
                let expected = naive.reference(page, write);
                let found = reference(cache.as_mut(), page, write).map(|out| (out.page, out.dirty));
                assert_eq!(found, expected, "{spec} seed {seed} step {step}");
                sizes_seen.insert(naive.sizes);
                if rng.below(20) == 0 {
                    let page = rng.below(pages);
                    if cache.lookup(page).is_some() {
                        let dirty = rng.below(2) == 0;
                        cache.set_dirty(page, dirty);
                        naive.set_dirty(page, dirty);
                    }
                }
                if step % 97 == 0 {
                    let (regions, dirty) = lists(cache.as_ref());
                    let numbers = |list: &Vec<naive::Page>| -> Vec<u32> {
                        list.iter().map(|page| page.number).collect()
                    };
                    assert_eq!(regions, [0, 1, 2].map(|list| numbers(&naive.lists[list])));
                    let expected: Vec<u32> = (naive.lists.iter().flatten())
                        .filter(|page| page.dirty)
                        .map(|page| page.number)
                        .collect();
                    assert_eq!(dirty, expected);
                    assert_eq!(cache.region_lengths(), regions.map(|list| list.len() as u32));
                    for (list, region) in [Region::Initial, Region::Mru].into_iter().enumerate() {
                        let last = naive.probability[naive::L];
                        let here = naive.probability[list];
                        assert_eq!(cache.update_probability(region), here + (1.0 - here) * last);
                    }
                }
            }
            assert_eq!(sizes_seen.len() > 1, resize, "{spec} seed {seed}: {sizes_seen:?}");
        }
    }
}

#[test]
fn plain_lru_evicts_what_was_not_touched_for_the_longest_however_it_is_split() {
    for (parts, capacity) in [(3, 1), (3, 2), (1, 7), (3, 9), (4, 50), (1000, 50)] {
        let pages = 2 * capacity + 3;
        let mut cache = cache(&format!("lru:parts={parts}"), pages, capacity);
        let lru_region = (capacity / parts).max(1) as usize;
        let mut textbook: Vec<(u32, bool)> = Vec::new(); // the page touched last comes last
        let mut rng = Stream::new(1, "lru");
        for _ in 0..20_000 {
            let (page, write) = (rng.below(pages), rng.below(3) == 0);
            let at = textbook.iter().position(|&(cached, _)| cached == page);
            let mut expected = None;
            let mut dirty = write;
            match at {
                Some(at) => dirty |= textbook.remove(at).1,
                None if textbook.len() == capacity as usize => {
                    let (page, dirty) = textbook.remove(0);
                    expected = Some(Evicted { page, dirty });
                }
                None => {}
            }
            textbook.push((page, dirty));
            assert_eq!(reference(cache.as_mut(), page, write), expected);
            if textbook.len() == capacity as usize {
                // The place of a page in the list determines its region.
                let oldest = textbook[rng.below(capacity) as usize];
                let place = textbook.iter().position(|&page| page == oldest).unwrap();
                let region = if place < lru_region { Region::Lru } else { Region::Mru };
                assert_eq!(cache.lookup(oldest.0).unwrap().region, region, "{parts} {capacity}");
                assert_eq!(cache.lookup(oldest.0).unwrap().dirty, oldest.1);
            }
        }
    }
}

#[test]
fn followed_changes_are_all_the_pages_whose_state_differs() {
    for info in page_caches() {
        let (pages, capacity) = (60, 20);
        let mut cache = cache(info.name, pages, capacity);
        let mut rng = Stream::new(3, "changes");
        let mut drained = Vec::new();
        for page in 0..30 {
            reference(cache.as_mut(), page, false);
        }
        cache.drain_changes(&mut drained);
        assert_eq!(drained, [], "{}: nothing is noted before it is asked for", info.name);
        cache.follow_changes();
        let states =
            |cache: &dyn PageCache| (0..pages).map(|p| cache.lookup(p)).collect::<Vec<_>>();
        let mut known = states(cache.as_ref());
        let mut in_all = 0;
        for step in 0..5000 {
            let page = rng.below(pages);
            if rng.below(4) == 0 && cache.lookup(page).is_some() {
                cache.set_dirty(page, rng.below(2) == 0);
            } else {
                reference(cache.as_mut(), page, rng.below(2) == 0);
            }
            if step % 7 != 0 {
                continue;
            }
            drained.clear();
            cache.drain_changes(&mut drained);
            in_all += drained.len();
            let now = states(cache.as_ref());
            for page in 0..pages {
                let times = drained.iter().filter(|&&other| other == page).count();
                assert!(times <= 1, "page {page} comes {times} times");
                let same = known[page as usize] == now[page as usize];
                assert!(same || times == 1, "{}: page {page} is missing", info.name);
            }
            known = now;
        }
        assert!(in_all > 0);
    }
}

#[test]
fn specs_print_in_full_and_parse_back() {
    let full = "3-region:initial=0.25,lru=0.25,resize=yes,g=0.25";
    assert_eq!(PageCacheSpec::parse("3-region").unwrap().to_string(), full);
    assert_eq!(PageCacheSpec::parse(full).unwrap().to_string(), full);
    assert_eq!(PageCacheSpec::parse("lru").unwrap().to_string(), "lru:parts=3");
}
