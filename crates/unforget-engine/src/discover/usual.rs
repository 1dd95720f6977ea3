//! The usual folders of known hosts, and the variables of the environment that move them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::listed::{CRUSH, CRUSH_DATABASE, CRUSH_FOLDER};

/// A host and the folder of its transcripts.
pub(super) struct Usual {
    /// Name of the host for people.
    pub(super) host: &'static str,
    /// Folder below the home folder; `*` stands for any one folder.
    pub(super) folder: &'static str,
    /// Suffixes of the file names of transcripts.
    pub(super) ends: &'static [&'static str],
    pub(super) shape: FolderShape,
    /// How the host lets a person put its files elsewhere.
    variable: Option<FolderVariable>,
}

/// A variable of the environment whose value stands for a folder below the home folder.
#[derive(Clone, Copy)]
struct FolderVariable {
    name: &'static str,
    /// The beginning of [`Usual::folder`] that it stands for.
    part: &'static str,
}

/// How transcripts lie in a usual folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderShape {
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
        Self { host, folder, ends, shape: FolderShape::Tree, variable: None }
    }

    const fn shaped(self, shape: FolderShape) -> Self {
        Self { shape, ..self }
    }

    /// * `name` - the variable.
    /// * `part` - the beginning of the folder that its value stands for.
    const fn moved_by(self, name: &'static str, part: &'static str) -> Self {
        Self { variable: Some(FolderVariable { name, part }), ..self }
    }
}

/// Databases directly in a folder.
const fn database(host: &'static str, folder: &'static str, ends: &'static [&'static str]) -> Usual {
    Usual::new(host, folder, ends).shaped(FolderShape::Databases)
}

/// Tasks of an extension of VS Code and of editors made from it.
const fn tasks(host: &'static str, folder: &'static str) -> Usual {
    Usual::new(host, folder, &["api_conversation_history.json"]).shaped(FolderShape::InEditor)
}

/// Tasks below `.config`, which the editors look for where the XDG specification says.
const fn tasks_of_config(host: &'static str, folder: &'static str) -> Usual {
    tasks(host, folder).moved_by("XDG_CONFIG_HOME", ".config")
}

/// Name of OpenClaw for people.
pub(crate) const OPENCLAW: &str = "OpenClaw";

