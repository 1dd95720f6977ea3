//! The files in which hosts look for their sessions. Nothing is read here.

use std::path::{Component, Path, PathBuf};

use unforget_core::id::Timestamp;
use unforget_text::time_text;

use super::{FolderShape, USUAL};

/// The place below a home folder that belongs to a transcript with this path on any machine; `None` if its path was in no usual
/// folder, or if its host keeps sessions in a database.
pub fn usual_place(home: &Path, path: &str) -> Option<PathBuf> {
    let steps: Vec<&str> = path.split(['/', '\\']).collect();
    let is_plain = |step: &&str| {
        let mut parts = Path::new(step).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
    };
    USUAL.iter().filter(|usual| usual.shape != FolderShape::Databases).find_map(|usual| {
        let pattern: Vec<&str> = usual.folder.split('/').collect();
        let is_it =
            |found: &[&str]| found.iter().zip(&pattern).all(|(step, want)| *want == "*" || step == want);
        let at = steps.windows(pattern.len()).position(is_it)?;
        let below = steps.get(at..).filter(|below| below.len() > pattern.len())?;
        let ends = usual.ends.iter().any(|end| path.ends_with(end));
        (ends && below.iter().all(is_plain))
            .then(|| below.iter().fold(home.to_path_buf(), |all, step| all.join(step)))
    })
}

/// By what a host names the file of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionFile<'a> {
    /// Name of the transcript's format.
    pub format: &'a str,
    /// The host's id of the session.
    pub session: &'a str,
    /// The folder in which it began; empty if nobody knows.
    pub folder: &'a str,
    /// When it began.
    pub begun: Option<Timestamp>,
}

impl SessionFile<'_> {
    /// The file as its host names it; `None` for hosts whose rule is not known, and if the rule needs what is not known.
    pub fn place(&self, home: &Path) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.session.is_empty() || !self.session.chars().all(is_plain) {
            return None;
        }
        let dashed = |folder: &str| -> String {
            folder.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
        };
        // `2026-03-02 09:00`: minutes are enough for a name, hosts find sessions by the id in it.
        let begun = self.begun.map(time_text);
        match self.format {
            "claude-code" if !self.folder.is_empty() => {
                let name = format!("{}.jsonl", self.session);
                Some(home.join(".claude/projects").join(dashed(self.folder)).join(name))
            }
            "codex" => {
                let begun = begun?;
                let (date, minute) = begun.split_once(' ')?;
                let name = format!("rollout-{date}T{}-00-{}.jsonl", minute.replace(':', "-"), self.session);
                Some(home.join(".codex/sessions").join(date.replace('-', "/")).join(name))
            }
            "pi" if !self.folder.is_empty() => {
                let begun = begun?.replace(' ', "T").replace(':', "-");
                let folder = self.folder.trim_start_matches('/').replace(['/', '\\', ':'], "-");
                let name = format!("{begun}-00-000Z_{}.jsonl", self.session);
                Some(home.join(".pi/agent/sessions").join(format!("--{folder}--")).join(name))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_files_table() {
        let begun = Some(Timestamp(1_772_442_000_000));
        let file = |format, session, folder| SessionFile { format, session, folder, begun };
        let table = [
            (
                file("claude-code", "6f1c", "/home/ann/my.app"),
                Some("/h/.claude/projects/-home-ann-my-app/6f1c.jsonl"),
            ),
            (file("claude-code", "6f1c", ""), None),
            (file("claude-code", "../6f1c", "/home/ann"), None),
            (
                file("codex", "019c", ""),
                Some("/h/.codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-019c.jsonl"),
            ),
            (SessionFile { begun: None, ..file("codex", "019c", "") }, None),
            (
                file("pi", "0b7e", "/home/ann/x"),
                Some("/h/.pi/agent/sessions/--home-ann-x--/2026-03-02T09-00-00-000Z_0b7e.jsonl"),
            ),
            (file("opencode", "ses_1", "/home/ann"), None),
        ];
        for (file, want) in table {
            assert_eq!(file.place(Path::new("/h")), want.map(PathBuf::from), "{file:?}");
        }
    }

    #[test]
    fn usual_place_table() {
        let table = [
            ("/home/ann/.claude/projects/-w/a.jsonl", Some(".claude/projects/-w/a.jsonl"), "another home"),
            (
                "/home/ann/.claude/projects/-w/a/subagents/b.jsonl",
                Some(".claude/projects/-w/a/subagents/b.jsonl"),
                "below",
            ),
            (
                "C:\\Users\\ann\\.codex\\sessions\\2026\\r.jsonl",
                Some(".codex/sessions/2026/r.jsonl"),
                "another system",
            ),
            (
                "/home/ann/.openclaw/agents/main/sessions/c.jsonl",
                Some(".openclaw/agents/main/sessions/c.jsonl"),
                "any agent",
            ),
            ("/home/ann/.claude/projects", None, "the folder itself"),
            ("/home/ann/.claude/projects/../../.ssh/a.jsonl", None, "a way out"),
            ("/home/ann/.claude/projects/-w/a.md", None, "no transcript"),
            ("/home/ann/.local/share/opencode/opencode.db#ses_1", None, "a row of a database"),
            ("/tmp/a.jsonl", None, "no usual folder"),
        ];
        for (path, want, why) in table {
            let want = want.map(|want| Path::new("/home/bob").join(want));
            assert_eq!(usual_place(Path::new("/home/bob"), path), want, "{why}: {path}");
        }
    }
}
