//! The programs that wait at the dies of a superblock. A program that is full waits at its die. The last
//! one of a stripe brings that of its parity.
//!
//! With two passes, the second pass of the word line below follows on the same die. When the superblock
//! is full, each die makes the second pass of its last word line. Data stay in the buffer until the last
//! pass of their program is over.

use flashgc_base::snapshot::Value;

use super::{Scheduler, Superblocks};
use crate::config::Places;
use crate::flash::Job;
use crate::observer::Observer;
use crate::ops::NONE;
use crate::shared::Shared;

/// A program whose data are in the page buffer.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct Program {
    /// The place of its first unit in the map. For parity: of the first unit of the last program of its
    /// stripe.
    pub(super) first: u32,
    /// The page that was written last, for the observer; `None` for parity and for a program that is
    /// padded.
    pub(super) page: Option<u32>,
    /// The write that waits for the program, or [`NONE`].
    pub(super) op: u32,
    /// The order of the last operation that was sent to a die before the program was full.
    pub(super) order: u64,
    /// The number of programs and erases of the drive that began to wait before.
    pub(super) turn: u64,
    /// The nanoseconds for which collections had held the die when the program was full.
    pub(super) held_ns: u64,
    /// The number of the collection that copies; `None` for data of the host.
    pub(super) collection: Option<u64>,
    /// The units that move over the bus, those of parity included.
    units: u32,
    /// The number of its first flash page in the block.
    first_page: u32,
    pub(super) is_parity: bool,
    /// `true` for the second pass of a word line.
    is_second: bool,
}

/// A pass of a program that waits at a die from now on.
struct Pass {
    /// The member of the superblock that makes it.
    member: u32,
    /// The offset of the program in the superblock. For parity: that of the last program of its stripe.
    offset: u32,
    /// The row of programs.
    row: u32,
    is_parity: bool,
    is_second: bool,
    /// The write that waits for the pass, or [`NONE`].
    op: u32,
}

impl Superblocks {
    /// Returns the passes that dies make when the program at `offset` of a superblock of `end` units is
    /// full, in order. `op` waits for those of the data. The die that is last begins first: that of the
    /// data.
    fn passes_of<'a>(
        &self,
        places: Places<'a>,
        offset: u32,
        end: u32,
        op: u32,
    ) -> impl Iterator<Item = Pass> + use<'a> {
        let (row, of_data) = (places.row(offset), places.member(offset));
        let has_two = self.second_ns.is_some();
        let is_full = has_two && offset + self.units_per_program == end;
        let below = row.checked_sub(1).filter(|_| has_two);
        let last = if is_full { Some(row) } else { below };
        let pass = move |member: u32, row: u32, is_second: bool| {
            let (offset, is_parity) = places.program_of(member, row)?;
            let is_awaited = member == of_data && last == Some(row).filter(|_| is_second);
            let op = if is_awaited { op } else { NONE };
            Some(Pass { member, offset, row, is_parity, is_second, op })
        };
        let members = places.parity_after(offset).into_iter().chain([of_data]);
        let of_rows = members.flat_map(move |member| {
            let below = below.and_then(|row| pass(member, row, true));
            [pass(member, row, false), below].into_iter().flatten()
        });
        let at_end = if is_full { self.rows.dies_together() } else { 0 };
        of_rows.chain((0..at_end).filter_map(move |member| pass(member, row, true)))
    }
}

impl Scheduler {
    /// Lets a program that is full wait at its die: of data of the host, for which `op` waits or
    /// [`NONE`] does, or of copies of a `collection`. If it is the last one of its stripe, lets the parity
    /// wait, too. With two passes, second passes follow on these dies, and `op` waits for them.
    pub(super) fn program_is_full<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        first: u32,
        page: Option<u32>,
        op: u32,
        collection: Option<u64>,
    ) {
        let plane = shared.map.plane_of(first);
        let (block, offset) = shared.map.geometry().place_of(first);
        let Self { superblocks: Some(superblocks), ready, flash, .. } = self else { return };
        *superblocks.full.entry(first).or_default() += 1;
        let rows = superblocks.rows;
        let places = rows.of(shared.map.smaller(block));
        let die = rows.die(plane, places.member(offset));
        match collection {
            Some(_) => superblocks.moving[plane as usize].last = Some(die),
            None => superblocks.filling[plane as usize].last = Some(die),
        }
        let end = shared.map.geometry().pages_per_block();
        for pass in superblocks.passes_of(places, offset, end, op) {
            let die = rows.die(plane, pass.member);
            let program = Program {
                first: first - offset + pass.offset,
                page: page.filter(|_| !pass.is_parity && !pass.is_second),
                op: pass.op,
                order: shared.ops.sent().saturating_sub(1),
                turn: superblocks.take_turn(),
                held_ns: flash.die(die).held_until(shared.now()),
                collection,
                units: places.units_to_program(pass.offset),
                first_page: places.first_page(pass.row),
                is_parity: pass.is_parity,
                is_second: pass.is_second,
            };
            let line = &mut superblocks.lines[die as usize];
            if collection.is_some() {
                line.awaits(shared.ops.sent());
                line.copies.push_back(program);
                superblocks.moving[plane as usize].copies += 1;
            } else {
                line.programs.push_back(program);
                superblocks.filling[plane as usize].left += 1;
            }
            ready.add(die);
        }
    }

    /// Begins a program on a die.
    pub(super) fn begin_program<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        program: Program,
        job: Job,
    ) {
        if program.op != NONE {
            let held_ns = self.flash.die(die).held_until(shared.now());
            shared.ops[program.op].blocked_ns += held_ns - program.held_ns;
        }
        let block = |ppn| shared.map.geometry().place_of(ppn).0;
        let line = &mut self.superblocks().lines[die as usize];
        debug_assert!(
            line.erases.iter().all(|erase| {
                block(erase.first) != block(program.first) || erase.turn > program.turn
            }),
            "a block is erased between its old programs and its new ones"
        );
        line.programming.push_back(program);
        let second_ns = self.superblocks().second_ns.filter(|_| program.is_second);
        let page = Some(program.first_page);
        let cells_ns = second_ns.unwrap_or_else(|| self.time_at(shared, job, program.first, page));
        let units = program.units.into();
        self.flash.begin_on_bus(&mut shared.clock, &mut shared.ops, die, job, units, cells_ns);
    }

    /// Ends the oldest program of a die. Returns it.
    pub(super) fn end_program(&mut self, die: u32) -> Program {
        let superblocks = self.superblocks();
        let line = &mut superblocks.lines[die as usize];
        let program = line.programming.pop_front().expect("a program is under way");
        let is_over = program.is_second || superblocks.second_ns.is_none();
        if is_over
            && !program.is_parity
            && let Some(count) = superblocks.full.get_mut(&program.first)
        {
            *count -= 1;
            if *count == 0 {
                superblocks.full.remove(&program.first);
            }
        }
        program
    }

    /// Notes that a program of data of the host, or of their parity, is over.
    pub(super) fn program_is_over<O: Observer>(&mut self, shared: &Shared<O>, die: u32) {
        let program = self.end_program(die);
        let plane = shared.map.plane_of(program.first) as usize;
        self.superblocks().filling[plane].left -= 1;
    }
}
