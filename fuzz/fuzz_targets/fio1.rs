//! Fuzzes the reader of the `fio1` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("fio1", data));
