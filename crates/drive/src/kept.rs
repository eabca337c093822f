//! The pages among many that fulfil a condition, side by side: 16 at a time if the processor can.
//! There are no branches on the condition, because processors cannot predict it.

use flashgc_workload::Op;

/// The number of entries that may be overwritten behind the last page that is kept.
pub(crate) const SLACK: usize = 16;

/// Puts the pages that are written to the front of `kept`, in order, and returns their number.
/// There is an operation for each page. `kept` has [`SLACK`] entries more than there are pages.
pub(crate) fn keep_writes(pages: &[u32], ops: &[Op], kept: &mut [u32]) -> usize {
    let ops = &ops[..pages.len()];
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return unsafe { registers::keep_writes(pages, ops, kept) };
    }
    keep(pages, kept, |index, _| ops[index] == Op::Write)
}

/// Puts the pages whose hash has only zeros in `mask` to the front of `kept`, in order, and returns
/// their number. `kept` has [`SLACK`] entries more than there are pages.
pub(crate) fn keep_hashed(pages: &[u32], mask: u32, kept: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return unsafe { registers::keep_hashed(pages, mask, kept) };
    }
    keep(pages, kept, |_, page| hash(page) & mask == 0)
}

/// The factor of [`hash`]: 2^32 divided by the golden ratio, made odd.
const FACTOR: u32 = 0x9e37_79b1;

/// Returns 16 bits that are evenly spread, also for pages in a row.
#[inline]
pub(crate) fn hash(page: u32) -> u32 {
    page.wrapping_mul(FACTOR) >> 16
}

/// Keeps the pages for which `is_kept` is true, in ordinary instructions.
#[inline(always)]
fn keep(pages: &[u32], kept: &mut [u32], is_kept: impl Fn(usize, u32) -> bool) -> usize {
    let mut count = 0;
    for (index, &page) in pages.iter().enumerate() {
        kept[count] = page;
        count += usize::from(is_kept(index, page));
    }
    count
}

/// Picks in vector registers.
#[cfg(target_arch = "x86_64")]
mod registers {
    use std::arch::x86_64::{
        __m512i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
        _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_mullo_epi32, _mm512_set1_epi32,
        _mm512_srli_epi32, _mm512_storeu_si512, _mm512_testn_epi32_mask,
    };

    use super::{FACTOR, Op, SLACK, hash, keep};

    /// The number of pages in a register.
    const WIDTH: usize = SLACK;

    /// # Safety
    /// The processor has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn keep_writes(pages: &[u32], ops: &[Op], kept: &mut [u32]) -> usize {
        let (chunks, rest) = pages.as_chunks::<WIDTH>();
        let (ops, rest_ops) = ops.as_chunks::<WIDTH>();
        let write = _mm_set1_epi8(Op::Write as i8);
        let mut count = 0;
        for (pages, ops) in chunks.iter().zip(ops) {
            // SAFETY: there are 16 operations of a byte each.
            let ops = unsafe { _mm_loadu_si128(ops.as_ptr().cast()) };
            let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(ops, write)) as u16;
            count += put(load(pages), mask, &mut kept[count..]);
        }
        count + keep(rest, &mut kept[count..], |index, _| rest_ops[index] == Op::Write)
    }

    /// # Safety
    /// The processor has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn keep_hashed(pages: &[u32], mask: u32, kept: &mut [u32]) -> usize {
        let (chunks, rest) = pages.as_chunks::<WIDTH>();
        let (factor, bits) = (_mm512_set1_epi32(FACTOR as i32), _mm512_set1_epi32(mask as i32));
        let mut count = 0;
        for pages in chunks {
            let pages = load(pages);
            let hashes = _mm512_srli_epi32::<16>(_mm512_mullo_epi32(pages, factor));
            count += put(pages, _mm512_testn_epi32_mask(hashes, bits), &mut kept[count..]);
        }
        count + keep(rest, &mut kept[count..], |_, page| hash(page) & mask == 0)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(pages: &[u32; WIDTH]) -> __m512i {
        // SAFETY: a register has room for 16 pages.
        unsafe { _mm512_loadu_si512(pages.as_ptr().cast()) }
    }

    /// Puts the pages whose bit is set in `mask` to the front of `kept`. Returns their number.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn put(pages: __m512i, mask: u16, kept: &mut [u32]) -> usize {
        let to: &mut [u32; WIDTH] = kept.first_chunk_mut().expect("room for a register");
        // Pages are compressed in a register: compressing to memory takes many times as long on
        // some processors.
        let compressed = _mm512_maskz_compress_epi32(mask, pages);
        // SAFETY: `to` has room for 16 pages.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), compressed) };
        mask.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;

    #[test]
    fn pages_are_kept_in_order_whatever_the_processor() {
        let mut stream = Stream::new(3, "pages");
        for len in (0..70).chain([4096]) {
            let pages: Vec<u32> = (0..len).map(|_| stream.bits() as u32).collect();
            let kinds = [Op::Write, Op::Read, Op::Trim];
            let ops: Vec<Op> = pages.iter().map(|_| kinds[stream.below(3) as usize]).collect();
            let expect = |is_kept: &dyn Fn(usize) -> bool| -> Vec<u32> {
                (0..pages.len()).filter(|&index| is_kept(index)).map(|index| pages[index]).collect()
            };
            let is_write = |index: usize| ops[index] == Op::Write;
            let (mut fast, mut slow) = (vec![9; pages.len() + SLACK], vec![9; pages.len() + SLACK]);
            let count = keep_writes(&pages, &ops, &mut fast);
            assert_eq!(fast[..count], expect(&is_write));
            let count = keep(&pages, &mut slow, |index, _| is_write(index));
            assert_eq!(slow[..count], expect(&is_write));
            for mask in [0, 1, 7] {
                let is_chosen = |index: usize| hash(pages[index]) & mask == 0;
                let count = keep_hashed(&pages, mask, &mut fast);
                assert_eq!(fast[..count], expect(&is_chosen));
                let count = keep(&pages, &mut slow, |index, _| is_chosen(index));
                assert_eq!(slow[..count], expect(&is_chosen));
            }
        }
    }
}
