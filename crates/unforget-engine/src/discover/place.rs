//! The files in which hosts look for their sessions. Nothing is read here.

use std::path::{Component, Path, PathBuf};

use unforget_core::id::Timestamp;
use unforget_text::time_text;

use super::usual::{FolderPattern, FolderShape, HostFolders, USUAL};

impl HostFolders {
    /// The place here that belongs to a transcript with this path on any machine; `None` if its path was in no usual
    /// folder, or if its host keeps sessions in a database.
    pub fn place_of(&self, path: &str) -> Option<PathBuf> {
        let steps: Vec<&str> = path.split(['/', '\\']).collect();
        USUAL.iter().filter(|usual| usual.shape != FolderShape::Databases).find_map(|usual| {
            if !usual.ends.iter().any(|end| path.ends_with(end)) {
                return None;
            }
            let moved = self.moved(usual);
            let is_moved = moved.as_ref().is_some_and(|moved| moved.holds(path));
            let below = below_folder(&steps, usual.folder).filter(|below| below.iter().all(is_plain));
            match (moved, below) {
                (Some(_), _) if is_moved => Some(PathBuf::from(path)),
                (Some(FolderPattern { base, below: pattern }), Some(below)) => {
                    // The variable stands for the steps that the shorter pattern lacks.
                    let gone = usual.folder.split('/').count() - pattern.split('/').count();
                    Some(below.iter().skip(gone).fold(base.to_path_buf(), |all, step| all.join(step)))
                }
                (None, Some(below)) => {
                    let FolderPattern { base, .. } = self.at_home(usual);
                    Some(below.iter().fold(base.to_path_buf(), |all, step| all.join(step)))
                }
                (_, None) => None,
            }
        })
    }
}

/// The host in whose usual folder a transcript with this path was, on any machine.
pub fn host_of_path(path: &str) -> Option<&'static str> {
    let steps: Vec<&str> = path.split(['/', '\\']).collect();
    USUAL.iter().find(|usual| below_folder(&steps, usual.folder).is_some()).map(|usual| usual.host)
}

/// The steps of a path from where a usual folder begins in it, if it has further ones.
fn below_folder<'a, 'b>(steps: &'a [&'b str], folder: &str) -> Option<&'a [&'b str]> {
    let pattern: Vec<&str> = folder.split('/').collect();
    let at = steps.windows(pattern.len()).position(|found| fits(found, &pattern))?;
    steps.get(at..).filter(|below| below.len() > pattern.len())
}

fn fits(steps: &[&str], pattern: &[&str]) -> bool {
    steps.iter().zip(pattern).all(|(step, want)| *want == "*" || step == want)
}

fn is_plain(step: &&str) -> bool {
    let mut parts = Path::new(step).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

impl FolderPattern<'_> {
    /// Whether a file with this path lies in such a folder, or below it.
    fn holds(&self, path: &str) -> bool {
        let Ok(below) = Path::new(path).strip_prefix(self.base) else { return false };
        let steps: Vec<&str> = below.iter().filter_map(|step| step.to_str()).collect();
        let pattern: Vec<&str> = self.below.split('/').collect();
        let is_below = steps.len() > pattern.len() && fits(&steps, &pattern);
        is_below && steps.iter().all(is_plain) && Path::new(path).is_absolute()
    }
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
    pub fn place(&self, folders: &HostFolders) -> Option<PathBuf> {
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
                Some(folders.current(".claude/projects").join(dashed(self.folder)).join(name))
            }
            "codex" => {
                let begun = begun?;
                let (date, minute) = begun.split_once(' ')?;
                let name = format!("rollout-{date}T{}-00-{}.jsonl", minute.replace(':', "-"), self.session);
                Some(folders.current(".codex/sessions").join(date.replace('-', "/")).join(name))
            }
            "pi" if !self.folder.is_empty() => {
                let begun = begun?.replace(' ', "T").replace(':', "-");
                let folder = self.folder.trim_start_matches('/').replace(['/', '\\', ':'], "-");
                let name = format!("{begun}-00-000Z_{}.jsonl", self.session);
                Some(folders.current(".pi/agent/sessions").join(format!("--{folder}--")).join(name))
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
            let folders = HostFolders::new("/h", &|_| None);
            assert_eq!(file.place(&folders), want.map(PathBuf::from), "{file:?}");
        }
        let moved = HostFolders::new("/h", &|name| (name == "CODEX_HOME").then(|| "/codex".to_owned()));
        let want = "/codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-019c.jsonl";
        assert_eq!(file("codex", "019c", "").place(&moved), Some(PathBuf::from(want)));
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
            assert_eq!(HostFolders::new("/home/bob", &|_| None).place_of(path), want, "{why}: {path}");
        }
    }

    #[test]
    fn a_moved_folder_is_a_place_too() {
        let folders =
            HostFolders::new("/home/bob", &|name| (name == "CLAUDE_CONFIG_DIR").then(|| "/c".to_owned()));
        let table = [
            ("/home/ann/.claude/projects/-w/a.jsonl", Some("/c/projects/-w/a.jsonl"), "another home"),
            ("/c/projects/-w/a.jsonl", Some("/c/projects/-w/a.jsonl"), "there already"),
            ("/c/projects/../../etc/a.jsonl", None, "a way out"),
            ("/d/projects/-w/a.jsonl", None, "another folder"),
            ("/home/ann/.codex/sessions/r.jsonl", Some("/home/bob/.codex/sessions/r.jsonl"), "another host"),
        ];
        for (path, want, why) in table {
            assert_eq!(folders.place_of(path), want.map(PathBuf::from), "{why}: {path}");
        }
    }

    #[test]
    fn hosts_of_paths_table() {
        let table = [
            ("/home/ann/.openclaw/agents/main/sessions/c.jsonl", Some("OpenClaw")),
            ("C:\\Users\\ann\\.openclaw\\agents\\main\\sessions\\c.jsonl", Some("OpenClaw")),
            ("/home/ann/.pi/agent/sessions/--w--/b.jsonl", Some("pi")),
            ("/home/ann/.local/share/opencode/opencode.db#ses_1", Some("opencode")),
            ("/tmp/c.jsonl", None),
        ];
        for (path, want) in table {
            assert_eq!(host_of_path(path), want, "{path}");
        }
    }
}
