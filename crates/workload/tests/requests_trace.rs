//! Traces with their own times: places, pieces, disorder, rates and replays, all worked out by
//! hand.

use std::path::PathBuf;

use flashgc_workload::Op;
use flashgc_workload::requests::{Arrivals, RequestStream, TimedRequest, TimedTrace};
use flashgc_workload::trace::{
    Disorder, Numbering, Paging, PagingOptions, ReadOptions, TraceError,
};

/// A trace in the normalised CSV format, in its own folder.
struct File(tempfile::TempDir);

impl File {
    fn new(rows: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("time_us,op,offset_bytes,size_bytes,dev\n{rows}");
        std::fs::write(folder.path().join("trace.csv"), text).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trace.csv")
    }

    fn load(&self, disorder: Disorder) -> Result<TimedTrace, TraceError> {
        let read = ReadOptions { disorder, ..ReadOptions::default() };
        TimedTrace::load(self.path(), &read, PagingOptions::default(), |_| true)
    }

    fn paged(&self, paging: Paging, numbering: Numbering) -> TimedTrace {
        let numbering = Some(numbering);
        let paging = PagingOptions { paging, numbering, ..PagingOptions::default() };
        let read = ReadOptions::default();
        TimedTrace::load(self.path(), &read, paging, |_| true).unwrap()
    }
}

fn all(mut stream: impl RequestStream, limit: usize) -> Vec<TimedRequest> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        stream.fill(&mut batch, limit).unwrap();
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

/// Returns the arrival in us, the operation, the first byte and the number of bytes of each
/// request.
fn rows(requests: &[TimedRequest]) -> Vec<(u64, Op, u64, u32)> {
    requests.iter().map(|one| (one.arrival_ns / 1000, one.op, one.offset, one.bytes)).collect()
}

/// The trace touches pages 10, 11 and 12 of device 0 and page 0 of device 1, which become pages 0,
/// 1, 2 and 3. The first write covers the end of page 10 and all of page 11.
const MIXED: &str = "100,W,44032,5120,0\n\
                     130,R,49152,512,0\n\
                     130,D,0,1048576,0\n\
                     160,W,1024,2048,1\n\
                     220,R,45056,4096,0\n";

#[test]
fn requests_keep_their_bytes_and_stay_in_one_piece() {
    let trace = File::new(MIXED).load(Disorder::Keep).unwrap();
    let expected = [
        (0, Op::Write, 3072, 5120),
        (30, Op::Read, 8192, 512),
        // The discard covers only the three pages of device 0 that other requests access.
        (30, Op::Trim, 0, 12288),
        (60, Op::Write, 12288 + 1024, 2048),
        (120, Op::Read, 4096, 4096),
    ];
    assert_eq!(rows(trace.requests()), expected);
    // The drive has room for all four pages, except with the paging `floor`.
    assert_eq!((trace.logical_pages(1), trace.logical_pages(2), trace.logical_pages(3)), (4, 4, 6));
    let floor = File::new(MIXED).paged(Paging::Floor, Numbering::Address);
    assert_eq!((floor.logical_pages(2), floor.logical_pages(3)), (4, 3));
}

#[test]
fn in_order_of_first_touch_a_request_is_one_for_each_run_of_pages() {
    // Pages 7, 4, 5 and 6 become 0, 1, 2 and 3. The write of bytes 17408 to 32256 begins at the
    // second KiB of page 4 and ends near the end of page 7. It becomes one piece on pages 1 to 3
    // and one on page 0.
    let file = File::new("0,W,28672,4096,0\n1,W,17408,14848,0\n2,D,16384,16384,0\n");
    let trace = file.paged(Paging::Covered, Numbering::FirstTouch);
    let expected = [
        (0, Op::Write, 0, 4096),
        (1, Op::Write, 4096 + 1024, 3 * 4096 - 1024),
        (1, Op::Write, 0, 14848 - (3 * 4096 - 1024)),
        (2, Op::Trim, 4096, 12288),
        (2, Op::Trim, 0, 4096),
    ];
    assert_eq!(rows(trace.requests()), expected);
    // Rounded, 14848 bytes become four whole pages, beginning at page 4.
    let rounded = file.paged(Paging::Rounded, Numbering::Address);
    assert_eq!(rows(rounded.requests())[1], (1, Op::Write, 0, 14848));
}

#[test]
fn pages_are_in_order_of_address_whatever_was_accessed_first() {
    // Page 7 is first, then page 3, then pages 3 to 4: the ranks of 3, 4 and 7 are 0, 1 and 2.
    let file = File::new("0,W,28672,4096,0\n1,W,12288,4096,0\n2,W,12288,8192,0\n");
    let trace = file.load(Disorder::Keep).unwrap();
    let places: Vec<_> =
        trace.requests().iter().map(|one| (one.offset / 4096, one.bytes)).collect();
    assert_eq!(places, [(2, 4096), (0, 4096), (0, 8192)]);
}

