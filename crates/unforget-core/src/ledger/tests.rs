//! Tables of the ledger, in a tiny language.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::digest::Digest;

/// An entry is a list of words; `;` ends an entry.
///
/// A command line is simple commands with `&` between them, each a kin and targets (`m+d/a+b`), behind a folder (`d@m`); a kin in capitals looks, `go…` compiles, `make` and `check` run tasks, `tsc` checks, one that ends in `s` is special; behind `|` is display.
/// `r:a` reads file `a` (`r:a.10-20` some lines), `w:a` writes it, `e:a` edits it, `x:c` runs command `c`, `t:c` runs tests, `g:c` asks, `h:c` runs tests and hides how they ended, `H:c` hides how `c` ended,
/// `u:a` fetches, `p:a` calls a tool that nobody knows, `+a` opens a task, `*1=d` marks task 1 done, `[a,bd]` is a whole list. The call's id is the whole
/// word; `hm` is a word of a person. `ok` answers the newest open call, `no` fails it, `no1` with exit code 1, `no:f` with the line of fault `f`, `no-f` with test `f`, `no!` when it was stopped, `never` says that it was not run, `ok5/2` tells tests,
/// `ok@h` a commit, `ok#1` a task id. What an output says: `ok0` nothing, `ok!` something that may be an error, `ok7` a number, `ok+` success, `ok+%p` of package `p`, `ok:f` a fault in file `f`;
/// `no-f%p` names the package of a failed test, and the fault of `no:f` lies in file `f`.
fn history(text: &str) -> Vec<(Seq, Vec<Fact>)> {
    let mut open: Vec<String> = Vec::new();
    let mut entries = Vec::new();
    for (seq, entry) in text.split(';').enumerate() {
        let mut facts = Vec::new();
        for word in entry.split_whitespace() {
            if word == "hm" {
                facts.push(Fact::Asked);
            } else if let Some(called) = called(word) {
                open.push(word.to_owned());
                facts.push(Fact::Called(called));
            } else {
                facts.push(Fact::Answered(answered(word, open.pop().unwrap_or_default())));
            }
        }
        entries.push((Seq(seq as u64), facts));
    }
    entries
}

fn called(word: &str) -> Option<Called> {
    let print = Digest::of(word.as_bytes());
    let tool = |kind: &str| Digest::of(kind.as_bytes());
    let (kind, aim) = word.split_once(':').unwrap_or((word.get(..1)?, word.get(1..)?));
    let state = |c: &str| if c == "d" { TaskState::Done } else { TaskState::Open };
    let command = |tests, tells: Tells| {
        let line = aim.split('|').next().unwrap();
        let shown = match aim.split('|').nth(1) {
            Some("tail") => ShownOutput::End,
            Some("head") => ShownOutput::Start,
            Some("grep") => ShownOutput::Chosen,
            Some("count") => ShownOutput::FaultCount,
            Some("cat") => ShownOutput::Mixed,
            _ => ShownOutput::Whole,
        };
        let part = |part| SimpleCommand { hides: tells.hides, shown, ..tested(simple(part), tests) };
        let parts: Vec<SimpleCommand> = line.split('&').map(part).collect();
        let fails = parts.iter().rposition(|part| part.purpose != CommandPurpose::Looks).map(|at| at as u64);
        let work = Digest::of(line.as_bytes());
        Deed::Ran(Command { text: aim.into(), same: print, work, tests, commits: true, tells, parts, fails })
    };
    let (telling, deed) = match kind {
        "r" => {
            let (path, lines) = aim.split_once('.').unwrap_or((aim, "1-"));
            let (first, last) = lines.split_once('-')?;
            let lines = Lines { first: first.parse().ok()?, last: last.parse().ok() };
            (Telling::Shows, Deed::Read { path: path.into(), lines })
        }
        "w" => {
            (Telling::Once, Deed::Wrote { path: aim.into(), change: FileChange::Whole, content: Some(print) })
        }
        "e" => (Telling::Once, Deed::Wrote { path: aim.into(), change: FileChange::Part, content: None }),
        "x" => (Telling::Again, command(false, Tells::default())),
        "t" => (Telling::Again, command(true, Tells::default())),
        "h" => (Telling::Again, command(true, Tells { asks: false, hides: true })),
        "H" => (Telling::Again, command(false, Tells { asks: false, hides: true })),
        "g" => (Telling::Again, command(false, Tells { asks: true, hides: false })),
        "u" => (Telling::Again, Deed::Fetched(aim.into())),
        "p" => {
            return Some(Called {
                id: word.into(),
                what: word.into(),
                tool: tool(kind),
                print,
                telling: Telling::Once,
                deeds: vec![],
            });
        }
        "+" => (Telling::Once, Deed::Tasks(TaskDeed::Open(aim.into()))),
        "*" => {
            let (id, mark) = aim.split_once('=')?;
            (
                Telling::Once,
                Deed::Tasks(TaskDeed::Mark { id: id.into(), text: None, state: Some(state(mark)) }),
            )
        }
        "[" => {
            let list =
                aim.trim_end_matches(']').split(',').map(|task| (task[..1].to_owned(), state(&task[1..])));
            (Telling::Once, Deed::Tasks(TaskDeed::List(list.collect())))
        }
        _ => return None,
    };
    let tool = tool(kind);
    Some(Called { id: word.into(), what: word.into(), tool, print, telling, deeds: vec![deed] })
}

