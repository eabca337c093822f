//! A page map in both of its forms, driven alike: in batches, and one step at a time.

use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{
    Geometry, Layout, PlacementSpec, PlaneLayout, Stepwise, Translation, VictimSpec,
};
use proptest::prelude::*;

pub struct TwoForms {
    pub batches: Box<dyn Translation>,
    pub steps: Box<dyn Stepwise>,
    geometry: Geometry,
    low: u32,
}

impl TwoForms {
    /// Makes both on the pool frontier with `low=2`.
    pub fn new(victim: &str, layout: &dyn Fn() -> Layout, placement: &str) -> Self {
        let spec = VictimSpec::parse(victim).unwrap();
        Self {
            batches: spec.build(layout()).unwrap(),
            steps: spec.build(PlaneLayout::one(layout())).unwrap(),
            geometry: layout().geometry,
            low: 2 + PlacementSpec::parse(placement).unwrap().kept_for_copies(),
        }
    }

    pub fn trim(&mut self, page: u32) {
        self.batches.trim(&[page]).unwrap();
        self.steps.trim(page).unwrap();
    }

    /// Writes `page`, which names a stream. Returns whether each form has written it.
    pub fn write(&mut self, page: u32, stream: Option<u8>) -> (bool, bool) {
        let name = stream.unwrap_or(NO_STREAM);
        self.batches.streams().unwrap().name(&[page], &[name]).unwrap();
        self.steps.streams().unwrap().name(&[page], &[name]).unwrap();
        let written = self.batches.write_until(&[page], u64::MAX).unwrap();
        let placed = self.steps.write_at_once(page, 0, self.low, self.low).unwrap();
        (written == 1, placed.is_some())
    }

    /// Checks that both have decided alike, and have the pages from 0 on at these places.
    pub fn check(
        &self,
        places: impl Iterator<Item = Option<(u32, u32)>>,
    ) -> Result<(), TestCaseError> {
        self.batches.audit().map_err(TestCaseError::fail)?;
        self.steps.audit().map_err(TestCaseError::fail)?;
        prop_assert_eq!(self.batches.decisions(), self.steps.decisions());
        for (page, place) in (0..).zip(places) {
            prop_assert_eq!(self.batches.locate(page), place, "page {}", page);
            let ppn = place.map(|(block, offset)| self.geometry.ppn(block, offset));
            prop_assert_eq!(self.steps.locate(page), ppn, "page {}", page);
        }
        Ok(())
    }
}
