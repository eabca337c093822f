//! DFTL: its map on flash is always right, its costs are those worked out by hand, and with all of
//! the map in memory it is a page map.

use crate::dftl_reference::NaiveDftl;
use crate::hinting::Hinting;
use crate::reference::picks::naive_pick;
use crate::reference::rules::{MapApart, Setting, naive_rule};
use crate::reference::{Frontier as Naive, Reference};
use flashgc_base::rng::Stream;
use flashgc_ftl::{
    Fill, Frontier, FtlError, Geometry, Layout, Mapping, PlacementSpec, Translation, VictimSpec,
};
use proptest::prelude::*;

fn layout(geometry: Geometry, frontier: Frontier, fill: Fill) -> Layout {
    Layout { frontier, fill, seed: 3, ..Layout::new(geometry) }
}

fn dftl(spec: &str, victim: &str, layout: Layout) -> Result<Box<dyn Translation>, FtlError> {
    let victim = VictimSpec::parse(victim)?;
    Mapping::parse(spec)?.build(layout, &|layout| victim.build(layout))
}

/// DFTL on a drive of 20 blocks of 8 pages, which offers 96 pages to the host.
fn small(spec: &str, fill: Fill) -> Box<dyn Translation> {
    let geometry = Geometry::new(20, 8, 96).unwrap();
    dftl(spec, "greedy", layout(geometry, Frontier::Double, fill)).unwrap()
}

/// Hits, misses, translation pages read and programmed.
fn traffic(layer: &dyn Translation) -> [u64; 4] {
    let traffic = layer.counts().map_traffic.unwrap();
    [traffic.hits, traffic.misses, traffic.reads, traffic.writes]
}

