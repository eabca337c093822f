//! Memory for maps and other large tables: flat tables on huge pages, zeroed lazily by the
//! system, and the prefetch that the batch loops need.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// A table of at least this size, in bytes, asks for huge pages. Its size is rounded up to whole
/// huge pages.
const WORTH_HUGE_PAGES: u64 = 128 << 10;
const HUGE_PAGE: u64 = 2 << 20;

/// A whole number that a table may hold.
///
/// # Safety
/// All-zero memory is a valid value of the type.
pub unsafe trait Entry: Copy {}
// SAFETY: 0 of a whole number is all-zero memory.
unsafe impl Entry for u16 {}
// SAFETY: as above.
unsafe impl Entry for u32 {}
// SAFETY: as above.
unsafe impl Entry for u64 {}

/// A flat table of whole numbers in anonymous memory that asks for huge pages.
///
/// Random access to large tables is bound by address translation: with 2 MiB pages the
/// translations stay in cache, which makes it 1.3 to 1.8 times faster.
pub struct Table<T> {
    memory: MmapMut,
    len: usize,
    entry: PhantomData<T>,
}

impl<T: Entry> Table<T> {
    /// A table of `len` entries, all 0; `None` if the system does not have enough memory.
    pub fn new(len: usize) -> Option<Self> {
        let bytes = Self::bytes_for(len);
        let memory = MmapMut::map_anon(usize::try_from(bytes).ok()?).ok()?;
        #[cfg(target_os = "linux")]
        if bytes >= WORTH_HUGE_PAGES {
            let _ = memory.advise(memmap2::Advice::HugePage); // advice; without it only slower
        }
        Some(Self { memory, len, entry: PhantomData })
    }

    /// A table of `len` entries, all `value`. If the system does not have enough memory, this ends
    /// the process, as an allocation does. So the caller checks before how much memory there is.
    pub fn filled(len: usize, value: T) -> Self
    where
        T: Default + PartialEq,
    {
        let Some(mut table) = Self::new(len) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[T; 1]>())
        };
        if value != T::default() {
            table.fill(value);
        }
        table
    }

    /// Bytes of memory that the table takes.
    pub fn bytes(&self) -> u64 {
        Self::bytes_for(self.len)
    }

    /// Bytes of memory that a table of `len` entries takes.
    pub fn bytes_for(len: usize) -> u64 {
        let bytes = (len.max(1) as u64).saturating_mul(size_of::<T>() as u64);
        if bytes < WORTH_HUGE_PAGES { bytes } else { bytes.next_multiple_of(HUGE_PAGE) }
    }
}

impl<T: Entry> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, holds at least `len` entries, all initialised (to 0
        // by the system), and lives with `self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len) }
    }
}

impl<T: Entry> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.len) }
    }
}

/// Asks the processor to load `slice[index]`, soon to be written. Any index is fine: nothing is
/// read, so a wrong index only wastes the request.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Sets `count` bits from bit `first` on.
#[inline]
pub fn set_bits(words: &mut [u64], first: usize, count: usize) {
    for_words(first, count, |word, mask| words[word] |= mask);
}

/// Calls `f` with every word that holds some of the `count` bits from `first` on, and the mask of
/// these bits.
#[inline]
pub fn for_words(first: usize, count: usize, mut f: impl FnMut(usize, u64)) {
    let end = first + count;
    let mut bit = first;
    while bit < end {
        let word = bit / 64;
        let here = (64 - bit % 64).min(end - bit);
        f(word, (u64::MAX >> (64 - here)) << (bit % 64));
        bit += here;
    }
}

/// The number of nodes on each level of a tree over `blocks` blocks, from the lowest level up to
/// the root. A node has `fan` children.
pub fn tree_levels(blocks: u32, fan: usize) -> Vec<usize> {
    let mut size = blocks as usize;
    let mut levels = Vec::new();
    while levels.is_empty() || size > 1 {
        size = size.div_ceil(fan);
        levels.push(size);
    }
    levels
}

/// Bytes of `count` values of type `T`.
pub const fn bytes_of<T>(count: usize) -> u64 {
    (count * size_of::<T>()) as u64
}
