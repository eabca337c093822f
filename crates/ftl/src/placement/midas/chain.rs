//! The chain of groups: the group of each block, the order in which blocks of a group are
//! collected, and the changes of groups.
//!
//! Groups are numbered from the hot one, 0, to the last. The blocks of all groups before the last
//! are kept in the order in which they were filled. In the fallback, the last group is a few groups
//! by the number of copies, which the victim policy sees as one.

use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::table::bytes_of;

use crate::blocks::BlockId;
use crate::placement::Class;

/// The group of a block that is in none.
const NONE: Class = Class::MAX;

/// Stands for no block.
const END: BlockId = BlockId::MAX;

/// Groups of the fallback.
const PLAIN: Class = 4;

/// The group of host writes that are not hot.
pub(super) const FIRST: Class = 1;

/// The chain, with the groups of all planes of a drive.
#[derive(State)]
#[snapshot(then = check)]
pub(super) struct Chain {
    /// The last class: that of the last group.
    #[snapshot(skip)]
    last: Class,
    /// Blocks of a plane.
    #[snapshot(skip)]
    of_plane: u32,
    /// The number of groups whose blocks are kept in order: the first `kept` ones.
    kept: Class,
    /// `true` in the fallback.
    plain: bool,
    /// The blocks that each kept group of a plane may have beside its open one.
    #[snapshot(table)]
    sizes: Vec<u32>,
    /// The group of each block.
    #[snapshot(table)]
    group: Vec<Class>,
    /// The block of each plane that was collected last, its group, and the class of its copies.
    #[snapshot(table)]
    victims: Vec<(BlockId, Class, Class)>,
    /// Host writes when each block was full; `u64::MAX` while it is open.
    #[snapshot(table)]
    filled: Vec<u64>,
    /// Pages of each block that were overwritten or discarded since it was opened.
    #[snapshot(table)]
    dead: Vec<u32>,
    /// The kept block before and after each kept block.
    #[snapshot(table)]
    links: Vec<(BlockId, BlockId)>,
    /// For each plane and class: the open block, the oldest and the youngest full block, and the number of
    /// full blocks of a kept group.
    #[snapshot(table)]
    queues: Vec<Queue>,
    /// The number of changes of groups so far.
    changes: u64,
}

#[derive(Clone, Copy, flashgc_base::snapshot::Value)]
struct Queue {
    open: BlockId,
    oldest: BlockId,
    youngest: BlockId,
    len: u32,
}

const EMPTY: Queue = Queue { open: END, oldest: END, youngest: END, len: 0 };

impl Chain {
    /// A chain of at most `classes` groups on `blocks` blocks, in the fallback.
    pub(super) fn new(classes: Class, blocks: u32) -> Self {
        let blocks = blocks as usize;
        Self {
            last: classes - 1,
            of_plane: blocks as u32,
            kept: 1,
            plain: true,
            sizes: vec![0; classes.into()],
            group: vec![NONE; blocks],
            victims: vec![(END, NONE, classes - 1)],
            filled: vec![u64::MAX; blocks],
            dead: vec![0; blocks],
            links: vec![(END, END); blocks],
            queues: vec![EMPTY; classes.into()],
            changes: 0,
        }
    }

    pub(super) fn bytes(classes: Class, blocks: u32) -> u64 {
        let (classes, blocks) = (usize::from(classes), blocks as usize);
        bytes_of::<u32>(classes)
            + bytes_of::<Queue>(classes)
            + bytes_of::<Class>(blocks)
            + bytes_of::<(BlockId, Class, Class)>(1)
            + bytes_of::<u64>(blocks)
            + bytes_of::<u32>(blocks)
            + bytes_of::<(BlockId, BlockId)>(blocks)
    }

    /// Divides the blocks among planes of `blocks` blocks. The chain has no block yet.
    pub(super) fn divide(&mut self, blocks: u32) {
        self.of_plane = blocks;
        let planes = self.planes() as usize;
        self.queues = vec![EMPTY; planes * self.classes()];
        self.victims = vec![(END, NONE, self.last); planes];
    }

    pub(super) fn planes(&self) -> u32 {
        self.group.len() as u32 / self.of_plane.max(1)
    }

    /// Blocks of a plane.
    pub(super) fn blocks(&self) -> u32 {
        self.of_plane
    }

    /// The number of changes of groups so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The number of the last group: that of the groups whose blocks are kept.
    pub(super) fn kept(&self) -> Class {
        self.kept
    }

    /// Returns `true` in the fallback.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// The classes of the chain.
    pub(super) fn classes(&self) -> usize {
        usize::from(self.last) + 1
    }

    /// Returns `true` if all groups are one: the hot group, too, is left to the victim policy.
    fn is_merged(&self) -> bool {
        self.kept == 1
    }

    /// Returns `true` if `block`'s group is collected in order, apart from the last one.
    pub(super) fn keeps(&self, block: BlockId) -> bool {
        !self.is_merged() && self.group[block as usize] < self.kept
    }

