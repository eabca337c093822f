//! The file: written data come back, a damaged file is refused in one line, and a failed write
//! leaves the last file.

use super::file::{Kind, Slot, Stored};
use super::*;

/// A checkpoint of three runs in `folder`.
fn three(path: &Path) -> Stored {
    let mut stored = Stored::nothing();
    for index in 0..3u32 {
        let kind = if index == 1 { Kind::Done } else { Kind::UnderWay };
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
    let slot = Slot::new(0, Kind::Done, 9);
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
    // A file that ends behind a slot has fewer runs: the others begin anew.
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
    assert!(fault(&path).ends_with("No such file or directory (os error 2)"));
    for bytes in [b"".as_slice(), b"flashgc", b"time_us,op,offset_bytes,size_bytes"] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(fault(&path), format!("checkpoint {}: it is no checkpoint", path.display()));
    }
    let mut other = b"flashgcC".to_vec();
    other.extend([99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::write(&path, other).unwrap();
    assert!(
        fault(&path).contains("it has format 99, expected 9: another version of flashgc wrote it")
    );
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
    let slot = Slot::new(0, Kind::UnderWay, 1);
    assert!(stored.rewritten(&path, "{}", Some((slot, &refuse))).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
