//! Fuzzes the reader of the `fio3` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("fio3", data));
