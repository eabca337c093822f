//! Placements: what every registered one must do under every victim policy, and where DAC puts
//! pages.

use crate::hinting::Hinting;
use flashgc_base::rng::Stream;
use flashgc_base::spec::Documented;
use flashgc_ftl::{
    EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Lifespan, PlacementSpec, Translation,
    VictimSpec, placement_policies, victim_policies,
};

/// Every placement that needs no future.
fn known() -> impl Iterator<Item = &'static str> {
    placement_policies().iter().filter(|info| !info.needs_future).map(|info| info.name)
}

/// Every placement with its defaults, and with parameters that matter.
fn specs() -> impl Iterator<Item = &'static str> {
    known().chain([
        "dac:zombie-block=yes",
        "dac:regions=1,zombie-block=yes",
        "dac:regions=4,threshold=2000,zombie-block=yes",
    ])
}

fn layout(placement: &str, fill: Fill) -> Layout {
    Layout {
        frontier: Frontier::Pool { low: 2 },
        placement: PlacementSpec::parse(placement).unwrap(),
        fill,
        seed: 3,
        ..Layout::new(Geometry::with_spare(200, 16, 0.15).unwrap())
    }
}

fn build(victim: &str, layout: Layout) -> Box<dyn Translation> {
    VictimSpec::parse(victim).unwrap().build(layout).unwrap()
}

/// Nine writes in ten go to a tenth of the pages.
fn skewed(count: usize, pages: u32) -> Vec<u32> {
    let mut stream = Stream::new(11, "skewed");
    let page = |_| {
        let page = stream.below(pages);
        if stream.below(10) < 9 { page / 10 } else { page }
    };
    (0..count).map(page).collect()
}

#[test]
fn every_registered_placement_documents_itself() {
    for info in placement_policies() {
        assert!(info.summary().ends_with('.'), "{}", info.name);
        for part in ["Rule: ", "# Cost", "# Source"] {
            assert!(info.doc().contains(part), "{} says nothing of '{part}'", info.name);
        }
    }
}

#[test]
fn the_audit_holds_after_many_collections_whatever_the_batches() {
    for info in victim_policies() {
        for placement in specs() {
            for fill in [Fill::Sequential, Fill::Random, Fill::Empty] {
                let run = |batch: usize| {
                    let mut layer = build(info.name, layout(placement, fill));
                    let pages = layer.geometry().logical_pages();
                    let trims: Vec<u32> = (0..pages).step_by(7).collect();
                    for round in skewed(12_000, pages).chunks(6_000) {
                        layer.hints().hint(&round[3_000..]).unwrap();
                        for chunk in round.chunks(batch) {
                            layer.write(chunk).unwrap();
                        }
                        layer.trim(&trims).unwrap();
                        layer.audit().unwrap_or_else(|why| {
                            panic!("{} {placement} {fill}: {why}", info.name)
                        });
                    }
                    (layer.decisions(), layer.counters(), layer.counts().zombies)
                };
                let whole = run(6_000);
                assert!(whole.1.collections > 100, "{} {placement} {fill}", info.name);
                assert_eq!(run(7), whole, "{} {placement} {fill}", info.name);
            }
        }
    }
}

#[test]
fn dac_promotes_with_every_update_and_demotes_with_every_copy() {
    // A block has 4 pages. Pages 0 to 3 fill the first block of region 0, and pages 4 to 7 the
    // second.
    let mut drive = layout("dac:regions=3", Fill::Empty);
    drive.geometry = Geometry::new(16, 4, 24).unwrap();
    let mut layer = build("greedy", drive);
    let mut writes = |pages: &[u32]| -> Vec<u32> {
        layer.write(pages).unwrap();
        layer.audit().unwrap();
        pages.iter().map(|&page| layer.locate(page).unwrap().0).collect()
    };
    assert_eq!(writes(&[0, 1, 2, 3, 4, 5]), [0, 0, 0, 0, 1, 1]);
    // Updates open the block of region 1. A second update of the same page opens that of region 2.
    assert_eq!(writes(&[0, 4]), [2, 2]);
    assert_eq!(writes(&[0, 6]), [3, 1]);
    // Further updates stay in the hottest region.
    assert_eq!(writes(&[0, 4]), [3, 3]);
}

