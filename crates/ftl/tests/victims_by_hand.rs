//! Tests of the policies that weigh age and wear, with picks computed by hand. The drives have a
//! few blocks of b = 4 pages, and each test lists every write, lost page and erase.
//!
//! In the comments, v is the number of valid pages of a block, i that of its invalid ones, u = v/b,
//! a its age, and ec its erase count. "36 and 8" are the values of block 0 and of block 1.

use super::bsgc::Bsgc;
use super::cat::Cat;
use super::cost_benefit::CostBenefit;
use super::eigc::Eigc;
use super::mdc::Mdc;
use super::sagc::Sagc;
use super::scata::Scata;
use super::two_r_fifo::TwoRFifo;
use super::two_r_greedy::TwoRGreedy;
use super::wear_aware::WearAware;
use super::z_cost_benefit::ZCostBenefit;
use super::z_greedy::ZGreedy;
use super::*;
use crate::geometry::UNMAPPED;
use crate::track::Origin;
use flashgc_base::spec::Spec;

/// Blocks and a policy's data about them, driven by hand.
struct Hand<P: VictimPolicy> {
    blocks: BlockTable,
    tracker: P::Tracker,
    policy: P,
}

impl<P: VictimPolicy> Hand<P> {
    /// `count` erased blocks of four pages, none of them a candidate.
    fn new(spec: &str, count: u32) -> Self {
        let blocks = BlockTable::new(&Geometry::new(count, 4, 1).unwrap());
        let params = Params::resolve(&Spec::parse(spec).unwrap(), P::PARAMS).unwrap();
        let policy = P::new(&params, &blocks, &mut Stream::new(0, "hand")).unwrap();
        let tracker = policy.tracker(&blocks);
        Self { blocks, tracker, policy }
    }

    /// Lets the clock show `clock`.
    fn at(&mut self, clock: u64) -> &mut Self {
        self.blocks.tick(clock - self.blocks.clock());
        self
    }

    /// Programs the four pages of `block`, the last one at `clock`, and closes it.
    fn fill(&mut self, block: BlockId, clock: u64) -> &mut Self {
        self.at(clock);
        self.blocks.program(block, 0);
        self.blocks.set_live_of_open(block, 4);
        self.tracker.pages_programmed(&self.blocks, block * 4, 4);
        self.blocks.close(block);
        self.tracker.closed(&self.blocks, block);
        self
    }

    /// The page of `block` at `offset` dies at `clock`.
    fn lose(&mut self, block: BlockId, offset: u32, clock: u64) -> &mut Self {
        self.at(clock);
        self.blocks.counts_mut()[block as usize] -= 1;
        self.tracker.pages_lost(&self.blocks, &[block]);
        self.tracker.pages_died(&self.blocks, &[UNMAPPED, block * 4 + offset], clock - 1);
        self
    }

    /// Programs the four pages of `block` in place of those of `from`, the last one at `clock`, and
    /// closes it: copies if `copied`, data of the host otherwise. `from` is `None` for pages that
    /// had no data.
    fn replace(&mut self, block: BlockId, from: Option<BlockId>, copied: bool, clock: u64) {
        for offset in 0..4 {
            let time = clock - 3 + u64::from(offset);
            let heritage = from.map(|from| self.tracker.heritage(from * 4 + offset, copied, time));
            let origin = if copied { Origin::Copy } else { Origin::Host };
            self.tracker.inherited(block * 4 + offset, heritage, origin, time);
        }
        self.fill(block, clock);
    }

    /// The pages of `block` at `offsets` die at `clock`.
    fn lose_all(&mut self, block: BlockId, offsets: std::ops::Range<u32>, clock: u64) {
        for offset in offsets {
            self.lose(block, offset, clock);
        }
    }

