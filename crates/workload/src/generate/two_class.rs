//! Pages of two classes: the first `hot_pages` pages get a share of the commands, and the other
//! pages get the rest. Within a class, all pages are equally likely. `hotcold` and `skew` use this
//! module; it is not a generator itself.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{SpecError, count};
use multiversion::multiversion;

use super::bulk::{Bulk, WORDS};
use super::uniform::Uniform;
use super::{BLOCK, Blocks, Generator, Random, bound32};

/// Opens a workload of two classes. Errors name `owner`. A class without pages must have no share.
pub(super) fn open(
    owner: &str,
    hot_pages: u32,
    hot_share: f64,
    pages: u32,
    random: &Random,
) -> Result<Box<dyn Blocks>, SpecError> {
    let empty = |class: &str, share: f64| {
        // The share is rounded for the message: 1 - 0.8 becomes 0.2.
        let share = (share * 1e12).round() / 1e12;
        SpecError::new(
            format!(
                "{owner}: none of {} is {class}, and {share} of the commands go to {class} pages",
                count(pages.into(), "page")
            ),
            format!("use more logical pages, or make the {class} class larger"),
        )
    };
    match (hot_pages, pages - hot_pages) {
        (0, _) if hot_share > 0.0 => Err(empty("hot", hot_share)),
        (_, 0) if hot_share < 1.0 => Err(empty("cold", 1.0 - hot_share)),
        (0, _) | (_, 0) => Uniform.open(pages, random),
        (hot, cold) => Ok(Box::new(Draws {
            hot: Class::new(0, hot),
            cold: Class::new(hot, cold),
            hot_below: bound32(hot_share),
            words: random.bulk(),
            redraw: random.redraw(),
        })),
    }
}

#[derive(Clone, Copy)]
struct Class {
    first: u32,
    pages: u32,
    /// 2^32 mod pages, the bound below which a draw is rejected (see `uniform`).
    reject_below: u32,
}

impl Class {
    fn new(first: u32, pages: u32) -> Self {
        Self { first, pages, reject_below: pages.wrapping_neg() % pages }
    }
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    hot: Class,
    #[snapshot(skip)]
    cold: Class,
    /// The bound of hot commands, at most 2^32: a command is hot if its 32 random bits are below
    /// it.
    #[snapshot(skip)]
    hot_below: u64,
    #[snapshot(state)]
    words: Bulk,
    redraw: Stream,
}

/// The number of words that are checked together for rejected draws.
const CHUNK: usize = 32;
const LOW: u64 = u32::MAX as u64;

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for pages in pages.as_chunks_mut::<WORDS>().0 {
            let words = self.words.block();
            let rejected = scale(words, pages, &self.hot, &self.cold, self.hot_below);
            for (chunk, rejected) in rejected.iter().enumerate() {
                if *rejected {
                    for i in CHUNK * chunk..CHUNK * (chunk + 1) {
                        let hot = (words[i] & LOW) < self.hot_below;
                        let class = if hot { self.hot } else { self.cold };
                        let low = ((words[i] >> 32) as u32).wrapping_mul(class.pages);
                        if low < class.reject_below {
                            pages[i] = class.first + self.redraw.below(class.pages);
                        }
                    }
                }
            }
        }
    }
}

/// Makes a page from each word: the low half chooses the class, the high half the page in the
/// class. Returns, for each chunk of words, `true` if a page in it must be drawn again.
#[multiversion(targets("x86_64+avx2"))]
fn scale(
    words: &[u64; WORDS],
    pages: &mut [u32; WORDS],
    hot: &Class,
    cold: &Class,
    hot_below: u64,
) -> [bool; WORDS / CHUNK] {
    let mut rejected = [false; WORDS / CHUNK];
    for (chunk, rejected) in rejected.iter_mut().enumerate() {
        let mut below = 0;
        for i in CHUNK * chunk..CHUNK * (chunk + 1) {
            // The mask has all bits set for a hot page, and is 0 otherwise.
            let mask = (((words[i] & LOW).wrapping_sub(hot_below) as i64) >> 63) as u64;
            let choose = |hot: u32, cold: u32| {
                let (hot, cold) = (u64::from(hot), u64::from(cold));
                cold ^ ((hot ^ cold) & mask)
            };
            let product = (words[i] >> 32) * choose(hot.pages, cold.pages);
            pages[i] = (choose(hot.first, cold.first) + (product >> 32)) as u32;
            below |= (product & LOW).wrapping_sub(choose(hot.reject_below, cold.reject_below));
        }
        *rejected = below >> 63 != 0;
    }
    rejected
}
