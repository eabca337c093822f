//! SFS: pages go to the group of blocks that is about as hot; k-means finds the groups.
//!
//! The clock t counts pages that the host has written; first contents count as writes of the pages
//! in their order. The hotness of a page is its writes so far, divided by the time since the last
//! one. A page that was never written or was discarded is infinitely hot. A host write counts only
//! after its page was sorted.
//!
//! A segment holds all pages that a class takes between two openings of a block; on a drive of one
//! plane, it is a block. First contents are segments of b pages in their order. The hotness of a
//! segment is the writes of the pages that have their data there, divided by the sum of the times
//! since the last ones. With several planes there may be more segments than a drive of one plane
//! can have. Then a class goes on with its old segment.
//!
//! Each class has a centre, and takes the pages whose hotness is nearest to it; of two classes, the
//! hotter one does. Class 0 is the hottest, and takes all pages until there are centres. Centres
//! are computed after every `refresh` U host writes, rounded up, from the n segments that have
//! valid pages and are not being filled, if n is at least the number of classes C. The segments are
//! numbered from hot to cold, from 0; number `floor((2i + 1) n/(2C))` is the first centre i. Then
//! there are 3 rounds: each segment joins the nearest centre, a centre becomes the mean of its
//! segments, if it has any, and the centres are sorted from hot to cold.
//!
//! Rule: the class with the least `|centre - writes/(t - last)|`.
//!
//! # Cost
//! A write or copy: one centre per class is read, and the sums of two segments change. Every
//! `refresh` U writes the segments are sorted, and compared with each centre 3 times: some 3000/b
//! steps a write with the usual parameters. 16 bytes a logical page, 36 a segment, of which there
//! are two a block, 17 a block, and an erased block a class but one.
//!
//! # Source
//! Min, Kim, Cho, Lee, Eom, FAST 2012, as Wang, Li, Lee, Li, FAST 2022, simulate it. They find
//! groups at each collection; `refresh` makes the cost of a write the same on drives of all sizes.
//! When the rounds began with the previous centres, five centres stayed with the few hottest
//! blocks, and the drive wrote more than without placement. SFS itself collects the block with the
//! least `(1 - u)/(u hotness)`; here any victim policy may be used.

use super::window::Windows;
use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::{Param, Params};
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "sfs",
    params: &[
        Param::integer("classes", (1, MOST as u64), Some("6"))
            .help("groups of blocks of similar hotness"),
        Param::real("refresh", (0.001, 1000.0), Some("0.01"))
            .help("host writes after which the groups are found anew, per logical page"),
    ],
    source: include_str!("sfs.rs"),
    needs_future: false,
    needs_streams: false,
    // Hotness is a count of all writes: after 32 of them it is known to within 18%. On
    // zipf:theta=0.99, write amplification with cost-benefit was 0.2% above its final value after
    // 16.
    remembers: |_, _| Remembers::rewrites(32),
    bytes: |params, shape| {
        Table::<u64>::bytes_for(2 * shape.pages) + 36 * segments(params, shape) as u64
    },
    make: Some(|params, shape, _| Box::new(Sfs::new(params, shape))),
};

/// The most classes.
const MOST: usize = 32;

/// Rounds of k-means.
const ROUNDS: usize = 3;

/// The segment of a page without data.
const NONE: u32 = u32::MAX;

/// Segments of the first contents.
fn first_segments(shape: Shape) -> usize {
    shape.pages.div_ceil(shape.pages_per_block.max(1) as usize)
}

/// Returns the largest number of segments on a drive of one plane.
fn segments(params: &Params, shape: Shape) -> usize {
    params.integer("classes") as usize + first_segments(shape) + shape.blocks as usize
}

/// A page as far as the rule knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Note {
    /// The stamp of its last write.
    last: u64,
    /// The segment that has its data, or [`NONE`].
    segment: u32,
    /// Its writes so far.
    writes: u32,
}

/// The notes of all pages, two words each: 16 bytes, so that a note lies in one line of the cache.
#[derive(State)]
struct Notes {
    #[snapshot(table)]
    words: Table<u64>,
}

