//! Any bytes as an answer in which there may be calls of the gateway's own.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::join(bytes));
