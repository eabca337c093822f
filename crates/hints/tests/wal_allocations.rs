//! After a record of the greatest length, decoding allocates no more memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

#[expect(dead_code, reason = "only part of it is used here")]
#[path = "wal/builder.rs"]
mod builder;

use builder::{Content, Log, plain};
use flashgc_hints::wal::Decoder;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all calls are passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that the system's allocator needs.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_record_allocates() {
    let mut log = Log::new(0xD110, 16 << 20);
    for number in 0..3000 {
        let blocks = (0..number % 30).map(|block| plain(number, block)).collect();
        let main = vec![1; if number % 10 == 0 { 20_000 } else { 30 }];
        log.record(&Content { manager: 10, blocks, main, ..Content::default() });
    }
    let (mut decoder, mut records, mut at) = (Decoder::new(log.start), 0u64, log.start);
    let mut before = 0;
    for chunk in log.bytes.chunks(5000) {
        if records > 100 && before == 0 {
            before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        decoder.feed(at, chunk, &mut |_| records += 1).expect("a whole log");
        at += chunk.len() as u64;
    }
    assert_eq!(records, 3000);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
}
