//! A pattern, a newline, and the bytes to search.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::grep(bytes));
