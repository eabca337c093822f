//! MiDAS: a chain of groups, each collected in order, with sizes from a model of update intervals.
//!
//! A host write goes to group 1, or to group 0 if its page is hot. A copy goes from group g to group
//! g + 1, and in the last group to itself. The placement collects, too: the oldest block of the first group
//! that has more blocks than its size or, if there is none, the victim that the victim policy picks
//! in the last group. So the last group has the blocks that the others leave.
//!
//! A page has a counter from 0 to 3, and is hot at 3. A write adds 1 if it replaces data in the hot
//! group, or in group 1 on a block that is open or was filled at most w host writes before; it takes 1 if the
//! block of group 1 is older. A copy takes 2 from the counter if it leaves the hot group, and 1 if it leaves
//! group 1. When w overwrites are over, w becomes the mean of w and of the ages of the hot blocks
//! that were collected, at most 1.5 w. The first U host writes change no counter.
//!
//! Of one page of `sample`, the intervals between writes go into a histogram with `bins` bins a block.
//! After `epoch` times the physical pages, the model finds sizes. A block stays (size - 1/2)/rate in a group,
//! in blocks of host writes; the histogram says which share of its pages is still valid then. The valid share of
//! the last group is that of greedy victims of two uniform kinds of data. Sizes are tried one by one: the last
//! group is divided again and again, then each size is changed in turn, and the best prediction counts.
//! The chain gets the new sizes if the prediction is no worse than what was measured since the
//! physical pages were last written once.
//!
//! Until the first epoch is over, and when a prediction fails, groups fall back: they become one, which has
//! groups by the number of copies but collects them all by the victim policy. An open block whose group is gone is
//! closed as it is. A prediction fails if
//! a group's victims were more valid than predicted by 0.1, in 0.3 of an epoch: this group and later ones are merged. 25
//! collections without room for the host merge the group that was collected last and later ones.
//! With `share`, all groups but the last have this fixed size, and there is no model.
//!
//! Rule: host: 0 if hot, else 1; copy: from g to g + 1, at most to the last group.
//!
//! # Cost
//! A write: a counter is read; one of `sample` updates the histogram. A collection takes the head of a
//! queue. An epoch: some 40 predictions a block of a plane. 2 bits and 1/`sample` of 8 bytes a page;
//! with the usual parameters some 540 bytes a block.
//!
//! # Source
//! Oh, Kim et al., FAST 2024, and its published simulator. There, a model runs beside the drive and counts the kinds
//! of data of the last group over all sizes tried so far; here it runs at once, and each prediction has its
//! own counts. Victims of the last group are those of `cost-benefit:form=sqrt`.

mod chain;
mod filter;
mod model;
mod updates;

use std::collections::VecDeque;

use self::chain::{Chain, FIRST};
use self::filter::{Filter, From};
use self::model::{Hot, Model, Plan, Sums};
use self::updates::Updates;
use super::{
    Class, Collected, Collects, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId,
};
use crate::blocks::BlockId;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "midas",
    params: &[
        Param::integer("groups", (3, 16), Some("10"))
            .help("most groups, the hot one and the last one among them"),
        Param::real("share", (0.0, 0.9), Some("0"))
            .help("fixed size of each group but the last, per block of the drive; 0 for the model"),
        Param::word("hot", &["on", "off"], Some("on")).help("the hot group"),
        Param::real("epoch", (0.1, 100.0), Some("4"))
            .help("host writes after which the model finds sizes, per physical page"),
        Param::integer("sample", (1, 1_000_000), Some("100"))
            .help("one page of this number has its update intervals counted"),
        Param::integer("bins", (1, 64), Some("4")).help("bins of intervals a block"),
    ],
    source: include_str!("mod.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, shape| Remembers {
        writes: (2.0 * params.real("epoch") * Form::of(params, shape).physical() as f64) as u64,
        rewrites: 1,
    },
    bytes: |params, shape| {
        let form = Form::of(params, shape);
        let model = Updates::bytes(shape.pages, form.sample, form.bins, form.width)
            + Sums::bytes(form.bins);
        // The store notes which blocks are kept.
        let lists = Comparison::bytes(form.groups) + Midas::OWN_BYTES + 2 * u64::from(shape.blocks);
        Chain::bytes(form.groups, shape.blocks) + Filter::bytes(shape.pages) + model + lists
    },
    make: Some(|params, shape, _| Box::new(Midas::new(params, shape))),
};

