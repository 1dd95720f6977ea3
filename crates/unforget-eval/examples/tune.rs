//! Tries weights of the ranking: each line of standard input is `name=weight,...`, and gives a line of figures per set.
//!
//! `cargo run --release -p unforget-eval --example tune odd|even|all PATH...`
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement, not the product"
)]

use std::path::PathBuf;

use unforget_eval::{Half, Ranking, Report, Sources, run};
use unforget_recall::tuning::Tuning;

fn main() {
    let mut args = std::env::args().skip(1);
    let half = match args.next().as_deref() {
        Some("odd") => Some(Half::Odd),
        Some("even") => Some(Half::Even),
        _ => None,
    };
    let paths: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let sets = Sources::read(&paths).unwrap().sets(half, 20_250_615).unwrap();
    let mut indexed: Vec<_> = sets
        .into_iter()
        .map(|set| {
            let rank = |case: &unforget_eval::Case| Ranking::new(&case.turns, Tuning::default());
            let arms: Vec<_> = set.cases.iter().map(rank).collect();
            (set, arms)
        })
        .collect();
    eprintln!("ready");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let mut tuning = Tuning::default();
        for change in line.split(',').filter(|change| !change.is_empty()) {
            let (name, weight) = change.split_once('=').unwrap();
            *tuning.weight(name.trim()).unwrap() = weight.trim().parse().unwrap();
        }
        for (set, arms) in &mut indexed {
            let mut report = Report::default();
            for (case, arm) in set.cases.iter().zip(arms) {
                arm.tuning = tuning;
                run(case, arm, &mut || 0.0, &mut report).unwrap();
            }
            for (category, row) in
                report.categories.iter().map(|(name, row)| (name.as_str(), row)).chain([("all", &report.all)])
            {
                let [r1, r5, r10, r20] = row.recall;
                let two = row.within[2];
                println!(
                    "{}|{category}|{}|{r1:.4}|{r5:.4}|{r10:.4}|{r20:.4}|{two:.4}|{:.4}|{:.4}",
                    set.name, row.questions, row.all_in_ten, row.session_first
                );
            }
        }
        println!("end");
    }
}