    /// Collects `block` at `clock`: its valid pages are gone, and it is erased and open.
    fn collect(&mut self, block: BlockId, clock: u64) -> &mut Self {
        self.at(clock);
        self.tracker.settle(&self.blocks);
        self.blocks.take(block);
        self.tracker.taken(&self.blocks, block);
        self.blocks.set_live_of_open(block, 0);
        self.blocks.erase(block);
        self
    }

    /// Erases an open block `times` times, before anything else happens.
    fn wear(&mut self, block: BlockId, times: u32) -> &mut Self {
        let now = self.blocks.clock();
        for _ in 0..times {
            self.fill(block, now).collect(block, now);
        }
        self
    }

    fn pick(&mut self) -> Option<BlockId> {
        self.tracker.settle(&self.blocks);
        self.tracker.audit(&self.blocks).unwrap();
        self.policy.pick(&self.blocks, &self.tracker, &mut Stream::new(0, "hand"))
    }
}

/// Block 0 full of writes at clock 4, with 3 valid pages left; block 1 at 32, with 1. The clock
/// shows 40, so that their ages are 36 and 8.
fn old_and_young<P: VictimPolicy>(spec: &str, erases_of_young: u32) -> Hand<P> {
    let mut hand = Hand::new(spec, 2);
    hand.wear(1, erases_of_young).fill(0, 4).lose(0, 0, 10).fill(1, 32);
    hand.lose(1, 0, 33).lose(1, 1, 34).lose(1, 2, 38).at(40);
    hand
}

#[test]
fn cost_benefit_weighs_age_and_copies_in_three_forms() {
    // Score a(1-u)/(2u) = a i/(2v): 36 * 1/6 = 6 for block 0, 8 * 3/2 = 12 for block 1.
    assert_eq!(old_and_young::<CostBenefit>("cost-benefit", 0).pick(), Some(1));
    // `form=lfs`, score (1-u)a/(1+u) = i a/(b+v): 36/7 = 5.14 and 8 * 3/5 = 4.8.
    let mut lfs = old_and_young::<CostBenefit>("cost-benefit:form=lfs", 0);
    assert_eq!(lfs.pick(), Some(0));
    // One program later, both blocks are older: 37/7 = 5.29 and 9 * 3/5 = 5.4.
    assert_eq!(lfs.at(41).pick(), Some(1));
    // `form=sqrt`, score (1-u)/u sqrt(a): 1/3 * 6 = 2 and 3 * 2.83 = 8.5.
    assert_eq!(old_and_young::<CostBenefit>("cost-benefit:form=sqrt", 0).pick(), Some(1));
    // The root matters: ages 36 and 1 in a(1-u)/(2u) give 6 and 1.5, in (1-u)/u sqrt(a) 2 and 3.
    for (spec, pick) in [("cost-benefit", 0), ("cost-benefit:form=sqrt", 1)] {
        let mut hand = Hand::<CostBenefit>::new(spec, 2);
        hand.fill(0, 4).lose(0, 0, 10).fill(1, 39);
        hand.lose(1, 0, 39).lose(1, 1, 40).lose(1, 2, 40);
        assert_eq!(hand.pick(), Some(pick), "{spec}");
    }
    // `age=last_invalidate`: ages count since the last page was lost. 30 * 1/6 = 5 and 2 * 3/2 = 3.
    let spec = "cost-benefit:age=last_invalidate";
    let mut invalidated = old_and_young::<CostBenefit>(spec, 0);
    assert_eq!(invalidated.pick(), Some(0));
    // At 41 block 0 loses another page, and is young: 1 * 2/4 = 0.5. Block 1 has 3 * 3/2 = 4.5.
    assert_eq!(invalidated.lose(0, 1, 41).pick(), Some(1));
}

