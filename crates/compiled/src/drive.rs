//! A scheme of a library, as the translation layer of one drive calls it.

use std::cell::OnceCell;
use std::ffi::c_void;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::spec::SpecError;
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Collected, Now, PicksVictims, Place, Placement, SeesBlocks};
use flashgc_ftl::{
    BlockId, BlockTable, ExternalPick, ExternalPlacement, FtlError, FtlErrorKind, Victim,
};

use crate::abi::{AbiBlocks, AbiCollected, NONE};
use crate::library::Scheme;

impl Scheme {
    /// The scheme as a victim policy, which results report as `name`.
    pub fn victim(self: &Arc<Self>, name: String) -> Victim {
        let scheme = Arc::clone(self);
        let make = move |blocks: &mut BlockTable| {
            let pages = blocks.len() * blocks.pages_per_block();
            let drive = Drive::new(&scheme, pages, blocks.pages_per_block(), Picks::Victims)
                .map_err(|error| FtlError::no_space(error.to_string()))?;
            let mut drive = drive;
            let pick: ExternalPick = Box::new(move |blocks, rng| drive.pick(blocks, rng));
            Ok(pick)
        };
        Victim::External(name, Arc::new(make))
    }

    /// The scheme as a placement, which results report as `name`. With `picks`, it picks the victims
    /// of its drives, too.
    pub fn placement(self: &Arc<Self>, name: String, picks: bool) -> ExternalPlacement {
        let scheme = Arc::clone(self);
        let picks = if picks { Picks::Victims } else { Picks::Nothing };
        let make = move |pages, pages_per_block| {
            let drive = Drive::new(&scheme, pages, pages_per_block, picks)?;
            Ok(Box::new(drive) as Box<dyn Placement>)
        };
        ExternalPlacement {
            name,
            takes_copies: self.takes_copies(),
            asks_for_zombies: self.asks_for_zombies(),
            sees_blocks: picks == Picks::Victims,
            remembers: self.remembers(),
            make: Arc::new(make),
        }
    }
}

/// The kind of picks that a scheme makes on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picks {
    /// It picks nothing: its drives have a victim policy.
    Nothing,
    /// It picks the victims of its drives.
    Victims,
}

/// The state of a scheme on one drive, or on one plane if it is a victim policy alone.
#[derive(Debug)]
pub(crate) struct Drive {
    scheme: Arc<Scheme>,
    state: *mut c_void,
    takes_copies: Box<[bool]>,
    asks_for_zombies: bool,
    picks: Picks,
    /// The first fault. From then on the scheme is not asked any more.
    failed: OnceCell<String>,
}

// SAFETY: the state belongs to this drive alone, and `flashgc.h` lets it go from thread to thread.
unsafe impl Send for Drive {}

impl Drop for Drive {
    fn drop(&mut self) {
        if let (Some(destroy), false) = (self.scheme.verbs.destroy, self.state.is_null()) {
            // SAFETY: the state is from `create`, and is used for the last time.
            unsafe { destroy(self.state) };
        }
    }
}

impl Drive {
    pub(crate) fn new(
        scheme: &Arc<Scheme>,
        pages: u32,
        pages_per_block: u32,
        picks: Picks,
    ) -> Result<Self, SpecError> {
        let state = scheme.create(pages, pages_per_block)?.cast();
        Ok(Self {
            scheme: Arc::clone(scheme),
            state,
            takes_copies: scheme.takes_copies().into(),
            asks_for_zombies: scheme.asks_for_zombies(),
            picks,
            failed: OnceCell::new(),
        })
    }

    /// Returns the block that the scheme picks; `None` if it names none.
    #[inline]
    pub(crate) fn pick(&mut self, blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
        let pick = self.scheme.verbs.pick?;
        let zombies = blocks.zombie_counts();
        let table = AbiBlocks {
            blocks: blocks.len(),
            pages_per_block: blocks.pages_per_block(),
            first: blocks.first(),
            candidates: blocks.candidates(),
            valid: blocks.masked_counts().as_ptr(),
            erases: blocks.erase_counts().as_ptr(),
            classes: blocks.classes().as_ptr(),
            closed_at: blocks.closed_at().as_ptr(),
            closed_at_host: blocks.closed_at_host().as_ptr(),
            zombies: if zombies.is_empty() { std::ptr::null() } else { zombies.as_ptr() },
            now: Now { programs: blocks.clock(), host: blocks.host_clock() }.into(),
            random,
            stream: std::ptr::from_mut(rng).cast(),
        };
        // SAFETY: the state is this drive's, and the table is valid during the call.
        let block = unsafe { pick(self.state, &table) };
        (block != NONE).then_some(block)
    }

