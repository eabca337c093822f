//! Fuzzes the reader of the `flashsim` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("flashsim", data));
