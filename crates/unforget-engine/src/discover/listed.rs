//! Databases that lie in a person's projects, by the list that their host keeps.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::usual::HostFolders;

/// Name of Crush for people.
pub(super) const CRUSH: &str = "Crush";

/// Folder of the list, below the home folder.
pub(super) const CRUSH_FOLDER: &str = ".local/share/crush";

/// Name of Crush's databases.
pub(super) const CRUSH_DATABASE: &str = "crush.db";

impl HostFolders {
    /// The databases of Crush, one for each project that it was used in, sorted. A list that cannot be read names none: the host
    /// begins a new one.
    ///
    /// Source: Crush 0.90.0, `internal/projects`.
    pub(super) fn crush_databases(&self) -> Vec<PathBuf> {
        let list = fs::read(self.current(CRUSH_FOLDER).join("projects.json")).unwrap_or_default();
        let list: Value = serde_json::from_slice(&list).unwrap_or_default();
        let projects = list.get("projects").and_then(Value::as_array).into_iter().flatten();
        let folders = projects.filter_map(|project| project.get("data_dir")?.as_str());
        let absolute = folders.map(Path::new).filter(|folder| folder.is_absolute());
        let mut all: Vec<PathBuf> = absolute.map(|folder| folder.join(CRUSH_DATABASE)).collect();
        all.retain(|path| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file()));
        all.sort();
        all.dedup();
        all
    }
}
