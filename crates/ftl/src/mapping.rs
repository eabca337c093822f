//! Mappings: how logical pages are found on flash. This file is the registry; the mappings are in
//! [`page_map`](crate::page_map) and the log maps.

use std::fmt;

use crate::dftl::{self, MapCache};
use crate::error::FtlError;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::log_map;
use crate::placement::PlacementSpec;
use crate::scheme::Scheme;
use crate::translation::{MakePageMap, Translation};
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError};

type Build = fn(&Params, Layout, MakePageMap<'_>) -> Result<Box<dyn Translation>, FtlError>;

/// One registered mapping, as listings, help texts and constructors need it.
pub struct MappingInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters that the mapping takes.
    pub params: &'static [Param],
    /// `true` if people can choose the victim policy, which may use hints, and the write frontier.
    /// A log-block mapping has its own rules in their place.
    pub has_victims: bool,
    /// `true` if a drive with a clock can have the mapping.
    pub has_clock: bool,
    /// Checks that the collections of the mapping can use a scheme.
    check_scheme: fn(Scheme) -> Result<(), SpecError>,
    /// A text that begins with the documentation of the mapping as `//!` lines.
    source: &'static str,
    check: fn(&Params, &Layout) -> Result<(), SpecError>,
    build: Build,
}

impl Documented for MappingInfo {
    fn source(&self) -> &'static str {
        self.source
    }
}

/// The documentation of the page map. The file of the page map documents the engine, not its use.
const PAGE: &str = "\
//! A page map: every logical page may be on any physical page.
//!
//! The victim policy, the write frontier and the block allocation decide its collections.
";

// The list of mappings. The first is the default.
static MAPPINGS: &[MappingInfo] = &[
    MappingInfo {
        name: "page",
        params: &[],
        has_victims: true,
        has_clock: true,
        source: PAGE,
        check: |_, _| Ok(()),
        check_scheme: Scheme::check_page_map,
        build: |_, layout, make| make(layout),
    },
    MappingInfo {
        name: "fast",
        params: log_map::FAST_PARAMS,
        has_victims: false,
        has_clock: false,
        source: include_str!("log_map/fast.rs"),
        check: log_map::check,
        check_scheme: |_| Ok(()),
        build: |params, layout, _| log_map::fast(params, layout),
    },
    MappingInfo {
        name: "bast",
        params: log_map::BAST_PARAMS,
        has_victims: false,
        has_clock: false,
        source: include_str!("log_map/bast.rs"),
        check: log_map::check,
        check_scheme: |_| Ok(()),
        build: |params, layout, _| log_map::bast(params, layout),
    },
    MappingInfo {
        name: "dftl",
        params: dftl::PARAMS,
        has_victims: true,
        has_clock: true,
        source: include_str!("dftl/mod.rs"),
        check: dftl::check,
        check_scheme: Scheme::check_unaware,
        build: dftl::dftl,
    },
];

/// Every mapping, in the order in which listings show them.
pub fn mappings() -> &'static [MappingInfo] {
    MAPPINGS
}

/// A registered mapping with its parameters checked.
#[derive(Clone)]
pub struct Mapping {
    info: &'static MappingInfo,
    params: Params,
}

impl Mapping {
    /// Reads `text`, for example `fast:log_blocks=32`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("mapping", MAPPINGS, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        if info.params.iter().any(|param| param.name == "window") {
            log_map::LogWindow::parse(params.text("window"))?;
        }
        Ok(Self { info, params })
    }

    /// The mapping's registry entry.
    pub fn info(&self) -> &'static MappingInfo {
        self.info
    }

    /// Returns `true` for the mapping that a drive has by default.
    pub fn is_default(&self) -> bool {
        self.info.name == MAPPINGS[0].name
    }

    /// Returns `true` if a part of the map lies on flash, read and programmed like data.
    pub fn is_on_flash(&self) -> bool {
        self.info.name == "dftl"
    }

    /// Pages of flash that the map of `pages` logical pages takes.
    pub fn pages_on_flash(&self, pages: u32) -> u32 {
        if self.is_on_flash() { dftl::map_pages(&self.params, pages) } else { 0 }
    }

    /// The shape of the page map that lies below this mapping, on a drive of shape `geometry`. If
    /// the map lies on flash, the pages of the map are included.
    ///
    /// # Errors
    /// A drive that has no room for the pages of the map.
    pub fn geometry_below(&self, geometry: &Geometry) -> Result<Geometry, SpecError> {
        if !self.is_on_flash() {
            return Ok(*geometry);
        }
        dftl::with_map(&self.params, geometry)
    }

    /// The placement of the page map below this mapping, on a drive with `placement`: pages of a
    /// map on flash may have blocks of their own.
    pub fn placement_below(&self, placement: PlacementSpec) -> PlacementSpec {
        if self.is_on_flash() { dftl::placement(&self.params, placement) } else { placement }
    }

    /// The cache of map entries of a drive of this shape; `None` if the whole map is in memory.
    /// `place` gives the place of each page in the page map below.
    pub fn cache(
        &self,
        geometry: &Geometry,
        place: impl Fn(u32) -> Option<u32>,
    ) -> Option<MapCache> {
        self.is_on_flash().then(|| dftl::cache(&self.params, geometry, place))
    }

    /// Checks that a drive with this layout can have this mapping.
    pub fn check(&self, layout: &Layout) -> Result<(), SpecError> {
        (self.info.check)(&self.params, layout)
    }

    /// Checks that the collections of the mapping can use `scheme`.
    pub fn check_scheme(&self, scheme: Scheme) -> Result<(), SpecError> {
        (self.info.check_scheme)(scheme)
    }

    /// Makes a translation layer with this mapping. `page_map` makes its page map, if it has one.
    pub fn build(
        &self,
        layout: Layout,
        page_map: MakePageMap<'_>,
    ) -> Result<Box<dyn Translation>, FtlError> {
        (self.info.build)(&self.params, layout, page_map)
    }
}

impl Default for Mapping {
    fn default() -> Self {
        let info = &MAPPINGS[0];
        Self { info, params: Params::none(info.name) }
    }
}

/// Writes the spec with every parameter.
impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.params.fmt(f)
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_and_written_in_full() {
        assert!(Mapping::parse("page").unwrap().is_default());
        assert_eq!(Mapping::default().to_string(), "page");
        assert_eq!(
            Mapping::parse("fast:log_blocks=32,window=adaptive").unwrap().to_string(),
            "fast:log_blocks=32,sequential=1,victim=scheme,window=adaptive,strict_order=no,\
             log_only=no"
        );
        let error = |text| Mapping::parse(text).unwrap_err().to_string();
        assert_eq!(error("fsat"), "unknown mapping 'fsat'; hint: did you mean 'fast'?");
        assert!(error("bast:sequential=0").starts_with("bast has no parameter 'sequential'"));
        assert!(error("fast:window=0").starts_with("victim window '0' is not understood"));
    }

    #[test]
    fn every_mapping_is_documented() {
        for info in mappings() {
            assert!(!info.summary().is_empty(), "{}", info.name);
            assert!(info.doc().lines().count() > 2, "{}", info.name);
        }
    }
}
