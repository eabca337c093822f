//! A stored drive in use by a host for a while: whether it was steady, and what a reader should
//! know of its figures.

use flashgc_drive::stats::{Interval, drift, rounds};
use flashgc_ftl::Geometry;
use serde::Serialize;

use crate::findings::{self, Finding};
use crate::steadiness::{Drift, FEWEST_ERASES, Snia, Steadiness, spare_used};
use crate::summary::small;

/// The host's use of a stored drive for a while.
#[derive(Clone, Debug)]
pub struct DriveUse {
    /// The shape of the drive.
    pub geometry: Geometry,
    /// The blocks that stay erased between two collections.
    pub kept_erased: u32,
    /// Pages that the host wrote and pages programmed, in parts with about the same number of host
    /// writes each.
    pub parts: Vec<(u64, u64)>,
    /// Pages that were programmed, in all.
    pub programs: u64,
    /// Blocks that were erased.
    pub erases: u64,
}

/// The result of [`DriveUse::judged`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// `true` if write amplification was steady.
    pub steady: bool,
    /// The results of the tests of a steady state.
    pub steadiness: Steadiness,
    /// The findings about the figures.
    pub findings: Vec<Finding>,
}

impl DriveUse {
    /// Judges the use by the rules for simulated drives.
    pub fn judged(&self) -> Judgement {
        let parts: Vec<Interval> =
            self.parts.iter().map(|&(host, programs)| Interval::of_pages(host, programs)).collect();
        let runs = [parts];
        let block = u64::from(self.geometry.pages_per_block());
        let steadiness = Steadiness {
            amplification: drift(&runs).and_then(Drift::new),
            // The command that uses the drive determines when requests arrive, as given arrival
            // times do. So the drive has no pace to test.
            pace: None,
            transient: None,
            rewrites: None,
            snia: rounds(&runs).map(Snia::from),
            from_spare: spare_used(self.programs, (self.erases + 1) * block),
        };
        let change = steadiness.amplification.filter(|_| self.erases > 0);
        let burst = steadiness.burst().filter(|_| self.erases > 0);
        let mut findings = Vec::new();
        if self.programs == 0 {
            findings.push(findings::nothing_served());
        } else {
            findings.extend((self.erases == 0).then(|| findings::still_empty(self.programs)));
            findings.extend(change.filter(Drift::moves).map(findings::moves_in_use));
            findings.extend(change.filter(Drift::is_unknown).map(findings::unknown_in_use));
            if (change.is_none() || self.erases < FEWEST_ERASES) && self.erases > 0 {
                findings.push(findings::too_short_to_tell(self.programs));
            }
            findings.extend(burst.map(findings::burst_in_use));
            findings.extend(small(
                &self.geometry,
                1,
                self.kept_erased.into(),
                false,
                ["a larger drive"; 2],
            ));
        }
        let steady = change.is_some_and(|change| change.is_settled())
            && burst.is_none()
            && self.erases >= FEWEST_ERASES;
        Judgement { steady, steadiness, findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(amplification: impl Fn(u64) -> u64, erases: u64) -> DriveUse {
        let parts: Vec<(u64, u64)> = (0..20).map(|at| (1000, amplification(at))).collect();
        let programs = parts.iter().map(|&(_, programs)| programs).sum();
        let geometry = Geometry::with_spare(1000, 100, 0.1).unwrap();
        DriveUse { geometry, kept_erased: 2, parts, programs, erases }
    }

    fn ids(served: &DriveUse) -> Vec<String> {
        served.judged().findings.into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_settled_drive_erases_what_it_programs() {
        // A part has 2000 pages and a block 100 pages: 400 erases make room for 20 parts.
        let settled = served(|at| 2000 + at % 2, 400);
        assert!(settled.judged().steady);
        assert_eq!(ids(&settled), ["spare-kept-erased"; 0]);
        assert_eq!(ids(&served(|at| 2000 + at % 2, 370)), ["burst"]);
        assert!(!served(|at| 2000 + at % 2, 370).judged().steady);
    }

    #[test]
    fn a_drive_that_fills_is_not_steady() {
        let filling = served(|at| 1000 + 100 * at, 390);
        assert_eq!(ids(&filling), ["unsteady"]);
        assert!(!filling.judged().steady);
        let empty = served(|_| 1000, 0);
        assert_eq!(ids(&empty), ["no-erase"]);
        assert!(!empty.judged().steady);
    }

    #[test]
    fn what_is_not_known_is_not_steady() {
        let noisy = served(|at| if (at * at) % 7 < 2 { 1000 } else { 3000 }, 900);
        assert_eq!(ids(&noisy), ["steadiness-unknown"]);
        assert!(!noisy.judged().steady);
        let short =
            DriveUse { parts: vec![(5000, 10_000); 3], programs: 30_000, ..served(|_| 1, 300) };
        assert_eq!(ids(&short), ["too-short"]);
        let nothing = DriveUse { parts: Vec::new(), programs: 0, ..served(|_| 1, 0) };
        assert_eq!(ids(&nothing), ["nothing-measured"]);
    }

    #[test]
    fn blocks_that_stay_erased_are_no_spare_space() {
        let small = DriveUse {
            geometry: Geometry::with_spare(100, 100, 0.1).unwrap(),
            kept_erased: 3,
            ..served(|at| 2000 + at % 2, 400)
        };
        assert_eq!(ids(&small), ["spare-kept-erased"]);
        let few = DriveUse { geometry: Geometry::with_spare(40, 100, 0.1).unwrap(), ..small };
        assert_eq!(ids(&few), ["few-blocks"]);
    }
}
