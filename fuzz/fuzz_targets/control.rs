//! Fuzzes the requests of a drive's control socket.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::control(data));
