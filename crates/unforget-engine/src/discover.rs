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
    /// Whether they lie directly in the folder, and the folders below it hold something else.
    is_flat: bool,
}

const USUAL: &[Usual] = &[
    Usual { host: "Claude Code", folder: ".claude/projects", ends: &[".jsonl"], is_flat: false },
    Usual { host: "Codex", folder: ".codex/sessions", ends: &[".jsonl"], is_flat: false },
    Usual { host: "Codex", folder: ".codex/archived_sessions", ends: &[".jsonl"], is_flat: false },
    Usual { host: "pi", folder: ".pi/agent/sessions", ends: &[".jsonl"], is_flat: false },
    Usual { host: "OpenClaw", folder: ".openclaw/agents/*/sessions", ends: &[".jsonl"], is_flat: false },
    Usual { host: "opencode", folder: ".local/share/opencode", ends: &[".db"], is_flat: true },
    Usual { host: "Gemini CLI", folder: ".gemini/tmp/*/chats", ends: &[".json", ".jsonl"], is_flat: false },
    Usual { host: "Gemini CLI", folder: ".gemini/tmp/*/logs", ends: &[".json", ".jsonl"], is_flat: false },
    Usual { host: "Copilot CLI", folder: ".copilot/session-state", ends: &[".jsonl"], is_flat: false },
    Usual {
        host: "Copilot CLI",
        folder: ".copilot/history-session-state",
        ends: &[".json", ".jsonl"],
        is_flat: false,
    },
];

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

/// The usual folders of known hosts that are there, for a watch, without those of databases: of folders with a name of their own for each project, the folder above.
pub fn usual_folders(home: &Path) -> Vec<PathBuf> {
    let above = USUAL
        .iter()
        .filter(|usual| !usual.is_flat)
        .map(|usual| usual.folder.split("/*").next().unwrap_or(usual.folder));
    let mut folders: Vec<PathBuf> =
        above.map(|folder| home.join(folder)).filter(|folder| folder.is_dir()).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// The databases of known hosts. Reads the folders that hold them only.
pub fn host_databases(home: &Path) -> Vec<PathBuf> {
    let mut found = Discovered::default();
    for usual in USUAL.iter().filter(|usual| usual.is_flat) {
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
        if !usual.ends.iter().any(|end| name.ends_with(end.as_bytes())) {
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
    if !usual.is_flat {
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