    /// The group of `block`; `None` if the chain does not know it.
    pub(super) fn group(&self, block: BlockId) -> Option<Class> {
        Some(self.group[block as usize]).filter(|&group| group != NONE)
    }

    /// The class of copies from `block`, which is collected. It is that of the last group for a block
    /// that was in no group.
    #[inline]
    pub(super) fn target(&self, block: BlockId) -> Class {
        let (victim, _, target) = self.victims[(block / self.of_plane) as usize];
        if victim == block { target } else { self.of_class(self.last) }
    }

    /// The group that `block`, which is collected, was in; `None` for one that was in no group.
    #[inline]
    pub(super) fn origin(&self, block: BlockId) -> Option<Class> {
        let (victim, origin, _) = self.victims[(block / self.of_plane) as usize];
        (victim == block && origin != NONE).then_some(origin)
    }

    /// Host writes since `block` was full, at `now`; 0 while it is open.
    pub(super) fn age(&self, block: BlockId, now: u64) -> u64 {
        now.saturating_sub(self.filled[block as usize])
    }

    /// The full blocks of the group `group`, which is kept, in all planes.
    pub(super) fn len(&self, group: Class) -> u32 {
        let classes = self.classes();
        self.queues.iter().skip(group.into()).step_by(classes).map(|queue| queue.len).sum()
    }

    /// Returns `true` if the last of all groups has a full block.
    pub(super) fn has_last(&self) -> bool {
        let end = if self.plain { (self.kept + PLAIN - 1).min(self.last) } else { self.last };
        let full = |block: usize| self.filled[block] != u64::MAX;
        (0..self.group.len()).any(|block| self.group[block] == end && full(block))
    }

    /// Pages on full blocks of the last group of which none has been overwritten.
    pub(super) fn untouched(&self, pages_per_block: u32) -> u64 {
        let is_untouched = |&block: &usize| {
            let group = self.group[block];
            group >= self.kept && group != NONE && self.dead[block] == 0
        };
        let blocks = (0..self.group.len()).filter(is_untouched).count() as u64;
        blocks * u64::from(pages_per_block)
    }

    /// The group of a block that was opened for `class`.
    fn of_class(&self, class: Class) -> Class {
        match self.plain {
            _ if class < self.kept => class,
            true if class < self.kept + PLAIN - 1 => class.min(self.last),
            true => (self.kept + PLAIN - 1).min(self.last),
            false => self.last,
        }
    }

    /// The class of copies from `group`.
    fn next(&self, group: Class) -> Class {
        self.of_class(group.saturating_add(1).min(self.last))
    }

    fn queue(&mut self, block: BlockId, class: Class) -> &mut Queue {
        let (plane, classes) = (block / self.of_plane, self.classes());
        &mut self.queues[plane as usize * classes + usize::from(class)]
    }

    /// `block` has data of `class` from the beginning. No group keeps it, because nobody knows the order in
    /// which such blocks were filled.
    pub(super) fn holds(&mut self, block: BlockId, class: Class, now: u64) {
        if self.group[block as usize] == NONE {
            self.group[block as usize] = self.of_class(class.max(self.kept));
            self.filled[block as usize] = now;
        }
    }

    /// `block` was opened for `class`: the open block of this class is full.
    pub(super) fn opened(&mut self, block: BlockId, class: Class, now: u64) {
        let full = std::mem::replace(&mut self.queue(block, class).open, block);
        if full != END {
            self.filled[full as usize] = now;
            if self.group[full as usize] < self.kept {
                self.push(full);
            }
        }
        self.group[block as usize] = self.of_class(class);
        self.filled[block as usize] = u64::MAX;
        self.dead[block as usize] = 0;
    }

    /// Returns `true` if no group puts pages on blocks of `class` any longer.
    pub(super) fn leaves(&self, class: Class) -> bool {
        class <= self.last && self.of_class(class) != class
    }

    /// `block`, the open block of `class`, takes no more pages.
    pub(super) fn closed(&mut self, block: BlockId, class: Class, now: u64) {
        self.queue(block, class).open = END;
        self.filled[block as usize] = now;
    }

    /// A page of `block` was overwritten or discarded.
    #[inline]
    pub(super) fn lost(&mut self, block: BlockId) {
        self.dead[block as usize] += 1;
    }

    /// `block` is collected. Returns the group that it belonged to.
    pub(super) fn collected(&mut self, block: BlockId) -> Option<Class> {
        let group = self.group[block as usize];
        self.victims[(block / self.of_plane) as usize] = (block, group, self.next(group));
        if group < self.kept {
            self.unlink(block);
        }
        let (plane, classes) = (block / self.of_plane, self.classes());
        let queues = &mut self.queues[plane as usize * classes..][..classes];
        if let Some(queue) = queues.iter_mut().find(|queue| queue.open == block) {
            queue.open = END;
        }
        self.group[block as usize] = NONE;
        Some(group).filter(|&group| group != NONE)
    }

