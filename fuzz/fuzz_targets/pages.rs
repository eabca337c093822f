//! Fuzzes the reader of the `pages` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("pages", data));
