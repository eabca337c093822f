//! A layer takes as much memory from the allocator as its `bytes` say, for every policy, allocation
//! and option that keeps anything.

mod told;

use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::cell::Cell;

use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Event, Fill, Frontier, Geometry, Layout, Levelling, Lifespan,
    PlacementSpec, VictimSpec, allocation_policies, placement_policies, victim_policies,
};
use told::Told;

/// The system's allocator, with a count of the bytes that are allocated.
struct Counting;

thread_local! {
    /// The bytes that this thread has allocated and not freed. The test harness allocates on other
    /// threads whenever it likes.
    static OUT: Cell<i64> = const { Cell::new(0) };
}

fn out() -> i64 {
    OUT.get()
}

/// Adds `bytes` to the count of this thread. A thread that is ending has no count any more.
fn count(bytes: i64) {
    let _ = OUT.try_with(|out| out.set(out.get() + bytes));
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged; besides, only a number is updated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, request: Request) -> *mut u8 {
        count(request.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(request) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, request: Request) {
        count(-(request.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, request) }
    }
}

/// Bytes of map, reverse map and live bits, which do not come from the allocator: 4 a logical page,
/// 4 a physical page, and a bit a physical page (b is a power of two here). From 128 KiB on, a
/// table has whole huge pages of 2 MiB. Zombies take none of these bytes. The oracle has a table
/// with 4 bytes for each write in sight. Its other tables have 8 bytes an entry: two tables of
/// pages; with errors four; with errors of requests five, and one of writes in sight. A table
/// without entries takes as much as a table with one.
fn mapped(layout: &Layout) -> i64 {
    let geometry = &layout.geometry;
    let (logical, physical) = (u64::from(geometry.logical_pages()), geometry.physical_pages());
    let mut tables = vec![4 * logical, 4 * physical, physical / 8];
    let placement = layout.placement.to_string();
    if layout.placement.needs_future() {
        let horizon =
            if placement.contains("horizon=0.5") { logical.div_ceil(2) } else { 8 * logical };
        let ring = horizon.next_power_of_two();
        let with = |holds: bool, entries: u64| if holds { entries } else { 1 };
        let has_errors = !placement.contains("sigma=0,");
        let by_request = placement.contains("errors=request");
        tables.extend([4 * ring, 8 * logical, 8 * logical]);
        tables.extend([8 * with(has_errors, logical); 2]);
        tables.extend([8 * with(by_request, logical), 8 * with(by_request, ring)]);
    }
    let words = match layout.placement.name() {
        "sepbit" | "multilog" => 2,
        "dac" if !placement.contains("threshold=0") => 2,
        "gdt" | "intervals" => 8,
        "sfs" | "warcip" => 4,
        "fadac" => 1,
        _ => 0,
    };
    tables.push(4 * words * logical);
    if layout.placement.name() == "midas" {
        tables.extend([2 * logical.div_ceil(8), 8 * logical.div_ceil(100)]);
    }
    let whole =
        |bytes: u64| if bytes < 128 << 10 { bytes } else { bytes.next_multiple_of(2 << 20) };
    tables.into_iter().map(whole).sum::<u64>() as i64
}

/// A bound, for drives of any size, on the bytes of a layer beside its tables: the fields of the
/// layer, its plane and its pool, and the lists of a tree's levels.
const FIXED: i64 = 3328;

fn check(victim: &str, layout: Layout) {
    let spec = VictimSpec::parse(victim).unwrap();
    let said = spec.bytes(&layout).unwrap();
    let mut known = layout.clone();
    if layout.placement.needs_future() {
        let pages = layout.geometry.logical_pages().min(64);
        let events = (0..pages).map(|page| Event { page, is_trim: page % 3 == 0 }).collect();
        known.placement = known.placement.with_future(Told::new(events));
    }
    let before = out();
    let mut layer = spec.build(known).unwrap();
    let context = format!("{victim} {layout:?}");
    let held = |when: &str| {
        let more = out() - before + mapped(&layout) - said as i64;
        assert!((0..FIXED).contains(&more), "{context} {when}: {more} bytes more than the {said}");
    };
    held("new");
    assert_eq!(layer.memory_bytes(), said, "{context}");
    // The layer takes no more memory as it works.
    let pages = layout.geometry.logical_pages();
    let batch: Vec<u32> =
        (0..pages).map(|index| index.wrapping_mul(2_654_435_761) % pages).collect();
    let batch_bytes = (batch.capacity() * size_of::<u32>()) as i64;
    layer.write(&batch).unwrap();
    count(-batch_bytes);
    held("after writes");
    count(batch_bytes);
}