#[test]
fn dac_with_a_threshold_promotes_the_young_alone() {
    // At first only region 0 is written. An update goes to region 1 if it comes fewer than 6
    // programs after the page's last write; a later one stays in region 0.
    let mut drive = layout("dac:regions=2,threshold=6", Fill::Empty);
    drive.geometry = Geometry::new(16, 4, 24).unwrap();
    let mut layer = build("greedy", drive);
    layer.write(&[0, 1, 2, 3, 4, 5]).unwrap(); // page 0 at clock 1, page 5 at 6
    layer.write(&[5, 0]).unwrap(); // before them clock 6 and 7: ages 0 and 6
    assert_eq!(layer.locate(5).unwrap().0, 2, "young: another region");
    assert_eq!(layer.locate(0).unwrap().0, 1, "old: beside page 4");
}

#[test]
fn zombies_are_copied_to_a_block_of_their_own() {
    // Region 0 alone, and the zombie block. Four blocks are filled, then each loses two pages, so
    // that a victim has one page that lives on and one zombie.
    let mut drive = layout("dac:regions=1,zombie-block=yes", Fill::Empty);
    drive.geometry = Geometry::new(9, 4, 16).unwrap();
    let mut layer = build("z-greedy:ties=lowest", drive);
    layer.write(&(0..16).collect::<Vec<_>>()).unwrap();
    layer.hints().hint(&[1, 5, 9, 13]).unwrap();
    // Rewrites fill two blocks, and three of nine are left erased: the low-water mark of two, and
    // one for the second class. The next write collects blocks 0 and 1: each gives a block back,
    // but the first opened two.
    layer.write(&[0, 4, 8, 12, 2, 6, 10, 14]).unwrap();
    layer.write(&[0]).unwrap();
    layer.audit().unwrap();
    assert_eq!(layer.counters().collections, 2);
    let blocks: Vec<u32> = [1, 5].map(|page| layer.locate(page).unwrap().0).to_vec();
    assert_eq!(blocks[0], blocks[1], "both zombies");
    for page in [0, 3, 7] {
        assert_ne!(layer.locate(page).unwrap().0, blocks[0], "page {page} lives on");
    }
    assert_eq!(layer.blocks(0).zombies(blocks[0]), 2);
}

#[test]
fn a_placement_needs_a_pool_and_blocks_for_its_classes() {
    let error = |frontier, placement, spare| {
        let mut drive = layout(placement, Fill::Empty);
        drive.frontier = frontier;
        drive.geometry = Geometry::with_spare(100, 16, spare).unwrap();
        VictimSpec::parse("greedy").unwrap().build(drive).err().unwrap().to_string()
    };
    assert_eq!(
        error(Frontier::Double, "dac", 0.2),
        "placement dac needs the pool frontier, found frontier=\"double\": each of its classes has an open block \
         of its own, from the pool; hint: frontier=\"pool\""
    );
    // There are four classes: three regions and the zombie block. Copies go to all but region 2. So
    // there are four open blocks, and the pool keeps 2 blocks and two more.
    let text = error(Frontier::Pool { low: 2 }, "dac:zombie-block=yes", 0.07);
    assert!(text.contains("zombie-block=yes keeps 8 blocks of 16 pages"), "{text}");
    let parse = |text| PlacementSpec::parse(text).unwrap_err().to_string();
    assert_eq!(parse("dca"), "unknown placement 'dca'; hint: did you mean 'dac'?");
    assert!(parse("dac:regions=0").contains("whole number from 1 to 64"));
}

#[test]
fn a_drive_with_a_placement_dies_with_its_data() {
    for placement in specs() {
        for victim in ["greedy", "z-cost-benefit", "random"] {
            let mut drive = layout(placement, Fill::Sequential);
            drive.lifespan = Some(Lifespan {
                endurance: Endurance::parse("normal:mean=30,cv=0.3").unwrap(),
                ends_at: EndOfLife::SystemFailure,
            });
            let mut layer = build(victim, drive);
            let pages = layer.geometry().logical_pages();
            let mut written = 0;
            for chunk in skewed(2_000_000, pages).chunks(500) {
                layer.hints().hint(&chunk[..50]).unwrap();
                if layer.write_until(chunk, u64::MAX).unwrap() < chunk.len() {
                    break;
                }
                written += chunk.len() as u64;
            }
            assert!(layer.has_ended() && written > u64::from(pages), "{placement} {victim}");
            layer.audit().unwrap_or_else(|why| panic!("{placement} {victim}: {why}"));
            assert!((0..pages).all(|page| layer.locate(page).is_some()), "{placement} {victim}");
        }
    }
}
