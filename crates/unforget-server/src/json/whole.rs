//! Figures, checks, upkeep and settings of the whole store.

use std::collections::BTreeMap;

use serde::Serialize;
use unforget_engine::trust::{Exported, Finding, Verified};
use unforget_store::{Conversation, Problem, TableSize};
use utoipa::ToSchema;

/// How much is stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsJson {
    /// The database; null for a tenant, who does not see where it is.
    pub db: Option<String>,
    /// Number of conversations.
    pub conversations: u64,
    /// Entries of all generations.
    pub entries: u64,
    /// Tokens of these entries.
    pub tokens: u64,
    /// Bytes of these entries as received.
    pub raw_bytes: u64,
    /// Bytes on disk; null for one conversation, since tables hold all of them.
    pub stored_bytes: Option<u64>,
    /// Ratio of stored to raw bytes.
    pub ratio: Option<f64>,
    /// Number of conversations by format.
    pub formats: BTreeMap<String, u64>,
    /// Bytes by table, largest first.
    pub tables: Vec<TableJson>,
}

/// A table of the database.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableJson {
    /// Its name.
    pub name: String,
    /// Its bytes on disk.
    pub bytes: u64,
}

impl StatsJson {
    /// * `db` - the database, for its owner.
    /// * `tables` - sizes of all tables; empty if `all` is not the whole store.
    pub fn new(db: Option<String>, all: &[Conversation], tables: Vec<TableSize>) -> Self {
        let mut formats = BTreeMap::new();
        for conversation in all {
            *formats.entry(conversation.format.clone()).or_default() += 1;
        }
        let raw_bytes = all.iter().map(|conversation| conversation.raw_bytes).sum();
        let stored_bytes = (!tables.is_empty()).then(|| tables.iter().map(|table| table.bytes).sum::<u64>());
        Self {
            db,
            conversations: all.len() as u64,
            entries: all.iter().map(|conversation| conversation.entries).sum(),
            tokens: all.iter().map(|conversation| conversation.tokens).sum(),
            raw_bytes,
            stored_bytes,
            ratio: stored_bytes.filter(|_| raw_bytes > 0).map(|stored| stored as f64 / raw_bytes as f64),
            formats,
            tables: tables
                .into_iter()
                .map(|table| TableJson { name: table.name, bytes: table.bytes })
                .collect(),
        }
    }
}

/// The result of reading everything back.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifyJson {
    /// Whether there are no problems.
    pub ok: bool,
    problems: Vec<ProblemJson>,
    conversations: u64,
    entries: u64,
    segments: u64,
    summaries: u64,
    rewrites: u64,
    snapshots: u64,
    /// Conversations whose files were not read to their ends: an import was interrupted.
    unfinished: Vec<String>,
}

/// A problem.
#[derive(Debug, Serialize, ToSchema)]
struct ProblemJson {
    kind: &'static str,
    conversation: Option<String>,
    seq: Option<u64>,
    detail: String,
}

impl From<&Problem> for ProblemJson {
    fn from(problem: &Problem) -> Self {
        Self {
            kind: problem.kind,
            conversation: problem.conversation.as_ref().map(|key| key.0.clone()),
            seq: problem.seq.map(|seq| seq.0),
            detail: problem.detail.clone(),
        }
    }
}

impl From<&Verified> for VerifyJson {
    fn from(verified: &Verified) -> Self {
        Self {
            ok: verified.problems.is_empty(),
            problems: verified.problems.iter().map(ProblemJson::from).collect(),
            conversations: verified.conversations,
            entries: verified.entries,
            segments: verified.segments,
            summaries: verified.summaries,
            rewrites: verified.rewrites,
            snapshots: verified.snapshots,
            unfinished: verified.unfinished.iter().map(|key| key.0.clone()).collect(),
        }
    }
}

/// The findings of a quick check.
#[derive(Debug, Serialize, ToSchema)]
pub struct DoctorJson {
    /// Whether there are no findings.
    pub ok: bool,
    findings: Vec<FindingJson>,
}

/// A finding.
#[derive(Debug, Serialize, ToSchema)]
struct FindingJson {
    what: String,
    place: String,
    command: String,
}

impl From<&[Finding]> for DoctorJson {
    fn from(findings: &[Finding]) -> Self {
        let findings: Vec<_> = findings
            .iter()
            .map(|finding| FindingJson {
                what: finding.what.clone(),
                place: finding.place.clone(),
                command: finding.command.clone(),
            })
            .collect();
        Self { ok: findings.is_empty(), findings }
    }
}

/// A conversation written to a file.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportJson {
    conversation: String,
    snapshot: Option<u64>,
    entries: u64,
    bytes: u64,
    purged: u64,
    path: String,
}

impl ExportJson {
    /// * `path` - the target file.
    pub fn new(conversation: &str, exported: &Exported, path: String) -> Self {
        let Exported { snapshot, entries, bytes, purged } = *exported;
        Self { conversation: conversation.to_owned(), snapshot, entries, bytes, purged, path }
    }
}

/// A conversation written as an HTML page.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageExportJson {
    /// Its key.
    pub conversation: String,
    /// Number of turns.
    pub turns: u64,
    /// Number of entries that were read.
    pub entries: u64,
    /// Number of calls in the context view.
    pub calls: u64,
    /// Number of texts in which credentials were replaced.
    pub masked: u64,
    /// Whether a passphrase opens it.
    #[serde(rename = "encrypted")]
    pub is_encrypted: bool,
    /// The file.
    pub path: String,
}

/// A verified copy of the database.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackupJson {
    /// Its path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// The extent of a rebuilt index.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReindexJson {
    /// Number of conversations.
    pub conversations: u64,
    /// Number of their entries.
    pub entries: u64,
}

/// A setting and its source.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SettingJson {
    /// Its name.
    pub name: &'static str,
    /// Its value; null if unset.
    pub value: Option<String>,
    /// `flag`, `env NAME`, `file` or `default`.
    pub from: String,
}

/// The settings, without secrets.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct ConfigJson {
    /// The settings file, whether or not it exists.
    pub file: Option<String>,
    /// All of them.
    pub settings: Vec<SettingJson>,
}