#[test]
fn layers_take_the_memory_that_they_say_they_need() {
    for (blocks, b, spare) in [(500, 16, 0.2), (3000, 8, 0.1), (300, 128, 0.1)] {
        let plain =
            Layout { seed: 1, ..Layout::new(Geometry::with_spare(blocks, b, spare).unwrap()) };
        for info in victim_policies() {
            check(info.name, plain.clone());
        }
        for victim in ["d-choices:d=3,c=200", "windowed:w=9", "greedy:ties=oldest"] {
            check(victim, plain.clone());
        }
        for victim in ["cost-benefit:age=last_invalidate", "cat:age=last_invalidate"] {
            check(victim, plain.clone());
        }
        let pool = Layout { frontier: Frontier::Pool { low: 7 }, ..plain.clone() };
        for allocation in allocation_policies() {
            let allocation = Allocation::parse(allocation.name).unwrap();
            for fill in [Fill::Sequential, Fill::Random, Fill::Empty] {
                check("random", Layout { allocation, fill, ..pool.clone() });
            }
        }
        let lifespan = Lifespan {
            endurance: Endurance::parse("100000").unwrap(),
            ends_at: EndOfLife::SystemFailure,
        };
        let levelling = Levelling { threshold: 1, interval: 1 };
        check("fifo", Layout { lifespan: Some(lifespan), ..pool.clone() });
        let known = placement_policies().iter().filter(|info| !info.needs_future);
        let registered = known.map(|info| info.name);
        for oracle in [
            "oracle:classes=8",
            "oracle:classes=8,horizon=0.5,sigma=1",
            "oracle:classes=8,sigma=1,errors=request",
        ] {
            check(
                "greedy",
                Layout { placement: PlacementSpec::parse(oracle).unwrap(), ..pool.clone() },
            );
        }
        for placement in registered.chain(["dac:regions=5,threshold=9", "dac:zombie-block=yes"]) {
            let placement = PlacementSpec::parse(placement).unwrap();
            check("greedy", Layout { placement: placement.clone(), ..pool.clone() });
            check("z-greedy", Layout { placement, ..pool.clone() });
        }
        check("fifo", Layout { levelling: Some(levelling), ..pool.clone() });
    }
}

#[test]
fn a_placement_says_the_bytes_a_page_that_a_layer_takes_more_with_it() {
    let (blocks, pages) = (4661, 1u32 << 20);
    let spare = 1.0 - f64::from(pages) / (f64::from(blocks) * 256.0);
    let geometry = Geometry::with_spare(blocks, 256, spare).unwrap();
    assert_eq!(geometry.logical_pages(), pages);
    let plain = Layout { frontier: Frontier::Pool { low: 2 }, ..Layout::new(geometry) };
    let bytes = |layout: &Layout| VictimSpec::parse("fifo").unwrap().bytes(layout).unwrap();
    for info in placement_policies() {
        let placement = PlacementSpec::parse(info.name).unwrap();
        // For each block, a class and the two clocks at which the block was opened.
        let of_blocks = if placement.is_none() { 0 } else { 17 * u64::from(blocks) };
        let with = Layout { placement, streams: info.needs_streams, ..plain.clone() };
        let more = (bytes(&with) - bytes(&plain) - of_blocks) as f64;
        assert_eq!(more / f64::from(pages), info.bytes_a_page(), "{}", info.name);
    }
}