/// The number of collections without room for the host that merge groups.
const FRUITLESS: u64 = 25;

/// A group fails if its victims are more valid than predicted by this.
const TOLERANCE: f64 = 0.1;

/// The share of an epoch over which victims are compared with the prediction.
const COMPARED: f64 = 0.3;

/// The most windows of the filter whose mean the model takes.
const WINDOWS: usize = 10;

/// The hot group must be collected less valid than this, with more than one block and with one.
const TOO_VALID: (f64, f64) = (0.18, 0.3);

/// Untouched pages count if they are at least this share of the physical ones.
const UNTOUCHED: f64 = 0.2;

/// The shape of the model, from the parameters.
#[derive(Clone, Copy)]
struct Form {
    groups: Class,
    share: f64,
    sample: u32,
    pages_per_block: u32,
    blocks: u32,
    /// Bins of an epoch, and host writes of a bin on a drive of one plane.
    bins: usize,
    width: u64,
}

impl Form {
    fn of(params: &Params, shape: Shape) -> Self {
        let (b, per_block) = (shape.pages_per_block, params.integer("bins"));
        let width = (u64::from(b) / per_block).max(1);
        let physical = u64::from(shape.blocks) * u64::from(b);
        let share = params.real("share");
        // Without a model there is no histogram.
        let epoch = if share > 0.0 { 0.0 } else { params.real("epoch") };
        Self {
            groups: params.integer("groups") as Class,
            share,
            sample: params.integer("sample") as u32,
            pages_per_block: b,
            blocks: shape.blocks,
            bins: ((epoch * physical as f64) as u64 / width).max(1) as usize,
            width,
        }
    }

    fn physical(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }
}

/// The comparison of the victims of a plan with what it predicted.
#[derive(State)]
struct Comparison {
    /// The valid shares that the plan predicts, for each group.
    expected: Vec<f64>,
    /// Bit g is set if group g was collected since the plan was made.
    groups: u64,
    /// Host writes since all groups had been collected; `None` before.
    writes: Option<u64>,
    /// The sum of the valid shares of the victims of each group since then, and their number.
    #[snapshot(table)]
    valid: Vec<f64>,
    #[snapshot(table)]
    victims: Vec<u64>,
}

impl Comparison {
    fn bytes(groups: Class) -> u64 {
        3 * 8 * u64::from(groups)
    }

    fn new(groups: Class) -> Self {
        let groups = usize::from(groups);
        let expected = Vec::with_capacity(groups);
        let (valid, victims) = (vec![0.0; groups], vec![0; groups]);
        Self { expected, groups: 0, writes: None, valid, victims }
    }

    /// Begins anew with what a plan predicts.
    fn begin(&mut self, valid: &[f64]) {
        self.expected.clear();
        self.expected.push(0.0);
        self.expected.extend(valid);
        (self.groups, self.writes) = (0, None);
        self.forget();
    }

    fn forget(&mut self) {
        self.valid.fill(0.0);
        self.victims.fill(0);
    }

    /// A victim of `group`, one of `groups` groups, had this share of valid pages.
    fn collected(&mut self, group: usize, groups: usize, valid: f64) {
        self.groups |= 1 << group;
        if self.writes.is_some() {
            self.valid[group] += valid;
            self.victims[group] += 1;
        } else if !self.expected.is_empty() && self.groups == (1 << groups) - 1 {
            self.writes = Some(0);
        }
    }