impl Notes {
    fn new(pages: usize) -> Self {
        let mut notes = Self { words: Table::filled(2 * pages, 0) };
        let none = Note { last: 0, segment: NONE, writes: 0 };
        (0..pages as u32).for_each(|page| notes.set(page, none));
        notes
    }

    fn pages(&self) -> u64 {
        self.words.len() as u64 / 2
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.words, 2 * page as usize);
    }

    #[inline(always)]
    fn of(&self, page: u32) -> Note {
        let words = &self.words[2 * page as usize..][..2];
        Note { last: words[0], segment: (words[1] >> 32) as u32, writes: words[1] as u32 }
    }

    #[inline(always)]
    fn set(&mut self, page: u32, note: Note) {
        let words = &mut self.words[2 * page as usize..][..2];
        words[0] = note.last;
        words[1] = u64::from(note.segment) << 32 | u64::from(note.writes);
    }
}

/// Sums over the pages that have their data on a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Segment {
    valid: u64,
    writes: u64,
    /// The sum of the stamps of the pages' last writes.
    lasts: u64,
}

impl Segment {
    fn hotness(&self, clock: u64) -> f64 {
        self.writes as f64 / (self.valid * clock - self.lasts) as f64
    }
}

/// The placement policy that the header of this file describes.
#[derive(State)]
#[snapshot(then = sum_up)]
struct Sfs {
    /// Host writes from one computation of the centres to the next.
    #[snapshot(skip)]
    window: Windows,
    #[snapshot(skip)]
    pages_per_block: u32,
    #[snapshot(state)]
    notes: Notes,
    /// The segment that each class fills.
    #[snapshot(table)]
    open: Vec<u32>,
    /// The centres from hot to cold; infinite before the first computation.
    #[snapshot(table)]
    centres: Vec<f64>,
    /// The least hotness of each class but the last, from hot to cold.
    #[snapshot(skip)]
    bounds: Vec<f64>,
    #[snapshot(skip)]
    segments: Vec<Segment>,
    /// Free segments: the first `frees` entries. A free segment has no valid pages, and no class
    /// fills it.
    #[snapshot(table)]
    free: Vec<u32>,
    frees: u32,
    /// Buffer for the hotness of all segments.
    #[snapshot(skip)]
    hotness: Vec<f64>,
}

impl Sfs {
    fn new(params: &Params, shape: Shape) -> Self {
        let classes = params.integer("classes") as usize;
        let (segments, used) = (segments(params, shape), classes + first_segments(shape));
        let frees = segments - used;
        let mut free = vec![NONE; segments];
        (used as u32..).zip(&mut free[..frees]).for_each(|(number, free)| *free = number);
        let window = (shape.pages as f64 * params.real("refresh")).ceil() as u64;
        Self {
            window: Windows::new(window.max(1)),
            pages_per_block: shape.pages_per_block,
            notes: Notes::new(shape.pages),
            open: (0..classes as u32).collect(),
            centres: vec![f64::INFINITY; classes],
            bounds: vec![0.0; classes - 1],
            segments: vec![Segment::default(); segments],
            free,
            frees: frees as u32,
            hotness: Vec::with_capacity(segments),
        }
    }

    /// t: the stamp of a write that comes now.
    #[inline]
    fn clock(&self, now: Now) -> u64 {
        self.notes.pages() + now.host
    }

    #[inline(always)]
    fn class(&self, page: u32, now: Now) -> Class {
        let note = self.notes.of(page);
        if note.writes == 0 {
            return 0;
        }
        let age = self.clock(now) - note.last;
        let hotness = f64::from(note.writes) / age as f64;
        self.bounds.iter().filter(|&&bound| hotness < bound).count() as Class
    }

    /// Moves the data of `page`, of which `before` was known, to the segment of `note`.
    #[inline(always)]
    fn put(&mut self, page: u32, before: Note, note: Note) {
        self.take(before);
        self.notes.set(page, note);
        self.add(note);
    }

    /// Adds a page to the sums of its segment.
    #[inline(always)]
    fn add(&mut self, note: Note) {
        let segment = &mut self.segments[note.segment as usize];
        segment.valid += 1;
        segment.writes += u64::from(note.writes);
        segment.lasts += note.last;
    }

