//! The files of the workspace.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A file of the repository.
pub(crate) struct File {
    /// Path relative to the root, with `/`.
    pub(crate) path: String,
    /// Its text, with invalid UTF-8 replaced.
    pub(crate) text: String,
}

impl File {
    /// Whether the path ends with a dot and this extension.
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, last)| last == extension)
    }
}

/// Every file that is or would be committed, ordered by path.
///
/// # Errors
/// If a folder or a file is unreadable.
pub(crate) fn files() -> anyhow::Result<Vec<File>> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // In a second work tree `.git` is a file.
            if matches!(name.as_str(), "target" | ".git" | "node_modules" | "artifacts") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if !matches!(path.extension().and_then(|e| e.to_str()), Some("sqlite" | "zst" | "bin")) {
                let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                let shown = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                found.push(File { path: shown, text: String::from_utf8_lossy(&bytes).into_owned() });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
