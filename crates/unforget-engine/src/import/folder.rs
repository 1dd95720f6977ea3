//! Walking folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unforget_wire::ReadError;

use super::Imported;
use crate::EngineError;

/// What became of one file.
#[derive(Debug)]
pub enum Found {
    /// It is in the store.
    Imported(Imported),
    /// It lies in a folder and is not a transcript; passed over. Says why not.
    Skipped(String),
    /// It could not be read or stored.
    Failed(EngineError),
}

impl Found {
    /// What an import of one file led to.
    ///
    /// * `asked` - the file itself was asked for, not the folder that it lies in: then it is an error
    ///   if it is not a transcript.
    pub fn of(outcome: Result<Imported, EngineError>, asked: bool) -> Self {
        match outcome {
            Ok(imported) => Self::Imported(imported),
            Err(EngineError::Read { source: ReadError::NotATranscript { what }, .. }) if !asked => {
                Self::Skipped(what)
            }
            Err(error) => Self::Failed(error),
        }
    }
}

/// Calls `each` with every regular file at or below `path`, sorted by path; with an error for what cannot
/// be read. Symbolic links are followed only if `path` itself is one. Depth is not bounded by the stack.
pub fn walk(path: &Path, each: &mut dyn FnMut(io::Result<()>, &Path)) {
    match fs::metadata(path) {
        Err(error) => return each(Err(error), path),
        Ok(facts) if !facts.is_dir() => return each(Ok(()), path),
        Ok(_) => (),
    }
    // Last is next, so each folder's content goes on in reverse.
    let mut open = vec![(path.to_path_buf(), true)];
    while let Some((path, is_folder)) = open.pop() {
        if !is_folder {
            each(Ok(()), &path);
            continue;
        }
        match content(&path) {
            Ok(content) => open.extend(content.into_iter().rev()),
            Err(error) => each(Err(error), &path),
        }
    }
}

/// Files and folders in a folder, sorted, and which of them are folders.
fn content(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut content = Vec::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        let kind = item.file_type()?;
        if kind.is_dir() || kind.is_file() {
            content.push((item.path(), kind.is_dir()));
        }
    }
    content.sort();
    Ok(content)
}
