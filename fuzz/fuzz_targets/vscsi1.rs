//! Fuzzes the reader of the `vscsi1` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("vscsi1", data));