    /// The host has written a page. Returns the first of the groups below `groups` whose victims
    /// are too valid, if now is the time to compare.
    fn wrote(&mut self, time: u64, groups: usize) -> Option<Class> {
        let writes = self.writes.as_mut()?;
        *writes += 1;
        if *writes <= time {
            return None;
        }
        *writes = 0;
        let fails = |&group: &usize| {
            let mean = self.valid[group] / self.victims[group] as f64;
            mean - self.expected[group] >= TOLERANCE
        };
        let failed = (1..groups.min(self.expected.len())).find(fails);
        self.forget();
        failed.map(|group| group as Class)
    }
}

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Midas {
    #[snapshot(skip)]
    form: Form,
    /// Erased blocks that a plane keeps.
    #[snapshot(skip)]
    erased: u32,
    #[snapshot(skip)]
    sums: Sums,
    #[snapshot(state)]
    chain: Chain,
    #[snapshot(state)]
    filter: Filter,
    #[snapshot(state)]
    updates: Updates,
    #[snapshot(state)]
    comparison: Comparison,
    /// Pages with data.
    valid: u64,
    /// The last windows of the filter: the traffic and the valid share of the hot group, and its
    /// full blocks in a plane.
    windows: VecDeque<(f64, f64, f64)>,
    /// Host writes and copies since the physical pages were last written once, and the write amplification
    /// then.
    writes: u64,
    copies: u64,
    measured: f64,
    /// The group that was collected last.
    last: Class,
    /// Predictions that failed in this epoch, and epochs in a row with such a one.
    failures: u32,
    failed_epochs: u32,
}

impl Midas {
    /// Bytes of the placement itself, and of the windows of its filter.
    const OWN_BYTES: u64 = (size_of::<Self>() + WINDOWS * size_of::<(f64, f64, f64)>()) as u64;

    fn new(params: &Params, shape: Shape) -> Self {
        let form = Form::of(params, shape);
        let mut midas = Self {
            form,
            erased: 0,
            sums: Sums::new(form.bins),
            chain: Chain::new(form.groups, shape.blocks),
            filter: Filter::new(params.text("hot") == "on", shape.pages),
            updates: Updates::new(shape.pages, form.sample, form.bins, form.width),
            comparison: Comparison::new(form.groups),
            valid: 0,
            windows: VecDeque::with_capacity(WINDOWS),
            writes: 0,
            copies: 0,
            measured: f64::INFINITY,
            last: 0,
            failures: 0,
            failed_epochs: 0,
        };
        midas.fix_sizes();
        midas
    }

    /// Makes the groups of fixed sizes, if they have such.
    fn fix_sizes(&mut self) {
        if self.form.share > 0.0 {
            let size = (self.form.share * f64::from(self.chain.blocks())) as u32;
            self.chain.set(&vec![size; usize::from(self.form.groups) - 1]);
        }
    }

    /// Returns the place of data, at `place`, as the filter asks for it.
    #[inline]
    fn from(&self, place: Place, now: Now) -> From {
        match self.chain.group(place.block) {
            Some(0) => From::Hot,
            Some(FIRST) => From::First(self.chain.age(place.block, now.host)),
            _ => From::Other,
        }
    }

    /// Merges the groups from `group` on.
    fn fall_back(&mut self, group: Class) {
        if usize::from(group) <= (self.comparison.expected.len() / 2) {
            self.failures += 1;
        }
        self.chain.merge(group);
    }

    /// The mean of the last windows of the filter.
    fn hot(&self) -> Hot {
        let n = self.windows.len() as f64;
        if self.windows.is_empty() {
            return Hot { traffic: 0.01, valid: 0.05, blocks: 1 };
        }
        let (mut traffic, mut valid, mut blocks) = (0.0, 0.0, 0.0);
        for window in &self.windows {
            (traffic, valid, blocks) = (traffic + window.0, valid + window.1, blocks + window.2);
        }
        let blocks = (blocks / n + 1.0 + 0.5).floor() as u32; // the open one, too
        Hot { traffic: traffic / n, valid: valid / n, blocks }
    }

    /// An epoch is over: finds sizes, and begins another.
    #[cold]
    fn end_epoch(&mut self) {
        let hot = self.hot();
        self.windows.clear();
        let too_valid = if hot.blocks > 1 { TOO_VALID.0 } else { TOO_VALID.1 };
        let planes = f64::from(self.chain.planes());
        let b = f64::from(self.form.pages_per_block);
        if hot.valid > too_valid || !self.chain.has_last() {
            self.lengthen();
        } else {
            self.sums.set(self.updates.end());
            let untouched = self.chain.untouched(self.form.pages_per_block) as f64;
            let counts = untouched >= UNTOUCHED * self.form.physical() as f64;
            let bin = self.updates.width() as f64 / b / planes;
            let model = Model {
                blocks: self.chain.blocks().saturating_sub(self.erased),
                pages_per_block: self.form.pages_per_block,
                pages: self.valid as f64 / planes,
                untouched: if counts { untouched / planes } else { 0.0 },
                bin,
                epoch: bin * self.form.bins as f64,
                most: self.chain.classes() - 1,
                hot,
                sums: &self.sums,
            };
            if let Some(plan) = model.plan() {
                self.take(&plan);
            }
        }
        self.failures = 0;
        self.updates.begin();
    }

