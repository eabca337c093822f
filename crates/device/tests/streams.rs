//! Streams that the host names with its writes: kept across restarts and crashes, counted,
//! recorded.

use flashgc_base::rng::Stream;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_device::bytes::Bytes;
use flashgc_device::media::MemMedia;
use flashgc_device::{Backend, Drive, PAGE, Recording, WriteStreams};
use flashgc_workload::Op;
use flashgc_workload::trace::{ReadOptions, TraceReader};

use crate::common::{new_medium, open, page_of, plain, settings};

/// Writes random pages, each in a stream of 0 to 2 or in none. Returns the stream of each page.
fn written(drive: &mut Drive, count: u64, seed: u64) -> Vec<StreamId> {
    let (mut rng, pages) = (Stream::new(seed, "streams"), drive.pages());
    let mut streams = vec![NO_STREAM; pages as usize];
    for number in 0..count {
        let page = u64::from(rng.below(pages as u32));
        let stream = [0, 1, 2, NO_STREAM][rng.below(4) as usize];
        drive.write_named(page, &page_of(number), WriteStreams(&[stream]), false).unwrap();
        streams[page as usize] = stream;
    }
    streams
}

fn held(drive: &mut Drive) -> Vec<StreamId> {
    (0..drive.pages() as u32).map(|page| drive.stream_of(page)).collect()
}

#[test]
fn streams_that_the_host_names_outlive_a_crash() {
    let settings = settings("greedy", "fdp:handles=3,persistent=1", "fifo");
    for closes in [true, false] {
        let media = new_medium(&settings);
        let mut drive = open(media.clone(), &settings);
        let mut streams = vec![NO_STREAM; drive.pages() as usize];
        for (page, stream) in (0..).zip(written(&mut drive, 5000, 1)) {
            streams[page] = stream;
        }
        assert!(drive.stat().counters.copied_pages > 500, "data have moved");
        assert_eq!(held(&mut drive), streams);
        drive.flush().unwrap();
        if closes {
            drive.close().unwrap();
        } else {
            drop(drive);
        }
        let mut drive = open(media, &settings);
        assert_eq!(drive.stat().recovery.is_some(), !closes);
        assert_eq!(held(&mut drive), streams, "closed: {closes}");
    }
}

#[test]
fn a_drive_without_handles_takes_no_streams() {
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    assert!(!drive.takes_streams());
    drive.write_named(0, &page_of(1), WriteStreams(&[2]), false).unwrap();
    assert_eq!(drive.stat().streams, None);
}

/// Each page of a write has the stream at the same index, also a page of which only a part is
/// written.
#[test]
fn each_page_of_a_write_has_the_stream_beside_it() {
    let settings = settings("greedy", "fdp:handles=8", "fifo");
    let mut drive = Bytes::new(open(new_medium(&settings), &settings));
    let page = PAGE as u64;
    drive.write(page - 100, &vec![1; 2 * PAGE + 200], WriteStreams(&[1, 2, 3, 4])).unwrap();
    drive.write(7 * page, &vec![1; 3 * PAGE], WriteStreams(&[5, 6, 7])).unwrap();
    drive.write(11 * page, &vec![1; 2 * PAGE], WriteStreams(&[5])).unwrap();
    drive.write(12 * page, &[1; 8], WriteStreams::default()).unwrap();
    let none = NO_STREAM;
    let found = held(drive.drive());
    assert_eq!(found[..13], [1, 2, 3, 4, none, none, none, 5, 6, 7, none, 5, none]);
    let four = WriteStreams(&[1, 1, 2, 3]);
    assert_eq!(four.of_bytes(page - 100, 2 * page + 200), [(page + 100, 1), (page, 2), (100, 3)]);
    assert_eq!(four.of_bytes(50, 4 * page - 50), [(2 * page - 50, 1), (page, 2), (page, 3)]);
    assert_eq!(WriteStreams(&[4]).of_bytes(50, 9 * page), [(9 * page, 4)]);
    assert_eq!(WriteStreams::default().of_bytes(0, 1), [(1, none)]);
}

/// The requests of a recording have the streams that the host named: one request for each run of
/// pages of one stream.
#[test]
fn a_recording_has_the_streams_of_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc");
    let settings = settings("greedy", "fdp:handles=3", "fifo");
    let mut drive = open(new_medium(&settings), &settings);
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), true).unwrap()));
    let data = [page_of(1), page_of(2), page_of(3)].concat();
    drive.write_named(4, &data, WriteStreams(&[2, 2, 0]), false).unwrap();
    drive.write_named(9, &data, WriteStreams(&[1]), false).unwrap();
    drive.write(20, &data, false).unwrap();
    drive.replace_recording(None).unwrap().end().unwrap();
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    let (mut block, mut found) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        found.extend(
            block.iter().map(|one| (one.op, one.offset / 4096, one.size / 4096, one.stream)),
        );
    }
    let write = |page, count, stream| (Op::Write, page, count, stream);
    assert_eq!(found, [write(4, 2, 2), write(6, 1, 0), write(9, 3, 1), write(20, 3, NO_STREAM)]);
}

/// If the out-of-band records of a file have no streams, as in files of earlier versions, its data
/// have no stream.
#[test]
fn data_of_a_drive_without_streams_have_none() {
    let settings = plain();
    let media: MemMedia = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    drive.write(3, &page_of(1), true).unwrap();
    drop(drive);
    let mut drive = open(media, &settings);
    assert_eq!(drive.stream_of(3), NO_STREAM);
}
