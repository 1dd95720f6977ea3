//! Measures recall of LoCoMo's evidence from the words of the question: `cargo run --release --example locomo FILE
//! [1,3]`.
//!
//! The optional list picks conversations by place, from 0, so that weights tuned on some are reported on others.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_for_each,
    clippy::too_many_lines,
    clippy::print_stdout,
    reason = "a measurement, not the product"
)]

use std::time::Instant;

use unforget_recall::eval::{BUDGETS, HEADS, Row, run};
use unforget_recall::rank::Tuning;

#[path = "../tests/recall/support/locomo_file.rs"]
mod locomo_file;

fn print(label: &str, row: &Row) {
    let cells =
        |values: &[f64]| values.iter().map(|value| format!("{value:>6.3}")).collect::<Vec<_>>().join(" ");
    println!("{label:<14} {:>5}  {}   {}", row.questions, cells(&row.recall), cells(&row.within));
}

fn tuning() -> Tuning {
    let mut tuning = Tuning::default();
    let [n1, n2, n3, n4] = &mut tuning.near;
    for (name, slot) in [
        ("K1", &mut tuning.k1),
        ("B", &mut tuning.b),
        ("N1", n1),
        ("N2", n2),
        ("N3", n3),
        ("N4", n4),
        ("AUTHOR", &mut tuning.author),
        ("STOP", &mut tuning.stop),
        ("NAME", &mut tuning.name),
        ("DATE", &mut tuning.date),
    ] {
        if let Some(value) = std::env::var(name).ok().and_then(|value| value.parse().ok()) {
            *slot = value;
        }
    }
    tuning
}

fn main() {
    let mut args = std::env::args().skip(1);
    let cases = locomo_file::cases(&std::fs::read(args.next().unwrap()).unwrap());
    let picked: Option<Vec<usize>> =
        args.next().map(|list| list.split(',').map(|one| one.parse().unwrap()).collect());
    let wanted = |at: &usize| picked.as_ref().is_none_or(|list| list.contains(at));
    let cases: Vec<_> = (0..).zip(cases).filter(|(at, _)| wanted(at)).map(|(_, case)| case).collect();
    let zero = Instant::now();
    let report = run(&cases, tuning(), &mut || zero.elapsed().as_secs_f64() * 1e3);
    if std::env::var("SHORT").is_ok() {
        let multi = &report.categories[0].1;
        println!(
            "all {:.4} {:.4} {:.4} in2k {:.4}  multi {:.4} {:.4}",
            report.all.recall[0],
            report.all.recall[1],
            report.all.recall[2],
            report.all.within[2],
            multi.recall[1],
            multi.within[2]
        );
        return;
    }
    println!(
        "{} conversations, {} turns, {} questions skipped",
        cases.len(),
        cases.iter().map(|case| case.turns.len()).sum::<usize>(),
        report.skipped
    );
    println!(
        "{:<14} {:>5}  {}   evidence within {}",
        "category",
        "n",
        HEADS.map(|k| format!("  R@{k:<2}")).join(" "),
        BUDGETS.map(|b| b.to_string()).join(" / ")
    );
    let names = ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
    for (category, row) in &report.categories {
        let name = category.parse::<usize>().ok().and_then(|at| names.get(at - 1)).unwrap_or(&"?");
        print(&format!("{category} {name}"), row);
    }
    print("all", &report.all);
    println!(
        "search: p50 {:.3} ms, p99 {:.3} ms",
        report.times[report.times.len() / 2],
        report.times[report.times.len() * 99 / 100]
    );
}
