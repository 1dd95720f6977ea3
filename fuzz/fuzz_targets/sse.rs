//! Any bytes as a stream of events, in pieces of any size.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::sse(bytes));
