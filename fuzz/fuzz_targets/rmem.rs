//! Fuzzes the reader of the `rmem` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("rmem", data));
