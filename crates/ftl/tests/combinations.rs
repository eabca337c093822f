//! Every victim policy with every placement and mapping, on both ways to drive the page store, as
//! far as they are accepted: hints, reads and TRIM between the writes, then the audit. A
//! combination fails here if a part loses what another part keeps, or if it cannot be saved. On the
//! way each drive is written to bytes and read into a new drive, and both must go on alike.

use std::collections::HashSet;

use crate::hinting::Hinting;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_ftl::{
    BlockTable, EndOfLife, Endurance, FoldOf, Frontier, FtlError, Geometry, Layout, Levelling,
    Lifespan, Mapping, PlacementSpec, PlaneLayout, SlcBlocks, SlcRegion, Stepwise, Translation,
    Victim, VictimSpec, mappings, placement_policies, victim_policies,
};

const PLANES: u32 = 2;
const COMMANDS: usize = 12_000;

/// Every registered policy, and one from outside.
fn victims() -> Vec<Victim> {
    let registered = victim_policies().iter().map(|info| VictimSpec::parse(info.name).unwrap());
    let outside = Victim::External(
        "outside".to_string(),
        std::sync::Arc::new(|_: &mut BlockTable| {
            Ok(Box::new(|blocks: &BlockTable, _: &mut Stream| {
                let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
                candidates.min_by_key(|&block| blocks.valid(block))
            }))
        }),
    );
    registered.map(Victim::Registered).chain([outside]).collect()
}

/// Every placement, and one with the block for zombies.
fn placements() -> Vec<PlacementSpec> {
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    let names = known.map(|info| info.name).chain(["dac:zombie-block=yes"]);
    names.map(|name| PlacementSpec::parse(name).unwrap()).collect()
}

/// Layouts with and without limited endurance and wear levelling.
fn layouts(placement: &PlacementSpec) -> Vec<Layout> {
    let plain = Layout {
        frontier: Frontier::Pool { low: 3 },
        placement: placement.clone(),
        seed: 9,
        ..Layout::new(Geometry::with_spare(72, 16, 0.4).unwrap())
    };
    let lifespan = Lifespan {
        endurance: Endurance::parse("normal:mean=40,cv=0.2").unwrap(),
        ends_at: EndOfLife::SystemFailure,
    };
    let levelling = Levelling { threshold: 2, interval: 3 };
    vec![
        plain.clone(),
        Layout { lifespan: Some(lifespan), ..plain.clone() },
        // Levelling has an open block of its own.
        Layout {
            levelling: Some(levelling),
            geometry: Geometry::with_spare(72, 16, 0.5).unwrap(),
            ..plain
        },
    ]
}

/// One of ten commands is a TRIM, one a read, two are hints; the pages are skewed.
enum Command {
    Write(u32),
    Trim(u32),
    Read(u32),
    Hint(u32),
}

fn commands(pages: u32) -> impl Iterator<Item = Command> {
    let mut stream = Stream::new(4, "commands");
    std::iter::repeat_with(move || {
        let page = stream.below(pages);
        let page = if stream.below(10) < 8 { page / 8 } else { page };
        match stream.below(10) {
            0 => Command::Trim(page),
            1 => Command::Read(page),
            2 | 3 => Command::Hint(page),
            _ => Command::Write(page),
        }
    })
    .take(COMMANDS)
}

fn saved(state: &(impl State + ?Sized)) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    state.save(&mut to);
    to.finish().map(|_| bytes)
}

fn restore(state: &mut (impl State + ?Sized), bytes: &[u8]) -> Result<(), Fault> {
    let mut source = bytes;
    let mut from = Reader::new(&mut source, bytes.len() as u64);
    state.restore(&mut from)?;
    from.end()
}

/// The number of the command at which a drive is saved, drawn for each combination.
fn somewhere(context: &str) -> usize {
    Stream::new(1, context).below(COMMANDS as u32) as usize
}

/// Returns `true` if saving was refused, as for a policy from outside.
fn is_refused(saved: &std::io::Result<Vec<u8>>) -> bool {
    saved.as_ref().is_err_and(|why| why.to_string().contains("and cannot be saved"))
}

/// Runs until the commands or the drive's life end; every written page is there afterwards.
fn drive_in_batches(
    layer: &mut dyn Translation,
    commands: impl Iterator<Item = Command>,
    written: &mut HashSet<u32>,
) -> Result<(), FtlError> {
    for command in commands {
        match command {
            _ if layer.has_ended() => break,
            Command::Write(page) => {
                if layer.write_until(&[page], u64::MAX)? == 1 {
                    written.insert(page);
                }
            }
            Command::Trim(page) => {
                layer.trim(&[page])?;
                written.remove(&page);
            }
            Command::Read(page) => {
                layer.reads().map_or(Ok(()), |reads| reads.read(&[page]))?;
            }
            Command::Hint(page) => {
                layer.hints().hint(&[page])?;
            }
        }
    }
    assert!(written.iter().all(|&page| layer.locate(page).is_some()), "a written page is lost");
    Ok(())
}

