//! A pattern, a newline, and the bytes that it is looked for in.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::grep(bytes));
