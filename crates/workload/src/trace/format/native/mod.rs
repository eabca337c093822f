//! `flashgc`: flashgc's own compact binary format. It has versions and checksums, and can be read
//! from any block on.
//!
//! A file has a header, blocks, an index of the blocks, and a trailer. `docs/trace-formats.md`
//! describes every byte of them; `layout` is the code for it.

pub(crate) mod layout;
mod stream;
mod writer;

pub use writer::NativeWriter;

use super::Format;

pub(super) static FORMAT: Format = Format {
    name: "flashgc",
    summary: "our own binary format, which `trace convert` writes: compact, checksummed, seekable",
    columns: "blocks of up to 4096 requests: time (ns), operation, offset (bytes), size (bytes), \
              device; deltas in variable-length integers",
    example: "",
    detection: "the first 8 bytes, 89 46 47 43 0d 0a 1a 0a",
    traps: "",
    single_device: false,
    references: false,
    sniff: |sample| if sample.bytes.starts_with(&layout::MAGIC) { super::MARKED } else { 0 },
    open: stream::open,
};
