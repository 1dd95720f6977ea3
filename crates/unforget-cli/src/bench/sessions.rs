//! Recorded sessions for measuring.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The files below some paths, sorted, without duplicates: named files always, and from folders those whose name may be
/// a transcript's.
pub(super) fn files(paths: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        let meta = fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
        if meta.is_dir() { below(path, &mut found)? } else { found.push(path.clone()) }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Outcome<()> {
    let failed = |error| Failure::file(folder, &error);
    for item in fs::read_dir(folder).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if path.is_dir() {
            below(&path, found)?;
        } else if matches!(kind, "jsonl" | "json" | "traj") {
            found.push(path);
        }
    }
    Ok(())
}

/// The last parts of a path, enough to tell sessions apart.
pub(super) fn short(path: &Path) -> String {
    let parts: Vec<_> =
        path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}
