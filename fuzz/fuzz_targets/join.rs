//! Any bytes as an answer that may call the gateway's own tools.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::join(bytes));
