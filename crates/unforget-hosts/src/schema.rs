//! What differs between hosts: the tables of a database, and the queries of its sessions and records.

/// How a host keeps its sessions.
#[derive(Debug)]
pub(crate) struct HostSchema {
    /// Name of the host for people.
    pub(crate) host: &'static str,
    /// Name of the transcript format of its sessions, which is the first key of every record.
    pub(crate) format: &'static str,
    /// Required tables. A database with all of these tables and columns is the host's.
    pub(crate) tables: &'static [KnownTable],
    /// Query of the schema's version, as the host counts it: one value.
    pub(crate) version: &'static str,
    /// Query of all sessions, the oldest first: the id as text, the newest time of a change in ms since 1970, and a number that
    /// changes with the rows.
    pub(crate) sessions: &'static str,
    /// The records of a session, in the order of the conversation.
    pub(crate) records: &'static [RecordQuery],
}

/// A table and its required columns.
#[derive(Debug)]
pub(crate) struct KnownTable {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
}

/// Records of one kind. In every part, `?1` is the id of the session.
#[derive(Debug)]
pub(crate) struct RecordQuery {
    /// The kind, as it stands in the record.
    pub(crate) kind: &'static str,
    /// Expression for the record's id: a text that no other record of the session has.
    pub(crate) id: &'static str,
    /// The columns of the row.
    pub(crate) columns: &'static str,
    /// Columns that `columns` has and the record does not: a copy of something that other records hold.
    pub(crate) without: &'static [&'static str],
    /// What stands behind FROM, with the order.
    pub(crate) from: &'static str,
    /// Query of the rows that belong to a record, in order; here `?1` is the id of the record.
    pub(crate) parts: Option<&'static str>,
}

impl RecordQuery {
    /// Records made of single rows.
    pub(crate) const fn new(
        kind: &'static str,
        id: &'static str,
        columns: &'static str,
        from: &'static str,
    ) -> Self {
        Self { kind, id, columns, without: &[], from, parts: None }
    }

    /// Query of the records: the id, then the columns of the row.
    pub(crate) fn rows(&self) -> String {
        format!("SELECT {} AS record_id, {} FROM {}", self.id, self.columns, self.from)
    }

    /// Query of the ids alone.
    pub(crate) fn ids(&self) -> String {
        format!("SELECT {} AS record_id FROM {}", self.id, self.from)
    }
}

/// Query of the version that SQLite keeps for a program.
pub(crate) const USER_VERSION: &str = "SELECT user_version FROM pragma_user_version";
