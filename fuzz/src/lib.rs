//! The code of the fuzz targets. Traces are read to the end, once strictly and once without bad
//! lines: no input may panic, hang, or make requests that end beyond 2^63. Bytes at the control
//! socket are refused, or are one request that encodes to the same bytes. Bytes from an NVMe/TCP
//! host must be answered without a panic.

use std::io::Cursor;
use std::sync::LazyLock;

use flashgc_front::control::request::Request;
use flashgc_front::nvme::{NvmeExport, answers};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use flashgc_workload::trace::format::{Format, find};
use flashgc_workload::trace::{OnBadLine, PagingOptions, ReadOptions, StatBuilder, TraceReader};

/// Reads bytes as the format that `FORMAT` in the environment names.
pub fn format(data: &[u8]) {
    static FORMAT: LazyLock<&Format> = LazyLock::new(|| {
        let name = std::env::var("FORMAT").expect("FORMAT names a trace format");
        find(&name).unwrap_or_else(|error| panic!("{error}"))
    });
    read(Some(*FORMAT), data);
}

/// Reads bytes as the detected format.
pub fn any(data: &[u8]) {
    read(None, data);
}

/// Reads bytes as the kind and the body of a control request.
pub fn control(data: &[u8]) {
    let Some((kind, body)) = data.split_first_chunk() else { return };
    let kind = u16::from_le_bytes(*kind);
    if let Ok(request) = Request::decode(kind, body) {
        assert_eq!(request.encode(), (kind, body.to_vec()));
    }
}

/// Answers bytes as if an NVMe/TCP host had sent them.
pub fn nvme(data: &[u8]) {
    static ENGINE: LazyLock<Engine<Ram>> =
        LazyLock::new(|| Engine::start(Ram::new(64)).expect("a thread can be started"));
    answers(&ENGINE.queue(), &NvmeExport::default(), data);
}

fn read(format: Option<&'static Format>, data: &[u8]) {
    for on_bad_line in [OnBadLine::Stop, OnBadLine::Skip] {
        let options = ReadOptions { format, on_bad_line, ..ReadOptions::default() };
        let stream = Box::new(Cursor::new(data.to_vec()));
        let Ok(mut reader) = TraceReader::from_stream("fuzz", stream, &options) else { continue };
        let mut stat = StatBuilder::new(PagingOptions::default());
        let mut block = Vec::new();
        while let Ok(true) = reader.next_block(&mut block) {
            for request in &block {
                assert!(request.offset.checked_add_unsigned(request.size).is_some());
            }
            // The statistics count every page, and a few lines can name gigabytes of pages. So
            // requests of 1 MiB or more are left out.
            block.retain(|request| request.size < 1 << 20);
            if stat.add(&block, |_, _| {}).is_err() {
                break;
            }
        }
    }
}
