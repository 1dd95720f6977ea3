//! Any bytes as rows of a host's database, each record decoded as those of every host.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::rows(bytes));