#[test]
fn an_empty_block_comes_first_a_full_one_last_and_equals_by_wear_then_closing() {
    let mut hand = Hand::<CostBenefit>::new("cost-benefit", 4);
    hand.wear(1, 1).fill(0, 4).fill(1, 8);
    // Both blocks are full: u = 1, and both scores are 0. Block 0 was erased less often.
    assert_eq!(hand.at(100).pick(), Some(0));
    // Block 2 is closed at 200, and picked at 200: age 0 counts as 1, and 1 * 1/6 is more than 0.
    hand.fill(2, 200).lose(2, 3, 200);
    assert_eq!(hand.pick(), Some(2));
    // u = 0 beats any age. Of two such blocks the less worn one goes first, though it was closed
    // later.
    hand.lose_all(1, 0..4, 200);
    assert_eq!(hand.pick(), Some(1));
    hand.fill(3, 300);
    hand.lose_all(3, 0..4, 300);
    assert_eq!(hand.pick(), Some(3));
    // Blocks 0 and 3 are equal in score and wear. Block 0 was closed earlier.
    hand.lose_all(0, 0..4, 301);
    assert_eq!(hand.pick(), Some(0));
    // For lfs an empty block has its age as score: 1 * 4/4 at 201. Block 0 has (201 - 4) * 1/7 =
    // 28.1.
    let mut lfs = Hand::<CostBenefit>::new("cost-benefit:form=lfs", 2);
    lfs.fill(0, 4).lose(0, 0, 5).fill(1, 200);
    lfs.lose_all(1, 0..4, 200);
    assert_eq!(lfs.at(201).pick(), Some(0));
}

#[test]
fn a_new_drive_takes_what_was_closed_first() {
    fn check<P: VictimPolicy>() {
        let mut hand = Hand::<P>::new(P::NAME, 3);
        assert_eq!(hand.pick(), None, "{}", P::NAME);
        for block in [2, 0, 1] {
            hand.at(u64::from(block == 1)); // 2 and 0 at the same clock: the lower number
            hand.blocks.close(block);
            hand.tracker.closed(&hand.blocks, block);
        }
        assert_eq!(hand.at(1).pick(), Some(0), "{}", P::NAME);
        assert_eq!(hand.collect(0, 2).pick(), Some(2), "{}", P::NAME);
        // An erase of a block that was never programmed does not count.
        assert_eq!(hand.blocks.erase_count(0), 0);
    }
    check::<CostBenefit>();
    check::<Mdc>();
    check::<Cat>();
    check::<Sagc>();
    check::<Scata>();
    check::<Eigc>();
    check::<Bsgc>();
    check::<WearAware>();
}

#[test]
fn cat_divides_by_wear() {
    // Score a i/(v (ec + 1)): 36/3 = 12 for block 0. Block 1 has 24/(ec + 1): 24, 12 and 8.
    assert_eq!(old_and_young::<Cat>("cat", 0).pick(), Some(1));
    assert_eq!(old_and_young::<Cat>("cat", 1).pick(), Some(0), "equal: fewer erases");
    assert_eq!(old_and_young::<Cat>("cat", 2).pick(), Some(0));
    // `age=last_invalidate`: ages count since the last page was lost. 30/3 = 10 and 2 * 3 = 6.
    assert_eq!(old_and_young::<Cat>("cat:age=last_invalidate", 0).pick(), Some(0));
    // `weigh=log`: block 0 has ln(37)/3 = 1.204, block 1 3 ln(9)/(ec + 1): 1.318 and 1.099.
    assert_eq!(old_and_young::<Cat>("cat:weigh=log", 4).pick(), Some(1));
    assert_eq!(old_and_young::<Cat>("cat:weigh=log", 5).pick(), Some(0));
}

