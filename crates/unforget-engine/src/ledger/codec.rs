//! Encodes a ledger as stored bytes. Bytes that are not a valid ledger are refused as a whole; the ledger is then folded
//! again from the log.

use unforget_core::id::Seq;
use unforget_core::ledger::{
    Called, Command, CommandPurpose, CommandReach, CommandRow, CommandTarget, Commit, CommitRow, Deed,
    Failure, FailureKind, FaultPlace, FileChange, FileRow, Lines, Look, Outcome, Put, Rows, ShownOutput,
    SimpleCommand, Subject, TaskDeed, TaskRow, TaskState, Telling, Tells, TestCounts, UrlRow, WorkPlace,
};

use crate::stored_form::{StoredForm, fields, words};

/// Version of the encoding and of the facts behind it; other versions are not read.
const VERSION: u64 = 3;

/// Encodes the rows of a ledger and its newest entry.
pub(super) fn encode(rows: &Rows, head: Seq) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + rows.len() * 128);
    VERSION.put(&mut bytes);
    head.0.put(&mut bytes);
    rows.put(&mut bytes);
    bytes
}

/// Decodes the output of [`encode`]; `None` for all other bytes.
pub(super) fn decode(mut bytes: &[u8]) -> Option<(Rows, Seq)> {
    let from = &mut bytes;
    if u64::take(from)? != VERSION {
        return None;
    }
    let head = Seq(u64::take(from)?);
    let rows = Rows::take(from)?;
    from.is_empty().then_some((rows, head))
}

fields! {
    Rows { files, commands, failing, cleared, urls, commits, tasks, pending, dropped, asked }
    FileRow { looks, put, reads, writes }
    Look { lines, content, at }
    Lines { first, last }
    WorkPlace { call, answer }
    Put { change, content, at }
    CommandRow { text, runs, outcome, exit, tests, is_test, is_look, at }
    TestCounts { passed, failed, skipped }
    Failure { what, tool, told, kind, place, part, times, first, last, cleared }
    FaultPlace { file, package }
    UrlRow { times, outcome, at }
    CommitRow { commit, at }
    Commit { hash, subject }
    TaskRow { id, text, state, opened, changed }
    Called { id, what, tool, print, telling, deeds }
    Command { text, same, work, tests, commits, tells, parts, fails }
    SimpleCommand { program, kin, compiles, folder, targets, purpose, reach, hides, shown }
    CommandTarget { name, above, is_root }
    Tells { asks, hides }
}

words! {
    FileChange: Whole, Part, Gone;
    Outcome: Done, Failed, NotRun;
    TaskState: Open, Active, Done, Dropped;
    Telling: Once, Again, Shows;
    CommandPurpose: Work, Task, Tests, Looks, Check;
    CommandReach: Part, Special, Whole, Checked, More;
    ShownOutput: Whole, End, Start, Chosen, FaultCount, Mixed;
}

/// Enums with fields: a number and the fields.
macro_rules! kinds {
    ($($name:ident: $($number:literal $kind:ident $(($value:ident))? $({ $($field:ident),* })?,)*;)*) => {$(
        impl StoredForm for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$kind $(($value))? $({ $($field),* })? => {
                        out.push($number);
                        $($value.put(out);)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                match u64::take(from)? {
                    $($number => {
                        $(let $value = StoredForm::take(from)?;)?
                        $($(let $field = StoredForm::take(from)?;)*)?
                        Some(Self::$kind $(($value))? $({ $($field),* })?)
                    })*
                    _ => None,
                }
            }
        }
    )*};
}

kinds! {
    FailureKind: 0 Stopped, 1 Refused, 2 Line(fault), 3 Test(fault), 4 Misused,;
    Subject: 0 Write(path), 1 Work(work), 2 Call(print),;
    Deed: 0 Read { path, lines }, 1 Wrote { path, change, content }, 2 Ran(command), 3 Fetched(url), 4 Tasks(deed),;
    TaskDeed: 0 List(list), 1 Open(text), 2 Mark { id, text, state },;
}
