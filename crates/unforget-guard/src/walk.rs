//! Walks the folders in which transcripts are looked for.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Calls `each` with every regular file at or below `path`, sorted by path, and with an error for every unreadable file
/// or folder. A symbolic link is followed only if it is `path` itself. Depth is not bounded by the stack.
pub fn walk(path: &Path, each: &mut dyn FnMut(io::Result<()>, &Path)) {
    match fs::metadata(path) {
        Err(error) => return each(Err(error), path),
        Ok(facts) if !facts.is_dir() => return each(Ok(()), path),
        Ok(_) => (),
    }
    // The last element comes next, so the content of each folder is pushed in reverse.
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

/// Opens a file for reading without waiting. A pipe that nobody writes to reads as empty, where an ordinary opening would
/// wait for a writer without end.
///
/// # Errors
/// Those of the system.
pub fn open_now(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::{OFlags, fcntl_setfl};
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        let file = options.open(path)?;
        // A pipe with a writer is read at the writer's pace.
        fcntl_setfl(&file, OFlags::empty())?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// The content of a folder, sorted; true marks a folder.
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