#[test]
fn what_the_drive_does_not_have_is_left_out() {
    let trace = File::new(MIXED).load(Disorder::Keep).unwrap();
    let cut = all(trace.open(2, Some(1), 1.0, None).unwrap(), 10);
    let expected = [
        (0, Op::Write, 3072, 5120),
        (30, Op::Trim, 0, 8192), // its third page is cut off
        (120, Op::Read, 4096, 4096),
    ];
    assert_eq!(rows(&cut), expected);
}

#[test]
fn replays_follow_each_other_and_rates_scale() {
    let trace =
        File::new("5,W,0,4096,0\n7,W,4096,4096,0\n11,R,0,4096,0\n").load(Disorder::Keep).unwrap();
    // There are 6 us from the first to the last request, so the mean gap is 3 us, and a pass takes
    // 9 us.
    let times = |rate, limit| -> Vec<u64> {
        let requests = all(trace.open(2, Some(2), rate, None).unwrap(), limit);
        requests.iter().map(|one| one.arrival_ns).collect()
    };
    assert_eq!(times(1.0, 100), [0, 2000, 6000, 9000, 11000, 15000]);
    assert_eq!(times(1.0, 1), times(1.0, 100));
    assert_eq!(times(2.0, 100), [0, 1000, 3000, 4500, 5500, 7500]);
    assert_eq!(times(0.5, 100), [0, 4000, 12000, 18000, 22000, 30000]);
    let clock = Arrivals::parse("periodic:mean=1us").unwrap().open(1);
    let given = all(trace.open(2, Some(1), 1.0, Some(clock)).unwrap(), 100);
    assert_eq!(given.iter().map(|one| one.arrival_ns).collect::<Vec<_>>(), [1000, 2000, 3000]);
}

#[test]
fn times_that_go_back_are_refused_or_sorted() {
    let file = File::new("10,W,0,4096,0\n30,W,4096,4096,0\n20,R,0,4096,0\n20,W,4096,4096,0\n");
    let error = file.load(Disorder::Keep).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "the time goes back by 10000 ns at request 3, expected times that do not; hint: \
             disorder=\"sort\" takes it in time's order"
        ),
        "{error}"
    );
    let trace = file.load(Disorder::Sort).unwrap();
    let times: Vec<_> = trace.requests().iter().map(|one| one.arrival_ns / 1000).collect();
    assert_eq!(times, [0, 10, 10, 20]);
    assert_eq!(trace.notes(), ["1 request of the trace went back in time and were sorted"]);
    // Requests with equal times keep the order of the file: the read came first.
    assert_eq!(trace.requests()[1].op, Op::Read);
    assert_eq!(
        Disorder::parse("srot").unwrap_err().to_string(),
        "found 'srot', expected refuse or sort; hint: did you mean 'sort'?"
    );
}

#[test]
fn a_trace_without_times_needs_arrivals() {
    let trace = File::new("0,W,0,4096,0\n0,W,4096,4096,0\n").load(Disorder::Keep).unwrap();
    let error = trace.open(2, Some(1), 1.0, None).err().unwrap().to_string();
    assert!(error.contains("all requests of the trace have the same time; hint: give arrivals"));
    let clock = Arrivals::parse("closed:threads=4").unwrap().open(1);
    assert_eq!(all(trace.open(2, Some(1), 1.0, Some(clock)).unwrap(), 9).len(), 2);
}

#[test]
fn times_that_are_numbers_of_lines_are_told() {
    let note = |times: &dyn Fn(u64) -> u64, count: u64| {
        let rows: String =
            (0..count).map(|line| format!("{},W,{},4096,0\n", times(line), line * 4096)).collect();
        File::new(&rows).load(Disorder::Keep).unwrap().note_of_times(false)
    };
    assert_eq!(
        note(&|line| 7 + 2 * line, 100).unwrap(),
        "the times of the trace are all 2us apart, as line numbers are, and response times rest on \
         them; hint: \u{1}arrivals\u{3}closed:threads=1\u{2}, or another \u{1}arrivals\u{2}"
    );
    // A few requests can have equal gaps by chance. If one gap differs, the times are real.
    assert_eq!(note(&|line| line, 99), None);
    assert_eq!(note(&|line| line + line / 150, 200), None);
}

#[test]
fn huge_requests_come_in_pieces() {
    // The request has 2^32 bytes, the largest number in a trace. Its pieces have 2^30 bytes and end
    // at page boundaries. The first piece is shorter by 512 bytes, because it starts 512 bytes
    // after a boundary.
    let file = File::new("0,W,512,4294967296,0\n");
    let paging = PagingOptions { page_size: 1 << 20, ..PagingOptions::default() };
    let trace = TimedTrace::load(file.path(), &ReadOptions::default(), paging, |_| true).unwrap();
    let pieces: Vec<_> = trace.requests().iter().map(|one| (one.offset, one.bytes)).collect();
    let piece = 1 << 30;
    let whole = piece as u32;
    let expected = [
        (512, whole - 512),
        (piece, whole),
        (2 * piece, whole),
        (3 * piece, whole),
        (4 * piece, 512),
    ];
    assert_eq!(pieces, expected);
}
