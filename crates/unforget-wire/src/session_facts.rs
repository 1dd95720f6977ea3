//! What records of a transcript say about their session: its title, and where it ran.

use crate::format::{Format, openclaw, rows};
use crate::json::{self, Object, Tape, Value};

/// What a transcript says about its session, as far as its records were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The title that the host gave it, the newest of the best kind.
    pub title: Option<String>,
    /// The folder in which it began.
    pub folder: Option<String>,
    /// The newest branch of the repository that it worked on.
    pub branch: Option<String>,
    /// The address of the repository, if the host tells it.
    pub repository: Option<String>,
    /// Place of the title's kind among those of the host; the last one is a person's.
    rank: u8,
}

/// Fields of Claude Code's records that hold a title, the weakest first.
const CLAUDE_CODE: [&str; 4] = ["summary", "aiTitle", "agentName", "customTitle"];

/// Columns of the row of a session that tell these facts; empty for what a host does not keep.
struct FactColumns {
    title: &'static str,
    folder: &'static str,
    branch: &'static str,
}

const COLUMNS_OF_OPENCODE: FactColumns = FactColumns { title: "title", folder: "directory", branch: "" };

const COLUMNS_OF_HERMES: FactColumns = FactColumns { title: "title", folder: "cwd", branch: "git_branch" };

impl SessionFacts {
    /// Reads one more record, given as bytes; records must come in order. Other bytes change nothing. O(bytes).
    pub fn read(&mut self, format: Format, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        let text = json::trim(&text);
        let mut tape = Tape::default();
        if tape.read(text.as_bytes()) == Ok(text.len())
            && let Some(record) = tape.value(text).and_then(Value::obj)
        {
            self.add(format, record);
        }
    }

    /// Reads one more record. O(fields).
    pub(crate) fn add(&mut self, format: Format, record: Object<'_>) {
        match format {
            Format::ClaudeCode => self.claude_code(record),
            Format::Codex => self.codex(record),
            Format::CopilotCli => self.copilot_cli(record),
            Format::Pi => self.pi(record),
            Format::OpenClaw => self.openclaw(record),
            Format::Cursor => self.cursor(record),
            Format::Opencode => self.row(record, format, &COLUMNS_OF_OPENCODE),
            Format::Crush => {
                self.row(record, format, &FactColumns { title: "title", folder: "", branch: "" });
            }
            Format::Goose => self.goose(record),
            Format::Hermes => self.row(record, format, &COLUMNS_OF_HERMES),
            Format::Zed => self.zed(record),
            Format::QwenCode => self.qwen_code(record),
            Format::ClaudeStream if record.is("subtype", "init") => self.place(record, "cwd", ""),
            _ => {}
        }
    }

    fn claude_code(&mut self, record: Object<'_>) {
        if record.has("uuid") {
            self.place(record, "cwd", "gitBranch");
            return;
        }
        for (rank, key) in CLAUDE_CODE.into_iter().enumerate() {
            self.entitle(record, key, rank as u8);
        }
    }

    fn codex(&mut self, record: Object<'_>) {
        let kind = record.str("type").unwrap_or_default();
        let payload = record.obj("payload");
        match (&*kind, payload) {
            ("session_meta" | "turn_context", Some(meta)) => {
                self.place(meta, "cwd", "branch");
                self.git(meta);
            }
            ("event_msg", Some(event)) => self.entitle(event, "thread_name", 0),
            ("", None) => self.git(record),
            _ => {}
        }
    }

    fn git(&mut self, meta: Object<'_>) {
        if let Some(git) = meta.obj("git") {
            self.place(git, "", "branch");
            keep_first(&mut self.repository, git.string("repository_url"));
        }
    }

    fn copilot_cli(&mut self, record: Object<'_>) {
        if record.is("type", "session.start")
            && let Some(context) = record.obj("data").and_then(|data| data.obj("context"))
        {
            self.place(context, "cwd", "branch");
            keep_first(&mut self.repository, context.string("repository"));
        }
    }

    fn pi(&mut self, record: Object<'_>) {
        match record.str("type").as_deref() {
            Some("session") => self.place(record, "cwd", ""),
            Some("session_info") => self.entitle(record, "name", 0),
            _ => {}
        }
    }

    /// The row of a session in a database.
    fn row(&mut self, record: Object<'_>, format: Format, columns: &FactColumns) {
        if let Some(row) = rows::row(record, format.name(), "session") {
            self.place(row, columns.folder, columns.branch);
            self.entitle(row, columns.title, 0);
        }
    }

    /// An event is a line of pi's.
    fn openclaw(&mut self, record: Object<'_>) {
        self.row(record, Format::OpenClaw, &FactColumns { title: "display_name", folder: "", branch: "" });
        if let Some(event) = openclaw::event(record) {
            self.pi(event);
        }
    }

    fn cursor(&mut self, record: Object<'_>) {
        let value = rows::row(record, Format::Cursor.name(), "session").and_then(|row| row.obj("value"));
        let Some(value) = value else { return };
        self.entitle(value, "name", 0);
        let folder = value.obj("workspaceIdentifier").and_then(|workspace| workspace.obj("uri"));
        keep_first(&mut self.folder, folder.and_then(|uri| uri.string("fsPath")));
    }

    /// The row of a session, or the first line of an older file.
    fn goose(&mut self, record: Object<'_>) {
        let row = rows::row(record, Format::Goose.name(), "session");
        let header = || record.has("working_dir").then_some(record);
        if let Some(session) = row.or_else(header) {
            self.place(session, "working_dir", "");
            self.entitle(session, "description", 0);
            self.entitle(session, "name", 0);
        }
    }

