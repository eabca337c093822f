//! Fuzzes the reader of the `fio2` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("fio2", data));
