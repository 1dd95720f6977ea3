//! Any bytes as a transcript, and each record decoded as one format.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unforget_fuzz::transcript(
    unforget_wire::Format::CodexExec,
    bytes
));
