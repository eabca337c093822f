//! Every registered format on small invented traces: it is detected and read exactly with any
//! compression, and damaged traces never cause a panic.

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::catch_unwind;

use crate::trace_common::{corpus, csv, fuzz_folder, read, reader};
use flashgc_workload::trace::format::{FORMATS, find};
use flashgc_workload::trace::{Fault, OnBadLine, ReadOptions, Request, TraceReader};

#[test]
fn every_format_is_detected_and_gives_the_expected_rows() {
    let mut tested = BTreeSet::new();
    for (format, file, bytes) in corpus() {
        if format == "packed" {
            continue;
        }
        let reader = reader(&bytes, &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{format}/{file}: {error}"));
        assert_eq!(reader.format().name, format, "{file}: detected format");
        let requests: Vec<Request> = reader.requests().collect::<Result<_, _>>().unwrap();
        let expected = fuzz_folder().join("expected").join(format!("{format}.csv"));
        assert_eq!(csv(&requests), std::fs::read_to_string(expected).unwrap(), "{format}/{file}");
        tested.insert(format);
    }
    let registered: BTreeSet<String> = FORMATS.iter().map(|f| f.name.to_owned()).collect();
    assert_eq!(tested, registered);
}

#[test]
fn every_format_is_described_and_its_example_is_a_line_of_it() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trace-formats.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let (docs_words, plain) = (words(&docs), words(&docs.replace('`', "")));
    for format in FORMATS {
        let name = format.name;
        for text in [format.summary, format.columns, format.detection, format.traps] {
            let text = words(text);
            let found = docs_words.contains(&text) || plain.contains(&text.replace('`', ""));
            assert!(found, "docs/trace-formats.md does not say of {name}: {text}");
        }
        assert!(docs.contains(&format!("`{name}`")), "docs/trace-formats.md does not name {name}");
        assert!(!format.summary.is_empty() && !format.columns.is_empty(), "{name}");
        assert_eq!(find(name).unwrap().name, name);
        let header = match name {
            "fio2" => "fio version 2 iolog\n",
            "fio3" => "fio version 3 iolog\n",
            "csv" => "time_us,op,offset_bytes,size_bytes,dev\n",
            _ => "",
        };
        if !format.example.is_empty() {
            assert!(docs.contains(format.example.trim()), "{name}: its example is not in the docs");
            let text = format!("{header}{}\n", format.example);
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            let requests = reader(text.as_bytes(), &options).unwrap().requests();
            let requests: Vec<Request> = requests.collect::<Result<_, _>>().unwrap();
            assert_eq!(requests.len(), 1, "{name}: {text}");
        }
    }
    let error = find("mrs").unwrap_err();
    assert_eq!(error.to_string(), "unknown trace format 'mrs'; hint: did you mean 'msr'?");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn tar(bytes: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append_data(&mut header, "trace", bytes).unwrap();
    builder.into_inner().unwrap()
}

type Packer = fn(&[u8]) -> Vec<u8>;

const PACKERS: [(&str, Packer); 5] =
    [("gzip", gzip), ("bzip2", bzip2), ("xz", xz), ("zstd", zstd), ("tar", tar)];

/// Returns an MSR trace of about 200 KB, so that reading needs several steps, and any cut loses
/// many requests.
fn long_trace() -> Vec<u8> {
    let mut text = String::new();
    for i in 0..4000u64 {
        let offset = i * 7919 % 100_000 * 4096;
        text += &format!("{},web,0,Write,{offset},4096,{}\n", 128_166_372_003_061_629 + i, i % 97);
    }
    text.into_bytes()
}

#[test]
fn packed_traces_read_like_plain_ones() {
    let plain = long_trace();
    let expected = read(&plain).unwrap();
    assert_eq!(expected.len(), 4000);
    for (outer_name, outer) in PACKERS {
        assert_eq!(read(&outer(&plain)).unwrap(), expected, "{outer_name}");
        for (inner_name, inner) in PACKERS {
            let packed = outer(&inner(&plain));
            let mut reader = reader(&packed, &ReadOptions::default()).unwrap();
            assert_eq!(reader.compression(), [outer_name, inner_name]);
            let (mut all, mut block) = (Vec::new(), Vec::new());
            while reader.next_block(&mut block).unwrap() {
                all.extend_from_slice(&block);
            }
            assert_eq!(all, expected, "{outer_name} of {inner_name}");
        }
        // Several files that were compressed separately and joined are one trace. Tar archives are
        // not joined in this way.
        if outer_name != "tar" {
            let (first, second) = plain.split_at(plain.len() / 2);
            let joined = [outer(first), outer(second)].concat();
            assert_eq!(read(&joined).unwrap(), expected, "two members of {outer_name}");
        }
    }
}

#[test]
fn a_cut_in_packed_data_is_an_error_that_names_the_packing() {
    let plain = long_trace();
    for (name, pack) in PACKERS {
        let packed = pack(&plain);
        for part in [3, 2] {
            let cut = &packed[..packed.len() * (part - 1) / part];
            let error = read(cut).unwrap_err();
            assert_eq!(error.fault, Fault::Damaged, "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("the {name} data are cut off after")), "{text}");
            assert!(text.contains("; hint: ") && !text.contains('\n'), "{text}");
        }
        let mut flipped = packed;
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x10;
        if name != "tar" {
            let error = read(&flipped).unwrap_err();
            assert_eq!(error.fault, Fault::Damaged, "{name}: {error}");
        }
    }
    let nested = PACKERS.iter().cycle().take(7).fold(plain, |bytes, (_, pack)| pack(&bytes));
    let error = read(&nested).unwrap_err();
    assert!(error.to_string().contains("more than 5 layers"), "{error}");
}

/// The generator SplitMix64 (Steele, Lea, Flood 2014). With it, the mutations are the same in every
/// run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }
}

/// Bytes that parsers often treat specially.
const TELLING: &[u8] = b"\0\n\r\t ,.-+0189eERWD\x1f\x8b\x28\xb5\xff\x80\x7f";

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = TELLING[random.below(TELLING.len())],
            2 => bytes.truncate(at),
            3 => bytes.insert(at, TELLING[random.below(TELLING.len())]),
            4 if !bytes.is_empty() => {
                let end = (at + random.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                let end = (at + random.below(10)).min(bytes.len());
                bytes.splice(at.min(end)..end, b"99999999999999999999".iter().copied());
            }
        }
    }
}