    /// Applies `plan`, if it predicts no more writes than there were.
    fn take(&mut self, plan: &Plan) {
        if self.measured < plan.amplification {
            self.failed_epochs += u32::from(self.failures > 0);
            return;
        }
        self.failed_epochs = if self.failures > 0 { self.failed_epochs + 1 } else { 0 };
        if self.failed_epochs >= 2 {
            self.lengthen();
        }
        // Sizes count the open block; that of the first group is often full.
        let (_, kept) = plan.sizes.split_last().expect("a plan has groups");
        let mut sizes = vec![plan.hot.saturating_sub(1)];
        sizes.extend(kept.iter().map(|size| size.saturating_sub(1)));
        sizes[1] = sizes[1].saturating_sub(1);
        self.chain.set(&sizes);
        self.comparison.begin(&plan.valid);
    }

    fn lengthen(&mut self) {
        self.updates.lengthen(u64::from(self.form.pages_per_block * self.chain.planes()));
    }
}

impl Placement for Midas {
    fn classes(&self) -> usize {
        self.chain.classes()
    }

    fn takes_copies(&self, class: Class) -> bool {
        class >= FIRST
    }

    /// All copies of a block go to one group.
    fn copy_classes(&self) -> usize {
        1
    }

    fn prefetch(&self, page: u32) {
        self.filter.prefetch(page);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let from = old.map(|old| self.from(old, now));
        if self.filter.is_hot(page, from) { 0 } else { FIRST }
    }

    #[inline]
    fn copy(&self, _: u32, from: Place, _: bool, _: Now) -> Class {
        self.chain.target(from.block)
    }

    fn holds(&mut self, _: u32, place: Place, now: Now) {
        self.valid += 1;
        let class = if now == Now::default() { FIRST } else { place.class };
        self.chain.holds(place.block, class, now.host);
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        let before = Now { host: now.host - 1, ..now };
        let place = from.map(|from| self.from(from, before));
        match from {
            Some(from) => self.chain.lost(from.block),
            None => self.valid += 1,
        }
        if let Some(past) = self.filter.wrote(page, place, to.class == 0) {
            self.windows.truncate(WINDOWS - 1);
            let blocks = f64::from(self.chain.len(0)) / f64::from(self.chain.planes());
            self.windows.push_front((past.traffic, past.valid, blocks));
        }
        if self.form.share > 0.0 {
            return;
        }
        self.writes += 1;
        if self.writes == self.form.physical() {
            self.measured = 1.0 + self.copies as f64 / self.writes as f64;
            (self.writes, self.copies) = (0, 0);
        }
        if self.updates.wrote(page) {
            self.end_epoch();
        }
        let groups = usize::from(self.chain.kept()) + usize::from(!self.chain.is_plain());
        let time = (COMPARED * self.updates.epoch() as f64) as u64;
        if let Some(group) = self.comparison.wrote(time, groups) {
            self.fall_back(group);
        }
    }

    fn trimmed(&mut self, page: u32, from: Place, _: Now) {
        self.valid -= 1;
        self.chain.lost(from.block);
        if self.form.share == 0.0 {
            self.updates.trimmed(page);
        }
    }

    fn copied(&mut self, page: u32, from: Place, _: Place, _: Now) {
        self.copies += 1;
        if let Some(origin) = self.chain.origin(from.block).filter(|&origin| origin <= FIRST) {
            self.filter.outlived(page, origin == 0);
        }
    }

    fn opened(&mut self, place: Place, now: Now) {
        self.chain.opened(place.block, place.class, now.host);
    }