/// Folds in `plane` if a write waits for a fold, if the pool has lent too many blocks, or in idle
/// time.
fn make_room(map: &mut dyn Stepwise, plane: u32, low: u32, is_idle: bool) -> Result<(), FtlError> {
    while !map.has_ended() {
        let Some(slc) = map.slc() else { break };
        let (waits, has_full) = (slc.waits_for_fold(plane), slc.has_full(plane));
        let is_short = map.free_blocks(plane) <= low && slc.can_fold(plane, FoldOf::Lent, low);
        if !(waits || is_short || is_idle && has_full) {
            break;
        }
        if !map.slc().unwrap().can_fold(plane, FoldOf::Any, low) {
            map.collect_at_once(plane)?;
            continue;
        }
        map.slc_mut().unwrap().begin_fold(plane, FoldOf::Any);
        while let Some(next) = map.next_move(plane) {
            assert!(map.slc().unwrap().holds(next.from));
            let ppn = map.copy(plane)?.expect("a page that is alive");
            assert!(!map.slc().unwrap().holds(ppn));
        }
        while !map.buffer().is_protected && map.program_copies(plane).is_some() {}
        map.erase(plane);
    }
    Ok(())
}

fn drive_in_steps(
    map: &mut dyn Stepwise,
    commands: impl Iterator<Item = Command>,
    written: &mut HashSet<u32>,
) -> Result<(), FtlError> {
    for command in commands {
        match command {
            _ if map.has_ended() => break,
            Command::Write(page) => {
                let (low, plane) = (2 + map.reserved_blocks(), page % PLANES);
                make_room(map, plane, low, page % 7 == 0)?;
                if map.write_at_once(page, plane, low, low)?.is_some() {
                    written.insert(page);
                }
            }
            Command::Trim(page) => {
                map.trim(page)?;
                written.remove(&page);
            }
            Command::Read(_) => {}
            Command::Hint(page) => map.hints().hint(&[page])?,
        }
    }
    assert!(written.iter().all(|&page| map.locate(page).is_some()), "a written page is lost");
    Ok(())
}

/// Drives `layer`. On the way its state is restored into `other`, which then gets the same
/// commands. Returns `true` if `layer` could be saved.
fn in_batches(context: &str, layer: &mut dyn Translation, other: &mut dyn Translation) -> bool {
    let pages = layer.geometry().logical_pages();
    let (at, mut written) = (somewhere(context), HashSet::new());
    let fail = |why: &dyn std::fmt::Display| -> ! { panic!("{context}: {why}") };
    drive_in_batches(layer, commands(pages).take(at), &mut written)
        .unwrap_or_else(|why| fail(&why));
    let bytes = saved(layer);
    let is_saved = !is_refused(&bytes);
    let mut also_written = written.clone();
    drive_in_batches(layer, commands(pages).skip(at), &mut written)
        .unwrap_or_else(|why| fail(&why));
    layer.audit().unwrap_or_else(|why| fail(&why));
    if is_saved {
        restore(other, &bytes.unwrap()).unwrap_or_else(|why| fail(&why));
        other.audit().unwrap_or_else(|why| fail(&why));
        let rest = commands(pages).skip(at);
        drive_in_batches(other, rest, &mut also_written).unwrap_or_else(|why| fail(&why));
        assert_eq!(other.decisions(), layer.decisions(), "{context}");
        assert_eq!(other.counters(), layer.counters(), "{context}");
        assert!((0..pages).all(|page| other.locate(page) == layer.locate(page)), "{context}");
        assert!(saved(other).unwrap() == saved(layer).unwrap(), "{context}: other bytes");
    }
    is_saved
}

/// Drives `map`. On the way its state is restored into `other`, which then gets the same commands.
/// Returns `true` if `map` could be saved.
fn in_steps(context: &str, map: &mut dyn Stepwise, other: &mut dyn Stepwise) -> bool {
    let pages = map.geometry().logical_pages();
    let (at, mut written) = (somewhere(context), HashSet::new());
    let fail = |why: &dyn std::fmt::Display| -> ! { panic!("{context}: {why}") };
    drive_in_steps(map, commands(pages).take(at), &mut written).unwrap_or_else(|why| fail(&why));
    let bytes = saved(map);
    let is_saved = !is_refused(&bytes);
    let mut also_written = written.clone();
    drive_in_steps(map, commands(pages).skip(at), &mut written).unwrap_or_else(|why| fail(&why));
    map.audit().unwrap_or_else(|why| fail(&why));
    if is_saved {
        restore(other, &bytes.unwrap()).unwrap_or_else(|why| fail(&why));
        other.audit().unwrap_or_else(|why| fail(&why));
        let rest = commands(pages).skip(at);
        drive_in_steps(other, rest, &mut also_written).unwrap_or_else(|why| fail(&why));
        assert_eq!(other.decisions(), map.decisions(), "{context}");
        assert_eq!(other.counters(), map.counters(), "{context}");
        assert!((0..pages).all(|page| other.locate(page) == map.locate(page)), "{context}");
        assert!(saved(other).unwrap() == saved(map).unwrap(), "{context}: other bytes");
    }
    is_saved
}

