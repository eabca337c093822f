//! Fuzzes the detection of trace formats, and decompression.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::any(data));