    fn collected(&mut self, block: Collected, now: Now) {
        let age = self.chain.age(block.block, now.host);
        let Some(group) = self.chain.collected(block.block) else { return };
        let valid = f64::from(block.valid) / f64::from(block.pages);
        if group == 0 {
            self.filter.collected_hot(age, valid);
        }
        let last = self.chain.kept();
        self.last = group.min(last);
        self.comparison.collected(self.last.into(), usize::from(last) + 1, valid);
    }

    fn closed(&mut self, place: Place, now: Now) {
        self.chain.closed(place.block, place.class, now.host);
    }

    fn collects(&mut self) -> Option<&mut dyn Collects> {
        Some(self)
    }
}

impl Collects for Midas {
    fn divide(&mut self, blocks: BlockId, erased: u32) {
        self.erased = erased;
        self.chain.divide(blocks);
        self.updates.widen(self.chain.planes().into());
        self.fix_sizes();
    }

    fn keeps(&self, block: BlockId) -> bool {
        self.chain.keeps(block)
    }

    fn left(&mut self, block: BlockId) {
        self.chain.left(block);
    }

    fn leaves(&self, class: Class) -> bool {
        self.chain.leaves(class)
    }

    fn changes(&self) -> u64 {
        self.chain.changes()
    }

    fn next(&mut self, first: BlockId, fruitless: u64) -> Option<BlockId> {
        if fruitless > 0 && fruitless.is_multiple_of(FRUITLESS) && self.chain.kept() > 1 {
            self.fall_back(self.last.min(self.chain.kept() - 1));
        }
        self.chain.over(first)
    }

