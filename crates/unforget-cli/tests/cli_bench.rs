//! The benches over recorded sessions: on a generated one, and on real ones if they are there.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, reason = "tests")]

mod support;

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::Place;

fn generated(place: &Place) -> PathBuf {
    let path = place.path("generated.jsonl");
    unforget_bench::write_workload(&mut File::create(&path).unwrap(), 700, 7).unwrap();
    path
}

/// A large and a usual session of the data folder; none, with a message, if it is not there.
fn recorded() -> Vec<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("UNFORGET_DATA").map_or(usual, PathBuf::from);
    let files = ["claude-code-entire-cli/bc-cb77bb88fa-1.jsonl", "codex-agentv/00-34f597b72d-1.jsonl"];
    let files: Vec<_> = files.iter().map(|file| folder.join(file)).filter(|file| file.is_file()).collect();
    if files.is_empty() {
        eprintln!("skipped: no recorded sessions in {}", folder.display());
    }
    files
}

fn ran(place: &Place, bench: &str, window: &str, files: &[PathBuf]) -> Value {
    let mut command = place.command();
    command.args(["bench", bench, "--window", window, "--json"]).args(files);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn policies_add_up_and_looking_at_the_cache_costs_no_more() {
    let place = Place::new();
    let mut sets = vec![(vec![generated(&place)], "8k")];
    sets.extend(Some((recorded(), "32k")).filter(|(files, _)| !files.is_empty()));
    for (files, window) in sets {
        let json = ran(&place, "policies", window, &files);
        assert_eq!(
            (json["sessions"].as_u64(), json["skipped"].as_u64()),
            (Some(files.len() as u64), Some(0))
        );
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 24, "six policies by four price tables");
        let cost = |prices: &str, policy: &str| {
            let row = rows.iter().find(|row| row["prices"] == prices && row["policy"] == policy).unwrap();
            let (sent, cached) = (row["sent"].as_u64().unwrap(), row["cached"].as_u64().unwrap());
            assert!(cached < sent, "{row}");
            assert_eq!(
                row["refused"].as_u64().unwrap() * u64::from(policy.starts_with("unforget")),
                0,
                "{row}"
            );
            row["cost"].as_f64().unwrap()
        };
        for prices in ["anthropic", "anthropic-1h", "openai", "gemini"] {
            let ours = cost(prices, "unforget");
            assert!(ours <= cost(prices, "unforget-blind") * 1.02, "{prices}");
            assert!(ours < cost(prices, "sliding-window"), "{prices}");
        }
    }
}

#[test]
fn pins_are_always_there_and_no_writer_invents_an_identifier() {
    let place = Place::new();
    let mut sets = vec![(vec![generated(&place)], "8k")];
    sets.extend(Some((recorded(), "32k")).filter(|(files, _)| !files.is_empty()));
    for (files, window) in sets {
        let json = ran(&place, "needles", window, &files);
        let again = ran(&place, "needles", window, &files);
        assert_eq!(json["writers"][0], again["writers"][0], "seeded");
        for writer in json["writers"].as_array().unwrap() {
            assert_eq!(writer["pins"]["wanted"], writer["pins"]["present"], "{}", writer["writer"]);
            // Generated words are hardly ever identifiers.
            let least = if window == "32k" { 50 } else { 0 };
            assert!(writer["identifiers"]["shown"].as_u64() >= Some(least), "{}", writer["identifiers"]);
            assert_eq!(writer["identifiers"]["invented"], 0, "{}", writer["identifiers"]);
            assert_eq!(writer["too_deep"], 0);
            let all = writer["rows"].as_array().unwrap();
            let all: Vec<_> = all.iter().filter(|row| row["kind"] == "all" && row["from"] == "all").collect();
            assert_eq!(all.len(), 3, "after 1, 3 and 6 breaks");
            assert!(all.iter().all(|row| row["any"].as_f64() > Some(0.6)), "{all:?}");
        }
        let inventing = &json["writers"][2];
        let refused = |job: &&Value| job["why"] == "invented";
        assert!(
            inventing["jobs"].as_array().unwrap().iter().any(|job| refused(&job)),
            "{}",
            inventing["jobs"]
        );
    }
}
