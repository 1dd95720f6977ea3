//! Transcripts in a tiny language. Records are separated by spaces; each has its index as its id.
//!
//! `u` input, `a` answer with words, `a:x,y` with calls, `w:x` calls without words, `x:x` aborted with words,
//! `k:x` aborted without words, `r:x` result, `s:x` synthetic result, `b` blank input, `-` silent,
//! `c2` compaction that keeps from record 2 on. Behind it `^1` hangs the record on record 1, `^?` on one that is not
//! there, `^/` on nothing, `^!` does not say; `=1` gives it the id of record 1, `==1` makes it a copy of it.

use super::*;
use crate::entry::Status;

const PI: Customs =
    Customs { is_tree: true, sends_in_place: true, drops_blank: true, is_mendable: true, joins_files: false };
const CLAUDE: Customs = Customs {
    is_tree: false,
    sends_in_place: false,
    drops_blank: false,
    is_mendable: true,
    joins_files: false,
};

fn facts(text: &str) -> Vec<RecordFact> {
    text.split_whitespace().enumerate().map(|(at, word)| fact(at, word)).collect()
}

fn fact(at: usize, word: &str) -> RecordFact {
    let (word, same) = word.split_once('=').map_or((word, None), |(word, same)| (word, Some(same)));
    let (word, up) = word.split_once('^').map_or((word, None), |(word, up)| (word, Some(up)));
    let (kind, names) = word.split_once(':').unwrap_or((word, ""));
    let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    let mut fact = RecordFact { id: Some(at.to_string().into()), ..RecordFact::default() };
    fact.link = match up {
        Some("?") => Link::Id("nowhere".into()),
        Some("/") => Link::Root,
        Some("!") => Link::Missing,
        Some(up) => Link::Id(up.into()),
        None if at == 0 => Link::Root,
        None => Link::Id((at - 1).to_string().into()),
    };
    if let Some(same) = same {
        let copied = same.strip_prefix('=');
        fact.is_copy = copied.is_some();
        fact.id = Some(copied.unwrap_or(same).into());
    }
    let calls = || {
        let call =
            |(block, id): (usize, &&str)| CallFact { block: block + 1, id: (*id).into(), is_whole: true };
        names.iter().enumerate().map(call).collect()
    };
    let results = |is_synthetic| {
        let result = |(block, id): (usize, &&str)| ResultFact { block, call_id: (*id).into(), is_synthetic };
        names.iter().enumerate().map(result).collect()
    };
    match kind {
        "u" => (fact.voice, fact.has_words) = (Voice::Input, true),
        "b" => (fact.voice, fact.is_blank) = (Voice::Input, true),
        "a" | "w" | "x" | "k" => {
            fact.voice = Voice::Model;
            fact.has_words = matches!(kind, "a" | "x");
            fact.calls = calls();
            if matches!(kind, "x" | "k") {
                fact.status = Status::Aborted;
            }
        }
        "r" | "s" => (fact.voice, fact.results) = (Voice::Results, results(kind == "s")),
        "-" => {}
        kept => {
            fact.voice = Voice::Compaction;
            fact.kept = Some(Kept::Id(kept.trim_start_matches('c').into()));
        }
    }
    fact
}

fn show(facts: &[RecordFact], customs: Customs) -> (String, String) {
    let examination = examine(facts, customs);
    let finding = |finding: &Finding| {
        let left = if finding.is_mended { "" } else { "*" };
        format!("{}:{}{left}", finding.record, finding.problem.name())
    };
    let change = |(record, change, _): &(usize, RecordChange, Problem)| match change {
        RecordChange::Drop => format!("{record}-"),
        RecordChange::Move { behind } => format!("{record}>{behind}"),
        RecordChange::CutBlocks(blocks) => format!("{record}cut{}", blocks.len()),
        RecordChange::RenameCall { .. } => format!("{record}call'"),
        RecordChange::RenameResult { .. } => format!("{record}result'"),
        RecordChange::Rename(_) => format!("{record}'"),
        RecordChange::Link(Some(to)) if to.len() > 8 => format!("{record}^'"),
        RecordChange::Link(to) => format!("{record}^{}", to.as_deref().unwrap_or("/")),
        RecordChange::Keep(KeptTo::Id(to)) => format!("{record}keep{to}"),
        RecordChange::Keep(KeptTo::Record(to)) => format!("{record}keep#{to}"),
    };
    let findings: Vec<_> = examination.findings.iter().map(finding).collect();
    let changes: Vec<_> = examination.plan.changes.iter().map(change).collect();
    (findings.join(" "), changes.join(" "))
}