fn tested(command: SimpleCommand, tests: bool) -> SimpleCommand {
    let purpose = if tests { CommandPurpose::Tests } else { command.purpose };
    SimpleCommand { purpose, ..command }
}

/// A simple command, as `kin+target+target`.
fn simple(text: &str) -> SimpleCommand {
    let digest = |text: &str| Digest::of(text.as_bytes());
    let (folder, text) = text.split_once('@').unwrap_or(("", text));
    let mut words = text.split('+');
    let kin = words.next().unwrap();
    let target = |name: &str| CommandTarget {
        name: digest(name),
        above: name.match_indices('/').map(|(at, _)| digest(&name[..at])).chain([digest("")]).collect(),
        is_root: name.is_empty(),
    };
    let purpose = match kin {
        "make" | "check" => CommandPurpose::Task,
        "tsc" => CommandPurpose::Check,
        _ if kin.chars().all(char::is_uppercase) => CommandPurpose::Looks,
        _ => CommandPurpose::Work,
    };
    let targets: Vec<CommandTarget> = words.map(target).collect();
    SimpleCommand {
        program: digest(&kin[..1]),
        kin: digest(kin),
        compiles: kin.starts_with("go").then(|| digest("go")),
        folder: (!folder.is_empty()).then(|| target(folder)),
        reach: match targets.is_empty() {
            _ if kin.ends_with('s') => CommandReach::Special,
            true if kin.ends_with("check") => CommandReach::Checked,
            true => CommandReach::Whole,
            false => CommandReach::Part,
        },
        targets,
        purpose,
        hides: false,
        shown: ShownOutput::Whole,
    }
}

fn answered(word: &str, call_id: String) -> Answered {
    let outcome = match word {
        "never" => Outcome::NotRun,
        word if word.starts_with("no") => Outcome::Failed,
        _ => Outcome::Done,
    };
    let counts = word.strip_prefix("ok").filter(|rest| !rest.contains('%'));
    let tests = counts.and_then(|rest| rest.split_once('/')).map(|(passed, failed)| TestCounts {
        passed: passed.parse().unwrap(),
        failed: failed.parse().unwrap(),
        skipped: 0,
    });
    let commit = word.split_once('@').map(|(_, hash)| Commit { hash: hash.into(), subject: "s".into() });
    Answered {
        call_id,
        outcome,
        kind: match word.strip_prefix("no").or_else(|| word.strip_prefix("ok")) {
            Some("!") => FailureKind::Stopped,
            Some("?") => FailureKind::Misused,
            Some(fault) if fault.starts_with(':') => FailureKind::Line(Digest::of(fault.as_bytes())),
            Some(fault) if fault.starts_with('-') => FailureKind::Test(Digest::of(fault.as_bytes())),
            _ => FailureKind::Refused,
        },
        exit: word.strip_prefix("no").and_then(|code| code.parse().ok()),
        content: Digest::of(word.as_bytes()),
        lines: None,
        tests,
        error: (outcome == Outcome::Failed || word == "ok!").then(|| "bad".to_owned()),
        place: FaultPlace {
            file: word.split_once(':').map_or("", |(_, file)| file).into(),
            package: word.split_once('%').map_or("", |(_, name)| name).into(),
        },
        evidence: match word.strip_prefix("ok").and_then(|rest| rest.chars().next()) {
            Some('0') => RunEvidence::Nothing,
            Some('7') => RunEvidence::Number,
            Some('+') => RunEvidence::Success,
            Some(':') => RunEvidence::Fault,
            Some('!') => RunEvidence::Doubt,
            _ => RunEvidence::Words,
        },
        passed: word.split_once("+%").map(|(_, name)| name.to_owned()).into_iter().collect(),
        commits: commit.into_iter().collect(),
        task: word.split_once('#').map(|(_, id)| id.to_owned()),
    }
}

