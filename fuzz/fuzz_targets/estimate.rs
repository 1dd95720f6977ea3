//! Any text, counted whole and in two pieces.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::estimate(bytes));
