//! Naive placements: each meant to be read in a minute, with none of the engine's tables.

mod dac;
mod eti;
mod fadac;
mod fdp;
mod gdt;
mod intervals;
mod map_apart;
mod midas;
mod multilog;
mod oracle;
mod sepbit;
mod sfr;
mod sfs;
mod warcip;

use std::collections::BTreeMap;

#[allow(unused_imports)] // not every test uses it
pub use map_apart::MapApart;

/// The time: programs and writes of the host so far.
#[derive(Clone, Copy, Default)]
pub struct Time {
    pub programs: u64,
    pub host: u64,
}

/// A placement. Classes are numbered from 0.
pub trait NaiveRule {
    fn classes(&self) -> usize;

    fn takes_copies(&self, class: usize) -> bool;

    /// The number of classes that the copies of one block may go to.
    fn copy_classes(&self) -> usize {
        (0..self.classes()).filter(|&class| self.takes_copies(class)).count()
    }

    fn asks_for_zombies(&self) -> bool {
        false
    }

    /// The class of a write of the host.
    fn host(&self, page: u32, stream: Option<u8>, old: Option<usize>, now: Time) -> usize;

    /// The class of a copy.
    fn copy(&self, page: u32, from: usize, zombie: bool, now: Time) -> usize;

    /// A page has data from the beginning.
    fn holds(&mut self, _page: u32) {}

    /// The host has written a page; the time counts that.
    fn wrote(&mut self, _page: u32, _to: usize, _now: Time) {}

    fn trimmed(&mut self, _page: u32, _from: usize) {}

    fn copied(&mut self, _page: u32, _from: usize, _to: usize, _now: Time) {}

    /// `page` was programmed on `block`; `begins` if it has been there from the beginning.
    fn lies(&mut self, _page: u32, _block: usize, _begins: bool) {}

    /// An erased block was opened for `class`.
    fn opened(&mut self, _class: usize) {}

    fn opened_at(&mut self, _class: usize, _block: usize, _now: Time) {}

    /// Returns `true` if the rule puts no more pages on blocks of `class`.
    fn leaves(&self, _class: usize) -> bool {
        false
    }

    /// The open `block` of `class` is closed before it is full.
    fn closed_at(&mut self, _class: usize, _block: usize, _now: Time) {}

    /// `block` is collected.
    fn collected_at(&mut self, _block: usize, _now: Time) {}

    /// Returns `true` if the rule keeps the full `block` from the victim policy.
    fn keeps(&self, _block: usize) -> bool {
        false
    }

    /// The block that the rule has collected next; `None` if the policy picks. The host has had no room since
    /// this number of collections.
    fn next(&mut self, _fruitless: usize) -> Option<usize> {
        None
    }

    /// The policy finds nothing: the rule keeps no block any more.
    fn give_up(&mut self) {}

    /// A block of `class` with `valid` of its pages valid is collected; it was opened at `opened`.
    /// `valid` of the `pages` of a block were copied.
    fn collected(
        &mut self,
        _class: usize,
        _opened: Time,
        (_valid, _pages): (usize, usize),
        _now: Time,
    ) {
    }
}

/// The drive that a rule is made for, and what its host will do: pages that it writes, or discards.
pub struct Setting {
    pub blocks: usize,
    pub pages_per_block: usize,
    pub logical_pages: u32,
    pub events: Vec<(u32, bool)>,
}

/// The placement of a spec with all parameters written out; `None` for `none`.
pub fn naive_rule(spec: &str, setting: Setting) -> Option<Box<dyn NaiveRule>> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    let value = |name: &str| -> &str {
        parameters
            .split(',')
            .find_map(|one| one.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("{spec} says nothing of {name}"))
    };
    let number = |name: &str| value(name).parse::<u64>().unwrap();
    match name {
        "none" => None,
        "dac" => Some(Box::new(dac::Dac {
            regions: number("regions") as usize,
            threshold: number("threshold"),
            zombie_block: value("zombie-block") == "yes",
            ..Default::default()
        })),
        "sepbit" => Some(Box::new(sepbit::SepBit::new(number("classes") as usize))),
        "midas" => {
            let share = value("share").parse::<f64>().unwrap();
            let size = (share * setting.blocks as f64) as usize;
            let groups = number("groups") as usize;
            let size = (share > 0.0).then_some(size);
            let has_hot = value("hot") == "on";
            Some(Box::new(midas::Midas::new(groups, size, has_hot, setting.logical_pages)))
        }
        "multilog" => Some(Box::new(multilog::MultiLog::new(
            number("levels") as usize,
            setting.pages_per_block,
        ))),
        "fadac" => Some(Box::new(fadac::Fadac {
            classes: number("classes") as usize,
            ..Default::default()
        })),
        "fdp" => Some(Box::new(fdp::Fdp {
            handles: number("handles") as usize,
            persistent: number("persistent") as usize,
        })),
        "sfr" => Some(Box::new(sfr::Sfr {
            classes: number("classes") as usize,
            chunk: number("chunk") as u32,
            halving: number("halving") as usize,
            writes: vec![],
        })),
        "warcip" => Some(Box::new(warcip::Warcip {
            classes: number("classes") as usize,
            window: number("window") as usize * setting.pages_per_block,
            pages_per_block: setting.pages_per_block,
            centres: BTreeMap::from([(0, 0.0)]),
            ..Default::default()
        })),
        "intervals" => Some(Box::new(intervals::Intervals {
            classes: number("classes") as usize,
            pages: setting.logical_pages,
            sample: number("sample"),
            window: number("refresh") * setting.pages_per_block as u64,
            stamps: BTreeMap::new(),
            bounds: vec![],
        })),
        "gdt" => Some(Box::new(gdt::Gdt {
            classes: number("classes") as usize,
            pages: setting.logical_pages,
            stamps: BTreeMap::new(),
        })),
        "sfs" => {
            let refresh = value("refresh").parse::<f64>().unwrap();
            let window = (f64::from(setting.logical_pages) * refresh).ceil() as u64;
            Some(Box::new(sfs::Sfs {
                classes: number("classes") as usize,
                pages: setting.logical_pages,
                pages_per_block: setting.pages_per_block as u32,
                window: window.max(1),
                ..Default::default()
            }))
        }
        "eti" => Some(Box::new(eti::Eti::new(
            number("extents") as usize,
            number("halving") as usize,
            setting.logical_pages,
        ))),
        "oracle" => {
            let real = |name: &str| value(name).parse::<f64>().unwrap();
            let horizon = (f64::from(setting.logical_pages) * real("horizon")).ceil() as u64;
            Some(Box::new(oracle::Oracle {
                classes: number("classes") as usize,
                pages_per_block: setting.pages_per_block,
                horizon: horizon.max(1),
                sigma: real("sigma"),
                by_request: value("errors") == "request",
                events: setting.events,
                written: BTreeMap::new(),
            }))
        }
        other => panic!("no naive form of {other}: write one here when a placement is added"),
    }
}
