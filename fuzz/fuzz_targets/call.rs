//! Any bytes as a request body, and its messages put back.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::call(bytes));