#[test]
fn sagc_adds_up_the_waits_of_invalid_pages() {
    let mut hand = Hand::<Sagc>::new("sagc", 3);
    hand.fill(0, 4).fill(2, 8).lose(0, 0, 10).lose(0, 1, 20).fill(1, 28);
    hand.lose(1, 0, 30).lose(1, 1, 31).lose(1, 2, 32).at(40);
    // Sums of waits: 30 + 20 = 50 for block 0, 10 + 9 + 8 = 27 for block 1, and 0 for block 2.
    assert_eq!(hand.pick(), Some(0));
    // Three waits grow faster than two: 50 + 2 dt < 27 + 3 dt from dt = 24 on; equal at 23, where
    // block 0 was closed earlier.
    assert_eq!(hand.at(63).pick(), Some(0));
    assert_eq!(hand.at(64).pick(), Some(1));
    // An erase clears the waits of block 0. It loses pages at 70 and 71, and has 10 + 9 = 19 at 80.
    // Block 1 has 50 + 49 + 48 = 147.
    hand.collect(0, 64).fill(0, 68).lose(0, 0, 70).lose(0, 1, 71).at(80);
    assert_eq!(hand.pick(), Some(1));
    // `weight=ratio` multiplies the sums by (1-u)/(2u): 50 * 2/4 = 25 and 27 * 3/2 = 40.5.
    let mut hand = Hand::<Sagc>::new("sagc:weight=ratio", 2);
    hand.fill(0, 4).lose(0, 0, 10).lose(0, 1, 20).fill(1, 28);
    hand.lose(1, 0, 30).lose(1, 1, 31).lose(1, 2, 32).at(40);
    assert_eq!(hand.pick(), Some(1));
}

#[test]
fn scata_multiplies_the_oldest_garbage_with_the_youngest_data() {
    let table = |erases: u32| {
        let mut hand = Hand::<Scata>::new("scata", 2);
        hand.wear(0, erases).fill(0, 4).lose(0, 3, 10).fill(1, 32);
        hand.lose(1, 0, 33).lose(1, 1, 34).at(40);
        hand
    };
    // Block 0 has garbage since 10, its page 2 was written at 3, v = 3: 30 * 37 * 1/7 = 158.6.
    // Block 1 has garbage since 33, its page 3 was written at 32, v = 2: 7 * 8 * 2/6 = 18.7.
    assert_eq!(table(0).pick(), Some(0));
    assert_eq!(table(7).pick(), Some(0), "158.6/8 = 19.8");
    assert_eq!(table(8).pick(), Some(1), "158.6/9 = 17.6");
    // A block without valid pages comes first, however worn it is.
    let mut hand = table(8);
    hand.lose_all(0, 0..3, 40);
    assert_eq!(hand.pick(), Some(0));
    // The youngest valid page counts, not the last one: block 1 has those written at 31 and 32.
    // Without the one of 32 it scores 7 * 9 * 3/5 = 37.8, without the other 7 * 8 * 3/5 = 33.6.
    // Block 0 with one page more lost, at 40: v = 2, 30 * 37 * 2/6 = 370; /10 = 37 after 9 erases.
    for (offset, pick) in [(3, 1), (2, 0)] {
        let mut hand = table(9);
        hand.lose(0, 0, 40).lose(1, offset, 40);
        assert_eq!(hand.pick(), Some(pick), "without page {offset}");
    }
}

