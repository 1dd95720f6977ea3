//! The guardian on real transcripts. Skipped if there are none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::guard_common::Place;
use unforget_guard::{Outcome, Problem, inspect, repair, survey, transcripts, undo};

fn data() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = PathBuf::from(std::env::var_os("UNFORGET_DATA").unwrap_or_else(|| default.into()));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: there is no folder {}", folder.display());
    None
}

fn problems(path: &Path) -> Vec<Problem> {
    inspect(path).unwrap().findings.iter().map(|finding| finding.problem).collect()
}

/// Every case of the catalogue is found under its name.
#[test]
fn f046_f047_f094_all_repair_cases_are_found() {
    let Some(data) = data() else { return };
    let cases: serde_json::Value =
        serde_json::from_slice(&fs::read(data.join("repair-cases/cases.json")).unwrap()).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 19);
    for case in cases {
        let path = data.join("repair-cases").join(case["window"].as_str().unwrap());
        let found = problems(&path);
        for kind in case["kinds"].as_array().unwrap() {
            // A call at the cut end of a window looks as if it were still running.
            let wanted: &[Problem] = match kind.as_str().unwrap() {
                "orphan-call" => &[Problem::OrphanCall, Problem::RunningCall, Problem::CutOffCall],
                "orphan-result" => &[Problem::OrphanResult],
                "two-json-objects-on-one-line" => &[Problem::GluedLine],
                "error-mid-toolcall" | "aborted-mid-toolcall" | "partialJson" => &[Problem::CutOffCall],
                // Hosts leave aborted messages out; without a call they need no repair.
                _ => continue,
            };
            assert!(
                wanted.iter().any(|problem| found.contains(problem)),
                "{}: {kind}: {found:?}",
                case["id"]
            );
        }
    }
}

/// Mending terminates, keeps every other line, is stable, and can be undone.
#[test]
fn f046_f047_f049_f052_f094_all_real_transcripts_are_mended_and_restored() {
    let Some(data) = data() else { return };
    let (files, unreadable) = transcripts(&data);
    assert!(unreadable.is_empty() && files.len() > 80);
    let mut mended = 0;
    for path in files {
        let original = fs::read(&path).unwrap();
        let place = Place::of_bytes(&original);
        let Ok(done) = repair(&place.path) else { continue };
        assert_eq!(inspect(&place.path).unwrap().mendable(), 0, "{}", path.display());
        if done.outcome == Outcome::Sound {
            assert_eq!(fs::read(&place.path).unwrap(), original, "{}", path.display());
            continue;
        }
        mended += 1;
        let before: Vec<_> = original.split(|byte| *byte == b'\n').collect();
        let now = fs::read(&place.path).unwrap();
        let after: std::collections::HashSet<_> = now.split(|byte| *byte == b'\n').collect();
        let lost = before.iter().filter(|line| !after.contains(*line)).count();
        assert!(lost <= done.actions.len(), "{}: {lost} lines changed", path.display());
        undo(&place.path).unwrap();
        assert_eq!(fs::read(&place.path).unwrap(), original, "{}", path.display());
    }
    assert!(mended > 20, "{mended}");
}

/// A survey returns the results of single inspections, in order.
#[test]
fn a_survey_is_in_order() {
    let Some(data) = data() else { return };
    let (files, _) = transcripts(&data.join("repair-cases"));
    let mut seen = Vec::new();
    survey(&files, &mut |path, outcome| {
        assert_eq!(outcome.unwrap().findings, inspect(path).unwrap().findings);
        seen.push(path.to_path_buf());
    });
    assert_eq!(seen, files);
}
