//! Any bytes as an answer, streamed and whole.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::answer(bytes));