fn check(table: &[(&str, &str, &str, &str)], customs: Customs) {
    for (text, findings, changes, why) in table {
        let (found, planned) = show(&facts(text), customs);
        assert_eq!((found.as_str(), planned.as_str()), (*findings, *changes), "{why}: {text}");
    }
}

#[test]
fn f046_f047_f048_f049_pairs_table() {
    let table = [
        ("u a:x r:x a", "", "", "sound"),
        ("u a:x,y r:y r:x a", "", "", "parallel results in any order"),
        (
            "u k:x s:x u a",
            "1:cut-off-call 2:result-of-cut-off-call",
            "1- 2- 3^0",
            "f046: aborted, then filled in",
        ),
        ("u x:x s:x u", "1:cut-off-call 2:result-of-cut-off-call", "1cut1 2- 3^1", "its words are kept"),
        (
            "u k:x s:x",
            "1:cut-off-call* 2:result-of-cut-off-call",
            "2-",
            "the end of a branch stays where it can",
        ),
        ("u k:x u", "1:cut-off-call", "1- 2^0", "not filled in yet"),
        ("u r:q a", "1:orphan-result", "1- 2^0", "f047: a result without a call"),
        ("u a:x u a", "1:orphan-call", "1cut1", "f047: a call without a result"),
        ("u w:x u a", "1:orphan-call", "1- 2^0", "and nothing else in the message"),
        ("u a:x", "1:running-call*", "", "it may be running"),
        ("u a:x -", "1:running-call*", "", "bookkeeping does not end a call"),
        ("u a:x,y r:x u", "1:orphan-call", "1cut1", "one of two is answered"),
        ("u a:x r:x r:x u", "3:second-result", "3- 4^2", "one result per call"),
        ("u a:x s:x r:x u", "2:second-result", "2- 3^1", "f048: a real result beats a synthetic one"),
        ("u a:x r:x s:x u", "3:second-result", "3- 4^2", "whatever comes first"),
        (
            "u a:x u r:x a",
            "3:displaced-result",
            "2^3 3>1 3^1 4^2",
            "f048: a late result is moved, not dropped",
        ),
        ("u a:x,y r:x u r:y a", "4:displaced-result", "3^4 4>2 4^2 5^3", "behind the results that are there"),
        (
            "u a:x u r:x r:x^2",
            "3:displaced-result 4:second-result",
            "2^3 3>1 3^1 4-",
            "one for both branches",
        ),
        ("u r:x a:x u", "1:displaced-result", "1>2 1^2 2^0 3^1", "f048: before its call"),
        ("u a:x r:x a:x r:x u", "3:repeated-call-id", "3call' 4result'", "f049: an id is used again"),
        ("u a:x r:x u^0 a:x r:x", "", "", "on another branch it is no repetition"),
        ("u a:x u r:x^1 a", "", "", "a side branch between a call and its result"),
        ("u a:x s:x u", "2:synthetic-result*", "", "the only one there is"),
        ("u b a", "1:blank", "1- 2^0", "f059: nothing to say"),
        ("u b", "1:blank*", "", "nothing to say at the end"),
    ];
    check(&table, PI);
}

