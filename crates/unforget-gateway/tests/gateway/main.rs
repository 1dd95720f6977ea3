//! Integration tests of `unforget-gateway`, one binary: each module is one subject.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod calls;
mod counts;
mod cuts;
mod fair;
mod forks;
mod kept;
mod limits;
mod pages;
mod paths;
mod person;
mod pins;
mod providers;
mod retries;
mod rounds;
mod serve_tls;
mod standing;
mod support;
mod told;
mod trips;
mod upstreams;
