//! The public traces in the folder FLASHGC_TRACES: every native file gives exactly the rows of its
//! normalised copy, and the statistics in the README of that folder.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flashgc_workload::Op;
use flashgc_workload::trace::{
    DeviceNumbers, Paging, PagingOptions, ReadOptions, Request, TraceReader, TraceStat,
};

/// The unit of times in a native file. The normalised copies were computed from these times in
/// floating point.
#[derive(Clone, Copy)]
enum Unit {
    /// Steps of 100 ns.
    FileTime,
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// A row of the README's table, with the format of the trace and the unit of its times.
struct Known {
    name: &'static str,
    format: &'static str,
    unit: Unit,
    records: u64,
    write_share: f64,
    pages_written: u64,
    pages_read: u64,
    pages: u64,
    written_mib: f64,
    overwrite: f64,
    span_gib: f64,
    devices: u64,
}

macro_rules! known {
    ($($name:ident $format:ident $unit:ident: $records:expr, $share:expr, $written:expr,
       $read:expr, $pages:expr, $mib:expr, $overwrite:expr, $span:expr, $devices:expr;)*) => {
        &[$(Known {
            name: stringify!($name),
            format: stringify!($format),
            unit: Unit::$unit,
            records: $records,
            write_share: $share,
            pages_written: $written,
            pages_read: $read,
            pages: $pages,
            written_mib: $mib,
            overwrite: $overwrite,
            span_gib: $span,
            devices: $devices,
        }),*]
    };
}

/// The table in the README of the folder: records, share of writes, distinct pages written, read
/// and both, MiB written, page writes divided by distinct pages written, span in GiB, devices.
#[expect(clippy::approx_constant, reason = "3.14 is a published ratio")]
const KNOWN: &[Known] = known! {
    cloudphysics_vscsi vscsi1 Microseconds:
        113_872, 0.587, 208_696, 210_000, 269_210, 2297.0, 3.14, 31.28, 1;
    diskmon_sys1 diskmon Seconds:
        58_818, 0.497, 146_638, 90_580, 174_758, 863.9, 1.53, 3.12, 1;
    ec2_spark_swap_node0 rmem Microseconds:
        72_318, 0.604, 43_685, 28_417, 70_087, 170.6, 1.0, 5.34, 1;
    fiu_cheetah_10k fiu Nanoseconds:
        9_998, 0.11, 894, 8_314, 9_202, 4.3, 1.23, 277.07, 1;
    java_f2fs_blkparse blkparse Seconds:
        5_727, 0.175, 101_756, 131_143, 232_492, 419.5, 1.06, 2.56, 1;
    mqsim_tpcc_small ssdsim Nanoseconds:
        6_999, 0.374, 7_879, 12_663, 20_470, 22.3, 1.01, 216.73, 16;
    ms_dtrs ssdsim Nanoseconds:
        127_043, 0.11, 184_051, 1_104_913, 1_272_267, 725.6, 1.01, 153.21, 1;
    msr_prxy_0_first20k msr FileTime:
        20_000, 0.983, 1_615, 1_380, 2_980, 44.4, 15.05, 20.48, 1;
    msr_rsrch_1 msr FileTime:
        13_780, 0.997, 28_769, 144, 28_775, 163.3, 1.47, 178.37, 1;
    msr_wdev_1 msr FileTime:
        1_055, 1.0, 369, 0, 369, 5.3, 3.67, 50.87, 1;
    msr_wdev_3 msr FileTime:
        682, 0.984, 133, 183, 316, 2.9, 10.53, 33.92, 1;
    nexus5_install biotracer Seconds:
        17_952, 0.983, 265_188, 1_716, 266_758, 1609.9, 1.56, 27.64, 1;
    spc_fin1_flashsim50k flashsim Milliseconds:
        50_000, 0.416, 8_890, 27_763, 31_150, 129.0, 5.84, 0.48, 1;
    spc_fin1_ssdsim10k ssdsim Nanoseconds:
        10_000, 0.592, 3_734, 3_888, 7_322, 28.5, 3.32, 0.48, 22;
    sqlite_wal_insert_ext4_discard wiscsee Seconds:
        20_000, 0.952, 16_545, 47, 16_548, 171.9, 2.66, 1.0, 1;
    ssdmodel_iozone100k disksim Milliseconds:
        100_000, 1.0, 271_320, 0, 271_320, 35148.4, 33.16, 16.07, 1;
    tencent_cbs_sample tencent Seconds:
        50_000, 0.51, 209_875, 139_099, 348_239, 831.3, 1.03, 1554.42, 2038;
};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FLASHGC_TRACES").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: FLASHGC_TRACES does not name the folder of the public traces");
    }
    folder
}

