//! Snapshots: a cache that is restored from the state of another one behaves exactly like it from
//! then on.

use flashgc_base::residency::Region;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Reader, State, Writer};
use flashgc_host::write_back::{hint_ways, write_back_caches};
use flashgc_host::{Host, HostSpec, PageCache, PageCacheSpec, page_caches};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op, Workload as _};

const PAGES: u32 = 1000;
const APPLICATION: &str =
    "0.5*zipf:theta=0.9,read=0.3,trim=0.01,stream=3 + 0.5*zipf:theta=0.5,read=0.3";

fn saved(state: &(impl State + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    state.save(&mut to);
    to.finish().unwrap();
    bytes
}

fn restore(state: &mut (impl State + ?Sized), bytes: &[u8]) {
    let mut source = bytes;
    let mut from = Reader::new(&mut source, bytes.len() as u64);
    state.restore(&mut from).unwrap();
    from.end().unwrap();
}

/// Returns every cache with every way of hinting, and with hints that are lost, wrong or late.
fn hosts() -> Vec<HostSpec> {
    let mut all = Vec::new();
    for cache in write_back_caches().iter().map(|info| info.name).filter(|name| *name != "none") {
        let ways = hint_ways().iter().map(|info| info.name.to_string());
        for hints in ways.chain(["piggyback:lost=0.1,wrong=0.1,late=9".to_string()]) {
            all.extend(["", ",expiry=page"].iter().filter_map(|more| {
                let spec = HostSpec::parse(&format!("{cache}:size=800KiB,rate=40{more}"), &hints);
                Some(spec.ok()?.with_streams(hints == "none" || hints == "oracle", None))
            }));
        }
    }
    assert!(all.len() > 12, "{}", all.len());
    all
}

#[test]
fn a_host_goes_on_alike() {
    let application = GeneratorSpec::parse(APPLICATION).unwrap();
    for spec in hosts() {
        for seed in 0..3 {
            let make = || -> Host {
                let inner = application.open(PAGES, seed).unwrap();
                spec.open(inner, 4096, PAGES, seed).unwrap()
            };
            let (mut one, mut other) = (make(), make());
            let watch = other.watch();
            let mut limits = Stream::new(seed, "limits");
            let (mut batch, mut again) = (Batch::default(), Batch::default());
            for _ in 0..1 + limits.below(30) {
                one.fill(&mut batch, 1 + limits.below(700) as usize).unwrap();
            }
            restore(&mut other, &saved(&one));
            assert_eq!(watch.counts(), one.watch().counts(), "{spec:?}");
            for _ in 0..20 {
                let limit = 1 + limits.below(700) as usize;
                one.fill(&mut batch, limit).unwrap();
                other.fill(&mut again, limit).unwrap();
                assert_eq!(
                    (&batch.pages, &batch.ops, &batch.hints, &batch.streams),
                    (&again.pages, &again.ops, &again.hints, &again.streams),
                    "{spec:?}"
                );
            }
            assert_eq!(watch.counts(), one.watch().counts(), "{spec:?}");
        }
    }
}

#[test]
fn a_host_on_the_clock_of_a_drive_goes_on_alike() {
    for spec in hosts() {
        let Ok(mut one) = spec.open_clocked(4096, PAGES, 5) else { continue };
        let mut other = spec.open_clocked(4096, PAGES, 5).unwrap();
        let mut stream = Stream::new(3, "requests");
        let mut lives = |hosts: &mut [&mut flashgc_host::ClockedHost], from: u64| {
            for moment in from..from + 2000 {
                let page = stream.below(PAGES);
                let op = if stream.below(3) == 0 { Op::Read } else { Op::Write };
                let mut left = Vec::new();
                for host in hosts.iter_mut() {
                    host.advance(moment * 20_000_000);
                    host.request(op, page, (page % 7) as u8);
                    let flushed = moment % 3 == 0 && host.flush_next();
                    let leaving: Vec<_> = std::iter::from_fn(|| host.next_leaving()).collect();
                    left.push((flushed, leaving, host.counts(), host.next_look()));
                }
                assert!(left.iter().all(|one| *one == left[0]));
            }
        };
        one.start();
        lives(&mut [&mut one], 0);
        restore(&mut other, &saved(&one));
        lives(&mut [&mut one, &mut other], 2000);
    }
}

#[test]
fn a_page_cache_goes_on_alike() {
    for name in page_caches().iter().map(|info| info.name) {
        let make = || PageCacheSpec::parse(name).unwrap().build(PAGES, 64).unwrap();
        let (mut one, mut other): (Box<dyn PageCache>, Box<dyn PageCache>) = (make(), make());
        let mut stream = Stream::new(3, "touches");
        let mut lives = |caches: &mut [&mut Box<dyn PageCache>]| {
            for _ in 0..5000 {
                let page = stream.below(PAGES).min(stream.below(PAGES));
                let write = stream.below(3) == 0;
                let mut seen = Vec::new();
                for cache in caches.iter_mut() {
                    let hit = cache.touch(page, write);
                    let evicted = if hit { None } else { cache.make_room() };
                    if !hit {
                        cache.insert(page, write);
                    }
                    let chance = cache.update_probability(Region::Lru);
                    seen.push((hit, evicted.map(|old| (old.page, old.dirty)), chance));
                }
                assert!(seen.iter().all(|one| *one == seen[0]), "{name}");
            }
        };
        one.follow_changes();
        lives(&mut [&mut one]);
        restore(&mut *other, &saved(&*one));
        lives(&mut [&mut one, &mut other]);
        assert!(saved(&*one) == saved(&*other), "{name}");
    }
}
