//! Tests of the checkpoint file: written data are read back unchanged, a damaged file is refused in
//! one line, and a failed write leaves the old file. The bytes of a state change only with the
//! format.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_drive::source::{Source, TimedSource};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Requests;

use super::file::{Slot, SlotKind, Stored};
use super::*;
use crate::control::{Caller, Control};
use crate::options::{HostConfig, SwapConfig, TimedConfig};
use crate::run::Run;
use flashgc_base::snapshot::{FORMAT, Value};

/// Writes a checkpoint of three runs to `path`.
fn three(path: &Path) -> Stored {
    let mut stored = Stored::nothing();
    for index in 0..3u32 {
        let kind = if index == 1 { SlotKind::Done } else { SlotKind::UnderWay };
        let save = |to: &mut Writer<'_>| vec![index; 8].put(to);
        let slot = Slot::new(index, kind, 2 + index);
        stored = stored.rewritten(path, "{\"a\":1}", Some((slot, &save))).unwrap();
    }
    stored
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_run_comes_back_and_a_new_state_takes_the_place_of_the_old() {
    let folder = folder();
    let path = folder.path().join("checkpoint");
    three(&path);
    let mut stored = Stored::open(&path).unwrap();
    assert_eq!(stored.subject(), "{\"a\":1}");
    let rounds: Vec<u32> = stored.slots().iter().map(|slot| slot.rounds).collect();
    assert_eq!(rounds, [2, 3, 4]);
    for index in 0..3 {
        assert_eq!(stored.read(index, Vec::<u32>::take), Ok(vec![index; 8]));
    }
    let save = |to: &mut Writer<'_>| vec![77u32].put(to);
    let slot = Slot::new(0, SlotKind::Done, 9);
    stored.rewritten(&path, "{}", Some((slot, &save))).unwrap();
    let mut stored = Stored::open(&path).unwrap();
    assert_eq!(stored.read(0, Vec::<u32>::take), Ok(vec![77]));
    assert_eq!(stored.read(2, Vec::<u32>::take), Ok(vec![2; 8]));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_file_that_was_cut_off_or_changed_anywhere_is_a_fault() {
    let folder = folder();
    let path = folder.path().join("checkpoint");
    three(&path);
    let whole = std::fs::read(&path).unwrap();
    let slots = [0, 1, 2];
    // A file that ends after a slot is valid but has fewer runs: the missing runs begin anew.
    let head = 20 + 7 + 8;
    let ends: Vec<usize> = (0..3).map(|slots| head + slots * (whole.len() - head) / 3).collect();
    for length in (0..whole.len()).filter(|length| !ends.contains(length)) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Stored::open(&path).is_err(), "{length} bytes");
    }
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            std::fs::write(&path, changed).unwrap();
            let read = Stored::open(&path).and_then(|mut stored| {
                slots
                    .map(|index| stored.read(index, Vec::<u32>::take))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
            });
            assert!(read.is_err(), "byte {at}");
            assert!(!read.unwrap_err().to_string().contains('\n'));
        }
    }
}

