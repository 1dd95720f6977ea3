//! A host's input on one connection: lines of JSON-RPC, or anything else.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::protocol(bytes));