    /// The full `block` belongs to the last group.
    pub(super) fn left(&mut self, block: BlockId) {
        if self.group[block as usize] < self.kept {
            self.unlink(block);
        }
        self.group[block as usize] = self.of_class(self.kept);
    }

    /// Puts the full `block` behind the others of its group.
    fn push(&mut self, block: BlockId) {
        let group = self.group[block as usize];
        let queue = self.queue(block, group);
        let before = std::mem::replace(&mut queue.youngest, block);
        queue.len += 1;
        if before == END {
            queue.oldest = block;
        }
        self.links[block as usize] = (before, END);
        if before != END {
            self.links[before as usize].1 = block;
        }
    }

    /// Takes `block` out of the order of its group, if it is there.
    fn unlink(&mut self, block: BlockId) {
        let (before, after) = std::mem::replace(&mut self.links[block as usize], (END, END));
        let group = self.group[block as usize];
        let queue = self.queue(block, group);
        let is_in = before != END || queue.oldest == block;
        if !is_in {
            return;
        }
        queue.len -= 1;
        if before == END {
            queue.oldest = after;
        }
        if after == END {
            queue.youngest = before;
        }
        if before != END {
            self.links[before as usize].1 = after;
        }
        if after != END {
            self.links[after as usize].0 = before;
        }
    }

    /// The oldest block of the first group of the plane that has more blocks than it may have;
    /// `None` if all are small enough. `first` is the first block of the plane.
    pub(super) fn over(&self, first: BlockId) -> Option<BlockId> {
        if self.is_merged() {
            return None;
        }
        let plane = (first / self.of_plane) as usize * self.classes();
        let queues = &self.queues[plane..][..self.kept.into()];
        let over = queues.iter().zip(&self.sizes).find(|(queue, size)| queue.len > **size);
        over.map(|(queue, _)| queue.oldest)
    }

    /// Makes a chain whose kept groups have these sizes, in blocks of a plane beside the open one.
    /// Blocks that a kept group has beyond its size, the oldest first, go to the last group, and
    /// so do those of groups that are gone, and all full blocks if the groups were one.
    pub(super) fn set(&mut self, sizes: &[u32]) {
        let kept = sizes.len() as Class;
        let stays = if self.is_merged() { 0 } else { kept.min(self.kept) };
        self.unlink_from(stays);
        let last = self.last;
        for group in &mut self.group {
            if *group != NONE && *group >= stays {
                *group = last;
            }
        }
        (self.kept, self.plain) = (kept, false);
        self.sizes[..sizes.len()].copy_from_slice(sizes);
        self.regroup_open();
        for plane in 0..self.planes() {
            for (group, &size) in (0..).zip(sizes) {
                let first = plane * self.of_plane;
                while self.queue(first, group).len > size {
                    let oldest = self.queue(first, group).oldest;
                    self.unlink(oldest);
                    self.group[oldest as usize] = last;
                }
            }
        }
        self.changes += 1;
    }

    /// Falls back: the groups from `group` on become one, which is divided by the number of copies
    /// from now on.
    pub(super) fn merge(&mut self, group: Class) {
        let (old, was_plain) = (self.kept, self.plain);
        let kept = group.clamp(1, old);
        self.unlink_from(kept);
        let last = self.last;
        for group in &mut self.group {
            if *group != NONE && *group >= kept {
                let copies = if *group < old || !was_plain { 0 } else { *group - old };
                *group = (kept + copies).min(last);
            }
        }
        (self.kept, self.plain) = (kept, true);
        self.regroup_open();
        self.changes += 1;
    }

    /// Empties the orders of the groups from `kept` on.
    fn unlink_from(&mut self, kept: Class) {
        for block in 0..self.group.len() {
            if (kept..self.kept).contains(&self.group[block]) {
                self.unlink(block as BlockId);
            }
        }
    }

    /// Gives each open block the group of its class, after a change of groups.
    fn regroup_open(&mut self) {
        let classes = self.classes();
        for index in 0..self.queues.len() {
            let block = self.queues[index].open;
            if block != END && self.filled[block as usize] == u64::MAX {
                self.group[block as usize] = self.of_class((index % classes) as Class);
            }
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let blocks = self.group.len() as u32;
        let known = |block: BlockId| block < blocks || block == END;
        let is_class = |&class: &Class| class <= self.last;
        fail_if!(
            !self.links.iter().all(|&(before, after)| known(before) && known(after))
                || !self.queues.iter().all(|queue| {
                    [queue.open, queue.oldest, queue.youngest].into_iter().all(known)
                })
                || !self.victims.iter().all(|(_, _, target)| is_class(target))
                || !(1..=self.last).contains(&self.kept)
                || !self.group.iter().all(|group| *group == NONE || is_class(group)),
            "a chain of groups names a block or a group that there is not"
        );
        Ok(())
    }
}
