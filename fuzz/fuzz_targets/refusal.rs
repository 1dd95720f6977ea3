//! Any bytes as a provider's refusal.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::refusal(bytes));