fn fold(history: &[(Seq, Vec<Fact>)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (seq, facts) in history {
        ledger.take(*seq, facts);
    }
    ledger
}

/// Every row in few letters.
fn show(ledger: &Ledger) -> String {
    let mut rows: Vec<String> = Vec::new();
    for (path, row) in ledger.files() {
        let looks: Vec<String> = row
            .looks
            .iter()
            .map(|look| {
                format!("{}-{}", look.lines.first, look.lines.last.map_or(String::new(), |n| n.to_string()))
            })
            .collect();
        let put = row.put.map_or(String::new(), |put| format!(" {:?}@{}", put.change, put.at.answer));
        rows.push(format!("{path}[{}{put}]", looks.join(",")));
    }
    for row in ledger.commands() {
        let tests = row.tests.map_or(String::new(), |tests| format!(" {}/{}", tests.passed, tests.failed));
        rows.push(format!("{}x{} {:?}@{}{tests}", row.text, row.runs, row.outcome, row.at.answer));
    }
    rows.extend(ledger.urls().map(|(url, row)| format!("{url}x{}", row.times)));
    rows.extend(ledger.commits().iter().map(|row| format!("#{}@{}", row.commit.hash, row.at.answer)));
    rows.extend(
        ledger.tasks().iter().map(|row| format!("{}={:?}@{}", row.text, row.state, row.changed.answer)),
    );
    rows.extend(ledger.failing().map(|failure| format!("!{}x{}", failure.what, failure.times)));
    rows.extend(
        ledger
            .cleared()
            .iter()
            .map(|failure| format!("?{}@{}", failure.what, failure.cleared.unwrap().answer)),
    );
    rows.join(" ")
}

#[test]
fn rows_table() {
    let table = [
        ("r:a;ok", "a[1-]", "a read"),
        ("r:a", "", "a call without an answer is no read"),
        ("r:a;no", "", "a failed read is no read, and nothing that is left undone"),
        ("r:a;never", "", "a refused call is nothing"),
        ("r:a.1-9;ok;r:a.20-30;ok;r:a.1-9;ok", "a[20-30,1-9]", "stretches, the newest last"),
        ("w:a;ok;e:a;ok", "a[ Part@3]", "the newest change"),
        ("r:a;ok;e:a;no", "a[1-] !e:ax1", "a failed edit is no change"),
        ("e:a;no;e:a;no;e:a;ok", "a[ Part@5] ?e:a@5", "a later edit clears both failures"),
        ("e:a;no;r:a;ok", "a[1-] !e:ax1", "reading clears no failed edit"),
        ("x:m;ok;x:m;ok", "mx2 Done@3", "one row per command line"),
        (
            "x:m;no2;x:m|tail;ok",
            "m|tailx1 Done@3 mx1 Failed@1 ?x:m@3",
            "the same work shown otherwise clears",
        ),
        ("g:m;no1", "mx1 Failed@1", "exit 1 of a question is an answer"),
        ("x:m;no2;h:m|tail;ok", "mx1 Failed@1 m|tailx1 Done@3 ?x:m@3", "nothing bad is seen behind the pipe"),
        ("x:m;no2;h:m|tail;ok!", "mx1 Failed@1 m|tailx1 Done@3 !x:mx1", "an error is seen behind the pipe"),
        (
            "x:m;no2;h:m|tail;ok3/1",
            "mx1 Failed@1 m|tailx1 Failed@3 3/1 !h:m|tailx2",
            "tests fail behind the pipe",
        ),
        ("g:m;no2", "mx1 Failed@1 !g:mx1", "exit 2 of it is a failure"),
        ("t:m;ok5/2;t:m;ok7/0", "mx2 Done@3 7/0", "tests as they came out last"),
        ("x:m;ok5/2", "mx1 Done@1", "numbers of no test run do not count"),
        ("x:m;ok@abc;x:m;ok@abc", "mx2 Done@3 #abc@1", "a commit once"),
        ("u:a;ok;u:a;no", "ax2", "an address that is not there is no work"),
        ("+a;ok#1;+b;ok#2;*1=d;ok", "a=Done@5 b=Open@3", "tasks with ids"),
        ("*9=d;ok", "", "a mark of a task that nobody opened"),
        ("[a,b];ok;[ad,b];ok;[ad,c];ok", "a=Done@3 b=Dropped@5 c=Open@5", "tasks as whole lists"),
        ("r:a r:b;ok ok", "a[1-] b[1-]", "parallel calls"),
        ("ok", "", "an answer without a call"),
        ("p:a;no;p:a;ok", "?p:a@3", "a failure of a tool that nobody knows"),
    ];
    for (text, want, why) in table {
        assert_eq!(show(&fold(&history(text))), want, "{why}: {text}");
    }
}

#[test]
fn open_failures_table() {
    let table = [
        ("x:m;no;x:n;ok", "!x:mx1", "other work"),
        ("x:m;no:;x:a&m&b;ok", "?x:m@3", "a line succeeds by each of its commands"),
        ("x:a&m;no:;x:m;ok", "?x:a&m@3", "a line fails by its last command"),
        ("x:a&m;no:;x:a;ok", "!x:a&mx1", "its first one does not settle it"),
        ("x:a&LS;no;x:a;ok", "?x:a&LS@3", "by the last one that works"),
        ("x:LS;no", "", "a look"),
        ("x:LS&LS;no2", "", "several"),
        ("x:m+a+b;no:;x:m+b+a;ok", "?x:m+a+b@3", "targets in another order"),
        ("x:m+a;no:;x:m+b;ok", "!x:m+ax1", "another target"),
        ("x:m+a;no;x:m+b;ok", "?x:m+a@3", "a call that was refused, made again in another form"),
        ("x:m+a;no;x:n+a;ok", "!x:m+ax1", "by another command"),
        ("x:m+d/a;no:;x:m+d;ok", "?x:m+d/a@3", "a folder above"),
        ("x:m+d;no:;x:m+d/a;ok", "!x:m+dx1", "a file below"),
        ("x:m+a+b;no:;x:m+a;ok", "!x:m+a+bx1", "one of two"),
        ("x:m+a;no:;x:m;ok", "!x:m+ax1", "no target is no more than one"),
        ("t:m+a;no:;t:m;ok", "?t:m+a@3", "all tests"),
        ("t:m;no:;t:m+a;ok", "!t:mx1", "some tests"),
        ("t:m+d/a+k;no:;t:m+d;ok", "?t:m+d/a+k@3", "all tests of a folder"),
        ("t:m+d+k;no:;t:m+d+j;ok", "!t:m+d+kx1", "other tests of a folder"),
        ("x:m;no:;x:m;no:;x:m;no:", "!x:mx3", "one row for equal work"),
        ("e:a;no;x:m;ok", "!e:ax1", "a command clears no edit"),
        ("r:a;never;x:m;never", "", "nothing was run"),
        ("x:m;no!;p:a;no!", "", "stopped"),
        ("x:d@m;no:;x:e@m;ok", "!x:d@mx1", "in another folder"),
        ("x:d@m;no:;x:d/e@m;ok;", "?x:d@m@3", "in a folder of the same way"),
        ("x:d@m;no:;x:m;ok", "?x:d@m@3", "in an unknown folder"),
        ("x:gobuild+a;no:;x:govet+a;ok", "?x:gobuild+a@3", "another command that compiles the same"),
        ("x:gotest+a+k;no:;x:govet+a;ok", "?x:gotest+a+k@3", "with fewer words"),
        ("x:gotest+a;no-t;x:govet+a;ok", "!x:gotest+ax1", "it runs no test"),
        ("x:gobuild+a;no:;x:gofmt;no!", "!x:gobuild+ax1", "it did not end"),
        ("x:m+a;no:f;x:n;no:f;x:n;ok", "?x:n@5 ?x:m+a@5", "one fault of two commands"),
        ("x:m+a;no:f;x:n;no:g;x:n;ok", "!x:m+ax1 ?x:n@5", "two faults"),
        ("x:m+a;no;x:m+b;no:", "!x:m+bx1", "a refused call, made again and failed by the work"),
        ("x:m;no;x:m;no:f", "!x:mx2", "refused, then failed by the work"),
        ("x:m+a;no;x:m+b;no", "!x:m+ax1 !x:m+bx1", "refused again"),
        ("x:m;no;hm", "", "a refused call is over when a person speaks"),
        ("x:m;no;x:m;no;hm", "!x:mx2", "not if it was made again"),
        ("x:m;no:;hm;x:make;no;hm", "!x:mx1 !x:makex1", "faults and checks stay"),
        ("t:m;no;hm", "!t:mx1", "so do tests"),
        ("e:a;no;e:a;no;p:b;no;hm", "", "edits and unknown tools"),
    ];
    check_open(&table);
}

/// What an output proves where a later command hides the exit code.
#[test]
fn hidden_ends_table() {
    let table = [
        ("h:m|tail;ok:f", "!h:m|tailx1", "tests that report a fault"),
        ("H:make|grep;ok:f", "!H:make|grepx1", "so does a task behind a filter"),
        ("H:tsc|tail;ok:f", "!H:tsc|tailx1", "and a compiler"),
        ("H:m|tail;ok:f", "", "work prints what it likes"),
        ("H:LS|tail;ok:f", "", "so does a look at an old log"),
        ("H:make|cat;ok:f", "", "the text of a file stands beside it"),
        ("H:make|count;ok7", "!H:make|countx1", "a number of faults"),
        ("H:make|grep;ok7", "", "any other number"),
        ("t:m;no:f;h:m|grep;ok0", "!t:mx1", "an empty choice of lines proves nothing"),
        ("t:m;no:f;h:m|grep;ok", "!t:mx1", "nor do chosen lines"),
        ("t:m;no:f;h:m|grep;ok+", "?t:m@3", "unless they say that all is well"),
        ("t:m;no:f;h:m|head;ok", "!t:mx1", "nor does a start"),
        ("t:m;no:f;h:m|tail;ok", "?t:m@3", "an end without a fault does"),
        ("t:m;no:f;h:m|tail;ok0", "!t:mx1", "tests are not silent"),
        ("t:m;no:f;h:m|cat;ok+", "!t:mx1", "a success that may stand in a file"),
        ("x:tsc;no:f;H:tsc|head;ok0", "?x:tsc@3", "a compiler is silent"),
        ("x:tsc;no:f;H:tsc|grep;ok0", "!x:tscx1", "not if lines were chosen"),
        ("x:m;no:f;H:m|tail;ok0", "!x:mx1", "silent work behind a filter"),
        ("x:m;no:f;H:m;ok0", "?x:m@3", "silent work before another command"),
        ("x:make;no:f;H:make|tail;ok!", "!x:makex1", "in doubt"),
    ];
    check_open(&table);
}

/// Failures that are over without a success of their kin.
#[test]
fn mended_failures_table() {
    let table = [
        ("x:gob+a;no:f;e:d/f;ok;t:m;ok+", "?x:gob+a@5", "a mended line, then all tests"),
        ("x:gob+a;no:f;t:m;ok+", "!x:gob+ax1", "nobody mended it"),
        ("e:d/f;ok;x:gob+a;no:f;t:m;ok+", "!x:gob+ax1", "mended before"),
        ("x:gob+a;no:f;e:d/xf;ok;t:m;ok+", "!x:gob+ax1", "another file"),
        ("x:gob+a;no:f;e:f;ok;t:m+b;ok+", "!x:gob+ax1", "tests of a part"),
        ("x:gob+a;no:f;e:f;ok;x:make;ok", "?x:gob+a@5", "a task"),
        ("x:gob+a;no:f;e:f;ok;x:m;ok", "!x:gob+ax1", "other work"),
        ("x:gob+a;no:f;x:check;ok", "?x:gob+a@3", "mended in another file, says the project's own check"),
        ("x:gob+a;no:f;H:check|tail;ok", "?x:gob+a@3", "by its end"),
        ("x:gob+a;no:f;H:check|grep;ok+", "!x:gob+ax1", "not by chosen lines"),
        ("t:m+k;no:f;x:check;ok", "!t:m+kx1", "tests may be no part of it"),
        ("x:gob+a;no:f;e:f;ok;h:m|tail;ok+", "?x:gob+a@5", "the end of all tests"),
        ("x:gob+a;no:f;e:f;ok;h:m|grep;ok+", "!x:gob+ax1", "chosen lines of them"),
        (
            "x:gob+a;no:d/f;e:/srv/d/f;ok;h:m|grep;ok+%x/d",
            "?x:gob+a@5",
            "a longer name, and its folder among chosen lines",
        ),
        ("x:gob+a;no:d/f;e:d/f;ok;t:m;ok+%x/b", "!x:gob+ax1", "the tests of another package passed"),
        ("x:gob+a;no:d/f;e:d/f;ok;t:m;ok+%x/d", "?x:gob+a@5", "those of its own folder passed"),
        ("t:gotest+a+k;no-t%p;t:m;ok+%p", "?t:gotest+a+k@3", "the package of the test passed"),
        ("t:gotest+a+k;no-t%p;t:m;ok+%q", "!t:gotest+a+kx1", "another package passed"),
        ("t:gotest+a+k;no-t%p;t:m+j;ok+%p", "!t:gotest+a+kx1", "a part of its package passed"),
        ("t:gotest+a+k;no-t;t:m;ok+", "!t:gotest+a+kx1", "other tests may be meant"),
        ("t:gotests+a+k;no-t%p;t:m;ok+%p", "!t:gotests+a+kx1", "tests that a plain run may leave out"),
        ("x:d@gob;no:f;e:f;ok;t:e@m;ok+", "!x:d@gobx1", "in another folder"),
        ("e:a;no;e:b;ok", "", "a refused edit, and the next one succeeds"),
        ("e:a e:b;ok no", "!e:ax1", "not one that was made beside it"),
        ("e:a;no;w:b;ok", "!e:ax1", "nor another tool"),
        ("p:a;no;x:p;ok", "!p:ax1", "nor a command"),
        ("x:make+a;no?;x:make+b;ok", "?x:make+a@3", "an unknown task, and another one runs"),
        ("x:make+a;no?;x:mv;ok", "", "an unknown task, and the program does other work"),
        ("x:make+a;no?;x:go;ok", "!x:make+ax1", "another program"),
        ("x:make+a;no?;hm", "", "a person speaks"),
        ("x:make+a;no;x:mv;ok", "!x:make+ax1", "a refusal that may be about the work"),
    ];
    check_open(&table);
}

fn check_open(table: &[(&str, &str, &str)]) {
    for (text, want, why) in table {
        let shown = show(&fold(&history(text)));
        let sorted = |rows: &str| -> Vec<String> {
            let mut rows: Vec<_> =
                rows.split(' ').filter(|row| row.starts_with(['!', '?'])).map(str::to_owned).collect();
            rows.sort();
            rows
        };
        assert_eq!(sorted(&shown), sorted(want), "{why}: {text}");
    }
}

#[test]
fn rows_name_their_entries() {
    let ledger = fold(&history("u:z;ok;r:a;ok"));
    let (_, row) = ledger.files().next().unwrap();
    assert_eq!(row.looks[0].at, WorkPlace { call: Seq(2), answer: Seq(3) });
}

#[test]
fn superseded_table() {
    let table = [
        ("r:a;ok;r:a;ok", "1<3 Repeated", "read again"),
        ("r:a.5-9;ok;r:a;ok", "1<3 ReadAgain", "all of it and more read later"),
        ("r:a;ok;r:a.5-9;ok", "", "a part does not stand for the whole"),
        ("r:a.5-9;ok;r:a.8-20;ok", "", "overlap is not enough"),
        ("r:a;ok;e:a;ok", "1<3 Changed", "changed since"),
        ("e:a;ok;r:a;ok;r:b;ok", "", "changed before"),
        ("r:a;ok;e:a;no", "", "an edit that failed changed nothing"),
        ("r:a;ok;r:a;no", "", "a read that failed shows nothing"),
        ("r:a;no;r:a;ok", "1<3 Repeated", "a failure that was mended"),
        ("r:a;ok;e:a;ok;r:a;ok", "1<5 Repeated", "the newest read stands, not the edit"),
        ("x:m;ok;x:m;no2;x:n;ok", "1<3 Repeated", "the later run stands, also if it failed"),
        ("x:m;ok;x:m;never", "", "a run that was refused tells nothing"),
        ("x:m;ok;x:m", "", "a run without an answer tells nothing"),
        ("x:m;ok;x:m;ok;x:m;ok", "1<5 Repeated 3<5 Repeated", "the last stands for all"),
        ("p:a;ok;p:a;ok", "", "polls tell something else each time"),
        ("+a;ok#1;+a;ok#2", "", "two tasks with the same words"),
        ("r:a r:a.2-3;ok ok", "1<1 ReadAgain", "within one entry, by call"),
        ("w:a;ok;w:a;ok", "", "what a write says is not what it wrote"),
    ];
    for (text, want, why) in table {
        let history = history(text);
        let found = superseded(history.iter().map(|(seq, facts)| (*seq, facts.as_slice())));
        let found: Vec<String> =
            found.iter().map(|item| format!("{}<{} {:?}", item.answer, item.by, item.why)).collect();
        assert_eq!(found.join(" "), want, "{why}: {text}");
    }
}

#[test]
fn rows_are_bounded_and_the_dropped_ones_counted() {
    let mut ledger = Ledger::default();
    for seq in 0..10_000_u64 {
        let call = called(&format!("r:file{seq}")).unwrap();
        ledger.take(Seq(2 * seq), &[Fact::Called(call.clone())]);
        ledger.take(Seq(2 * seq + 1), &[Fact::Answered(answered("ok", call.id))]);
    }
    let rows = ledger.files().count();
    assert!(rows <= ROWS_MAX);
    assert_eq!(rows as u64 + ledger.dropped(), 10_000);
    assert!(ledger.files().any(|(path, _)| path == "file9999"), "the newest stays");
    assert!(!ledger.files().any(|(path, _)| path == "file0"), "the oldest goes");
}

proptest! {
    /// I22: folding is a function of the entries, wherever it is interrupted, and every superseded result is older than
    /// the superseding one.
    #[test]
    fn folding_is_the_same_in_pieces(
        words in prop::collection::vec(prop::sample::select(vec![
            "r:a", "r:a.2-3", "r:b", "w:a", "e:b", "x:m", "t:m", "u:z", "h:m|tail", "x:m+d/a&n", "x:m+d", "hm", "x:gob+a", "no:f", "no-t", "no!", "no?", "ok!", "ok0", "ok+", "ok+%p", "ok:f", "no-t%p", "H:make|grep", "h:m|head", "e:d/f", "no:d/f", "+t", "*1=d", "[a,bd]", "ok", "no", "no1", "ok#1", "ok3/1", "ok@h", "never", ";",
        ]), 0..60),
        cut in 0_usize..60,
    ) {
        let history = history(&words.join(" "));
        let whole = fold(&history);
        let cut = cut.min(history.len());
        let mut pieces = fold(&history[..cut]);
        for (seq, facts) in &history[cut..] {
            pieces.take(*seq, facts);
        }
        prop_assert_eq!(&pieces, &whole);
        for item in superseded(history.iter().map(|(seq, facts)| (*seq, facts.as_slice()))) {
            prop_assert!(item.answer <= item.by);
        }
    }
}
