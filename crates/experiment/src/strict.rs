//! The conformance suite's checks of a placement, on a drive that begins without data. If the same
//! question is asked twice, the answers must be equal. A report on one page of a block that is
//! being copied must not change the answers for the other pages.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Collected, Now, PicksVictims, Place, Placement, SeesBlocks};
use flashgc_ftl::{BlockId, ExternalPlacement, FtlError, FtlErrorKind};

/// Returns the placement `known`, wrapped so that its answers are checked.
pub(crate) fn watched(known: ExternalPlacement) -> ExternalPlacement {
    let inner = Arc::clone(&known.make);
    let make = move |pages, pages_per_block| {
        let inner = inner(pages, pages_per_block)?;
        let (places, under_way, fault) = (BTreeMap::new(), None, OnceCell::new());
        Ok(Box::new(Strict { inner, pages, places, under_way, fault }) as Box<dyn Placement>)
    };
    ExternalPlacement { make: Arc::new(make), ..known }
}

struct Strict {
    inner: Box<dyn Placement>,
    pages: u32,
    /// The place of each page that has data.
    places: BTreeMap<u32, Place>,
    /// The block that is being collected: the last one picked.
    under_way: Option<BlockId>,
    /// The first fault found.
    fault: OnceCell<String>,
}

impl Strict {
    fn fault(&self, text: impl FnOnce() -> String) {
        self.fault.get_or_init(text);
    }

    /// The answers for the pages that are still on the block being collected.
    fn answers(&self, now: Now) -> Vec<(u32, Class)> {
        let left = self.places.iter().filter(|(_, place)| Some(place.block) == self.under_way);
        left.map(|(&page, &place)| (page, self.inner.copy(page, place, false, now))).collect()
    }

    /// Reports an event to the placement with `tell`. It is a fault if the report changes the
    /// answers for the block being collected.
    fn unmoved(&mut self, what: &str, now: Now, tell: impl FnOnce(&mut dyn Placement)) {
        let before = self.answers(now);
        tell(&mut *self.inner);
        let after = self.answers(now);
        if let Some((&(page, was), &(_, is))) = before.iter().zip(&after).find(|(a, b)| a != b) {
            self.fault(|| {
                format!(
                    "{what} changed the answer for page {page} of the same block from {was} to \
                     {is}; hint: keep it until collected is called, and only then change what copy \
                     answers"
                )
            });
        }
    }
}

/// Refuses checkpoints: the object lives as long as one run of the suite.
impl State for Strict {
    fn save(&self, to: &mut Writer<'_>) {
        to.refuse(Fault::new("a placement that is checked cannot be saved"));
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Err(Fault::new("a placement that is checked cannot be restored"))
    }
}

impl Placement for Strict {
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    fn takes_copies(&self, class: Class) -> bool {
        self.inner.takes_copies(class)
    }

    fn asks_for_zombies(&self) -> bool {
        self.inner.asks_for_zombies()
    }

    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let class = self.inner.host(page, stream, old, now);
        // A question on another page must not change the answer.
        let other = (page + 1) % self.pages;
        self.inner.host(other, stream, self.places.get(&other).copied(), now);
        let again = self.inner.host(page, stream, old, now);
        if again != class {
            self.fault(|| {
                format!(
                    "host(page={page}) returned {class}, and {again} when it was called again; \
                     hint: a drive may call host any number of times, so change nothing in host; \
                     wrote reports each write"
                )
            });
        }
        class
    }

    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        let class = self.inner.copy(page, from, zombie, now);
        let again = self.inner.copy(page, from, zombie, now);
        if again != class {
            self.fault(|| {
                format!(
                    "copy(page={page}) returned {class}, and {again} when it was called again; \
                     hint: a drive may call copy any number of times, so change nothing in copy; \
                     copied reports each copy"
                )
            });
        }
        class
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        self.inner.wrote(page, from, to, now);
        self.places.insert(page, to);
    }

    fn trimmed(&mut self, page: u32, from: Place, now: Now) {
        self.inner.trimmed(page, from, now);
        self.places.remove(&page);
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, now: Now) {
        self.places.insert(page, to);
        let what = format!("copied(page={page})");
        self.unmoved(&what, now, |inner| inner.copied(page, from, to, now));
    }

    fn opened(&mut self, place: Place, now: Now) {
        let what = format!("opened(class_={})", place.class);
        self.unmoved(&what, now, |inner| inner.opened(place, now));
    }

    fn collected(&mut self, block: Collected, now: Now) {
        self.under_way = Some(block.block);
        self.inner.collected(block, now);
    }

    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        self.inner.blocks()
    }

    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        self.inner.victims()
    }

    fn check(&self) -> Result<(), FtlError> {
        self.inner.check()?;
        match self.fault.get() {
            None => Ok(()),
            Some(fault) => Err(FtlErrorKind::Placement(fault.clone()).into()),
        }
    }
}
