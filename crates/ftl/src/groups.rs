//! Reclaim groups of a drive with flexible data placement: parts of the drive that share no block.
//!
//! A group is a number of planes. The host names the group of a write together with its handle:
//! stream `group` x handles + `handle`. Collections copy data within their plane, so data stay in
//! their group until the host writes them again. First contents lie over all groups alike. So does a
//! write that names no group: the drive gives it the plane that it would have without groups.
//!
//! A plane takes its share of the logical pages and, beyond that, data in half of its spare. So data
//! can change groups on a full drive, and a group that gets more data than others keeps spare for its
//! collections. A write that finds its plane full goes to the next one with room: of the group, or of
//! the groups after it. A write that leaves its group so is counted.

use crate::error::FtlError;
use crate::geometry::GeometryError;
use crate::layout::{Layout, PlaneId, PlaneLayout};
use crate::placement::Handles;
use flashgc_base::naming::choice;
use flashgc_base::stream::StreamId;

/// The planes of pages without a group, on a drive that has one plane for each group.
#[derive(Clone, Copy, Debug)]
pub struct GroupHomes {
    groups: u32,
}

impl GroupHomes {
    /// Returns the planes of the pages of a drive.
    pub fn new(layout: &Layout) -> Self {
        Self { groups: layout.placement.groups() }
    }

    /// Returns the number of groups.
    pub fn groups(self) -> u32 {
        self.groups
    }

    /// Returns the plane of a page.
    #[inline]
    pub fn of(self, page: u32) -> PlaneId {
        match self.groups {
            1 => 0,
            groups => page % groups,
        }
    }
}

/// The reclaim groups of a drive; the header of this file describes them.
#[derive(Clone, Debug)]
pub(crate) struct ReclaimGroups {
    handles: Handles,
    /// Planes of a group.
    planes: u32,
    /// The valid pages that each plane holds at most.
    limits: Box<[u64]>,
}

impl ReclaimGroups {
    /// Returns the groups of a drive; `None` if all of it is one. `shares` has the logical pages of
    /// each plane.
    ///
    /// # Errors
    /// Planes that do not divide evenly among the groups.
    pub(crate) fn new(layout: &PlaneLayout, shares: &[u32]) -> Result<Option<Self>, FtlError> {
        let Some(handles) = layout.layout.placement.handles().filter(|all| all.groups > 1) else {
            return Ok(None);
        };
        let (count, planes) = (u32::from(handles.groups), layout.planes);
        if !planes.is_multiple_of(count) {
            let most = (1..=count).rev().find(|&fewer| planes.is_multiple_of(fewer));
            let Handles { count: each, persistent, .. } = handles;
            let most = most.unwrap_or(1);
            let fewer = format!("fdp:handles={each},persistent={persistent},groups={most}");
            let error = GeometryError(format!(
                "found {count} reclaim groups on {}, expected a number of groups that divides them: \
                 groups share no plane; hint: {}, or superblocks of fewer dies",
                flashgc_base::spec::count(planes.into(), "plane"),
                choice("placement", fewer)
            ));
            return Err(error.into());
        }
        let planes = planes / count;
        let kept = layout.layout.blocks_kept();
        let blocks = layout.blocks_per_plane()?.saturating_sub(kept);
        let most = u64::from(blocks) * u64::from(layout.layout.geometry.pages_per_block());
        let limit = |&share: &u32| u64::from(share) + most.saturating_sub(share.into()) / 2;
        let limits = shares.iter().map(limit).collect();
        Ok(Some(Self { handles, planes, limits }))
    }

    /// Returns the group that a write of `stream` names; `None` if it names none.
    pub(crate) fn named(&self, stream: Option<StreamId>) -> Option<u32> {
        Some(self.handles.unit(stream?)?.0.into())
    }

    /// Returns `true` if a write of `stream` that goes to `plane` leaves the group that it names.
    pub(crate) fn leaves(&self, stream: Option<StreamId>, plane: PlaneId) -> bool {
        self.named(stream).is_some_and(|group| group != plane / self.planes)
    }

    /// Returns the number of groups.
    pub(crate) fn count(&self) -> u32 {
        self.handles.groups.into()
    }

    /// Returns the plane of a write of `stream` if it has room. `home` is the plane that the write
    /// has without groups.
    pub(crate) fn wanted(&self, stream: Option<StreamId>, home: PlaneId) -> PlaneId {
        match self.named(stream) {
            Some(group) => group * self.planes + home % self.planes,
            None => home,
        }
    }

    /// Returns the plane of a write that finds room by `has_room`: the wanted one, or the next one of
    /// its group, or of the groups after it; `None` if no plane has room.
    pub(crate) fn plane(
        &self,
        stream: Option<StreamId>,
        home: PlaneId,
        mut has_room: impl FnMut(PlaneId, u64) -> bool,
    ) -> Option<PlaneId> {
        let wanted = self.wanted(stream, home);
        let (first, place) = (wanted / self.planes, wanted % self.planes);
        let groups = (first..self.count()).chain(0..first);
        let mut planes = groups.flat_map(|group| {
            let places = (place..self.planes).chain(0..place);
            places.map(move |place| group * self.planes + place)
        });
        planes.find(|&plane| has_room(plane, self.limit(plane)))
    }

    /// Returns the valid pages that `plane` holds at most.
    pub(crate) fn limit(&self, plane: PlaneId) -> u64 {
        self.limits[plane as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{Handles, ReclaimGroups};

    #[test]
    fn a_write_goes_to_its_group_and_over_the_next_ones_when_that_is_full() {
        // Two groups of two planes; three handles: streams 0 to 2 are group 0, streams 3 to 5 group 1.
        let handles = Handles { count: 3, persistent: 0, groups: 2 };
        let groups = ReclaimGroups { handles, planes: 2, limits: [9; 4].into() };
        let order = |stream, home| {
            let mut seen = Vec::new();
            let found = groups.plane(stream, home, |plane, limit| {
                seen.push(plane);
                limit == 0
            });
            assert_eq!(found, None);
            seen
        };
        assert_eq!(order(Some(2), 1), [1, 0, 3, 2]);
        assert_eq!(order(Some(2), 3), [1, 0, 3, 2]);
        assert_eq!(order(Some(3), 0), [2, 3, 0, 1]);
        // No stream, and one beyond the groups: the home.
        assert_eq!(order(None, 3), [3, 2, 1, 0]);
        assert_eq!(order(Some(6), 1), [1, 0, 3, 2]);
        let leaves = |stream, plane| groups.leaves(stream, plane);
        assert!(leaves(Some(0), 2) && leaves(Some(5), 1) && !leaves(Some(5), 3));
        assert!(!leaves(None, 0) && !leaves(Some(6), 0));
        assert_eq!((groups.named(Some(4)), groups.named(None)), (Some(1), None));
    }
}