    fn give_up(&mut self) {
        self.fall_back(FIRST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_fails_if_a_group_is_more_valid_by_a_tenth() {
        // Groups 0, 1 and 2; 0.5 is predicted for group 1 and 0.75 for the last one, 2.
        let mut comparison = Comparison::new(4);
        assert_eq!(comparison.wrote(0, 3), None, "there is no plan yet");
        comparison.begin(&[0.5, 0.75]);
        // Victims count once each group had one.
        for group in [0, 1, 1, 2] {
            assert_eq!(comparison.wrote(2, 3), None);
            comparison.collected(group, 3, 1.0);
        }
        comparison.collected(1, 3, 0.5);
        comparison.collected(1, 3, 0.65);
        comparison.collected(2, 3, 0.875);
        // The third write of two: group 1 had 0.575, the last group 0.875.
        assert_eq!([0; 3].map(|_| comparison.wrote(2, 3)), [None, None, Some(2)]);
        // In the fallback the last group is not compared. Then counts begin anew.
        comparison.collected(2, 3, 0.875);
        assert_eq!([0; 3].map(|_| comparison.wrote(2, 2)), [None; 3]);
        comparison.collected(1, 3, 0.625);
        assert_eq!([0; 3].map(|_| comparison.wrote(2, 3)), [None, None, Some(1)]);
    }

    #[test]
    fn a_plan_is_taken_if_it_writes_no_more_than_was_measured() {
        let spec = crate::placement::PlacementSpec::parse("midas:groups=5").unwrap();
        let shape = Shape { pages: 100, pages_per_block: 4, blocks: 32 };
        let mut midas = Midas::new(&spec.params, shape);
        let plan =
            Plan { hot: 3, sizes: vec![6, 5, 16], valid: vec![0.5, 0.75, 0.5], amplification: 2.0 };
        midas.measured = 1.9;
        midas.take(&plan);
        assert!(midas.chain.is_plain());
        midas.measured = 2.0;
        midas.take(&plan);
        assert_eq!((midas.chain.kept(), midas.chain.is_plain()), (3, false));
        // Two failures in the first half of the groups, in two epochs, lengthen the third: from
        // bins of one host write to bins of two.
        for (epoch, width) in [(1, 1), (2, 2)] {
            midas.fall_back(1);
            midas.take(&plan);
            midas.failures = 0;
            assert_eq!(midas.updates.width(), width, "epoch {epoch}");
        }
        midas.fall_back(2);
        assert_eq!((midas.chain.kept(), midas.chain.is_plain()), (2, true));
    }

    #[test]
    fn twenty_five_collections_without_room_merge_the_group_collected_last() {
        let spec = crate::placement::PlacementSpec::parse("midas:groups=5,share=0.25").unwrap();
        let shape = Shape { pages: 100, pages_per_block: 4, blocks: 32 };
        let mut midas = Midas::new(&spec.params, shape);
        let now = Now::default();
        for (block, class) in [(0, 1), (1, 2), (2, 3), (3, 1), (4, 2), (5, 3), (6, 2)] {
            midas.opened(Place { class, block }, now);
        }
        assert_eq!([0, 1, 2, 4].map(|block| midas.keeps(block)), [true; 4]);
        midas.collected(Collected { class: 2, block: 1, opened: now, valid: 4, pages: 4 }, now);
        assert_eq!(midas.copy(9, Place { class: 2, block: 1 }, false, now), 3);
        assert_eq!((midas.next(0, 24), midas.chain.kept()), (None, 4));
        // The groups 2, 3 and 4 become one. The first group is as before.
        assert_eq!((midas.next(0, 25), midas.chain.kept()), (None, 2));
        assert_eq!([0, 3].map(|block| midas.keeps(block)), [true; 2]);
        assert_eq!([2, 4, 5, 6].map(|block| midas.keeps(block)), [false; 4]);
        // The copies of the victim go where they went before. A full block counts as never copied since;
        // an open one is for its class.
        let target = |midas: &mut Midas, block, class| {
            let pages = Collected { class, block, opened: now, valid: 4, pages: 4 };
            let before = midas.copy(9, Place { class: 2, block: 1 }, false, now);
            midas.collected(pages, now);
            (before, midas.copy(9, Place { class, block }, false, now))
        };
        assert_eq!(target(&mut midas, 2, 3), (3, 3));
        assert_eq!(target(&mut midas, 5, 3).1, 4);
        assert_eq!(target(&mut midas, 0, 1).1, 2);
    }

    #[test]
    fn classes_whose_group_is_gone_are_left() {
        let spec = crate::placement::PlacementSpec::parse("midas").unwrap();
        let mut midas =
            Midas::new(&spec.params, Shape { pages: 8, pages_per_block: 4, blocks: 12 });
        let left =
            |midas: &Midas| (0..=10).filter(|&class| midas.leaves(class)).collect::<Vec<_>>();
        // The fallback has the hot class and those of 0 to 3 copies. Class 10 is none of the placement.
        assert_eq!(left(&midas), [5, 6, 7, 8, 9]);
        midas.opened(Place { class: 3, block: 0 }, Now::default());
        // Hot, first and last group.
        midas.chain.set(&[3, 4]);
        assert_eq!(left(&midas), [2, 3, 4, 5, 6, 7, 8]);
        midas.closed(Place { class: 3, block: 0 }, Now { programs: 9, host: 7 });
        assert_eq!(midas.chain.age(0, 9), 2);
        midas.chain.set(&[3, 4, 5, 6]);
        assert_eq!(left(&midas), [4, 5, 6, 7, 8]);
        midas.opened(Place { class: 3, block: 1 }, Now { programs: 9, host: 9 });
        assert_eq!(
            (midas.chain.len(3), midas.chain.age(0, 9)),
            (0, 2),
            "block 0 was closed before"
        );
    }

    #[test]
    fn the_first_group_that_is_too_large_is_collected_in_order() {
        // A group may have one full block: 0.1 of 12, rounded down.
        let spec = crate::placement::PlacementSpec::parse("midas:groups=4,share=0.1").unwrap();
        let shape = Shape { pages: 8, pages_per_block: 4, blocks: 12 };
        let mut midas = Midas::new(&spec.params, shape);
        let now = Now::default();
        // Group 2 has the full blocks 0, 2 and 4, and group 1 the full blocks 1 and 3.
        for (block, class) in [(0, 2), (1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2)] {
            midas.opened(Place { class, block }, now);
        }
        for (block, class) in [(1, 1), (0, 2), (2, 2)] {
            assert_eq!(midas.next(0, 0), Some(block));
            midas.collected(Collected { class, block, opened: now, valid: 0, pages: 4 }, now);
        }
        assert_eq!(midas.next(0, 0), None);
    }
}
