//! Finds the transcripts of known hosts in their usual folders.

mod listed;
mod place;
mod retention;
mod usual;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unforget_guard::walk;

use listed::{CRUSH, CRUSH_DATABASE};
use usual::{FolderPattern, FolderShape, USUAL, Usual};

pub use place::{SessionFile, host_of_path};
pub use usual::HostFolders;
pub(crate) use usual::OPENCLAW;

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

/// Result of [`HostFolders::discover`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// By host, then path.
    pub transcripts: Vec<Transcript>,
    /// Folders and files that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// A folder whose changes tell of transcripts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchedFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether the folders below it belong to it.
    pub is_deep: bool,
}

impl HostFolders {
    /// Looks for transcripts of known hosts. Reads folders only, and the list that Crush keeps of its projects. Symbolic links below the usual folders are not
    /// followed; a usual folder that is itself a link is followed only if its target lies in the home folder, or in the
    /// folder that a variable names.
    pub fn discover(&self) -> Discovered {
        let mut found = Discovered::default();
        for usual in USUAL {
            for folder in self.found(usual) {
                look_into(&folder, usual, &mut found);
            }
        }
        for path in self.crush_databases() {
            if found.transcripts.iter().all(|known| known.path != path) {
                found.take(CRUSH, &path);
            }
        }
        found
    }

    /// The usual folders of known hosts that are there, for a watch: of folders with a name of their own for each project, the
    /// folder above.
    pub fn watched_folders(&self) -> Vec<WatchedFolder> {
        let watched = |usual: &Usual| match usual.shape {
            FolderShape::Databases | FolderShape::InEditor => self.found(usual),
            FolderShape::Tree | FolderShape::Files => {
                let above = |place: FolderPattern<'_>| {
                    place.base.join(place.below.split("/*").next().unwrap_or(place.below))
                };
                self.places(usual).map(above).collect()
            }
        };
        let all = USUAL.iter().flat_map(|usual| {
            let is_deep = usual.shape != FolderShape::Databases;
            watched(usual).into_iter().map(move |path| WatchedFolder { path, is_deep })
        });
        let listed = self.crush_databases().into_iter().filter_map(|path| path.parent().map(Path::to_owned));
        let all = all.chain(listed.map(|path| WatchedFolder { path, is_deep: false }));
        let mut all: Vec<WatchedFolder> = all.filter(|folder| folder.path.is_dir()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The transcript or database of a known host that a changed file belongs to; `None` for any other file.
    ///
    /// Cost: nothing for a file with another ending; else one look at the host's folders.
    pub fn transcript_of(&self, changed: &Path) -> Option<PathBuf> {
        let listed = || {
            let file = without_log(changed);
            let is_named = file.file_name() == Some(CRUSH_DATABASE.as_ref());
            (is_named && self.crush_databases().iter().any(|path| path == file)).then(|| file.to_path_buf())
        };
        let usual = USUAL.iter().find_map(|usual| {
            let is_database = usual.shape == FolderShape::Databases;
            let file = if is_database { without_log(changed) } else { changed };
            let is_in = |folder: &PathBuf| match usual.shape {
                FolderShape::Databases | FolderShape::Files => file.parent() == Some(folder),
                FolderShape::Tree | FolderShape::InEditor => file.starts_with(folder),
            };
            let has = || self.places(usual).flat_map(|place| place.folders()).any(|folder| is_in(&folder));
            (usual.takes(file) && has()).then(|| file.to_path_buf())
        });
        usual.or_else(listed)
    }

    /// The folders of a host that are there, each once.
    fn found(&self, usual: &Usual) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in self.places(usual).flat_map(|place| place.folders()) {
            let is_same = |known: &PathBuf| fs::canonicalize(known).ok() == fs::canonicalize(&folder).ok();
            if !folders.iter().any(is_same) {
                folders.push(folder);
            }
        }
        folders
    }
}

impl Discovered {
    fn take(&mut self, host: &'static str, path: &Path) {
        match fs::symlink_metadata(path) {
            Ok(facts) => self.transcripts.push(Transcript {
                host,
                path: path.to_path_buf(),
                bytes: facts.len(),
                modified: facts.modified().ok(),
            }),
            Err(_) => self.unreadable.push(path.to_path_buf()),
        }
    }
}

