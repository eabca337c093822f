//! Helpers that the trace tests share: the corpus of invented traces, and reading from memory.
#![allow(dead_code)]

use std::io::Cursor;
use std::path::PathBuf;

use flashgc_workload::Op;
use flashgc_workload::trace::{ReadOptions, Request, TraceError, TraceReader};

/// Returns the folder of fuzzing data, whose corpus these tests also read.
pub fn fuzz_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns every corpus file: its format (or `packed`), its name and its content.
pub fn corpus() -> Vec<(String, String, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(fuzz_folder().join("corpus")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.ends_with("control") {
            continue; // requests of the stored drive's control socket
        }
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((name(&folder), name(&file), std::fs::read(&file).unwrap()));
        }
    }
    files.sort();
    files
}

pub fn reader(bytes: &[u8], options: &ReadOptions) -> Result<TraceReader, TraceError> {
    TraceReader::from_stream("memory", Box::new(Cursor::new(bytes.to_vec())), options)
}

/// Reads all requests of a trace in memory.
pub fn read(bytes: &[u8]) -> Result<Vec<Request>, TraceError> {
    reader(bytes, &ReadOptions::default())?.requests().collect()
}

/// Returns a request as a row of the normalised CSV.
pub fn row(request: &Request) -> String {
    let (us, ns) = (request.time_ns / 1000, request.time_ns % 1000);
    let op = match request.op {
        Op::Write => 'W',
        Op::Read => 'R',
        Op::Trim => 'D',
        Op::Dirty => 'M',
        Op::Clean => 'C',
        Op::Flush => 'F',
    };
    format!("{us}.{ns:03},{op},{},{},{}", request.offset, request.size, request.device)
}

/// Returns the normalised CSV of requests.
pub fn csv(requests: &[Request]) -> String {
    let mut text = "time_us,op,offset_bytes,size_bytes,dev\n".to_owned();
    for request in requests {
        text.push_str(&row(request));
        text.push('\n');
    }
    text
}
