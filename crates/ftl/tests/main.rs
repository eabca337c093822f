//! All tests of the crate as one program: a module for each file, and what they share.

mod against_reference;
mod allocation;
mod combinations;
mod conformance;
mod contents;
mod dftl;
mod dftl_reference;
mod endurance;
mod exact_picks;
mod hinting;
mod history;
mod log_map_facts;
mod log_maps;
mod log_reference;
mod page_cache;
mod page_maps_beside_memory;
mod placement;
mod reference;
mod schemes;
mod slc;
mod smaller;
mod steady;
mod stepwise;
mod told;
mod two_pass;
mod zombies;
