//! Frequency tables: their pages and shares, every compression, and every fault.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::generate_common::{assert_distributed, counts, draw, spec};
use flashgc_workload::generate::GeneratorSpec;
use tempfile::TempDir;

/// Five offsets on three pages (1, 0 and 2^40 in this order), and one offset that is never
/// requested.
const TABLE: &str =
    "LBA,Frequency\r\n4096,10\r\n0,30\r\n4503599627370496,5\r\n8191,40\r\n512,15\r\n8192,0\r\n";
const SHARES: [f64; 4] = [0.5, 0.45, 0.05, 0.0];

fn file(folder: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn text(path: &Path) -> String {
    format!("frequency:path={}", path.display())
}

#[test]
fn offsets_become_pages_in_order_of_appearance_with_their_shares() {
    let folder = TempDir::new().unwrap();
    let table = text(&file(&folder, "table.csv", TABLE.as_bytes()));
    assert_eq!(spec(&table).fixed_pages(), Some(4));
    assert_eq!(spec("uniform").fixed_pages(), None);
    let drawn = draw(&table, 4, 1, 1_000_000);
    assert_distributed("table", &counts(&drawn, 4), &SHARES);
    // A larger drive gets the same commands. In a mixture the table still determines the number of
    // pages.
    assert_eq!(draw(&table, 1000, 1, 5000), drawn[..5000]);
    assert_eq!(spec(&format!("0.5*{table} + 0.5*uniform")).fixed_pages(), Some(4));
}

#[test]
fn line_ends_and_compression_make_no_difference() {
    let folder = TempDir::new().unwrap();
    let plain = TABLE.as_bytes();
    let expected = draw(&text(&file(&folder, "plain.csv", plain)), 4, 1, 1000);
    let gzip = || {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    };
    let bzip2 = || {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    };
    let xz = || {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    };
    for (name, content) in [
        ("blank-lines.csv", TABLE.replace("\r\n", "\r\n\r\n").into_bytes()),
        ("unix.csv", TABLE.replace("\r\n", "\n").into_bytes()),
        ("no-last-end.csv", TABLE.trim_end().as_bytes().to_vec()),
        ("table.csv.gz", gzip()),
        ("named-otherwise", zstd::encode_all(plain, 1).unwrap()),
        ("table.csv.bz2", bzip2()),
        ("table.csv.xz", xz()),
    ] {
        assert_eq!(draw(&text(&file(&folder, name, &content)), 4, 1, 1000), expected, "{name}");
    }
}

/// Returns the error of a table, without the path of its folder.
fn error(content: &[u8]) -> String {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "t.csv", content);
    let error = GeneratorSpec::parse(&text(&path)).expect_err("an error").to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn faults_are_named_with_line_and_column() {
    let hint = "; hint: a line is LBA,Frequency, for example 3154132992,132407";
    assert_eq!(
        error(b"LBA,Frequency\n0,1\n12,x7\n"),
        format!("t.csv:3:4: found 'x7', expected a number of requests, a whole number{hint}")
    );
    assert_eq!(
        error(b"LBA,Frequency\n-5,1\n"),
        format!(
            "t.csv:2:1: found '-5', expected an offset in bytes, a whole number below 2^64{hint}"
        )
    );
    assert_eq!(
        error(b"LBA,Frequency\n4096\n"),
        format!(
            "t.csv:2:5: found the end of the line, expected ',' and a number of requests{hint}"
        )
    );
    assert!(error(b"LBA,Frequency\n1,2,3\n").starts_with("t.csv:2:3: found '2,3', expected"));
    assert!(error(b"LBA,Frequency\n18446744073709551616,1\n").starts_with("t.csv:2:1: found"));
    let long = format!("LBA,Frequency\n0,{}\n", "z".repeat(10_000));
    assert!(error(long.as_bytes()).len() < 250);
    assert!(error(b"LBA,Frequency\n0,\x00\xff\n").starts_with("t.csv:2:3: found '\\x00\\xff',"));
    assert!(
        error(b"0,1\n").starts_with("t.csv:1:1: found '0,1', expected the header 'LBA,Frequency'")
    );
    assert_eq!(
        error(format!("LBA,Frequency\n0,1\n4096,{}\n", u64::MAX).as_bytes()),
        format!(
            "t.csv:3:1: found 18446744073709551615 more requests, \
             expected all of them to sum to less than 2^62{hint}"
        )
    );
}

#[test]
fn files_with_nothing_to_draw_from_are_refused() {
    for content in ["", "LBA,Frequency\r\n", "LBA,Frequency\n0,0\n"] {
        let error = error(content.as_bytes());
        assert!(
            error.starts_with("t.csv: found no requests, expected at least one; hint"),
            "{error}"
        );
    }
    let mut cut = zstd::encode_all(TABLE.as_bytes(), 1).unwrap();
    cut.truncate(cut.len() - 8);
    assert!(error(&cut).starts_with("t.csv: the zstd data are cut off"), "{}", error(&cut));
    let missing = GeneratorSpec::parse("frequency:path=/nowhere/t.csv").unwrap_err().to_string();
    assert!(
        missing.starts_with("/nowhere/t.csv: cannot open") && missing.contains("hint"),
        "{missing}"
    );
    let unnamed = GeneratorSpec::parse("frequency").unwrap_err().to_string();
    assert!(unnamed.starts_with("frequency needs the parameter 'path'"), "{unnamed}");
}

#[test]
fn a_drive_smaller_than_the_table_is_refused() {
    let folder = TempDir::new().unwrap();
    let table = spec(&text(&file(&folder, "t.csv", TABLE.as_bytes())));
    let error = table.open(3, 1).err().expect("an error").to_string();
    assert_eq!(
        error,
        "frequency: the table has 4 pages, the drive 3; \
         hint: use a drive with at least as many logical pages as the table"
    );
}

#[test]
fn real_volumes_are_drawn_with_their_own_hotness() {
    let Ok(folder) = std::env::var("FLASHGC_TRACES") else {
        println!("skipped: FLASHGC_TRACES is not set");
        return;
    };
    for volume in ["mds_0", "rsrch_0", "wdev_0"] {
        let path = Path::new(&folder).join(format!("msr_write_freq/{volume}.csv.zst"));
        let bytes = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
        let lines = String::from_utf8(bytes).unwrap();
        let (mut pages, mut requests) = (HashMap::new(), Vec::new());
        for line in lines.lines().skip(1) {
            let (offset, count) = line.split_once(',').unwrap();
            let next = pages.len();
            let page = *pages.entry(offset.parse::<u64>().unwrap() / 4096).or_insert(next);
            requests.resize(pages.len(), 0.0);
            requests[page] += count.parse::<f64>().unwrap();
        }
        let pages = pages.len() as u32;
        assert_eq!(spec(&text(&path)).fixed_pages(), Some(pages));
        let all: f64 = requests.iter().sum();
        let exact: Vec<f64> = requests.iter().map(|count| count / all).collect();
        let drawn = draw(&text(&path), pages, 7, 2_000_000);
        assert_distributed(volume, &counts(&drawn, pages), &exact);
    }
}

/// A table is read as a whole, so its decompressed size is limited.
#[test]
fn a_table_that_inflates_without_end_is_refused() {
    let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    packed.write_all(b"LBA,Frequency\n").unwrap();
    std::io::copy(&mut std::io::repeat(b'\n').take(300 << 20), &mut packed).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    let said = error(&packed);
    assert!(said.starts_with("t.csv: found a table of more than 268435456 bytes"), "{said}");
}