#[test]
fn eigc_looks_back_to_the_last_erase() {
    // Block 0 is erased at 10 with 2 of 4 pages valid, block 1 at 30 with 3. Both are filled again
    // and have 2 valid pages at 50, so u/(1-u) = 1. Costs (1 - c)/time * (ec + 1): 0.5/40 * 2 =
    // 0.025 and 0.25/20 * 2 = 0.025. Wear is equal, too, and block 0 was closed first.
    let table = |spec: &str| {
        let mut hand = Hand::<Eigc>::new(spec, 3);
        hand.fill(0, 4).lose(0, 0, 5).lose(0, 1, 6).fill(1, 8).lose(1, 0, 9);
        hand.collect(0, 10).collect(1, 30).fill(0, 36).fill(1, 40);
        hand.lose(0, 0, 41).lose(0, 1, 42).lose(1, 0, 43).lose(1, 1, 44).at(50);
        hand
    };
    let mut hand = table("eigc");
    assert_eq!(hand.pick(), Some(0));
    // One program later: 0.5/41 * 2 = 0.0244 and 0.25/21 * 2 = 0.0238.
    assert_eq!(hand.at(51).pick(), Some(1));
    // `ratio=average`: c is 0.25 and 0.375. Costs: 0.75/41 * 2 = 0.0366 and 0.625/21 * 2 = 0.0595.
    assert_eq!(table("eigc:ratio=average").at(51).pick(), Some(0));
    // A third block, never erased: c = 0, time = 51, v = 3. Its cost is 3 * 1/51 * 1 = 0.059,
    // against 0.0244 and 0.0238.
    let mut hand = table("eigc");
    hand.fill(2, 51).lose(2, 0, 51);
    assert_eq!(hand.pick(), Some(1));
    // With v = 1 the third block costs 1/3 * 1/51 = 0.0065.
    assert_eq!(hand.lose(2, 1, 51).lose(2, 2, 51).pick(), Some(2));
    // Block 1 is erased full at 52: c = 1, but 1 - c counts as 1/4. At 71 it costs 0.25/19 * 4 =
    // 0.0526, and not 0. Block 0 costs 0.5/61 * 2 = 0.0164.
    let mut hand = table("eigc");
    hand.collect(1, 51).fill(1, 51).collect(1, 52).fill(1, 60).lose(1, 0, 61).lose(1, 1, 62);
    assert_eq!(hand.at(71).pick(), Some(0));
}

#[test]
fn bsgc_averages_past_intervals_and_compares_wear() {
    // Block 0 is erased at 10 with 2 of 4 pages valid: interval 0.5 (10 + 0) = 5, c = 0.5 (0.5 + 0)
    // = 0.25. Block 1 is erased at 30 with 3: interval 15, c = 0.375; and at 34 with 4: interval
    // 0.5 (4 + 15) = 9.5, c = 0.5 (1 + 0.375) = 0.6875. Block 2 is never erased. All have 2 valid
    // pages at 50.
    let table = |spec: &str| {
        let mut hand = Hand::<Bsgc>::new(spec, 3);
        hand.fill(0, 4).lose(0, 0, 5).lose(0, 1, 6).fill(1, 8).lose(1, 0, 9);
        hand.collect(0, 10).collect(1, 30).fill(1, 33).collect(1, 34);
        hand.fill(0, 36).fill(1, 40).fill(2, 44);
        hand.lose(0, 0, 45).lose(0, 1, 45).lose(1, 0, 46).lose(1, 1, 46);
        hand.lose(2, 0, 47).lose(2, 1, 47).at(50);
        hand
    };
    // Costs (1 - c)/time * (1 + ec - min_ec) with min_ec = 0, of blocks 0 to 2: 0.75/45 * 2 =
    // 0.0333, 0.3125/25.5 * 3 = 0.0368, 1/50 = 0.02.
    let mut hand = table("bsgc");
    assert_eq!(hand.pick(), Some(2));
    // Block 2 is erased at 51 with 2 valid pages: interval 25.5, c = 0.25; min_ec is 1 now. It is
    // full at 55 and loses 2. Costs at 60: block 0 0.75/55 * 1 = 0.0136, block 1 0.3125/35.5 * 2 =
    // 0.0176, block 2 0.75/(9 + 25.5) * 1 = 0.0217.
    hand.collect(2, 51).fill(2, 55).lose(2, 0, 56).lose(2, 1, 56).at(60);
    assert_eq!(hand.pick(), Some(0));
    // Without block 0, block 1 comes before block 2.
    assert_eq!(hand.collect(0, 60).pick(), Some(1), "0.0176 before 0.0217");
    // `first=sample`: the first interval and c are not halved. Block 0: 10 and 0.5. Block 1: 0.5 (4
    // + 30) = 17 and 0.5 (1 + 0.75) = 0.875, of which 1 - c counts as 0.25. Costs at 50: 0.5/50 * 2
    // = 0.02, 0.25/33 * 3 = 0.0227, and 0.02 for block 2, which was erased less often than block 0.
    assert_eq!(table("bsgc:first=sample").pick(), Some(2));
    assert_eq!(table("bsgc:first=sample").collect(2, 50).pick(), Some(0));
    // `ratio=live`: c = 0.5 (0.5 + 0.25) = 0.375, 0.5 (0.5 + 0.6875) = 0.594, and 0.25. Costs of
    // blocks 0 to 2: 0.625/45 * 2 = 0.0278, 0.406/25.5 * 3 = 0.0478, 0.75/50 = 0.015.
    assert_eq!(table("bsgc:ratio=live").pick(), Some(2));
    // `reading=literal`: intervals 5 and 0.5 (34 + 15) = 24.5; the time is 50 plus the interval.
    // Costs of blocks 0 to 2: 0.75/55 * 2 = 0.0273, 0.3125/74.5 * 3 = 0.0126, 1/50 = 0.02.
    assert_eq!(table("bsgc:reading=literal").pick(), Some(1));
    // `reading=since_erase`: the time counts from the last erase alone. Block 2 was erased at 51
    // with 2 valid pages. Costs of blocks 0 to 2 at 100, min_ec = 1: 0.75/90 = 0.0083, 0.3125/66 *
    // 2 = 0.0095, 0.75/49 = 0.0153. With min_ec = 0: 0.0167, 0.3125/66 * 3 = 0.0142, 0.0306.
    for (spec, pick) in
        [("bsgc:reading=since_erase", 0), ("bsgc:reading=since_erase,wear=absolute", 1)]
    {
        let mut hand = table(spec);
        hand.collect(2, 51).fill(2, 55).lose(2, 0, 56).lose(2, 1, 56).at(100);
        assert_eq!(hand.pick(), Some(pick), "{spec}");
    }
    // Without valid pages every cost is 0: the least worn block goes first.
    let mut hand = table("bsgc");
    hand.lose_all(1, 2..4, 50);
    assert_eq!(hand.pick(), Some(1));
    hand.lose_all(0, 2..4, 50);
    assert_eq!(hand.pick(), Some(0));
}