    /// Removes a page from the sums of its segment, if it has one.
    #[inline(always)]
    fn take(&mut self, note: Note) {
        if note.segment == NONE {
            return;
        }
        let segment = &mut self.segments[note.segment as usize];
        segment.valid -= 1;
        segment.writes -= u64::from(note.writes);
        segment.lasts -= note.last;
        if segment.valid == 0 && !self.open.contains(&note.segment) {
            self.release(note.segment);
        }
    }

    #[cold]
    fn release(&mut self, number: u32) {
        self.free[self.frees as usize] = number;
        self.frees += 1;
    }

    /// Computes the sums of all segments from the tables of the pages.
    fn sum_up(&mut self) -> Result<(), Fault> {
        let pages = 0..self.notes.pages() as u32;
        let of_pages = pages.clone().map(|page| self.notes.of(page).segment);
        let free = self.free.iter().take(self.frees as usize).copied();
        let count = self.segments.len();
        let mut numbers =
            of_pages.filter(|&number| number != NONE).chain(self.open.iter().copied()).chain(free);
        fail_if!(
            self.frees as usize > count || numbers.any(|number| number as usize >= count),
            "a page is on a segment that there is not"
        );
        self.set_bounds();
        self.segments.fill(Segment::default());
        for page in pages {
            let note = self.notes.of(page);
            if note.segment != NONE {
                self.add(note);
            }
        }
        Ok(())
    }

    /// Computes the centres.
    fn group(&mut self, now: Now) {
        let clock = self.clock(now);
        let segments = (0..).zip(&self.segments);
        let sealed =
            segments.filter(|(number, segment)| segment.valid > 0 && !self.open.contains(number));
        self.hotness.clear();
        self.hotness.extend(sealed.map(|(_, segment)| segment.hotness(clock)));
        let (count, classes) = (self.hotness.len(), self.centres.len());
        if count < classes {
            return;
        }
        // Positive numbers are sorted as their bits are.
        self.hotness.sort_unstable_by_key(|hotness| std::cmp::Reverse(hotness.to_bits()));
        for (class, centre) in self.centres.iter_mut().enumerate() {
            *centre = self.hotness[(2 * class + 1) * count / (2 * classes)];
        }
        for _ in 0..ROUNDS {
            // Segments and centres are sorted, so each centre has the segments of a range.
            let mut rest = &self.hotness[..];
            let mut means = [None; MOST];
            for (class, mean) in means[..classes].iter_mut().enumerate() {
                let joins = |&hotness: &f64| nearest(&self.centres, hotness) <= class;
                let (members, others) = rest.split_at(rest.partition_point(joins));
                rest = others;
                if !members.is_empty() {
                    *mean = Some(members.iter().sum::<f64>() / members.len() as f64);
                }
            }
            for (centre, mean) in self.centres.iter_mut().zip(means) {
                *centre = mean.unwrap_or(*centre);
            }
            // Of equal centres the first one has all segments, and may pass the others.
            self.centres.sort_unstable_by_key(|centre| std::cmp::Reverse(centre.to_bits()));
        }
        self.set_bounds();
    }

    /// Finds the bounds of the classes from the centres.
    fn set_bounds(&mut self) {
        for class in 0..self.bounds.len() {
            self.bounds[class] = least_of_class(&self.centres, class);
        }
    }
}

/// The least hotness whose nearest centre is number `class` or a hotter one. Centres are sorted, so a
/// hotter page never has a colder centre. Numbers of one sign are sorted as their bits are.
fn least_of_class(centres: &[f64], class: usize) -> f64 {
    let (mut below, mut found) = (0, f64::INFINITY.to_bits());
    while below < found {
        let middle = below + (found - below) / 2;
        if nearest(centres, f64::from_bits(middle)) <= class {
            found = middle;
        } else {
            below = middle + 1;
        }
    }
    f64::from_bits(found)
}

/// The number of the centre that is nearest to `hotness`; of two equally near ones, the first.
#[inline]
fn nearest(centres: &[f64], hotness: f64) -> usize {
    let (mut nearest, mut least) = (0, f64::INFINITY);
    for (class, centre) in centres.iter().enumerate() {
        let distance = (centre - hotness).abs();
        if distance < least {
            (nearest, least) = (class, distance);
        }
    }
    nearest
}

impl Placement for Sfs {
    fn classes(&self) -> usize {
        self.centres.len()
    }