/// Reads as much as possible. Returns the number of requests.
fn read_any(bytes: &[u8], options: &ReadOptions) -> Option<usize> {
    let mut reader = reader(bytes, options).ok()?;
    let (mut count, mut block) = (0, Vec::new());
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => count += block.len(),
            Ok(false) => return Some(count),
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains('\n') && text.starts_with("memory:"), "{text}");
                return None;
            }
        }
        for request in &block {
            assert!(request.offset.checked_add_unsigned(request.size).is_some(), "{request:?}");
        }
    }
}

#[test]
fn damaged_traces_never_panic() {
    let corpus = corpus();
    let mut random = Random(1);
    for (format, file, bytes) in &corpus {
        let named = find(format).ok();
        let options = [
            ReadOptions::default(),
            ReadOptions { format: named, on_bad_line: OnBadLine::Skip, ..ReadOptions::default() },
        ];
        assert!(read_any(bytes, &options[0]).is_some(), "{format}/{file}");
        for round in 0..1000 {
            let mut mutant = bytes.clone();
            mutate(&mut mutant, &mut random);
            let read = || options.iter().filter_map(|o| read_any(&mutant, o)).count();
            let result = catch_unwind(read);
            assert!(result.is_ok(), "{format}/{file}, round {round}: {mutant:?}");
        }
    }
    // Any format is forced on any file.
    for (_, _, bytes) in &corpus {
        for format in FORMATS {
            for on_bad_line in [OnBadLine::Stop, OnBadLine::Skip] {
                let format = Some(*format);
                read_any(bytes, &ReadOptions { format, on_bad_line, ..ReadOptions::default() });
            }
        }
    }
}

#[test]
fn a_file_is_read_with_its_progress_and_ranked_devices() {
    let path = fuzz_folder().join("corpus/ssdsim/example");
    let size = std::fs::metadata(&path).unwrap().len();
    let native: BTreeSet<u32> = devices(&path, &ReadOptions::default());
    assert_eq!(native, [0, 1, 3].into());
    let device_numbers = flashgc_workload::trace::DeviceNumbers::Ranked;
    let ranked = ReadOptions { device_numbers, ..ReadOptions::default() };
    assert_eq!(devices(&path, &ranked), [0, 1, 2].into());
    // Only the chosen devices get ranks.
    let chosen = ReadOptions { devices: vec![3, 1], ..ranked };
    assert_eq!(devices(&path, &chosen), [0, 1].into());
    let reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    let progress = reader.progress();
    assert_eq!(reader.requests().count(), 9);
    assert_eq!((progress.read(), progress.total), (size, size));
}

fn devices(path: &std::path::Path, options: &ReadOptions) -> BTreeSet<u32> {
    let requests = TraceReader::open(path, options).unwrap().requests();
    requests.map(|request| request.unwrap().device).collect()
}