#[test]
fn every_accepted_combination_on_the_counting_drive_keeps_its_books() {
    let (mut accepted, mut saves) = (0, 0);
    for mapping in mappings() {
        let spec = match mapping.name {
            "dftl" => "dftl:entries=40,per_page=16",
            name => name,
        };
        let mapping = Mapping::parse(spec).unwrap();
        for victim in victims() {
            for placement in placements() {
                for layout in layouts(&placement) {
                    let context = format!("{mapping} {victim} {layout:?}");
                    let make = || mapping.build(layout.clone(), &|layout| victim.build(layout));
                    let Ok(mut layer) = make() else { continue };
                    accepted += 1;
                    saves += usize::from(in_batches(&context, &mut *layer, &mut *make().unwrap()));
                }
            }
        }
    }
    // A mapping with a victim policy accepts every placement on plain, worn and levelled drives. A
    // mapping with a policy of its own accepts the plain drive alone.
    let with_victims = mappings().iter().filter(|mapping| mapping.has_victims).count();
    let own = mappings().len() - with_victims;
    assert_eq!(accepted, victims().len() * (with_victims * 3 * placements().len() + own));
    // All layers can be saved, except the page maps with the policy from outside.
    assert_eq!(saves, accepted - with_victims * 3 * placements().len());
}

#[test]
fn every_accepted_combination_on_planes_keeps_its_books() {
    let (mut accepted, mut saves) = (0, 0);
    for victim in victims() {
        for placement in placements() {
            for layout in layouts(&placement) {
                let context = format!("{victim} {layout:?}");
                let layout =
                    PlaneLayout { layout, planes: PLANES, first: 0, home: &|page| page % PLANES };
                let Ok(mut map) = victim.build(layout.clone()) else { continue };
                accepted += 1;
                let mut other = victim.build(layout).unwrap();
                saves += usize::from(in_steps(&context, &mut *map, &mut *other));
            }
        }
    }
    assert_eq!(accepted, victims().len() * 3 * placements().len());
    assert_eq!(saves, accepted - 3 * placements().len());
}

/// SLC regions for which writes wait or do not wait, with blocks set aside, lent, or both.
const REGIONS: [(SlcBlocks, bool); 6] = [
    (SlcBlocks::fixed(3), true),
    (SlcBlocks::lent(20, 9), false),
    (SlcBlocks::fixed(2), false),
    (SlcBlocks::lent(20, 5), true),
    (SlcBlocks::lent(20, 5).beside(2), true),
    (SlcBlocks::lent(20, 9).beside(1), false),
];

/// Layouts with an SLC region, each with and without limited endurance, and one with wear
/// levelling.
fn layouts_with_region(placement: &PlacementSpec, number: usize) -> Vec<Layout> {
    let (blocks, waits) = REGIONS[number % REGIONS.len()];
    let geometry = Geometry::with_spare(168, 16, 0.6).unwrap();
    let region = SlcRegion { blocks, bits_per_cell: 3, waits };
    let lifespan = Lifespan {
        endurance: Endurance::parse("normal:mean=7,cv=0.3").unwrap(),
        ends_at: EndOfLife::SystemFailure,
    };
    let layouts = layouts(placement).into_iter().map(|layout| Layout {
        geometry,
        slc: Some(region),
        lifespan: layout.lifespan.map(|_| lifespan),
        ..layout
    });
    layouts.collect()
}

#[test]
fn every_accepted_combination_with_an_slc_region_keeps_its_books() {
    let (mut accepted, mut saves, mut number) = (0, 0, 0);
    let (mut collections, mut worn, mut ended) = (0, 0, 0);
    for victim in victims() {
        for placement in placements() {
            for layout in layouts_with_region(&placement, number) {
                let context = format!("{victim} {layout:?}");
                let layout =
                    PlaneLayout { layout, planes: PLANES, first: 0, home: &|page| page % PLANES };
                let Ok(mut map) = victim.build(layout.clone()) else { continue };
                let mut other = victim.build(layout).unwrap();
                map.slc_mut().unwrap().start(u32::MAX);
                other.slc_mut().unwrap().start(u32::MAX);
                accepted += 1;
                saves += usize::from(in_steps(&context, &mut *map, &mut *other));
                collections += map.counters().collections;
                ended += u64::from(map.has_ended());
                worn += map.wear().map_or(0, |wear| u64::from(wear.bad_blocks()));
            }
            number += 1;
        }
    }
    assert!(collections > 300_000, "{collections} collections");
    assert!(worn > 1000 && ended > 20, "{worn} blocks worn out, {ended} drives ended");
    assert_eq!(accepted, victims().len() * 3 * placements().len());
    assert_eq!(saves, accepted - 3 * placements().len());
}