#[test]
fn wear_aware_gives_worn_blocks_a_handicap() {
    // Cost (1 - l) v/4 + l ec/(1 + max). Block 0 has ec = 3 and v = 1, block 1 ec = 1 and v = 2.
    // With l = 0.1: 0.225 + 0.075 = 0.3 and 0.45 + 0.025 = 0.475. With l = 0.5: 0.125 + 0.375 = 0.5
    // and 0.25 + 0.125 = 0.375.
    for (spec, pick) in
        [("wear-aware", 0), ("wear-aware:lambda=0.5", 1), ("wear-aware:lambda=0", 0)]
    {
        let mut hand = Hand::<WearAware>::new(spec, 2);
        hand.wear(0, 3).wear(1, 1).fill(0, 4).fill(1, 8);
        hand.lose_all(0, 0..3, 9);
        hand.lose_all(1, 0..2, 9);
        assert_eq!(hand.pick(), Some(pick), "{spec}");
    }
    // A full block is never picked before one with garbage, however little it is worn. Block 0,
    // with 1 page of 4 lost and 3 erases, goes first even where wear alone counts.
    let mut hand = Hand::<WearAware>::new("wear-aware:lambda=1", 2);
    hand.wear(0, 3).fill(0, 4).fill(1, 8).lose(0, 0, 9);
    assert_eq!(hand.pick(), Some(0));
}

