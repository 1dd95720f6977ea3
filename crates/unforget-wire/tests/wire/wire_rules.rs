//! Every rule of every dialect has a body that it rejects and an accepted one that lacks only the defect. The table of
//! rules is `docs/wire-rules.md`; `UNFORGET_WRITE_FIXTURE=1` writes it.
mod bodies;
mod cases;

use std::collections::BTreeSet;
use std::path::Path;

use unforget_wire::{Dialect, Rule, validate, wire_rules};

/// The rules that the dialect's cases break; failures of cases are added to `problems`.
fn broken(dialect: Dialect, problems: &mut Vec<String>) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    for case in cases::all(dialect) {
        let name = format!("{} {}", dialect.name(), case.rule);
        if let Err(found) = validate(&case.good, case.checks) {
            problems.push(format!("{name}: the counterpart is rejected: {found:?}: {:.400}", case.good));
        }
        let found = validate(&case.bad, case.checks).err().unwrap_or_default();
        if !found.iter().any(|violation| violation.rule == case.rule) {
            let names: Vec<_> = found.iter().map(|violation| violation.rule).take(9).collect();
            problems.push(format!("{name}: not rejected, found {names:?}: {:.400}", case.bad));
        }
        broken.insert(case.rule);
    }
    broken
}

#[test]
fn f046_f047_f049_f053_f054_f056_f057_f058_f059_f060_f061_f062_f063_f064_f065_f066_every_rule_rejects() {
    let rules: Vec<Rule> = wire_rules().collect();
    assert!(rules.len() >= 150, "{} rules", rules.len());
    let mut problems = Vec::new();
    for dialect in Dialect::ALL {
        let broken = broken(dialect, &mut problems);
        for rule in rules.iter().filter(|rule| rule.dialect == dialect && !broken.contains(rule.id)) {
            problems.push(format!("{} {}: no case", dialect.name(), rule.id));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_rule_has_a_name_of_its_own_and_a_source() {
    let mut seen = BTreeSet::new();
    for rule in wire_rules() {
        assert!(seen.insert((rule.id, rule.dialect)), "{} {} stands twice", rule.dialect.name(), rule.id);
        assert!(!rule.what.is_empty() && !rule.source.is_empty(), "{}", rule.id);
    }
}

#[test]
fn the_document_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire-rules.md");
    let want = document();
    if std::env::var_os("UNFORGET_WRITE_FIXTURE").is_some() {
        std::fs::write(&path, &want).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "docs/wire-rules.md is not current: run this test with UNFORGET_WRITE_FIXTURE=1");
}

fn document() -> String {
    let rules: Vec<Rule> = wire_rules().collect();
    let mut text = format!(
        "# What providers refuse\n\nGenerated from the table in `crates/unforget-wire/src/validate/rules/table.rs` by the test \
         `wire_rules`; do not edit.\n{} rules over {} dialects. `F…` are the failures of [failures.md](failures.md); words in \
         quotes are a provider's error or the title\nof its page. Each rule has a body in that test that it rejects, and one \
         that it accepts.\n\n| rule | demands | dialects | source |\n|---|---|---|---|\n",
        rules.len(),
        Dialect::ALL.len()
    );
    for same in rules.chunk_by(|a, b| a.id == b.id && a.source == b.source) {
        let Some(rule) = same.first() else { continue };
        let names: Vec<_> = same.iter().map(|rule| rule.dialect.name()).collect();
        let names = if names.len() == Dialect::ALL.len() { "all".to_owned() } else { names.join(", ") };
        let cell = |text: &str| text.replace('|', r"\|");
        text += &format!("| `{}` | {} | {names} | {} |\n", rule.id, cell(rule.what), cell(rule.source));
    }
    text
}