#[test]
fn map_traffic_is_what_was_worked_out_by_hand() {
    // Four entries a translation page, four cached, on a new drive. P0 to P3 are cached. P4 sends
    // out P0, which is changed: the translation page of P0 to P3 is programmed (there is none to
    // read), and those three are clean when they leave.
    let mut layer = small("dftl:entries=4,per_page=4", Fill::Empty);
    layer.write(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_eq!(traffic(&*layer), [0, 8, 0, 1]);
    layer.write(&[7, 4]).unwrap();
    assert_eq!(traffic(&*layer), [2, 8, 0, 1]);
    // The least recently used entry is that of P5, which is changed: its translation page is
    // programmed. The entry of P0 is read from flash.
    layer.reads().unwrap().read(&[0]).unwrap();
    assert_eq!(traffic(&*layer), [2, 9, 1, 2]);
    // P6, P7 and P4 are clean now and leave without a program; the map of P4 is read again.
    layer.reads().unwrap().read(&[1, 2, 3, 4]).unwrap();
    assert_eq!(traffic(&*layer), [2, 13, 5, 2]);
    // The TRIM changes the entry of page 4 in memory. The reads of four other pages replace that
    // entry. Its old translation page is read then, since it holds other entries too, and a new one
    // is programmed.
    layer.trim(&[4]).unwrap();
    layer.reads().unwrap().read(&[8, 9, 10, 11]).unwrap();
    assert_eq!(traffic(&*layer), [3, 17, 6, 3]);
    let counters = layer.counters();
    assert_eq!((counters.host_pages, counters.copied_pages, counters.trimmed_pages), (10, 3, 1));
    layer.audit().unwrap();
}

#[test]
fn entries_that_are_fetched_together_are_read_and_written_once() {
    // Four entries a translation page; two runs of two entries are cached. The map of all pages is on
    // flash.
    let mut layer = small("dftl:entries=4,per_page=4,fetch=2", Fill::Sequential);
    layer.reads().unwrap().read(&[0, 1, 2, 3]).unwrap();
    assert_eq!(traffic(&*layer), [2, 2, 2, 0]);
    // P4 and P5 replace the run of P0 and P1; both entries change, and leave with one program. The
    // translation page is read for P4, and again to be rewritten.
    layer.write(&[4, 5]).unwrap();
    assert_eq!(traffic(&*layer), [3, 3, 3, 0]);
    layer.reads().unwrap().read(&[8, 12]).unwrap();
    assert_eq!(traffic(&*layer), [3, 5, 6, 1]);
    assert_eq!(layer.map_bytes(), 2 * (4 + 2 * 4) + 24 * 4);
    layer.audit().unwrap();
}

/// A sequential read of a drive that keeps whole translation pages reads each of them once.
#[test]
fn a_sequential_read_needs_each_page_of_the_map_once() {
    let mut layer = small("dftl:entries=32,per_page=16,fetch=16", Fill::Sequential);
    for _ in 0..3 {
        layer.reads().unwrap().read(&(0..96).collect::<Vec<_>>()).unwrap();
    }
    assert_eq!(traffic(&*layer), [3 * 90, 3 * 6, 3 * 6, 0]);
}

#[test]
fn runs_of_entries_are_parts_of_translation_pages() {
    let on = layout(Geometry::new(20, 8, 96).unwrap(), Frontier::Double, Fill::Sequential);
    for (spec, expected) in [
        ("dftl:entries=64,per_page=16,fetch=3", "fetch=3, expected a divisor of per_page=16"),
        ("dftl:entries=36,per_page=16,fetch=8", "fetch=8, expected a divisor of entries=36"),
    ] {
        let error = dftl(spec, "greedy", on.clone()).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_hint_uses_the_entry_of_its_page_and_changes_none() {
    // Four entries a translation page, two cached. The map of both pages is on flash.
    let geometry = Geometry::new(20, 8, 96).unwrap();
    let on = layout(geometry, Frontier::Double, Fill::Sequential);
    let mut layer = dftl("dftl:entries=2,per_page=4", "z-greedy", on.clone()).unwrap();
    layer.hints().hint(&[0, 4]).unwrap();
    assert_eq!(traffic(&*layer), [0, 2, 2, 0]);
    layer.hints().cancel(&[4]).unwrap();
    layer.hints().hint(&[0]).unwrap();
    assert_eq!(traffic(&*layer), [2, 2, 2, 0]);
    assert_eq!(layer.counts().zombies.unwrap().known, 1);
    // Both entries leave unchanged, so nothing is programmed. P0 is looked up again to be written.
    layer.hints().hint(&[8, 12]).unwrap();
    layer.write(&[0]).unwrap();
    assert_eq!(traffic(&*layer), [2, 5, 5, 0]);
    let zombies = layer.counts().zombies.unwrap();
    assert_eq!((zombies.marked, zombies.overwritten, zombies.revived, zombies.known), (4, 1, 1, 2));
    layer.audit().unwrap();
    // A page that only the drive below has gives the same error as any page behind the end.
    assert!(layer.hints().hint(&[96]).is_err() && layer.hints().cancel(&[96]).is_err());
    // Greedy does not use hints, so no map entry is looked up.
    let mut greedy = dftl("dftl:entries=2,per_page=4", "greedy", on).unwrap();
    greedy.hints().hint(&[0, 4]).unwrap();
    assert_eq!((traffic(&*greedy), greedy.counts().zombies), ([0; 4], None));
}

#[test]
fn with_all_of_the_map_in_memory_it_is_a_page_map_of_more_pages() {
    let geometry = Geometry::new(64, 16, 800).unwrap();
    // 800 entries fill 100 translation pages, which are never written again.
    let both = Geometry::new(64, 16, 900).unwrap();
    for victim in ["greedy", "d-choices:d=3"] {
        let on = |geometry| layout(geometry, Frontier::Double, Fill::Sequential);
        let mut layer = dftl("dftl:entries=800,per_page=8", victim, on(geometry)).unwrap();
        let mut page = VictimSpec::parse(victim).unwrap().build(on(both)).unwrap();
        layer.reads().unwrap().read(&(0..800).collect::<Vec<_>>()).unwrap();
        let mut rng = Stream::new(1, "writes");
        let writes: Vec<u32> = (0..20_000).map(|_| rng.below(800)).collect();
        layer.write(&writes).unwrap();
        page.write(&writes).unwrap();
        assert_eq!((layer.counters(), layer.decisions()), (page.counters(), page.decisions()));
        assert_eq!(traffic(&*layer), [20_000, 800, 800, 0]);
    }
}

#[test]
fn a_smaller_cache_writes_more() {
    let geometry = Geometry::new(64, 16, 700).unwrap();
    let amplification = |entries: u32| {
        let spec = format!("dftl:entries={entries},per_page=64");
        let on = layout(geometry, Frontier::Pool { low: 2 }, Fill::Sequential);
        let mut layer = dftl(&spec, "greedy", on).unwrap();
        let mut rng = Stream::new(1, "writes");
        let writes: Vec<u32> = (0..20_000).map(|_| rng.below(700)).collect();
        layer.write(&writes).unwrap();
        layer.audit().unwrap();
        assert_eq!(layer.map_bytes(), u64::from(8 * entries + 4 * 11));
        layer.counters().programs() as f64 / 20_000.0
    };
    let [few, some, all] = [10, 200, 700].map(amplification);
    assert!(few > 1.2 * some && some > 1.2 * all, "{few}, {some}, {all}");
}

#[test]
fn what_does_not_fit_beside_its_map_is_refused() {
    // 20 blocks of 8 pages have 160 pages, of which the host has 144. The other 16 are the two
    // blocks of the frontiers, so none is left for 18 translation pages.
    let geometry = Geometry::new(20, 8, 144).unwrap();
    let on = layout(geometry, Frontier::Double, Fill::Sequential);
    let error = dftl("dftl:per_page=8", "greedy", on.clone()).err().unwrap().to_string();
    assert!(error.starts_with("dftl has 18 pages of its map on flash beside the data"), "{error}");
    let mixed = Layout { frontier: Frontier::Single, ..on };
    let error = dftl("dftl:per_page=64", "greedy", mixed).err().unwrap().to_string();
    assert!(error.starts_with("mapping dftl needs a frontier that keeps copies apart"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn the_map_on_flash_is_right_after_any_commands_in_any_batches(
        runs in 1u32..120,
        (run, per_run) in (1u32..9, 1u32..9),
        frontier in 0usize..2,
        greedy in any::<bool>(),
        fill in 0usize..3,
        commands in prop::collection::vec((0u32..96, 0u8..10), 1..300),
        batch in 1usize..20,
    ) {
        let (entries, per_page) = (runs * run, per_run * run);
        let spec = format!("dftl:entries={entries},per_page={per_page},fetch={run}");
        let frontier = [Frontier::Double, Frontier::Pool { low: 1 }][frontier];
        let fill = [Fill::Sequential, Fill::Random, Fill::Empty][fill];
        let victim = if greedy { "greedy" } else { "fifo" };
        // There is room for a map with one entry a page, which is as large as the data.
        let geometry = Geometry::new(40, 8, 96).unwrap();
        let made = || dftl(&spec, victim, layout(geometry, frontier, fill)).unwrap();
        let (mut once, mut split) = (made(), made());
        let mut data: Vec<bool> = vec![fill != Fill::Empty; 96];
        for &(page, what) in &commands {
            match what {
                0 => once.trim(&[page]).unwrap(),
                1..4 => once.reads().unwrap().read(&[page]).unwrap(),
                _ => once.write(&[page]).unwrap(),
            }
            data[page as usize] = match what { 0 => false, 1..4 => data[page as usize], _ => true };
        }
        once.audit().map_err(TestCaseError::fail)?;
        for (page, &has) in (0..).zip(&data) {
            prop_assert_eq!(once.locate(page).is_some(), has);
        }
        // The same commands again, but with successive writes in one call.
        for part in commands.chunk_by(|a, b| a.1 >= 4 && b.1 >= 4) {
            let pages: Vec<u32> = part.iter().map(|command| command.0).collect();
            match part[0].1 {
                0 => split.trim(&pages).unwrap(),
                1..4 => split.reads().unwrap().read(&pages).unwrap(),
                _ => pages.chunks(batch).for_each(|pages| split.write(pages).unwrap()),
            }
        }
        prop_assert_eq!(once.counters(), split.counters());
        prop_assert_eq!(once.decisions(), split.decisions());
        prop_assert_eq!(once.counts().map_traffic, split.counts().map_traffic);
    }

    #[test]
    fn hints_do_what_the_naive_reference_does_with_them(
        policy in prop::sample::select(vec!["z-greedy", "z-greedy:ties=oldest", "z-cost-benefit", "greedy"]),
        pool in any::<bool>(),
        runs in 1usize..40,
        (run, per_run) in prop_oneof![Just((1, 20)), (1u32..6, 2u32..5)],
        logical_pages in 20u32..96,
        seed in any::<u64>(),
        commands in prop::collection::vec((0.0..1.0f64, 0u8..20), 1..400),
    ) {
        let (frontier, naive) = [(Frontier::Double, Naive::Double), (Frontier::Pool { low: 2 }, Naive::Pool(2))]
            [usize::from(pool)];
        let (entries, per_page) = (runs * run as usize, per_run * run);
        let map_pages = logical_pages.div_ceil(per_page);
        // The drive has room for the data, the map, and the blocks of the frontier.
        let blocks = (logical_pages + map_pages).div_ceil(8) + 7;
        let geometry = Geometry::new(blocks, 8, logical_pages.into()).unwrap();
        let spec = format!("dftl:entries={entries},per_page={per_page},fetch={run}");
        let on = Layout { seed, ..layout(geometry, frontier, Fill::Sequential) };
        let mut layer = dftl(&spec, policy, on).unwrap();
        let both = logical_pages + map_pages;
        let flash = Reference::sequential(blocks as usize, 8, both, naive, seed);
        let filled = flash.programs;
        let mut naive = NaiveDftl::new(flash, logical_pages, (per_page, run), entries);
        let mut pick = naive_pick(policy);
        let heeds = policy != "greedy";
        for &(share, what) in &commands {
            let page = (share * share * f64::from(logical_pages)) as u32;
            match what {
                0 => {
                    layer.trim(&[page]).unwrap();
                    naive.trim(page, &mut pick);
                }
                1..4 => {
                    layer.reads().unwrap().read(&[page]).unwrap();
                    naive.read(page, &mut pick);
                }
                4..9 => {
                    layer.hints().hint(&[page]).unwrap();
                    if heeds {
                        naive.hint(page, false, &mut pick);
                    }
                }
                9 => {
                    layer.hints().cancel(&[page]).unwrap();
                    if heeds {
                        naive.hint(page, true, &mut pick);
                    }
                }
                _ => {
                    layer.write(&[page]).unwrap();
                    naive.write(page, &mut pick);
                }
            }
            for page in 0..logical_pages {
                let place = naive.found(page);
                prop_assert_eq!(place, naive.flash.map.get(&page).copied(), "page {}", page);
                let place = place.map(|(block, at)| (block as u32, at as u32));
                prop_assert_eq!(layer.locate(page), place, "page {}", page);
            }
        }
        prop_assert_eq!(traffic(&*layer), naive.traffic);
        prop_assert_eq!(layer.counters().programs(), naive.flash.programs - filled);
        for (block, zombies) in (0..).zip(naive.flash.zombie_counts()) {
            prop_assert_eq!(layer.blocks(0).zombies(block) as usize, zombies);
        }
        prop_assert_eq!(layer.counts().zombies.is_some(), heeds);
        layer.audit().map_err(TestCaseError::fail)?;
    }

    /// With any rule for the pages of the host. First contents are in page order, so the map lies behind
    /// them, and one block has pages of both.
    #[test]
    fn a_map_in_blocks_of_its_own_is_that_of_the_naive_reference(
        policy in prop::sample::select(vec!["greedy", "greedy:ties=oldest", "cost-benefit"]),
        placement in prop::sample::select(vec!["none", "dac", "sepbit", "multilog", "sfr", "gdt", "fadac"]),
        runs in 1usize..40,
        (run, per_run) in prop_oneof![Just((1, 20)), (1u32..6, 2u32..5)],
        logical_pages in 20u32..96,
        seed in any::<u64>(),
        commands in prop::collection::vec((0.0..1.0f64, 0u8..12), 1..600),
    ) {
        let placement = PlacementSpec::parse(placement).unwrap();
        let (entries, per_page) = (runs * run as usize, per_run * run);
        let both = logical_pages + logical_pages.div_ceil(per_page);
        // The classes of the rule and of the map, and the blocks kept for copies.
        let kept = placement.blocks_kept().unwrap_or(2) + 2 + 2;
        let blocks = both.div_ceil(8) + kept + 1;
        let geometry = Geometry::new(blocks, 8, logical_pages.into()).unwrap();
        let spec = format!("dftl:entries={entries},per_page={per_page},fetch={run},blocks=own");
        let frontier = Frontier::Pool { low: 2 };
        let on = Layout { seed, placement: placement.clone(), ..layout(geometry, frontier, Fill::Sequential) };
        let mut layer = dftl(&spec, policy, on).unwrap();
        let mut flash = Reference::sequential(blocks as usize, 8, both, Naive::Pool(2), seed);
        let filled = flash.programs;
        let setting = Setting { blocks: 0, pages_per_block: 8, logical_pages: both, events: Vec::new() };
        let rule = naive_rule(&placement.to_string(), setting);
        flash.place(Box::new(MapApart { rule, first: logical_pages, programs: Vec::new() }));
        let mut naive = NaiveDftl::new(flash, logical_pages, (per_page, run), entries);
        let mut pick = naive_pick(policy);
        for &(share, what) in &commands {
            let page = (share * share * f64::from(logical_pages)) as u32;
            match what {
                0 => {
                    layer.trim(&[page]).unwrap();
                    naive.trim(page, &mut pick);
                }
                1..4 => {
                    layer.reads().unwrap().read(&[page]).unwrap();
                    naive.read(page, &mut pick);
                }
                _ => {
                    layer.write(&[page]).unwrap();
                    naive.write(page, &mut pick);
                }
            }
            for page in 0..logical_pages {
                let place = naive.found(page).map(|(block, at)| (block as u32, at as u32));
                prop_assert_eq!(layer.locate(page), place, "page {}", page);
            }
        }
        prop_assert_eq!(traffic(&*layer), naive.traffic);
        prop_assert_eq!(layer.counters().programs(), naive.flash.programs - filled);
        layer.audit().map_err(TestCaseError::fail)?;
    }
}

/// The map shares blocks with the host's pages only where first contents put both into one.
#[test]
fn no_block_has_pages_of_the_host_and_of_its_map() {
    let geometry = Geometry::new(60, 8, 320).unwrap();
    let on = layout(geometry, Frontier::Pool { low: 2 }, Fill::Empty);
    // 320 pages of the host and 80 of their map: 50 of 60 blocks.
    let counts = ["shared", "own"].map(|blocks| {
        let spec = format!("dftl:entries=16,per_page=4,blocks={blocks}");
        let mut layer = dftl(&spec, "greedy", on.clone()).unwrap();
        let mut rng = Stream::new(5, "pages");
        layer.write(&(0..320).collect::<Vec<_>>()).unwrap();
        for _ in 0..4000 {
            layer.write(&[rng.below(320)]).unwrap();
        }
        // Blocks of the host's pages have all their valid pages among those of the host.
        let mut of_host = vec![0; 60];
        for page in 0..320 {
            let (block, _) = layer.locate(page).expect("written");
            of_host[block as usize] += 1;
        }
        let mixed = (0..60u32).filter(|&block| {
            let (valid, of_host) = (layer.blocks(0).valid(block), of_host[block as usize]);
            valid > of_host && of_host > 0
        });
        mixed.count()
    });
    assert_eq!(counts[1], 0);
    assert!(counts[0] > 20, "{counts:?}");
}
