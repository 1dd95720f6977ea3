//! The tables whose rows carry seals, with the columns that the seals cover: those of derived rows, and of what people decided.

use super::seal::{SealSource, SealedTable, WhenBroken};

/// All of them.
pub(super) static SEALED: [&SealedTable; 18] = [
    &SUMMARY,
    &REWRITE,
    &CONTEXT,
    &RECIPE,
    &RECIPE_CONTEXT,
    &CHUNK_FILTER,
    &BLOB_FILTER,
    &SEGMENT,
    &SEGMENT_BLOCK,
    &NAME,
    &JOB,
    &PIN,
    &PIN_FILE,
    &DECISION,
    &VERDICT,
    &RAISED,
    &LABEL,
    &SAYING,
];

const SUMMARY_COLUMNS: &[&str] = &[
    "conversation",
    "thread",
    "grain",
    "level",
    "end",
    "first_seq",
    "last_seq",
    "count",
    "sources",
    "writer",
    "body",
    "tokens_source",
    "tokens_body",
    "time_ms",
];

const SUMMARY_KEY: &[&str] = &["conversation", "end", "level", "grain", "thread"];

/// Its key holds the digest of the history that it stands for, so its seal covers its source.
pub(super) static SUMMARY: SealedTable = SealedTable {
    name: "summary",
    kind: "summary",
    what: "summaries, which are made again from the log when a prompt needs them",
    columns: SUMMARY_COLUMNS,
    key: SUMMARY_KEY,
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static REWRITE: SealedTable = SealedTable {
    name: "rewrite",
    kind: "rewrite",
    what: "summaries by a model, in whose place those without a model are shown",
    columns: SUMMARY_COLUMNS,
    key: SUMMARY_KEY,
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static CONTEXT: SealedTable = SealedTable {
    name: "context",
    kind: "context",
    what: "states of prompts, which are made again from the log",
    columns: &["conversation", "thread", "budget", "state"],
    key: &["conversation", "thread", "budget"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static RECIPE: SealedTable = SealedTable {
    name: "recipe",
    kind: "recipe",
    what: "records of how a prompt was composed, which cannot be shown any more",
    columns: &["conversation", "number", "context", "body"],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static RECIPE_CONTEXT: SealedTable = SealedTable {
    name: "recipe_context",
    kind: "recipe",
    what: "records of what prompts were composed from, which cannot be shown any more",
    columns: &["conversation", "name", "state"],
    key: &["conversation", "name"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static CHUNK_FILTER: SealedTable = SealedTable {
    name: "chunk_filter",
    kind: "filter",
    what: "filters of grep, without which it reads all bytes",
    columns: &["chunk", "data"],
    key: &["chunk"],
    source: Some(SealSource {
        table: "chunk",
        by: "chunk",
        columns: &["conversation", "number", "first_seq", "entries", "raw_len"],
    }),
    when_broken: WhenBroken::Dropped,
};

pub(super) static BLOB_FILTER: SealedTable = SealedTable {
    name: "blob_filter",
    kind: "filter",
    what: "filters of grep, without which it reads all bytes",
    columns: &["blob", "data"],
    key: &["blob"],
    source: Some(SealSource { table: "blob", by: "blob", columns: &["conversation", "digest", "raw_len"] }),
    when_broken: WhenBroken::Dropped,
};

pub(super) static SEGMENT: SealedTable = SealedTable {
    name: "segment",
    kind: "index",
    what: "pieces of the search index, which are made again from the log",
    columns: &["conversation", "number", "first_seq", "end_seq", "header", "blocks"],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static SEGMENT_BLOCK: SealedTable = SealedTable {
    name: "segment_block",
    kind: "index",
    what: "blocks of the search index, which are made again from the log",
    columns: &["segment", "number", "data"],
    key: &["segment", "number"],
    source: Some(SealSource {
        table: "segment",
        by: "segment",
        columns: &["conversation", "number", "first_seq", "end_seq"],
    }),
    when_broken: WhenBroken::Dropped,
};

pub(super) static NAME: SealedTable = SealedTable {
    name: "name",
    kind: "name",
    what: "names that hosts gave to entries: an entry that is delivered again under one of them is stored once more",
    columns: &["conversation", "name", "seq"],
    key: &["conversation", "name", "seq"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static JOB: SealedTable = SealedTable {
    name: "job",
    kind: "job",
    what: "jobs for models, which are given again",
    columns: &[
        "conversation",
        "thread",
        "grain",
        "level",
        "end",
        "first_seq",
        "last_seq",
        "state",
        "due_ms",
        "attempts",
        "why",
    ],
    key: &["conversation", "end", "level", "grain", "thread"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static PIN: SealedTable = SealedTable {
    name: "pin",
    kind: "pin",
    what: "pins, whose words are lost: pin them again",
    columns: &[
        "conversation",
        "number",
        "text",
        "source",
        "state",
        "successor",
        "place",
        "made_ms",
        "changed_ms",
    ],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static PIN_FILE: SealedTable = SealedTable {
    name: "pin_file",
    kind: "pin",
    what: "pinned files, which are not followed any more: pin them again",
    columns: &["conversation", "place", "path", "pin", "digest", "trouble", "read_ms"],
    key: &["conversation", "place"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

pub(super) static DECISION: SealedTable = SealedTable {
    name: "decision",
    kind: "decision",
    what: "records of decisions about prompts, which cannot be shown any more",
    columns: &["conversation", "number", "seq", "time_ms", "looked", "decided", "why"],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

/// A person said it, so nothing can make it again.
pub(super) static VERDICT: SealedTable = SealedTable {
    name: "verdict",
    kind: "verdict",
    what: "verdicts, which do not count any more: reject the entries again, and take these back with `unforget reject --undo`",
    columns: &[
        "conversation",
        "number",
        "seq",
        "line",
        "why",
        "instead",
        "author",
        "made_ms",
        "withdrawn_ms",
    ],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Stays,
};

/// A person decided it, so nothing can make it again.
pub(super) static RAISED: SealedTable = SealedTable {
    name: "raised",
    kind: "raised",
    what: "spans that people put back, which stand in no prompt any more: put the entries back again, and take these back with `unforget uncompact --undo`",
    columns: &["conversation", "number", "first_seq", "last_seq", "author", "made_ms", "withdrawn_ms"],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Stays,
};

/// A damaged one is told and dropped. The rows of labels, verdicts and raised spans tell what this machine said once more, and the other
/// machines what they said.
pub(super) static SAYING: SealedTable = SealedTable {
    name: "saying",
    kind: "saying",
    what: "records of what people said, for other machines: they are made again, or come again with the next `unforget sync`",
    columns: &["conversation", "number", "digest", "first_seq", "last_seq", "body"],
    key: &["conversation", "number"],
    source: None,
    when_broken: WhenBroken::Dropped,
};

/// A person said it, so nothing can make it again: as with pins, a damaged one is told and dropped.
pub(super) static LABEL: SealedTable = SealedTable {
    name: "label",
    kind: "label",
    what: "labels of conversations, which are lost: give their titles, stars and tags again with `unforget label`",
    columns: &["conversation", "title", "starred", "tags", "changed_ms"],
    key: &["conversation"],
    source: None,
    when_broken: WhenBroken::Dropped,
};
