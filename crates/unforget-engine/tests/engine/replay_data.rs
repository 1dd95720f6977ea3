//! Replays every recorded session of the data folder: each file with one window and one dialect.

use std::path::{Path, PathBuf};

use unforget_engine::Engine;
use unforget_engine::prompt::Shape;
use unforget_engine::replay::{Prices, ReplayOptions, replay};
use unforget_wire::Dialect;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if path.is_dir() {
            files(&path, found);
        } else if matches!(kind, "jsonl" | "json" | "traj") {
            found.push(path);
        }
    }
}

#[test]
fn every_prompt_of_every_recorded_session_is_valid() {
    let folder = std::env::var("UNFORGET_DATA").map_or_else(
        |_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    if !folder.is_dir() {
        eprintln!("skipped: no recorded sessions at {}", folder.display());
        return;
    }
    let mut found = Vec::new();
    files(&folder, &mut found);
    found.sort();
    let mut calls = 0;
    for (index, path) in found.iter().enumerate() {
        let window = [8_192, 32_768, 131_072][index % 3];
        let dialect = Dialect::ALL[index / 3 % Dialect::ALL.len()];
        let engine = Engine::in_memory();
        let shape = Shape::new(window, None, dialect);
        let prices = Prices { input: 1.0, write: 1.0, read: 0.1, cache_ttl_ms: 300_000 };
        let options = ReplayOptions { shape, model: None, prices, provider: None, validate: true, facts: 0 };
        // Files other than transcripts do not matter here.
        let Ok(report) = replay(&engine, path, &options, &mut |_, _, _| ()) else { continue };
        let place = format!("{} at {window} for {}", path.display(), dialect.name());
        assert!(report.rejected.is_empty(), "I9: {place}: {:?}", report.rejected[0]);
        assert!(report.too_large.is_empty(), "I10: {place}: {:?}", report.too_large[0]);
        assert!(report.without_request.is_empty(), "I11: {place}: {:?}", report.without_request);
        assert!(report.unproved.is_empty(), "I6: {place}: {:?}", report.unproved);
        assert!(report.calls.iter().all(|call| call.prompt.upper <= report.budget), "I10: {place}");
        calls += report.calls.len();
    }
    assert!(calls > 1_000, "only {calls} calls were found");
}
