//! A stored drive in its steady state.

use std::path::Path;

use flashgc_base::rng::Stream;
use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, Durability, PAGE, Settings};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};

/// Returns a drive of `blocks` blocks of 1 MiB in a file. The host has written three times the
/// drive's capacity.
pub(crate) fn drive(path: &Path, blocks: u32) -> Drive {
    let layout = Layout {
        frontier: Frontier::Pool { low: 4 },
        fill: Fill::Empty,
        ..Layout::new(Geometry::with_spare(blocks, 256, 0.1).expect("a shape"))
    };
    let settings = Settings {
        layout,
        victim: Victim::Registered(VictimSpec::parse("greedy").expect("registered")),
        journal_blocks: Settings::JOURNAL_BLOCKS,
        durability: Durability::Process,
        streams: None,
        parity: None,
    };
    let mut media = FileMedia::create(path, settings.file_bytes().expect("a size")).expect("room");
    Drive::create(&mut media, &settings, *b"a drive measured").expect("room");
    let mut drive = Drive::open(Box::new(media), &settings).expect("a drive");
    let (mut rng, data, pages) = (Stream::new(1, "fill"), vec![7; PAGE], drive.pages());
    for page in 0..pages {
        drive.write(page, &data, false).expect("room");
    }
    for _ in 0..2 * pages {
        drive.write(rng.below(pages as u32).into(), &data, false).expect("room");
    }
    drive
}
