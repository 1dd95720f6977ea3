//! Recall of real evidence, if the data set is available.
use std::path::PathBuf;

use unforget_recall::eval::run;
use unforget_recall::rank::Tuning;

use crate::support::locomo_file;

/// The limits are half a point below the measured values (R@10 0.796, 0.908 within 2,000 tokens) and above the targets.
#[test]
fn locomo_recall_stays_above_its_targets() {
    let data = std::env::var_os("UNFORGET_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let Ok(bytes) = std::fs::read(data.join("locomo/locomo5-dev.json")) else {
        eprintln!("skipped: no LoCoMo in {}", data.display());
        return;
    };
    let cases = locomo_file::cases(&bytes);
    let turns: usize = cases.iter().map(|case| case.turns.len()).sum();
    assert_eq!((cases.len(), turns), (5, 2960), "the file is read whole");
    let report = run(&cases, Tuning::default(), &mut || 0.0);
    assert_eq!((report.all.questions, report.skipped), (1018, 2));
    assert!(report.all.recall[1] >= 0.79, "R@10 {:?}", report.all.recall);
    assert!(report.all.within[2] >= 0.90, "within 2,000 tokens {:?}", report.all.within);
    let (name, multi_hop) = &report.categories[0];
    assert!(name == "1" && multi_hop.recall[1] >= 0.46, "multi-hop {:?}", multi_hop.recall);
}
