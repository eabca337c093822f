//! Fuzzes the reader of the `pg-waldump` format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::format("pg-waldump", data));