#[test]
fn other_files_are_no_checkpoints() {
    let folder = folder();
    let path = folder.path().join("checkpoint");
    let fault = |path: &Path| subject(path).unwrap_err().to_string();
    assert!(fault(&path).ends_with("No such file or directory; hint: check the path"));
    for bytes in [b"".as_slice(), b"flashgc", b"time_us,op,offset_bytes,size_bytes"] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(fault(&path), format!("checkpoint {}: it is no checkpoint", path.display()));
    }
    let mut other = b"flashgcC".to_vec();
    other.extend([99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::write(&path, other).unwrap();
    let expected =
        format!("it has format 99, expected {FORMAT}: another version of flashgc wrote it");
    assert!(fault(&path).contains(&expected));
    let text = "{\"version\":\"9.9.9\",\"config\":{}}";
    Stored::nothing().rewritten(&path, text, None).unwrap();
    assert!(fault(&path).contains("it was written by flashgc 9.9.9, this is"), "{}", fault(&path));
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_last() {
    let folder = folder();
    let path = folder.path().join("checkpoint");
    let stored = three(&path);
    let before = std::fs::read(&path).unwrap();
    let refuse = |to: &mut Writer<'_>| to.refuse(Fault::new("no"));
    let slot = Slot::new(0, SlotKind::UnderWay, 1);
    assert!(stored.rewritten(&path, "{}", Some((slot, &refuse))).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The number of bytes of a run's state at its end, and the XXH3 of these bytes.
fn state_of(resolved: &Resolved) -> (u64, u64) {
    let mut run = Run::new(resolved, 0, None).unwrap();
    let control = Control::default();
    let mut caller = Caller { control: &control, poll: None, turns: Turns::new(None, 0) };
    run.advance(resolved, &mut caller).unwrap();
    run.elapsed = Duration::ZERO;
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    run.save(&mut to);
    to.finish().unwrap()
}

/// The states of small drives must have the bytes that were recorded with the current format. The
/// drives have most kinds of state.
#[test]
fn the_bytes_of_a_state_change_with_the_format_alone() {
    let base = RunConfig {
        blocks: Some(64),
        pages_per_block: Some(16),
        spare: 0.2,
        victim: "cost-benefit".into(),
        frontier: "pool:low=3".into(),
        workload: "0.7*zipf:theta=0.9+0.3*sequential:trim=0.1".into(),
        warmup: "1x".into(),
        length: Length::Writes("3x".into()),
        runs: 1,
        seed: 7,
        ..RunConfig::default()
    };
    let clock =
        TimedConfig { arrivals: Some("poisson:rate=1500".into()), ..TimedConfig::default() };
    let timed = RunConfig {
        victim: "greedy".into(),
        frontier: "single".into(),
        times: Some("read=25us,program=200us,erase=1.5ms,transfer=10us".into()),
        workload: "hotcold:f=0.2,r=0.8,read=0.5".into(),
        length: Length::Requests(3000),
        timed: Some(clock.clone()),
        ..base.clone()
    };
    let host = HostConfig {
        cache: "page-cache:size=800KiB,rate=1000,speed=800".into(),
        hints: "piggyback:lost=0.1".into(),
    };
    let drives = [
        base.clone(),
        RunConfig { placement: "sepbit".into(), ..base.clone() },
        RunConfig {
            wear_levelling: Some("static:threshold=5".into()),
            endurance: Some("normal:mean=400,cv=0.1".into()),
            ..base.clone()
        },
        RunConfig { victim: "z-greedy".into(), host: Some(host), ..base.clone() },
        RunConfig {
            mapping: "fast:log_blocks=6".into(),
            fill: "sequential".into(),
            workload: "zipf:theta=0.9,read=0.7".into(),
            warmup: "0".into(),
            length: Length::Requests(3000),
            swap: Some(SwapConfig {
                cache_pages: 100,
                policy: "3-region".into(),
                scheme: "lda-gc5".into(),
            }),
            ..base.clone()
        },
        RunConfig {
            timed: Some(TimedConfig { preemption: "pgc".into(), ..clock.clone() }),
            ..timed.clone()
        },
        RunConfig {
            blocks: Some(256),
            superblock: "dies=4,planes=1".into(),
            parity: "1/4".into(),
            timed: Some(TimedConfig { channels: 2, dies: 2, ..clock.clone() }),
            ..timed.clone()
        },
        RunConfig {
            blocks: Some(256),
            superblock: "dies=4,planes=1".into(),
            parity: "1/4".into(),
            timed: Some(TimedConfig {
                channels: 2,
                dies: 2,
                read_failures: Some("0.2".into()),
                ..clock.clone()
            }),
            ..timed.clone()
        },
        RunConfig {
            blocks: Some(256),
            timed: Some(TimedConfig {
                channels: 2,
                dies: 2,
                striping: "dynamic".into(),
                write_cache: 64,
                ..clock
            }),
            ..timed
        },
    ];
    let digests = drives.map(|config| state_of(&resolved(&config)));
    let recorded = [
        (46_322, 0xe3f5151df731c273),
        (54_054, 0x35b7f510da288d58),
        (62_764, 0x0b4322afae7307e3),
        (153_760, 0x3a699293b27a67ce),
        (57_986, 0xdf8a4aab02772f39),
        (115_528, 0x13c6a7aa30802df5),
        (119_576, 0x625897b87d518ce8),
        (120_536, 0x562468647cd03429),
        (119_001, 0x57f31a9f56431fbd),
    ];
    assert_eq!((FORMAT, digests), (34, recorded));
}

fn resolved(config: &RunConfig) -> Resolved {
    let text = &config.workload;
    let source: Arc<dyn Source> = match config.timed {
        None => Arc::new(GeneratorSpec::parse(text).unwrap()),
        Some(_) => Arc::new(TimedSource::new(text.clone(), Requests::parse(text).unwrap())),
    };
    Resolved::new(config, source, None).unwrap()
}