fn native_file(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("raw_")).unwrap()
}

/// Returns a row in the form of the normalised copies. The exact time is converted by the same
/// floating-point computation as in the copy: the native number times the factor to microseconds.
fn row(request: &Request, unit: Unit) -> String {
    let ns = request.time_ns;
    let decimal = |digits: usize| -> f64 {
        let unit = 10u64.pow(digits as u32);
        format!("{}.{:0digits$}", ns / unit, ns % unit).parse().unwrap()
    };
    let us = match unit {
        Unit::FileTime => (ns / 100) as f64 / 10.0,
        Unit::Seconds => decimal(9) * 1e6,
        Unit::Milliseconds => decimal(6) * 1e3,
        Unit::Microseconds => (ns / 1000) as f64,
        Unit::Nanoseconds => ns as f64 / 1e3,
    };
    let op = match request.op {
        Op::Write => 'W',
        Op::Read => 'R',
        Op::Trim => 'D',
        Op::Dirty => 'M',
        Op::Clean => 'C',
        Op::Flush => 'F',
    };
    format!("{us:.3},{op},{},{},{}", request.offset, request.size, request.device)
}

#[test]
fn native_files_give_exactly_the_normalised_rows() {
    let Some(folder) = folder() else { return };
    for known in KNOWN {
        let folder = folder.join(known.name);
        let options =
            ReadOptions { device_numbers: DeviceNumbers::Ranked, ..ReadOptions::default() };
        let reader = TraceReader::open(native_file(&folder), &options).unwrap();
        assert_eq!(reader.format().name, known.format, "{}: detected format", known.name);
        let mut copy = String::new();
        let file = fs::File::open(folder.join(format!("{}.csv.zst", known.name))).unwrap();
        zstd::Decoder::new(file).unwrap().read_to_string(&mut copy).unwrap();
        let mut rows = copy.lines();
        assert_eq!(rows.next(), Some("time_us,op,offset_bytes,size_bytes,dev"));
        let mut count = 0;
        for request in reader.requests() {
            count += 1;
            let found = row(&request.unwrap(), known.unit);
            assert_eq!(Some(found.as_str()), rows.next(), "{}: row {count}", known.name);
        }
        assert_eq!(rows.next(), None, "{}: more rows in the copy", known.name);
        assert_eq!(count, known.records, "{}", known.name);
    }
}

/// Returns a value rounded to the number of decimals in the README.
fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10f64.powi(decimals);
    (value * unit).round() / unit
}

