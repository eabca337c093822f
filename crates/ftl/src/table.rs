//! Memory for the map and the reverse map: flat tables of u32 on huge pages, zeroed lazily by the
//! system, with the prefetches that the batch loops need.

use memmap2::MmapMut;

/// A flat table of `u32`, backed by anonymous memory that asks for huge pages.
///
/// Random access to a map of gigabytes is bound by address translation: with 2 MiB pages the
/// translations stay in cache, which alone makes it 1.3 to 1.8 times faster.
pub(crate) struct Table {
    memory: MmapMut,
    len: usize,
}

impl Table {
    /// `len` entries, all 0, or `None` where the system has not that much memory.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let memory = MmapMut::map_anon(len.max(1) * size_of::<u32>()).ok()?;
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage); // advice: refused is only slower
        Some(Self { memory, len })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u32] {
        // SAFETY: the mapping is page-aligned, holds `len` initialised u32, and lives with `self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len) }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u32] {
        // SAFETY: as in `as_slice`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.len) }
    }
}

/// Asks the processor to load `slice[index]`, soon to be written. Any index is fine: nothing is
/// read, so a wrong one only wastes the request.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
