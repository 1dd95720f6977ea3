//! What setup would change, and the change.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use unforget_core::digest::Digest;

use super::addition::{Addition, WithAddition};
use super::agents::WantedFile;
use super::record::{RecordedFile, SetupRecord};
use crate::failure::{Failure, Outcome};

/// A change of one file.
#[derive(Clone, Debug)]
pub(super) struct FileChange {
    /// The agent, or `service`.
    pub(super) owner: String,
    /// The file.
    pub(super) path: PathBuf,
    /// What it is for.
    pub(super) what: String,
    /// The file's text before the change; `None` without a file.
    pub(super) before: Option<String>,
    /// Its text afterwards; `None` if it is removed.
    pub(super) after: Option<String>,
    /// Whether something of another author stands in the place of an addition, and stays there.
    pub(super) is_kept: bool,
    /// The record afterwards; `None` if nothing of ours is left in the file.
    record: Option<RecordedFile>,
}

impl FileChange {
    /// Whether there is anything to do.
    pub(super) fn is_needed(&self) -> bool {
        self.before != self.after
    }
}

/// The change that puts the additions into a file.
///
/// # Errors
/// If the file cannot be read or is not what it should be; the failure names the place.
pub(super) fn setting_up(owner: &str, wanted: WantedFile, record: &SetupRecord) -> Outcome<FileChange> {
    let WantedFile { path, what, additions } = wanted;
    let before = read(&path)?;
    let old = record.of(owner, &path);
    let base = match old {
        Some(old) => without(old, before.clone()),
        None => before.clone(),
    };
    let mut after = base.clone();
    let mut put: Vec<Addition> = Vec::new();
    let mut is_kept = false;
    for addition in additions {
        match addition.put_into(after.as_deref()) {
            Ok(WithAddition::Put(text)) => {
                after = Some(text);
                put.push(addition);
            }
            Ok(WithAddition::Other) => is_kept = true,
            Err(problem) => {
                let hint = "mend the file first, or move it away; nothing was changed";
                return Err(Failure::input("file", format!("{}: {problem}", path.display()), hint));
            }
        }
    }
    let recorded = |text: &String| RecordedFile {
        owner: owner.to_owned(),
        path: path.clone(),
        original: base.clone(),
        digest: digest(text),
        additions: put.clone(),
    };
    let is_ours = after != base;
    let record = after.as_ref().filter(|_| is_ours).map(recorded);
    Ok(FileChange { owner: owner.to_owned(), what: what.to_owned(), before, after, is_kept, record, path })
}

/// The change that takes everything recorded out of a file.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn undoing(recorded: &RecordedFile) -> Outcome<FileChange> {
    let before = read(&recorded.path)?;
    let after = without(recorded, before.clone());
    let is_kept = recorded.additions.iter().any(|addition| {
        matches!(addition, Addition::Whole { .. }) && after.is_some() && recorded.original.is_none()
    });
    let what = if after == recorded.original { "as it was before" } else { "without what setup put in" };
    Ok(FileChange {
        owner: recorded.owner.clone(),
        path: recorded.path.clone(),
        what: what.to_owned(),
        before,
        after,
        is_kept,
        record: None,
    })
}

/// The text of a file without what was recorded: the original if nobody touched the file since.
fn without(recorded: &RecordedFile, text: Option<String>) -> Option<String> {
    let mut text = text?;
    if digest(&text) == recorded.digest {
        return recorded.original.clone();
    }
    for addition in recorded.additions.iter().rev() {
        text = addition.take_from(&text, recorded.original.as_deref())?;
    }
    let is_empty = recorded.original.is_none() && matches!(text.trim(), "" | "{}");
    (!is_empty).then_some(text)
}

