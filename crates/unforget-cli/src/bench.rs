//! `unforget bench`: speed, size and recall on this machine.

mod gateway;
mod grep;
mod growth;
mod hints;
mod import;
mod memory;
mod needles;
mod policies;
mod questions;
mod raw;
mod recall;
mod rpc;
mod sessions;
mod summaries;
mod turns;
mod workload;

use std::time::Instant;

use serde::Serialize;
use unforget_engine::replay::quantile;

use crate::app::App;
use crate::args::BenchCommand;
use crate::failure::Outcome;

/// Runs a bench.
pub(crate) fn run(app: &mut App, command: &BenchCommand) -> Outcome {
    match command {
        BenchCommand::Growth(args) => growth::run(app, args),
        BenchCommand::Import(args) => import::run(app, args),
        BenchCommand::Grep(args) => grep::run(app, args),
        BenchCommand::Gateway(args) => gateway::run(app, args),
        BenchCommand::Rpc(args) => rpc::run(app, args),
        BenchCommand::Recall(args) => recall::run(app, args),
        BenchCommand::Policies(args) => policies::run(app, args),
        BenchCommand::Needles(args) => needles::run(app, args),
        BenchCommand::Questions(args) => questions::run(app, args),
        BenchCommand::Hints(args) => hints::run(app, args),
        BenchCommand::Summaries(args) => summaries::run(app, args),
    }
}

/// Times of repeated runs, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Times {
    count: u64,
    p50: u64,
    p99: u64,
    max: u64,
}

impl Times {
    fn of(us: &[u64]) -> Self {
        let at = |permille| quantile(us.iter().copied(), permille);
        Self { count: us.len() as u64, p50: at(500), p99: at(990), max: at(1_000) }
    }
}

/// Runs work and measures it in microseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let started = Instant::now();
    let done = work();
    (done, started.elapsed().as_micros() as u64)
}
