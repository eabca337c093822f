//! Fuzzes the PDUs of a host of NVMe/TCP.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flashgc_fuzz::nvme(data));
