//! Fuzzes the reader of the `vscsi2` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("vscsi2", data));
