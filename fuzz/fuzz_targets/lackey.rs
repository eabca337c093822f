//! Fuzzes the reader of the `lackey` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("lackey", data));