/// Source: documentation and code of each host; see `docs/formats.md` for what was seen.
pub(super) const USUAL: &[Usual] = &[
    Usual::new("Claude Code", ".claude/projects", &[".jsonl"]).moved_by("CLAUDE_CONFIG_DIR", ".claude"),
    Usual::new("Codex", ".codex/sessions", &[".jsonl"]).moved_by("CODEX_HOME", ".codex"),
    Usual::new("Codex", ".codex/archived_sessions", &[".jsonl"]).moved_by("CODEX_HOME", ".codex"),
    Usual::new("pi", ".pi/agent/sessions", &[".jsonl"]).moved_by("PI_CODING_AGENT_DIR", ".pi/agent"),
    Usual::new(OPENCLAW, ".openclaw/agents/*/sessions", &[".jsonl"])
        .moved_by("OPENCLAW_STATE_DIR", ".openclaw"),
    database(OPENCLAW, ".openclaw/agents/*/agent", &["openclaw-agent.sqlite"])
        .moved_by("OPENCLAW_STATE_DIR", ".openclaw"),
    database("opencode", ".local/share/opencode", &[".db"]).moved_by("XDG_DATA_HOME", ".local/share"),
    database(CRUSH, CRUSH_FOLDER, &[CRUSH_DATABASE]).moved_by("XDG_DATA_HOME", ".local/share"),
    database("Goose", ".local/share/goose/sessions", &["sessions.db"])
        .moved_by("XDG_DATA_HOME", ".local/share"),
    Usual::new("Goose", ".local/share/goose/sessions", &[".jsonl"])
        .shaped(FolderShape::Files)
        .moved_by("XDG_DATA_HOME", ".local/share"),
    database("Hermes", ".hermes", &["state.db"]).moved_by("HERMES_HOME", ".hermes"),
    database("Hermes", ".hermes/profiles/*", &["state.db"]).moved_by("HERMES_HOME", ".hermes"),
    database("Cursor", ".config/Cursor/User/globalStorage", &["state.vscdb"])
        .moved_by("XDG_CONFIG_HOME", ".config"),
    database("Cursor", "Library/Application Support/Cursor/User/globalStorage", &["state.vscdb"]),
    database("Cursor", "AppData/Roaming/Cursor/User/globalStorage", &["state.vscdb"]),
    database("Zed", ".local/share/zed/threads", &["threads.db"]).moved_by("XDG_DATA_HOME", ".local/share"),
    database("Zed", "Library/Application Support/Zed/threads", &["threads.db"]),
    database("Zed", "AppData/Local/Zed/threads", &["threads.db"]),
    Usual::new("Gemini CLI", ".gemini/tmp/*/chats", &[".json", ".jsonl"]),
    Usual::new("Gemini CLI", ".gemini/tmp/*/logs", &[".json", ".jsonl"]),
    Usual::new("Qwen Code", ".qwen/projects/*/chats", &[".jsonl"]),
    Usual::new("Qwen Code", ".qwen/tmp/*/chats", &[".json", ".jsonl"]),
    Usual::new("Copilot CLI", ".copilot/session-state", &[".jsonl"]),
    Usual::new("Copilot CLI", ".copilot/history-session-state", &[".json", ".jsonl"]),
    Usual::new("Continue", ".continue/sessions", &[".json"]).shaped(FolderShape::Files),
    Usual::new("Amp", ".local/share/amp/threads", &[".json"]),
    Usual::new("Cline", ".cline/data/sessions", &[".messages.json"]),
    tasks_of_config("Cline", ".config/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks_of_config("Roo Code", ".config/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks_of_config("Kilo Code", ".config/*/User/globalStorage/kilocode.kilo-code/tasks"),
    tasks("Cline", "Library/Application Support/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks("Roo Code", "Library/Application Support/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks("Kilo Code", "Library/Application Support/*/User/globalStorage/kilocode.kilo-code/tasks"),
    tasks("Cline", "AppData/Roaming/*/User/globalStorage/saoudrizwan.claude-dev/tasks"),
    tasks("Roo Code", "AppData/Roaming/*/User/globalStorage/rooveterinaryinc.roo-cline/tasks"),
    tasks("Kilo Code", "AppData/Roaming/*/User/globalStorage/kilocode.kilo-code/tasks"),
];

/// Where the hosts of a person keep their files: below the home folder, or where variables of the environment say.
#[derive(Clone, Debug)]
pub struct HostFolders {
    home: PathBuf,
    moved: Vec<MovedFolder>,
}

/// The value of a variable that moves folders.
#[derive(Clone, Debug)]
struct MovedFolder {
    variable: &'static str,
    to: PathBuf,
}

/// A folder and the rest of a pattern below it.
pub(super) struct FolderPattern<'a> {
    pub(super) base: &'a Path,
    /// As in [`Usual::folder`].
    pub(super) below: &'static str,
}

impl HostFolders {
    /// * `variable` - looks up a variable of the environment; relative folders are ignored, as the XDG specification
    ///   requires.
    pub fn new(home: impl Into<PathBuf>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut moved: Vec<MovedFolder> = Vec::new();
        for FolderVariable { name, .. } in USUAL.iter().filter_map(|usual| usual.variable) {
            let is_new = moved.iter().all(|one| one.variable != name);
            let to = variable(name).map(PathBuf::from).filter(|to| is_new && to.is_absolute());
            moved.extend(to.map(|to| MovedFolder { variable: name, to }));
        }
        Self { home: home.into(), moved }
    }

    /// The variables that move folders.
    pub fn variables() -> BTreeSet<&'static str> {
        USUAL.iter().filter_map(|usual| usual.variable).map(|variable| variable.name).collect()
    }

    /// The folder below the home folder.
    pub(super) fn at_home(&self, usual: &Usual) -> FolderPattern<'_> {
        FolderPattern { base: &self.home, below: usual.folder }
    }

    /// The folder where a variable put it.
    pub(super) fn moved(&self, usual: &Usual) -> Option<FolderPattern<'_>> {
        let FolderVariable { name, part } = usual.variable?;
        let moved = self.moved.iter().find(|one| one.variable == name)?;
        let below = usual.folder.strip_prefix(part)?.trim_start_matches('/');
        Some(FolderPattern { base: &moved.to, below })
    }

    /// Every place of the folder that may hold files: what was written before a variable was set is there too.
    pub(super) fn places(&self, usual: &Usual) -> impl Iterator<Item = FolderPattern<'_>> {
        self.moved(usual).into_iter().chain([self.at_home(usual)])
    }

    /// The folder into which the host writes now, for one without `*`.
    pub(super) fn current(&self, folder: &str) -> PathBuf {
        let usual = USUAL.iter().find(|usual| usual.folder == folder);
        match usual.and_then(|usual| self.moved(usual)) {
            Some(FolderPattern { base, below }) => base.join(below),
            None => self.home.join(folder),
        }
    }
}

impl FolderPattern<'_> {
    /// The folders that fit, sorted. Links below the base are followed only if their target lies in it.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let Ok(real_base) = fs::canonicalize(self.base) else { return Vec::new() };
        let mut folders = vec![self.base.to_path_buf()];
        for step in self.below.split('/') {
            let next = folders.iter().flat_map(|folder| match step {
                "*" => below(folder),
                _ => vec![folder.join(step)],
            });
            folders = next.collect();
        }
        folders.retain(|folder| {
            folder.is_dir() && fs::canonicalize(folder).is_ok_and(|real| real.starts_with(&real_base))
        });
        folders.sort();
        folders
    }
}

/// Folders directly in a folder, links excluded.
fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(folder) else { return Vec::new() };
    let folders = items.flatten().filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|item| item.path()).collect()
}