    /// Returns `class` if it is one; otherwise notes the fault of `verb` and returns the first class
    /// that is allowed.
    #[inline]
    fn checked(&self, verb: &str, page: u32, class: u32, may_be: impl Fn(usize) -> bool) -> Class {
        let known = (class as usize) < self.takes_copies.len() && may_be(class as usize);
        if known { class as Class } else { self.wrong(verb, page, class, may_be) }
    }

    #[cold]
    fn wrong(&self, verb: &str, page: u32, class: u32, may_be: impl Fn(usize) -> bool) -> Class {
        let last = self.takes_copies.len() - 1;
        let expected = match (class as usize) <= last {
            true => "a class that takes copies".to_string(),
            false => format!("a class from 0 to {last}"),
        };
        let _ =
            self.failed.set(format!("{verb}(page={page}) returned {class}, expected {expected}"));
        (0..=last).find(|&class| may_be(class)).unwrap_or(0) as Class
    }
}

/// A number below `bound` from the drive's random stream; 0 for a bound of 0.
extern "C" fn random(stream: *mut c_void, bound: u32) -> u32 {
    // SAFETY: the pointer is the one in the table of this call, whose stream nobody else uses.
    let stream = unsafe { &mut *stream.cast::<Stream>() };
    if bound == 0 { 0 } else { stream.below(bound) }
}

impl State for Drive {
    fn save(&self, to: &mut Writer<'_>) {
        to.refuse(Fault::new(
            "a scheme in a library keeps what it knows to itself, and cannot be saved",
        ));
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Err(Fault::new("a scheme in a library cannot be restored"))
    }
}

/// Calls the member `$verb` of the scheme with the state and the arguments, if there is one.
macro_rules! tell {
    ($self:ident.$verb:ident($($argument:expr),*)) => {
        if let Some(verb) = $self.scheme.verbs.$verb {
            // SAFETY: the state is this drive's, and pointers are valid during the call.
            unsafe { verb($self.state, $($argument),*) }
        }
    };
}

impl Placement for Drive {
    fn classes(&self) -> usize {
        self.takes_copies.len()
    }

    fn takes_copies(&self, class: Class) -> bool {
        self.takes_copies[usize::from(class)]
    }

    fn asks_for_zombies(&self) -> bool {
        self.asks_for_zombies
    }

    #[inline]
    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let Some(host) = self.scheme.verbs.host else { return 0 };
        let stream = stream.map_or(NONE, u32::from);
        // SAFETY: the state is this drive's.
        let class = unsafe { host(self.state, page, stream, old.into(), now.into()) };
        self.checked("host", page, class, |_| true)
    }

    #[inline]
    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        let Some(copy) = self.scheme.verbs.copy else { return 0 };
        // SAFETY: the state is this drive's.
        let class = unsafe { copy(self.state, page, from.into(), zombie.into(), now.into()) };
        self.checked("copy", page, class, |class| self.takes_copies[class])
    }

    fn holds(&mut self, page: u32, place: Place, now: Now) {
        tell!(self.holds(page, place.into(), now.into()));
    }

    #[inline]
    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        tell!(self.wrote(page, from.into(), to.into(), now.into()));
    }

    fn trimmed(&mut self, page: u32, from: Place, now: Now) {
        tell!(self.trimmed(page, from.into(), now.into()));
    }

    #[inline]
    fn copied(&mut self, page: u32, from: Place, to: Place, now: Now) {
        tell!(self.copied(page, from.into(), to.into(), now.into()));
    }

    fn opened(&mut self, place: Place, now: Now) {
        tell!(self.opened(place.into(), now.into()));
    }

    fn collected(&mut self, block: Collected, now: Now) {
        let block = AbiCollected::from(block);
        tell!(self.collected(&block, now.into()));
    }

    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        (self.picks == Picks::Victims).then_some(self)
    }

    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        (self.picks == Picks::Victims).then_some(self)
    }

    fn check(&self) -> Result<(), FtlError> {
        match self.failed.get() {
            None => Ok(()),
            Some(why) => Err(FtlErrorKind::Placement(why.clone()).into()),
        }
    }
}

/// A scheme reads the table at each pick, so it needs no view of it before.
impl SeesBlocks for Drive {
    fn begin(&mut self, _: &mut BlockTable) -> Result<(), FtlError> {
        Ok(())
    }
}

impl PicksVictims for Drive {
    fn pick(&mut self, blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
        Drive::pick(self, blocks, rng)
    }
}