/// Computes Tables 2 and 3 of the d-choices paper by their definitions: page requests, percent of
/// writes among them, percent of the pages that are only read, and percent of the pages that
/// receive 20, 40, 60 and 80% of the page requests.
fn naive(requests: &[Request], paging: Paging) -> (u64, f64, f64, [f64; 4]) {
    let mut accesses: HashMap<(u32, i64), (u64, u64)> = HashMap::new();
    for request in requests.iter().filter(|request| request.op != Op::Trim && request.size > 0) {
        let first = request.offset.div_euclid(4096);
        let end = match paging {
            Paging::Covered => (request.offset + request.size as i64 + 4095).div_euclid(4096),
            _ => first + request.size.div_ceil(4096) as i64,
        };
        for page in first..end {
            let (writes, reads) = accesses.entry((request.device, page)).or_default();
            *(if request.op == Op::Write { writes } else { reads }) += 1;
        }
    }
    let writes: u64 = accesses.values().map(|(writes, _)| writes).sum();
    let mut counts: Vec<u64> = accesses.values().map(|(writes, reads)| writes + reads).collect();
    counts.sort_unstable();
    counts.reverse();
    let (all, pages) = (counts.iter().sum::<u64>(), counts.len() as f64);
    let percent = |part: f64, whole: f64| 100.0 * part / whole;
    let locality = [1, 2, 3, 4].map(|fifths| {
        let enough = |n: &usize| 5 * counts[..*n].iter().sum::<u64>() >= fifths * all;
        // Sums grow with n, so a bisection finds the smallest n that is enough.
        let (mut below, mut least) = (0, counts.len());
        while least - below > 1 {
            let middle = (below + least) / 2;
            *(if enough(&middle) { &mut least } else { &mut below }) = middle;
        }
        percent(least as f64, pages)
    });
    let only_read = accesses.values().filter(|(writes, _)| *writes == 0).count() as f64;
    (all, percent(writes as f64, all as f64), percent(only_read, pages), locality)
}

#[test]
fn locality_and_data_only_read_are_those_of_a_naive_count() {
    let Some(folder) = folder() else { return };
    for known in KNOWN {
        let path = folder.join(known.name).join(format!("{}.csv.zst", known.name));
        let open = || TraceReader::open(&path, &ReadOptions::default()).unwrap();
        let requests: Vec<Request> = open().requests().map(Result::unwrap).collect();
        for paging in [Paging::Covered, Paging::Rounded] {
            let options = PagingOptions { paging, ..PagingOptions::default() };
            let stat = TraceStat::of(open(), options).unwrap();
            let (all, writes, only_read, locality) = naive(&requests, paging);
            let name = known.name;
            assert_eq!(stat.page_requests, all, "{name}: page requests");
            let near = |found: f64, exact: f64| (found - exact).abs() < 1e-9;
            assert!(near(stat.page_write_percent, writes), "{name}: {writes}");
            assert!(near(stat.read_only_percent, only_read), "{name}: {only_read}");
            for (found, exact) in stat.locality_percent.into_iter().zip(locality) {
                assert!(near(found, exact), "{name}: {found}, by the book {exact}");
            }
        }
    }
}

#[test]
fn statistics_are_those_of_the_readme() {
    let Some(folder) = folder() else { return };
    for known in KNOWN {
        let folder = folder.join(known.name);
        for path in [native_file(&folder), folder.join(format!("{}.csv.zst", known.name))] {
            let reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
            let stat = TraceStat::of(reader, PagingOptions::default()).unwrap();
            let name = path.display();
            assert_eq!(stat.requests, known.records, "{name}: records");
            assert_eq!(rounded(stat.write_share, 3), known.write_share, "{name}: write share");
            assert_eq!(stat.pages_written, known.pages_written, "{name}: pages written");
            assert_eq!(stat.pages_read, known.pages_read, "{name}: pages read");
            assert_eq!(stat.pages, known.pages, "{name}: pages");
            let mib = stat.written_bytes as f64 / (1 << 20) as f64;
            assert_eq!(rounded(mib, 1), known.written_mib, "{name}: MiB written");
            assert_eq!(rounded(stat.overwrite, 2), known.overwrite, "{name}: overwrite");
            let gib = stat.span_bytes as f64 / (1 << 30) as f64;
            assert_eq!(rounded(gib, 2), known.span_gib, "{name}: span");
            assert_eq!(stat.devices, known.devices, "{name}: devices");
            assert_eq!(stat.others.skipped_lines, 0, "{name}: skipped lines");
        }
    }
}