#[test]
fn mdc_weighs_the_square_of_the_garbage_and_the_write_before_the_last() {
    // Pages without data before are written at 1 to 4. Their up2 is halfway between 0 and now: 1,
    // 1, 2, 2, on average 1.
    let mut hand = Hand::<Mdc>::new("mdc", 4);
    hand.replace(0, None, false, 4);
    // The host writes the pages of block 0 anew at 21 to 24. up2: 21 - 20/2 = 11, 22 - 21/2 = 12,
    // 12, 13, on average 12.
    hand.replace(1, Some(0), false, 24);
    // It writes them again at 41 to 44. up2: 41 - 29/2 = 27, 27, 28, 28, on average 27.
    hand.replace(2, Some(1), false, 44);
    // Copies at 45 to 48 keep 27.
    hand.lose_all(2, 0..1, 44);
    hand.collect(2, 44).replace(3, Some(2), true, 48);
    // Scores i^2 age/(4 v) at 50. Block 0, i = 1, v = 3: 49/12 = 4.1. Block 1, i = 1, v = 3: 38/12
    // = 3.2. Block 3, i = 2, v = 2: 4 * 23/8 = 11.5. Without the square they are 16.3, 12.7 and 23.
    hand.lose(1, 0, 50).lose_all(3, 0..2, 50);
    hand.lose(0, 0, 50);
    assert_eq!(hand.pick(), Some(3));
    // Without block 3, scores of blocks 0 and 1 at 51: 50/12 and 39/12.
    assert_eq!(hand.collect(3, 51).pick(), Some(0));
    // The host writes the copied pages anew at 57 to 60. up2: 57 - (57 - 27)/2 = 42, 43, 43, 44, on
    // average 43. With i = 2 at 60, block 2 scores 4 * 17/8 = 8.5, more than block 0 with 59/12 =
    // 4.9. Without the square: 17 and 19.7.
    hand.replace(2, Some(3), false, 60);
    hand.lose_all(2, 0..2, 60);
    assert_eq!(hand.pick(), Some(2));
}

#[test]
fn the_hand_of_2r_fifo_gives_fuller_blocks_a_second_chance() {
    let mut hand = Hand::<TwoRFifo>::new("2r-fifo", 10);
    for block in 0..10 {
        hand.fill(block, 4);
    }
    // Blocks 1 to 3 have u = 3/4, 1/2 and 1/4, and block 5 has 1/4.
    for (block, lost) in [(1, 1), (2, 2), (3, 3), (5, 3)] {
        hand.lose_all(block, 0..lost, 4);
    }
    // u is below 0.5 in the fourth block that the hand looks at.
    assert_eq!(hand.pick(), Some(3));
    // Block 5 is the sixth at which the hand looks. Six are 70% of the nine blocks left, so the
    // hand goes back to the first. Blocks 3 and 5 had six invalid pages, more than a block's worth:
    // the bound is 0.7 from now on.
    assert_eq!(hand.collect(3, 4).pick(), Some(5));
    assert_eq!(hand.collect(5, 4).pick(), Some(2));
    // The hand has looked at three blocks, and block 4 makes four of seven: the bound rises to
    // 0.75. That is not above the 3/4 of block 1. Four more looks find no block, and block 1 is
    // picked at 0.8.
    assert_eq!(hand.collect(2, 4).pick(), Some(1));
}

#[test]
fn two_r_greedy_stays_in_its_region_until_a_block_is_free() {
    // Blocks 0 and 2 have 2 and 1 valid pages of the host. Blocks 1 and 3 have 1 and 3 valid
    // copies.
    let mut hand = Hand::<TwoRGreedy>::new("2r-greedy", 4);
    for (block, copied, lost) in [(0, false, 2), (1, true, 3), (2, false, 3), (3, true, 1)] {
        hand.replace(block, None, copied, 4);
        hand.lose_all(block, 0..lost, 4);
    }
    // The best blocks of both regions are equal, so the cold region is taken. Its other block makes
    // up a block's worth of invalid pages.
    assert_eq!(hand.pick(), Some(1));
    assert_eq!(hand.collect(1, 4).pick(), Some(3));
    // The next search is in the hot region: the cold one has no candidate left.
    assert_eq!(hand.collect(3, 4).pick(), Some(2));
    assert_eq!(hand.collect(2, 4).pick(), Some(0));
}