impl Usual {
    /// Whether a file of this name is a transcript of the host.
    fn takes(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        !LISTS.contains(&name) && self.ends.iter().any(|end| name.ends_with(end.as_bytes()))
    }
}

/// The database that a file belongs to: SQLite has logs beside it.
fn without_log(file: &Path) -> &Path {
    let base = |text: &'static str| file.to_str().and_then(|path| path.strip_suffix(text));
    ["-wal", "-journal"].into_iter().find_map(base).map_or(file, Path::new)
}

fn look_into(folder: &Path, usual: &Usual, found: &mut Discovered) {
    let mut take = |outcome: std::io::Result<()>, path: &Path| {
        if outcome.is_err() {
            return found.unreadable.push(path.to_path_buf());
        }
        if !usual.takes(path) {
            return;
        }
        found.take(usual.host, path);
    };
    if matches!(usual.shape, FolderShape::Tree | FolderShape::InEditor) {
        return walk(folder, &mut take);
    }
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = items.filter(|item| item.file_type().is_ok_and(|kind| kind.is_file()));
    files.for_each(|item| take(Ok(()), &item.path()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(home: &Path) -> HostFolders {
        HostFolders::new(home, &|_| None)
    }

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
            (".openclaw/agents/main/agent/openclaw-agent.sqlite", true, "an agent's database"),
            (".openclaw/agents/main/agent/openclaw-agent.sqlite-shm", false, "a part of it"),
            (".openclaw/state/openclaw.sqlite", false, "the host's own"),
            (".local/share/goose/sessions/sessions.db", true, "a database"),
            (".local/share/goose/sessions/20250301_090000.jsonl", true, "an older session"),
            (".hermes/state.db", true, "a database"),
            (".hermes/profiles/work/state.db", true, "of a profile"),
            (".hermes/kanban.db", false, "the host's own"),
            (".config/Cursor/User/globalStorage/state.vscdb", true, "a database"),
            (".config/Cursor/User/globalStorage/state.vscdb.backup", false, "the host's own copy"),
            ("Library/Application Support/Zed/threads/threads.db", true, "a database"),
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
        let found = plain(home.path()).discover();
        for (name, want, why) in table {
            let path = home.path().join(name);
            assert_eq!(found.transcripts.iter().any(|one| one.path == path), want, "{why}: {name}");
        }
        assert_eq!(found.unreadable, Vec::<PathBuf>::new());
        assert!(plain(&home.path().join("nowhere")).discover().transcripts.is_empty());
    }

    #[test]
    fn databases_of_projects_are_found_by_their_list() {
        let home = tempfile::tempdir().unwrap();
        let [one, link] = ["work/.crush", "other/.crush"].map(|folder| home.path().join(folder));
        let lists = home.path().join(".local/share/crush");
        for folder in [&one, &link, &lists] {
            fs::create_dir_all(folder).unwrap();
        }
        let database = one.join("crush.db");
        fs::write(&database, "").unwrap();
        let list = |folders: &[&Path]| {
            let projects: Vec<_> =
                folders.iter().map(|folder| serde_json::json!({ "data_dir": folder })).collect();
            fs::write(lists.join("projects.json"), serde_json::json!({ "projects": projects }).to_string())
                .unwrap();
        };
        let found = || {
            let all = plain(home.path()).discover().transcripts.into_iter();
            all.map(|one| one.path).collect::<Vec<_>>()
        };
        assert_eq!(found(), Vec::<PathBuf>::new(), "no list");
        list(&[&one, &one, &link, Path::new("relative"), Path::new("/nowhere")]);
        assert_eq!(found(), std::slice::from_ref(&database), "once, and only what is there");
        let folders = plain(home.path());
        assert!(folders.watched_folders().contains(&WatchedFolder { path: one.clone(), is_deep: false }));
        assert_eq!(folders.transcript_of(&one.join("crush.db-wal")), Some(database));
        assert_eq!(folders.transcript_of(&link.join("crush.db")), None, "not there");
        fs::write(lists.join("projects.json"), "{").unwrap();
        assert_eq!(found(), Vec::<PathBuf>::new(), "a broken list");
    }

    #[test]
    fn an_editor_is_not_watched_as_a_whole() {
        let home = tempfile::tempdir().unwrap();
        let tasks = home.path().join(".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks");
        let chats = home.path().join(".qwen/projects/-work/chats");
        for folder in [&tasks, &chats, &home.path().join(".config/other")] {
            fs::create_dir_all(folder).unwrap();
        }
        let watched: Vec<_> =
            plain(home.path()).watched_folders().into_iter().map(|folder| folder.path).collect();
        assert_eq!(watched, [tasks, home.path().join(".qwen/projects")]);
    }

    #[test]
    fn variables_move_folders() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let table = [
            (
                "CLAUDE_CONFIG_DIR",
                "claude",
                "claude/projects/-work/a.jsonl",
                ".claude/projects/-work/a.jsonl",
            ),
            ("CODEX_HOME", "codex", "codex/sessions/2026/r.jsonl", ".codex/sessions/2026/r.jsonl"),
            (
                "PI_CODING_AGENT_DIR",
                "pi",
                "pi/sessions/--work--/b.jsonl",
                ".pi/agent/sessions/--work--/b.jsonl",
            ),
            (
                "OPENCLAW_STATE_DIR",
                "claw",
                "claw/agents/main/sessions/c.jsonl",
                ".openclaw/agents/main/sessions/c.jsonl",
            ),
            ("XDG_DATA_HOME", "data", "data/opencode/opencode.db", ".local/share/opencode/opencode.db"),
            (
                "XDG_CONFIG_HOME",
                "config",
                "config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
                ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
            ),
        ];
        let write = |path: PathBuf| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        };
        for (name, folder, moved, usual) in table {
            let (moved, usual) = (other.path().join(moved), home.path().join(usual));
            write(moved.clone());
            write(usual.clone());
            let value = other.path().join(folder).display().to_string();
            let lookup = |asked: &str| (asked == name).then(|| value.clone());
            let folders = HostFolders::new(home.path(), &lookup);
            let found: Vec<PathBuf> =
                folders.discover().transcripts.into_iter().map(|transcript| transcript.path).collect();
            assert!(found.contains(&moved) && found.contains(&usual), "{name}: {found:?}");
            let watched = folders.watched_folders();
            assert!(watched.iter().any(|folder| moved.starts_with(&folder.path)), "{name}: {watched:?}");
            assert_eq!(folders.transcript_of(&moved).as_ref(), Some(&moved), "{name}");
        }
        assert!(
            plain(home.path()).discover().transcripts.iter().all(|one| one.path.starts_with(home.path()))
        );
        let same = home.path().join(".local/share").display().to_string();
        for (value, want, why) in
            [(same.as_str(), 1, "the usual folder once"), ("data", 1, "a relative folder")]
        {
            let lookup = |asked: &str| (asked == "XDG_DATA_HOME").then(|| value.to_owned());
            let found = HostFolders::new(home.path(), &lookup).discover().transcripts;
            let databases = found.iter().filter(|one| one.path.ends_with("opencode.db"));
            assert_eq!(databases.count(), want, "{why}");
        }
    }

    #[test]
    fn changes_tell_of_transcripts() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join(".local/share/opencode");
        for folder in
            [&data, &home.path().join(".claude/projects/-w"), &home.path().join(".continue/sessions")]
        {
            fs::create_dir_all(folder).unwrap();
        }
        let folders = plain(home.path());
        let table = [
            (".claude/projects/-w/a.jsonl", Some(".claude/projects/-w/a.jsonl"), "a session"),
            (".claude/projects/-w/a.jsonl.tmp", None, "on its way"),
            (".claude/settings.json", None, "no session"),
            (".continue/sessions/sessions.json", None, "a list"),
            (".local/share/opencode/opencode.db", Some(".local/share/opencode/opencode.db"), "a database"),
            (".local/share/opencode/opencode.db-wal", Some(".local/share/opencode/opencode.db"), "its log"),
            (".local/share/opencode/snapshot/x.db", None, "below it"),
        ];
        for (changed, want, why) in table {
            let found = folders.transcript_of(&home.path().join(changed));
            assert_eq!(found, want.map(|want| home.path().join(want)), "{why}: {changed}");
        }
        assert!(folders.watched_folders().contains(&WatchedFolder { path: data, is_deep: false }));
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
        assert_eq!(plain(home.path()).discover(), Discovered::default());
    }
}
