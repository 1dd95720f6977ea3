//! Finds the transcripts of known hosts in their usual folders.

mod place;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unforget_guard::walk;

pub use place::{SessionFile, usual_place};

/// A host and the folder of its transcripts.
struct Usual {
    /// Name of the host for people.
    host: &'static str,
    /// Folder below the home folder; `*` stands for any one folder.
    folder: &'static str,
    /// Suffixes of the file names of transcripts.
    ends: &'static [&'static str],
    shape: FolderShape,
}

/// How transcripts lie in a usual folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderShape {
    /// Anywhere below it.
    Tree,
    /// Directly in it, beside files of the host's own.
    Files,
    /// Directly in it, as databases; the folders below hold something else.
    Databases,
    /// Anywhere below it; what `*` stands for is an editor, whose folder holds much else.
    InEditor,
}

impl Usual {
    const fn new(host: &'static str, folder: &'static str, ends: &'static [&'static str]) -> Self {
        Self { host, folder, ends, shape: FolderShape::Tree }
    }

    const fn shaped(self, shape: FolderShape) -> Self {
        Self { shape, ..self }
    }
}

/// Tasks of an extension of VS Code and of editors made from it.
const fn tasks(host: &'static str, folder: &'static str) -> Usual {
    Usual::new(host, folder, &["api_conversation_history.json"]).shaped(FolderShape::InEditor)
}