#[test]
fn links_table() {
    let table = [
        ("u a u^? a", "2:lost-parent", "2^1", "everything before it was gone"),
        ("u a u^! a", "2:lost-parent", "2^1", "written past the host's own session manager"),
        ("u^? a", "", "", "the file starts in the middle: nothing is before it"),
        ("u a^2 u^1", "1:lost-parent", "1^0", "a circle"),
        ("u a a==1 u^1", "2:repeated-record", "2-", "written twice"),
        ("u a u=1 a^1", "2:reused-id", "2' 3^'", "two records of one id: what follows means the last"),
        ("u a u^/ a", "", "", "two roots are two conversations"),
        ("u - k:x s:x - u", "2:cut-off-call 3:result-of-cut-off-call", "2- 3- 4^1", "bridged over both"),
    ];
    check(&table, PI);
}

#[test]
fn parents_in_other_files_are_left_alone() {
    let customs = Customs { joins_files: true, ..CLAUDE };
    check(&[("u a u^? b a", "3:blank*", "", "a sub-agent hangs on its parent's file")], customs);
}

#[test]
fn f051_cuts_table() {
    let table = [
        ("u a:x r:x u c3 a", "", "", "cut between turns"),
        ("u a:x r:x a c2 u", "4:split-pair", "4keep1", "f051: a compaction keeps an orphan"),
        ("u a:x r:x a c4 u", "", "", "keeps nothing"),
        ("u a:x r:x a c9 u", "4:lost-kept*", "", "keeps from nowhere on"),
        (
            "u a:x,y r:x r:y a c3 c3 u",
            "5:split-pair 5:split-pair 6:split-pair 6:split-pair",
            "5keep1 6keep1",
            "chained compactions",
        ),
        ("u r:q u a c1 u", "1:orphan-result", "1- 2^0 4keep2", "what it kept first is gone"),
    ];
    check(&table, PI);
    let running = show(&facts("u a:x c2 r:x a"), PI);
    assert_eq!(
        running.0, "1:orphan-call 2:split-pair",
        "a result that comes after the compaction that cut its call"
    );
    assert_eq!(running.1, "1cut1 3- 4^2", "what it keeps is nothing, so the result goes");
}

#[test]
fn lists_table() {
    let table = [
        ("u a:x u r:x a", "", "", "this host brings results home when it sends"),
        ("r:x u a", "0:orphan-result", "0- 1^/", "a file that starts in the middle"),
        ("u w:x a", "1:orphan-call", "1- 2^0", "a call that was never answered"),
        ("u a u^? a", "2:lost-parent", "2^1", "its resume walks along the parents"),
        ("u b a", "1:blank*", "", "left alone"),
    ];
    check(&table, CLAUDE);
}

#[test]
fn severity_depends_on_what_is_sent_next() {
    let table = [
        ("u r:q a", Severity::Fatal, "on the path that is sent"),
        ("u r:q a u^0 a", Severity::Latent, "on a branch that was left"),
        ("u r:q a u c3 u", Severity::Latent, "compacted away"),
        ("u a:x u a", Severity::Latent, "hosts fill the gap"),
    ];
    for (text, want, why) in table {
        let found = examine(&facts(text), PI).findings;
        assert_eq!(found.first().map(|finding| finding.severity), Some(want), "{why}: {text}");
    }
}

#[test]
fn long_and_deep_transcripts_are_examined_in_one_pass() {
    let deep = "u ".to_owned() + &"a:x r:x ".repeat(30_000);
    let examination = examine(&facts(&deep), PI);
    assert_eq!(examination.findings.len(), 29_999, "every id but the first is used again");
    let orphans = "u ".to_owned() + &"r:x ".repeat(60_000);
    assert_eq!(examine(&facts(&orphans), PI).plan.changes.len(), 60_000);
    let mut wide = facts(&"u ".repeat(60_000));
    wide.iter_mut().skip(1).for_each(|fact| fact.link = Link::Id("0".into()));
    assert_eq!(examine(&wide, PI), Examination::default());
}
