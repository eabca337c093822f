//! The structs of `python/flashgc/include/flashgc.h`. A test of the Python package compiles the header and compares
//! sizes and offsets.

use std::ffi::{c_char, c_void};

use flashgc_ftl::placement::{Collected, Now, Place};

/// The version of the interface.
pub(crate) const ABI: u32 = 1;
/// No block, no class, no stream.
pub(crate) const NONE: u32 = u32::MAX;
/// The most classes of a placement.
pub(crate) const CLASSES: usize = 255;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiNow {
    programs: u64,
    host: u64,
}

impl From<Now> for AbiNow {
    #[inline]
    fn from(now: Now) -> Self {
        Self { programs: now.programs, host: now.host }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiPlace {
    class: u32,
    block: u32,
}

impl From<Place> for AbiPlace {
    #[inline]
    fn from(place: Place) -> Self {
        Self { class: place.class.into(), block: place.block }
    }
}

impl From<Option<Place>> for AbiPlace {
    #[inline]
    fn from(place: Option<Place>) -> Self {
        place.map_or(Self { class: NONE, block: NONE }, Self::from)
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiParameter {
    pub(crate) name: *const c_char,
    pub(crate) value: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiDrive {
    pub(crate) pages: u32,
    pub(crate) pages_per_block: u32,
}

#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct AbiProperties {
    pub(crate) classes: u32,
    pub(crate) remembers: u32,
    pub(crate) asks_for_zombies: u8,
    pub(crate) takes_no_copies: [u8; CLASSES],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiBlocks {
    pub(crate) blocks: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) first: u32,
    pub(crate) candidates: u32,
    pub(crate) valid: *const u32,
    pub(crate) erases: *const u32,
    pub(crate) classes: *const u8,
    pub(crate) closed_at: *const u64,
    pub(crate) closed_at_host: *const u64,
    pub(crate) zombies: *const u32,
    pub(crate) now: AbiNow,
    pub(crate) random: extern "C" fn(*mut c_void, u32) -> u32,
    pub(crate) stream: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbiCollected {
    place: AbiPlace,
    opened: AbiNow,
    valid: u32,
    pages: u32,
}

impl From<Collected> for AbiCollected {
    fn from(block: Collected) -> Self {
        Self {
            place: Place { class: block.class, block: block.block }.into(),
            opened: block.opened.into(),
            valid: block.valid,
            pages: block.pages,
        }
    }
}

type State = *mut c_void;
type Event = Option<unsafe extern "C" fn(State, u32, AbiPlace, AbiNow)>;
type Move = Option<unsafe extern "C" fn(State, u32, AbiPlace, AbiPlace, AbiNow)>;

/// The members of a scheme. `None` is a null pointer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AbiScheme {
    pub(crate) abi: u32,
    pub(crate) size: u32,
    pub(crate) describe:
        Option<unsafe extern "C" fn(*const AbiParameter, u32, *mut AbiProperties) -> *const c_char>,
    pub(crate) create:
        Option<unsafe extern "C" fn(*const AbiParameter, u32, *const AbiDrive) -> State>,
    pub(crate) destroy: Option<unsafe extern "C" fn(State)>,
    pub(crate) pick: Option<unsafe extern "C" fn(State, *const AbiBlocks) -> u32>,
    pub(crate) host: Option<unsafe extern "C" fn(State, u32, u32, AbiPlace, AbiNow) -> u32>,
    pub(crate) copy: Option<unsafe extern "C" fn(State, u32, AbiPlace, u32, AbiNow) -> u32>,
    pub(crate) holds: Event,
    pub(crate) wrote: Move,
    pub(crate) trimmed: Event,
    pub(crate) copied: Move,
    pub(crate) opened: Option<unsafe extern "C" fn(State, AbiPlace, AbiNow)>,
    pub(crate) collected: Option<unsafe extern "C" fn(State, *const AbiCollected, AbiNow)>,
}

#[cfg(all(test, unix))]
mod tests {
    use std::fmt::Write;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    use super::*;

    /// A struct of the header: its name, its size here, and the offset of each member.
    type Struct = (&'static str, usize, Vec<(&'static str, usize)>);

    macro_rules! layout {
        ($name:literal, $type:ty: $($member:ident = $c:literal),*) => {
            ($name, size_of::<$type>(), vec![$(($c, offset_of!($type, $member))),*])
        };
    }

    fn layouts() -> Vec<Struct> {
        vec![
            layout!("flashgc_now", AbiNow: programs = "programs", host = "host"),
            layout!("flashgc_place", AbiPlace: class = "class_", block = "block"),
            layout!("flashgc_parameter", AbiParameter: name = "name", value = "value"),
            layout!("flashgc_drive", AbiDrive:
                pages = "pages", pages_per_block = "pages_per_block"),
            layout!("flashgc_properties", AbiProperties:
                classes = "classes", remembers = "remembers", asks_for_zombies = "asks_for_zombies",
                takes_no_copies = "takes_no_copies"),
            layout!("flashgc_blocks", AbiBlocks:
                blocks = "blocks", pages_per_block = "pages_per_block", first = "first",
                candidates = "candidates", valid = "valid", erases = "erases", classes = "classes",
                closed_at = "closed_at", closed_at_host = "closed_at_host", zombies = "zombies",
                now = "now", random = "random", stream = "stream"),
            layout!("flashgc_collected", AbiCollected:
                place = "place", opened = "opened", valid = "valid", pages = "pages"),
            layout!("flashgc_scheme", AbiScheme:
                abi = "abi", size = "size", describe = "describe", create = "create",
                destroy = "destroy", pick = "pick", host = "host", copy = "copy", holds = "holds",
                wrote = "wrote", trimmed = "trimmed", copied = "copied", opened = "opened",
                collected = "collected"),
        ]
    }

    #[test]
    fn the_structs_are_those_of_the_header() {
        let mut checks = format!(
            "#include \"flashgc.h\"\n#include <stddef.h>\n\
             _Static_assert(FLASHGC_ABI == {ABI} && FLASHGC_NONE == {NONE} && \
             FLASHGC_CLASSES == {CLASSES}, \"constants\");\n"
        );
        for (name, size, members) in layouts() {
            writeln!(checks, "_Static_assert(sizeof({name}) == {size}, \"{name}\");").unwrap();
            for (member, offset) in members {
                let at = format!("offsetof({name}, {member}) == {offset}");
                writeln!(checks, "_Static_assert({at}, \"{name}.{member}\");").unwrap();
            }
        }
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/flashgc/include");
        let folder = std::env::temp_dir().join(format!("flashgc-abi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("layout.c");
        std::fs::write(&file, checks).unwrap();
        let compiled = Command::new("cc")
            .args(["-std=c11", "-fsyntax-only", "-I", header])
            .arg(&file)
            .output();
        std::fs::remove_dir_all(&folder).unwrap();
        let compiled = compiled.expect("a C compiler, as for the other tests");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}
