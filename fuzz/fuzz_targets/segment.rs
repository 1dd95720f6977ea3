//! The stored bytes of a posting segment.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::segment(bytes));
