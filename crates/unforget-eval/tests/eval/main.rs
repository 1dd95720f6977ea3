//! Floors of recall: small sets in any clone, the real ones where they are.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::path::PathBuf;

use unforget_bench::write_workload;
use unforget_eval::{Arm, Case, EvalSet, FullText, Ranking, Report, Row, Sources, run};
use unforget_recall::tuning::Tuning;

const SEED: u64 = 20_250_615;

fn measured(set: &EvalSet, index: impl Fn(&Case) -> Box<dyn Arm>) -> Report {
    let mut report = Report::default();
    for case in &set.cases {
        run(case, index(case).as_mut(), &mut || 0.0, &mut report).unwrap();
    }
    report
}

fn ours(set: &EvalSet) -> Report {
    measured(set, |case| Box::new(Ranking::new(&case.turns, Tuning::default())))
}

fn row<'a>(report: &'a Report, category: &str) -> &'a Row {
    report.categories.iter().find(|(name, _)| name == category).map(|(_, row)| row).unwrap()
}

/// What was said is found by its own words, and no worse than by SQLite's FTS5.
#[test]
fn known_items_of_a_generated_session_stand_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    write_workload(&mut std::fs::File::create(&path).unwrap(), 600, SEED).unwrap();
    let sets = Sources::read(&[path]).unwrap().sets(None, SEED).unwrap();
    let [set] = sets.as_slice() else { panic!("one set, not {}", sets.len()) };
    let (ours, fts5) = (ours(set), measured(set, |case| Box::new(FullText::new(&case.turns).unwrap())));
    let floors = [
        ("whole message", 0, 0.97),
        ("three words", 2, 0.90),
        ("five words", 2, 0.85),
        ("identifier", 0, 0.9),
    ];
    for (category, head, floor) in floors {
        let [own, theirs] = [&ours, &fts5].map(|report| row(report, category).recall[head]);
        assert!(own >= floor && own >= theirs - 0.02, "{category}: {own} (FTS5 {theirs}), floor {floor}");
    }
}

/// The floors are a point below the measured values of both halves (docs/figures.md).
#[test]
fn recall_of_real_evidence_stays_above_its_floors() {
    let data = std::env::var_os("UNFORGET_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let folders: Vec<PathBuf> = ["locomo", "longmemeval"].map(|name| data.join(name)).into();
    if !folders.iter().all(|folder| folder.is_dir()) {
        eprintln!("skipped: no LoCoMo and LongMemEval in {}", data.display());
        return;
    }
    let sets = Sources::read(&folders).unwrap().sets(None, SEED).unwrap();
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["LoCoMo", "LongMemEval"]);
    let turns: usize = sets.first().unwrap().cases.iter().map(|case| case.turns.len()).sum();
    assert_eq!(turns, 2960, "the file is read whole");
    let reports: Vec<Report> = sets.iter().map(ours).collect();
    let [locomo, longmemeval] = reports.as_slice() else { panic!("two sets") };
    assert_eq!((locomo.all.questions, locomo.skipped), (1018, 2));
    assert!(locomo.all.recall[2] >= 0.80, "R@10 {:?}", locomo.all.recall);
    assert!(locomo.all.within[2] >= 0.91, "within 2,000 tokens {:?}", locomo.all.within);
    let multi_hop = row(locomo, "multi-hop");
    assert!(multi_hop.recall[2] >= 0.51, "multi-hop {:?}", multi_hop.recall);
    assert!(longmemeval.all.session_first >= 0.85, "sessions {:?}", longmemeval.all);
}