    fn zed(&mut self, record: Object<'_>) {
        if let Some(row) = rows::row(record, Format::Zed.name(), "session") {
            self.entitle(row, "summary", 0);
            let folders = row.string("folder_paths").unwrap_or_default();
            keep_first(&mut self.folder, folders.lines().next().map(str::to_owned));
        }
    }

    fn qwen_code(&mut self, record: Object<'_>) {
        self.place(record, "cwd", "gitBranch");
        if let Some(payload) = record.obj("systemPayload").filter(|_| record.is("subtype", "custom_title")) {
            self.entitle(payload, "customTitle", u8::from(!payload.is("titleSource", "auto")));
        }
    }

    fn place(&mut self, record: Object<'_>, folder: &str, branch: &str) {
        if self.folder.is_none() {
            keep_first(&mut self.folder, record.string(folder));
        }
        if let Some(branch) = record.str(branch).filter(|branch| !branch.is_empty())
            && self.branch.as_deref() != Some(&*branch)
        {
            self.branch = Some(branch.into_owned());
        }
    }

    fn entitle(&mut self, record: Object<'_>, key: &str, rank: u8) {
        let title = if rank >= self.rank { record.string(key) } else { None };
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            self.title = Some(title);
            self.rank = rank;
        }
    }
}

fn keep_first(fact: &mut Option<String>, found: Option<String>) {
    if fact.is_none() {
        *fact = found.filter(|text| !text.is_empty());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, reason = "tables")]

    use super::*;

    fn facts(format: Format, lines: &[&str]) -> [Option<String>; 4] {
        let mut facts = SessionFacts::default();
        for line in lines {
            facts.read(format, line.as_bytes());
        }
        [facts.title, facts.folder, facts.branch, facts.repository]
    }

    #[test]
    fn facts_table() {
        let claude = [
            r#"{"type":"user","uuid":"a","cwd":"/w/one","gitBranch":"main","customTitle":"not here"}"#,
            r#"{"type":"summary","summary":"weak","leafUuid":"a"}"#,
            r#"{"type":"custom-title","customTitle":"strong","sessionId":"s"}"#,
            r#"{"type":"ai-title","aiTitle":"weaker","sessionId":"s"}"#,
            r#"{"type":"user","uuid":"b","cwd":"/w/two","gitBranch":"fix"}"#,
            "not json",
        ];
        let codex = [
            r#"{"type":"session_meta","payload":{"id":"1","cwd":"/w","git":{"branch":"b","repository_url":"git@x:y"}}}"#,
            r#"{"type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"named"}}"#,
        ];
        let opencode = [
            r#"{"opencode":"session","row":{"id":"ses_1","directory":"/w","title":"first"}}"#,
            r#"{"opencode":"session","row":{"id":"ses_1","directory":"/w","title":"second"}}"#,
        ];
        let openclaw = [
            r#"{"openclaw":"session","row":{"session_id":"1","display_name":"named by its first words"}}"#,
            r#"{"openclaw":"event","row":{"event_json":{"type":"session","id":"1","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}}}"#,
        ];
        let goose = [
            r#"{"goose":"session","row":{"id":"1","working_dir":"/w","description":"old","name":"new"}}"#,
            r#"{"goose":"message","row":{"id":1,"name":"no title"}}"#,
        ];
        let hermes = [r#"{"hermes":"session","row":{"title":"t","cwd":"/w","git_branch":"b"}}"#];
        let cursor = [
            r#"{"cursor":"session","row":{"key":"composerData:1","value":{"name":"t","workspaceIdentifier":{"uri":{"fsPath":"/w"}}}}}"#,
        ];
        let zed = [r#"{"zed":"session","row":{"summary":"t","folder_paths":"/w\n/x"}}"#];
        let copilot =
            [r#"{"type":"session.start","id":"1","data":{"context":{"cwd":"/w","branch":"main"}}}"#];
        let pi = [
            r#"{"type":"session","id":"1","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}"#,
            r#"{"type":"session_info","name":"one"}"#,
            r#"{"type":"session_info","name":"two"}"#,
        ];
        let table: [(Format, &[&str], [Option<&str>; 4]); 11] = [
            (Format::ClaudeCode, &claude, [Some("strong"), Some("/w/one"), Some("fix"), None]),
            (Format::Codex, &codex, [Some("named"), Some("/w"), Some("b"), Some("git@x:y")]),
            (Format::CopilotCli, &copilot, [None, Some("/w"), Some("main"), None]),
            (Format::Opencode, &opencode, [Some("second"), Some("/w"), None, None]),
            (Format::OpenClaw, &openclaw, [Some("named by its first words"), Some("/w"), None, None]),
            (Format::Goose, &goose, [Some("new"), Some("/w"), None, None]),
            (Format::Hermes, &hermes, [Some("t"), Some("/w"), Some("b"), None]),
            (Format::Cursor, &cursor, [Some("t"), Some("/w"), None, None]),
            (Format::Zed, &zed, [Some("t"), Some("/w"), None, None]),
            (Format::Pi, &pi, [Some("two"), Some("/w"), None, None]),
            (Format::Unknown, &claude, [None, None, None, None]),
        ];
        for (format, lines, want) in table {
            assert_eq!(facts(format, lines), want.map(|text| text.map(str::to_owned)), "{}", format.name());
        }
    }
}
