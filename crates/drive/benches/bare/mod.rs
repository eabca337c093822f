//! The speed of light of page-mapped simulators: a loop that does only the memory accesses that
//! none of them can avoid.

use std::hint::black_box;
use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_ftl::Geometry;
use flashgc_workload::Batch;
use memmap2::MmapMut;

/// The distance in pages at which the loop prefetches. It was the best of those from 16 to 96 that
/// were tried.
const AHEAD: usize = 48;
const BATCH: usize = Batch::DEFAULT_LEN;

/// The bare loop: per host write, read and write the map, lower the old block's count, write the
/// reverse map; per copy, read the reverse map, check it against the map, write both. It looks
/// ahead and uses huge pages, and simulates nothing.
///
/// A placement may need more of each page: `words` of 64 bits, which a host write reads and writes
/// and a copy reads.
pub struct Bare {
    words: usize,
    notes: &'static mut [u64],
    map: &'static mut [u32],
    reverse: &'static mut [u32],
    counts: Vec<u16>,
    pages: Vec<u32>,
    shift: u32,
    next: usize,
}

impl Bare {
    /// The loop for a drive of this shape, with a table of `words` words a page: 0, 1, 2 or 4.
    pub fn new(geometry: &Geometry, words: usize) -> Self {
        let physical = geometry.physical_pages() as usize;
        let logical = geometry.logical_pages();
        let (map, reverse) = (table(logical as usize), table(physical));
        let mut stream = Stream::new(1, "bare");
        for page in 0..logical {
            map[page as usize] = page;
        }
        for entry in reverse.iter_mut() {
            *entry = stream.below(logical);
        }
        // There are so many random pages that the processor cannot predict them, and so few that
        // they stay in its cache.
        let pages = (0..1 << 15).map(|_| stream.below(logical)).collect();
        let shift = geometry.pages_per_block().trailing_zeros();
        Self {
            words,
            notes: table(logical as usize * words),
            map,
            reverse,
            counts: vec![0; geometry.blocks() as usize + 1],
            pages,
            shift,
            next: 0,
        }
    }

    /// Returns host writes a second.
    pub fn writes(&mut self, count: u64) -> f64 {
        // The random pages shift by a constant a round, so that every map entry is visited.
        let logical = self.map.len() as u32;
        let mut salt = 0u32;
        let mut batch = vec![0u32; BATCH];
        let mut seconds = 0.0;
        for round in 0..count as usize / BATCH {
            salt = salt.wrapping_add(0x9e37_79b9);
            let from = round * BATCH % (self.pages.len() - BATCH);
            for (page, source) in batch.iter_mut().zip(&self.pages[from..]) {
                *page = ((u64::from(source.wrapping_mul(0x85eb_ca6b).wrapping_add(salt))
                    * u64::from(logical))
                    >> 32) as u32;
            }
            let start = Instant::now();
            match self.words {
                0 => self.write_batch::<0>(&batch),
                1 => self.write_batch::<1>(&batch),
                2 => self.write_batch::<2>(&batch),
                _ => self.write_batch::<4>(&batch),
            }
            seconds += start.elapsed().as_secs_f64();
        }
        (count as usize / BATCH * BATCH) as f64 / seconds
    }

    #[inline(never)]
    fn write_batch<const WORDS: usize>(&mut self, batch: &[u32]) {
        if self.next + batch.len() > self.reverse.len() {
            self.next = 0;
        }
        let place = &mut self.reverse[self.next..self.next + batch.len()];
        for (index, (&page, place)) in batch.iter().zip(place).enumerate() {
            if let Some(&ahead) = batch.get(index + AHEAD) {
                prefetch(self.map, ahead as usize);
                if WORDS > 0 {
                    prefetch(self.notes, WORDS * ahead as usize);
                }
            }
            for note in &mut self.notes[WORDS * page as usize..][..WORDS] {
                *note += 1;
            }
            let entry = &mut self.map[page as usize];
            let old = std::mem::replace(entry, (self.next + index) as u32);
            let count = &mut self.counts[(old >> self.shift) as usize];
            *count = count.wrapping_sub(1);
            *place = page;
        }
        self.next += batch.len();
    }

    /// Returns copies a second.
    pub fn copies(&mut self, count: u64) -> f64 {
        match self.words {
            0 => self.copy_with::<0>(count),
            1 => self.copy_with::<1>(count),
            2 => self.copy_with::<2>(count),
            _ => self.copy_with::<4>(count),
        }
    }

    fn copy_with<const WORDS: usize>(&mut self, count: u64) -> f64 {
        let size = 1usize << self.shift;
        let blocks = self.reverse.len() / size;
        let (mut victim, mut current) = (0, 0u64);
        let start = Instant::now();
        for _ in 0..count as usize / size {
            // A block far from the last one, as victims are.
            victim = (victim + blocks / 3 + 1) % blocks;
            let base = victim * size;
            if self.next + size > self.reverse.len() {
                self.next = 0;
            }
            for offset in 0..size {
                let ahead = self.reverse[(base + offset + AHEAD).min(base + size - 1)];
                prefetch(self.map, ahead as usize);
                if WORDS > 0 {
                    prefetch(self.notes, WORDS * ahead as usize);
                }
                let page = self.reverse[base + offset];
                let entry = &mut self.map[page as usize];
                current += u64::from(*entry == (base + offset) as u32);
                *entry = (self.next + offset) as u32;
                current += self.notes[WORDS * page as usize..][..WORDS].iter().sum::<u64>();
                self.reverse[self.next + offset] = page;
            }
            self.next += size;
        }
        black_box(current);
        (count as usize / size * size) as f64 / start.elapsed().as_secs_f64()
    }
}

/// Returns host writes a second with `copies_a_write` copies each, from the rates of both alone.
pub fn writes_with_copies(writes: f64, copies: f64, copies_a_write: f64) -> f64 {
    1.0 / (1.0 / writes + copies_a_write / copies)
}

/// Returns the median of `values`.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table<T>(len: usize) -> &'static mut [T] {
    let bytes = (len * size_of::<T>()).max(1);
    let memory = Box::leak(Box::new(MmapMut::map_anon(bytes).expect("memory")));
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    // SAFETY: the mapping is page-aligned, zeroed, `len` whole numbers long and never unmapped.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), len) }
}

#[inline(always)]
fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