/// Carries a change out, and records it.
///
/// # Errors
/// If the file changed since it was read, or cannot be written.
pub(super) fn carry_out(change: &FileChange, record: &mut SetupRecord) -> Outcome<()> {
    let FileChange { path, before, after, .. } = change;
    if read(path)? != *before {
        let message = format!("{} changed in the meantime", path.display());
        return Err(Failure::input("file", message, "run the command again"));
    }
    record.put(&change.owner, path, change.record.clone());
    if change.is_needed() {
        write(path, after.as_deref()).map_err(|error| Failure::file(path, &error))?;
    }
    Ok(())
}

/// Saves the record.
///
/// # Errors
/// If it cannot be written.
pub(super) fn save(record: &SetupRecord, path: &Path) -> Outcome<()> {
    let text = if record.files.is_empty() { None } else { Some(serde_json::to_string_pretty(record)?) };
    if text.is_none() && !path.exists() {
        return Ok(());
    }
    write(path, text.as_deref()).map_err(|error| Failure::file(path, &error))
}

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).hex()
}

fn read(path: &Path) -> Outcome<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(path, &error)),
    }
}

/// Writes a file as a whole or not at all: behind a link, and with the permissions that it had. `None` removes it, and its folder if
/// that is ours and empty.
fn write(path: &Path, text: Option<&str>) -> std::io::Result<()> {
    let Some(text) = text else {
        fs::remove_file(path)?;
        if let Some(folder) = path.parent().filter(|folder| folder.ends_with("unforget")) {
            // Fails if something else is in it, and then it stays.
            fs::remove_dir(folder).ok();
        }
        return Ok(());
    };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Settings hold credentials: a new file is readable by its owner only. An older file keeps its permissions.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(facts) = fs::metadata(&target) {
        file.as_file().set_permissions(facts.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn server(path: &Path) -> WantedFile {
        let value = serde_json::json!({"command": "unforget", "args": ["mcp"]});
        let addition =
            Addition::Member { path: vec!["mcpServers".to_owned()], key: "unforget".to_owned(), value };
        WantedFile { path: path.to_owned(), what: "test", additions: vec![addition] }
    }

    fn set_up(path: &Path, record: &mut SetupRecord) {
        let change = setting_up("a", server(path), record).unwrap();
        carry_out(&change, record).unwrap();
    }

    fn undo(path: &Path, record: &mut SetupRecord) {
        let recorded = record.of("a", path).unwrap().clone();
        carry_out(&undoing(&recorded).unwrap(), record).unwrap();
    }

    #[test]
    fn undo_restores_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        for (at, text) in [None, Some(""), Some("{ }"), Some("{\n\t\"n\": 1.0e2,\n\t\"mcpServers\": { }\n}")]
            .iter()
            .enumerate()
        {
            let path = folder.path().join(format!("{at}.json"));
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            let mut record = SetupRecord::default();
            set_up(&path, &mut record);
            let once = fs::read_to_string(&path).unwrap();
            set_up(&path, &mut record);
            assert_eq!(fs::read_to_string(&path).unwrap(), once, "{text:?}: again");
            undo(&path, &mut record);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), *text);
            assert!(record.files.is_empty());
        }
    }

    #[test]
    fn undo_of_a_file_that_changed_takes_only_ours_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        fs::write(&path, "{\n  \"theme\": \"dark\"\n}\n").unwrap();
        let mut record = SetupRecord::default();
        set_up(&path, &mut record);
        let changed = fs::read_to_string(&path).unwrap().replace("dark", "light");
        fs::write(&path, &changed).unwrap();
        set_up(&path, &mut record);
        assert_eq!(fs::read_to_string(&path).unwrap(), changed, "set up again");
        undo(&path, &mut record);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"theme\": \"light\"\n}\n");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        fs::write(&path, "{\n  \"theme\": dark\n}\n").unwrap();
        let failure = setting_up("a", server(&path), &SetupRecord::default()).unwrap_err();
        assert!(failure.message.contains("s.json") && failure.message.contains("line 2"), "{failure:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        set_up(&link, &mut SetupRecord::default());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::read_to_string(&real).unwrap().contains("unforget"));
    }
}