/// Source: documentation and code of each host; see `docs/formats.md` for what was seen.
const USUAL: &[Usual] = &[
    Usual::new("Claude Code", ".claude/projects", &[".jsonl"]),
    Usual::new("Codex", ".codex/sessions", &[".jsonl"]),
    Usual::new("Codex", ".codex/archived_sessions", &[".jsonl"]),
    Usual::new("pi", ".pi/agent/sessions", &[".jsonl"]),
    Usual::new("OpenClaw", ".openclaw/agents/*/sessions", &[".jsonl"]),
    Usual::new("opencode", ".local/share/opencode", &[".db"]).shaped(FolderShape::Databases),
    Usual::new("Gemini CLI", ".gemini/tmp/*/chats", &[".json", ".jsonl"]),
    Usual::new("Gemini CLI", ".gemini/tmp/*/logs", &[".json", ".jsonl"]),
    Usual::new("Qwen Code", ".qwen/projects/*/chats", &[".jsonl"]),
    Usual::new("Qwen Code", ".qwen/tmp/*/chats", &[".json", ".jsonl"]),
    Usual::new("Copilot CLI", ".copilot/session-state", &[".jsonl"]),
    Usual::new("Copilot CLI", ".copilot/history-session-state", &[".json", ".jsonl"]),
    Usual::new("Continue", ".continue/sessions", &[".json"]).shaped(FolderShape::Files),
    Usual::new("Amp", ".local/share/amp/threads", &[".json"]),
    Usual::new("Cline", ".cline/data/sessions", &[".messages.json"]),
    tasks("Cline", ".config/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks("Roo Code", ".config/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks("Kilo Code", ".config/*/User/globalStorage/kilocode.kilo-code/tasks"),
    tasks("Cline", "Library/Application Support/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks("Roo Code", "Library/Application Support/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks("Kilo Code", "Library/Application Support/*/User/globalStorage/kilocode.kilo-code/tasks"),
    tasks("Cline", "AppData/Roaming/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks("Roo Code", "AppData/Roaming/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks("Kilo Code", "AppData/Roaming/*/User/globalStorage/kilocode.kilo-code/tasks"),
];

/// The list that Continue keeps beside its sessions.
const LISTS: [&[u8]; 1] = [b"sessions.json"];

/// A transcript found on this machine, ready for import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Name of the host.
    pub host: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Time of the last modification; `None` if the system does not report one.
    pub modified: Option<SystemTime>,
}

/// Result of [`discover`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// By host, then path.
    pub transcripts: Vec<Transcript>,
    /// Folders and files that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// Looks for transcripts of known hosts. Reads folders only, no file. Symbolic links below the usual folders are not
/// followed; a usual folder that is itself a link is followed only if its target lies in the home folder.
pub fn discover(home: &Path) -> Discovered {
    let mut found = Discovered::default();
    let Ok(real_home) = fs::canonicalize(home) else { return found };
    for usual in USUAL {
        for folder in folders(home, usual.folder) {
            let is_inside = fs::canonicalize(&folder).is_ok_and(|real| real.starts_with(&real_home));
            if is_inside {
                look_into(&folder, usual, &mut found);
            }
        }
    }
    found
}

/// The usual folders of known hosts that are there, for a watch, without those of databases: of folders with a name of their
/// own for each project, the folder above.
pub fn usual_folders(home: &Path) -> Vec<PathBuf> {
    let watched = |usual: &Usual| match usual.shape {
        FolderShape::Databases => Vec::new(),
        FolderShape::InEditor => folders(home, usual.folder),
        FolderShape::Tree | FolderShape::Files => {
            vec![home.join(usual.folder.split("/*").next().unwrap_or(usual.folder))]
        }
    };
    let mut folders: Vec<PathBuf> = USUAL.iter().flat_map(watched).filter(|folder| folder.is_dir()).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// The databases of known hosts. Reads the folders that hold them only.
pub fn host_databases(home: &Path) -> Vec<PathBuf> {
    let mut found = Discovered::default();
    for usual in USUAL.iter().filter(|usual| usual.shape == FolderShape::Databases) {
        for folder in folders(home, usual.folder) {
            look_into(&folder, usual, &mut found);
        }
    }
    found.transcripts.into_iter().map(|transcript| transcript.path).collect()
}

fn look_into(folder: &Path, usual: &Usual, found: &mut Discovered) {
    let mut take = |outcome: std::io::Result<()>, path: &Path| {
        if outcome.is_err() {
            return found.unreadable.push(path.to_path_buf());
        }
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if LISTS.contains(&name) || !usual.ends.iter().any(|end| name.ends_with(end.as_bytes())) {
            return;
        }
        match fs::symlink_metadata(path) {
            Ok(facts) => found.transcripts.push(Transcript {
                host: usual.host,
                path: path.to_path_buf(),
                bytes: facts.len(),
                modified: facts.modified().ok(),
            }),
            Err(_) => found.unreadable.push(path.to_path_buf()),
        }
    };
    if matches!(usual.shape, FolderShape::Tree | FolderShape::InEditor) {
        return walk(folder, &mut take);
    }
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = items.filter(|item| item.file_type().is_ok_and(|kind| kind.is_file()));
    files.for_each(|item| take(Ok(()), &item.path()));
}

/// Folders that match a pattern, sorted.
fn folders(home: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut folders = vec![home.to_path_buf()];
    for step in pattern.split('/') {
        let next = folders.iter().flat_map(|folder| match step {
            "*" => below(folder),
            _ => vec![folder.join(step)],
        });
        folders = next.collect();
    }
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders
}

/// Folders directly in a folder, links excluded.
fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(folder) else { return Vec::new() };
    let folders = items.flatten().filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|item| item.path()).filter(|path| path.file_name() != Some(OsStr::new(""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_places() {
        let home = tempfile::tempdir().unwrap();
        let table = [
            (".claude/projects/-work/a.jsonl", true, "a session"),
            (".claude/projects/-work/a/subagents/agent-1.jsonl", true, "its sub-agent"),
            (".claude/projects/-work/notes.md", false, "not a transcript"),
            (".claude/settings.json", false, "not among the sessions"),
            (".codex/sessions/2026/01/02/rollout-x.jsonl", true, "by date"),
            (".pi/agent/sessions/--work--/b.jsonl", true, "by folder"),
            (".openclaw/agents/main/sessions/c.jsonl", true, "by agent"),
            (".openclaw/agents/main/other/c.jsonl", false, "another folder of the agent"),
            (".local/share/opencode/opencode.db", true, "a database"),
            (".local/share/opencode/opencode.db-wal", false, "a part of it"),
            (".local/share/opencode/snapshot/a/x.db", false, "below its folder"),
            (".gemini/tmp/hash/chats/session-1.json", true, "one document"),
            (".qwen/projects/-work/chats/a.jsonl", true, "by project"),
            (".qwen/usage/token-usage.jsonl", false, "not among the chats"),
            (".continue/sessions/5e55.json", true, "one document"),
            (".continue/sessions/sessions.json", false, "their list"),
            (".local/share/amp/threads/T-1.json", true, "a thread"),
            (".cline/data/sessions/1_a/1_a.messages.json", true, "its messages"),
            (".cline/data/sessions/1_a/1_a.compaction.json", false, "what is sent of them"),
            (
                ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
                true,
                "a task",
            ),
            (
                ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json",
                false,
                "what was shown of it",
            ),
            (
                "Library/Application Support/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks/2/api_conversation_history.json",
                true,
                "on a Mac",
            ),
            (".copilot/session-state/x/events.jsonl", true, "events"),
            (".copilot/history-session-state/y.json", true, "older ones"),
        ];
        for (name, ..) in table {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let found = discover(home.path());
        for (name, want, why) in table {
            let path = home.path().join(name);
            assert_eq!(found.transcripts.iter().any(|one| one.path == path), want, "{why}: {name}");
        }
        assert_eq!(found.unreadable, Vec::<PathBuf>::new());
        assert!(discover(&home.path().join("nowhere")).transcripts.is_empty());
    }

    #[test]
    fn an_editor_is_not_watched_as_a_whole() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path().join(".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks");
        let chats = home.path().join(".qwen/projects/-work/chats");
        for folder in [&tasks, &chats, &home.path().join(".config/other")] {
            fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(usual_folders(home.path()), [tasks, home.path().join(".qwen/projects")]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_out() {
        let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.jsonl"), "{}").unwrap();
        fs::create_dir_all(home.path().join(".claude/projects")).unwrap();
        fs::create_dir_all(home.path().join(".codex")).unwrap();
        let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, home.path().join(name)).unwrap();
        link(outside.path().into(), ".claude/projects/link");
        link(outside.path().join("secret.jsonl"), ".claude/projects/x.jsonl");
        link(outside.path().into(), ".codex/sessions");
        assert_eq!(discover(home.path()), Discovered::default());
    }
}
