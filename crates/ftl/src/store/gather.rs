//! Copies the live pages among 64 entries of the reverse map to entries side by side: 16 at a time
//! if the processor can.

/// The number of entries that may be overwritten behind the last gathered entry.
pub(super) const SLACK: usize = 16;

/// Copies the pages of `from` whose bit is set in `live` to `to`, in order, from index `count` on.
/// Returns the index behind them. Up to [`SLACK`] entries behind them may be overwritten.
#[inline(always)]
pub(super) fn gather_word(from: &[u32; 64], live: u64, to: &mut [u32], count: usize) -> usize {
    let set = live.count_ones() as usize;
    assert!(count + set + SLACK <= to.len(), "no room for what is gathered");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions; there is room for the bits that are set and
        // for one register more.
        unsafe { in_registers(from, live, to.as_mut_ptr().add(count)) };
        return count + set;
    }
    one_by_one(from, live, to, count)
}

/// Gathers a word as [`gather_word`] does, one page at a time.
#[inline]
fn one_by_one(from: &[u32; 64], live: u64, to: &mut [u32], mut count: usize) -> usize {
    let mut bits = live;
    while bits != 0 {
        to[count] = from[bits.trailing_zeros() as usize];
        count += 1;
        bits &= bits - 1;
    }
    count
}

/// # Safety
/// The processor has AVX-512F, and `to` has room for the set bits of `live` and 16 entries more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn in_registers(from: &[u32; 64], live: u64, to: *mut u32) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_storeu_si512};
    let (mut to, mut bits) = (to, live);
    for part in from.chunks_exact(16) {
        let mask = bits as u16;
        // SAFETY: `part` holds 16 entries; `to` has room for 16 wherever it stands, as the caller
        // says.
        unsafe {
            let pages = _mm512_loadu_si512(part.as_ptr().cast());
            // Pages are compressed in a register: compressing to memory takes many times as long on
            // some processors.
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(mask, pages));
            to = to.add(mask.count_ones() as usize);
        }
        bits >>= 16;
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;

    #[test]
    fn live_pages_are_gathered_in_order_whatever_the_processor() {
        let from: [u32; 64] = std::array::from_fn(|index| index as u32 * 7 + 1);
        let mut stream = Stream::new(3, "bits");
        let words = [0, 1, u64::MAX, 1 << 63, 0xFFFF, 0x8001_0000_8000_0001];
        for live in words.into_iter().chain((0..500).map(|_| stream.bits())) {
            let expected: Vec<u32> =
                (0..64).filter(|bit| live >> bit & 1 == 1).map(|bit| from[bit]).collect();
            let mut fast = vec![9; 5 + 64 + SLACK];
            let end = gather_word(&from, live, &mut fast, 5);
            assert_eq!((&fast[..5], &fast[5..end]), (&[9; 5][..], &expected[..]));
            let mut slow = vec![9; 5 + 64];
            let end = one_by_one(&from, live, &mut slow, 5);
            assert_eq!(&slow[5..end], expected);
        }
    }
}