/// Blocks of four pages, all closed at 4. `table` has `(valid, zombies)` of each.
fn with_zombies<P: VictimPolicy>(spec: &str, table: &[(u32, u16)]) -> Hand<P> {
    let mut hand = Hand::new(spec, table.len() as u32);
    hand.blocks.keep_zombies();
    for (block, &(valid, zombies)) in (0..).zip(table) {
        hand.fill(block, 4);
        hand.lose_all(block, valid..4, 4);
        for _ in 0..zombies {
            hand.mark(block, 1);
        }
    }
    hand
}

impl<P: VictimPolicy> Hand<P> {
    /// With `by` = 1 a page of `block` becomes a zombie, and with -1 a zombie lives again.
    fn mark(&mut self, block: BlockId, by: i32) -> &mut Self {
        let zombies = &mut self.blocks.zombies_mut()[block as usize];
        *zombies = zombies.wrapping_add_signed(by);
        match by {
            1 => self.tracker.zombie_marked(&self.blocks, block),
            _ => self.tracker.zombie_revived(&self.blocks, block),
        }
        self
    }
}

#[test]
fn z_cost_benefit_counts_zombies_up_to_half_of_the_garbage() {
    // Scores a (i - min(z, i/2))/(2v) at 14, age 10. Block 0 with i = 2, v = 2: 10 * 2/4 = 5. Block
    // 1 with i = 3, v = 1, z = 1: 10 * 2/2 = 10.
    let mut hand = with_zombies::<ZCostBenefit>("z-cost-benefit", &[(2, 0), (1, 1)]);
    assert_eq!(hand.at(14).pick(), Some(1));
    // Blocks 1 and 2 have i = 2, v = 2, and 2 and 1 zombies, of which 1 counts: 10 * 1/4 = 2.5.
    // Both were closed at the same time, so the lower number goes first.
    let mut hand = with_zombies::<ZCostBenefit>("z-cost-benefit", &[(3, 0), (2, 2), (2, 1)]);
    // Block 0 with i = 1, v = 3 scores 10/6 = 1.67.
    assert_eq!(hand.at(14).pick(), Some(1));
    // A zombie of block 1 lives again: the other one counts, and the score stays 2.5. The zombie of
    // block 2 lives again: 10 * 2/4 = 5.
    assert_eq!(hand.mark(1, -1).pick(), Some(1));
    assert_eq!(hand.mark(2, -1).pick(), Some(2));
    // Equal scores. Block 0 with i = 2, v = 2, a zombie and age 10: 10 * 1/4 = 2.5. Block 1 with i
    // = 1, v = 3 and age 15: 15 * 1/6 = 2.5. The block with more garbage goes first, though block 1
    // is as little worn and was closed earlier.
    let mut hand = Hand::<ZCostBenefit>::new("z-cost-benefit", 2);
    hand.blocks.keep_zombies();
    hand.fill(1, 4).lose(1, 0, 4).fill(0, 9);
    hand.lose_all(0, 0..2, 9);
    assert_eq!(hand.mark(0, 1).at(19).pick(), Some(0));
}

#[test]
fn zombies_never_make_a_block_more_eligible() {
    // In random tables, a new zombie changes the pick only if it is in the block that was picked.
    fn check<P: VictimPolicy>(stream: &mut Stream) {
        for _ in 0..2_000 {
            let table: Vec<(u32, u16)> = (0..6)
                .map(|_| {
                    let valid = stream.below(5);
                    (valid, stream.below(valid + 1) as u16)
                })
                .collect();
            let mut hand = with_zombies::<P>(P::NAME, &table);
            let pick = hand.at(20).pick().unwrap();
            let more = stream.below(6);
            if u32::from(table[more as usize].1) < table[more as usize].0 {
                let next = hand.mark(more, 1).pick().unwrap();
                assert!(next == pick || more == pick, "{} {table:?} {more}", P::NAME);
            }
        }
    }
    let mut stream = Stream::new(8, "tables");
    check::<ZGreedy>(&mut stream);
    check::<ZCostBenefit>(&mut stream);
}
