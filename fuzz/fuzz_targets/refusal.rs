//! Any bytes as what a provider says when it refuses.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::refusal(bytes));