    fn takes_copies(&self, _: Class) -> bool {
        true
    }

    fn prefetch(&self, page: u32) {
        self.notes.prefetch(page);
    }

    #[inline(always)]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        self.class(page, now)
    }

    #[inline(always)]
    fn copy(&self, page: u32, _: Place, _: bool, now: Now) -> Class {
        self.class(page, now)
    }

    fn holds(&mut self, page: u32, _: Place, now: Now) {
        let segment = self.open.len() as u32 + page / self.pages_per_block;
        let note = Note { last: now.host + u64::from(page), segment, writes: 1 };
        self.put(page, self.notes.of(page), note);
    }

    #[inline(always)]
    fn wrote(&mut self, page: u32, _: Option<Place>, to: Place, now: Now) {
        let before = self.notes.of(page);
        let writes = before.writes.saturating_add(1);
        let (last, segment) = (self.clock(now) - 1, self.open[usize::from(to.class)]);
        self.put(page, before, Note { last, segment, writes });
        if self.window.ends_at(now.host) {
            self.group(now);
        }
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        let note = self.notes.of(page);
        self.take(note);
        self.notes.set(page, Note { segment: NONE, writes: 0, ..note });
    }

    #[inline(always)]
    fn copied(&mut self, page: u32, _: Place, to: Place, _: Now) {
        let before = self.notes.of(page);
        self.put(page, before, Note { segment: self.open[usize::from(to.class)], ..before });
    }

    fn opened(&mut self, place: Place, _: Now) {
        // If no segment is free, as may happen on several planes, the class goes on with its
        // segment.
        let Some(left) = self.frees.checked_sub(1) else { return };
        self.frees = left;
        let next = self.free[left as usize];
        let full = std::mem::replace(&mut self.open[usize::from(place.class)], next);
        if self.segments[full as usize].valid == 0 {
            self.release(full);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSpec;
    use crate::placement::on;

    fn at(host: u64) -> Now {
        Now { programs: 0, host }
    }

    /// The rule `spec` for 8 pages with first contents and 6 blocks of 2 pages.
    fn rule(spec: &str) -> Sfs {
        let spec = PlacementSpec::parse(spec).unwrap();
        let mut rule = Sfs::new(&spec.params, Shape { pages: 8, pages_per_block: 2, blocks: 6 });
        (0..8).for_each(|page| rule.holds(page, on(0), at(0)));
        rule
    }

    /// Does write `number`, counted from 0, and returns its class.
    fn write(rule: &mut Sfs, page: u32, number: u64) -> Class {
        let class = rule.host(page, None, Some(on(0)), at(number));
        rule.wrote(page, Some(on(0)), on(class), at(number + 1));
        class
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        // Centres after every 4 writes; the write with number k is at t = 8 + k.
        let mut rule = rule("sfs:classes=2,refresh=0.5");
        assert_eq!([0, 7].map(|page| rule.copy(page, on(0), false, at(0))), [0, 0]);
        // Page 0 is written at t = 8 and 9, to the first segment that class 0 fills. Then pages 2
        // and 4 go to the next segment.
        assert_eq!([0, 1].map(|number| write(&mut rule, 0, number)), [0, 0]);
        rule.opened(on(0), at(2));
        assert_eq!((write(&mut rule, 2, 2), rule.centres[0]), (0, f64::INFINITY));
        write(&mut rule, 4, 3);
        // At t = 12, sealed: page 0 with 3/(12 - 9) = 1; of the first contents pages 6 and 7 with
        // 2/(6 + 5), page 5 with 1/7, page 3 with 1/9, page 1 with 1/11. Numbers 1 and 3 of these
        // five are the first centres: 2/11 and 1/9. The first round leaves 1 and 2/11 to class 0:
        // centres 0.591 and 0.115. The second leaves it only 1.
        let cold = (2.0 / 11.0 + 1.0 / 7.0 + 1.0 / 9.0 + 1.0 / 11.0) / 4.0;
        assert_eq!(rule.centres[0], 1.0);
        assert!((rule.centres[1] - cold).abs() < 1e-15);
        // Half way is 0.566. Page 0 has 3/3, 3/5 and 3/6, page 2 has 2/2, 2/3 and 2/4, page 5 has
        // 1/7.
        let copy = |page, host| rule.copy(page, on(0), false, at(host));
        assert_eq!([4, 6, 7].map(|host| copy(0, host)), [0, 0, 1]);
        assert_eq!([4, 5, 6].map(|host| copy(2, host)), [0, 0, 1]);
        assert_eq!((copy(5, 4), rule.host(5, None, Some(on(0)), at(4))), (1, 1));
        // A discarded page is infinitely hot.
        rule.trimmed(5, on(0), at(4));
        assert_eq!(rule.copy(5, on(0), false, at(4)), 0);
        // The class of a write follows from the writes before it. The centres stay until the eighth
        // write.
        assert_eq!([4, 5, 6].map(|number| write(&mut rule, 6, number)), [1, 0, 0]);
        assert_eq!(rule.centres[0], 1.0);
    }

    #[test]
    fn there_are_no_centres_until_there_are_segments_enough() {
        // First contents are four segments, of which one loses its pages before the first
        // computation.
        let mut rule = rule("sfs:classes=4,refresh=0.5");
        (0..4).for_each(|number| _ = write(&mut rule, number as u32 % 2, number));
        assert_eq!(rule.centres, [f64::INFINITY; 4]);
        // The open segment is sealed.
        rule.opened(on(0), at(4));
        (4..8).for_each(|number| _ = write(&mut rule, 0, number));
        assert!(rule.centres[0].is_finite());
    }

    #[test]
    fn a_centre_without_segments_does_not_become_hotter_than_one_before() {
        let mut rule = rule("sfs:classes=3,refresh=1000");
        // At t = 8 + 2, hotness 1, 1, 1, 1, 0.8, 0.2 and 0.2. Numbers 1, 3 and 5 of these seven are the first
        // centres: 1, 1 and 0.2. The first has five segments, with the mean 0.96, and the second none. In
        // the next round the centre 1 has four segments, and 0.96 has one.
        let segments = [(1, 9), (1, 9), (1, 9), (1, 9), (4, 5), (1, 5), (1, 5)];
        for (segment, (writes, lasts)) in rule.segments[3..].iter_mut().zip(segments) {
            *segment = Segment { valid: 1, writes, lasts };
        }
        rule.group(at(2));
        assert_eq!(rule.centres, [1.0, 0.8, 0.2]);
    }

    #[test]
    fn sums_of_segments_are_those_of_their_pages() {
        let mut rule = rule("sfs:classes=2,refresh=1000");
        let segment = |valid, writes, lasts| Segment { valid, writes, lasts };
        // Segments 0 and 1 are those that the classes fill, 2 to 5 have the first contents, and 6
        // more are free.
        assert_eq!(rule.segments[2..6], [1, 5, 9, 13].map(|lasts| segment(2, 2, lasts)));
        assert_eq!((rule.segments.len(), rule.frees), (12, 6));
        write(&mut rule, 0, 0);
        write(&mut rule, 3, 1);
        rule.copied(2, on(0), on(1), at(2));
        rule.trimmed(4, on(0), at(2));
        assert_eq!(rule.segments[0], segment(2, 4, 8 + 9));
        assert_eq!(rule.segments[1], segment(1, 1, 2));
        assert_eq!(rule.segments[2..5], [segment(1, 1, 1), segment(0, 0, 0), segment(1, 1, 5)]);
        // Segment 3 was freed last, so it is opened first. A segment that is no longer filled
        // becomes free if it is empty.
        rule.opened(on(1), at(2));
        assert_eq!((rule.open[1], rule.frees), (3, 6));
        rule.opened(on(1), at(2));
        assert_eq!((rule.open[1], rule.frees), (11, 6));
        rule.opened(on(1), at(2));
        assert_eq!((rule.open[1], rule.frees), (3, 6));
        let segments = rule.segments.clone();
        rule.sum_up().unwrap();
        assert_eq!(rule.segments, segments);
        // If no segment is free, a class goes on with its own segment.
        rule.frees = 0;
        rule.opened(on(0), at(2));
        assert_eq!(rule.open, [0, 3]);
        rule.notes.set(7, Note { segment: 12, ..rule.notes.of(7) });
        assert!(rule.sum_up().is_err());
    }
}
