//! Fuzzes the reader of the format that `FORMAT` in the environment names.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format(data));
