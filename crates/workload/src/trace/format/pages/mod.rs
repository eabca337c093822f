//! `pages`: flashgc's own compact format for references to memory. It has versions and checksums.
//!
//! A file has a header, blocks, and an end. `docs/trace-formats.md` describes every byte of them;
//! `layout` is the code for it.

mod layout;
mod stream;
mod writer;

pub(crate) use writer::PagesWriter;

use super::Format;

pub(super) static FORMAT: Format = Format {
    name: "pages",
    summary: "our own format for references to memory, which `trace record` writes: compact, \
              checksummed",
    columns: "blocks of up to 65536 references: read or write, page; deltas in variable-length \
              integers",
    example: "",
    detection: "the first 8 bytes, 89 46 47 50 0d 0a 1a 0a",
    traps: "a recording may leave out references that make no difference to an LRU memory of a \
            given size or more; the file states that size in pages",
    single_device: true,
    references: true,
    sniff: |sample| if sample.bytes.starts_with(&layout::MAGIC) { super::MARKED } else { 0 },
    open: stream::open,
};
