//! Puts a file back where its host looks for it. What stands there is never changed.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read as _, Write};
use std::path::Path;

use super::stamp::sync_folder;

/// What stands at a file's place after [`put_back`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceState {
    /// The file, which was written now.
    Written,
    /// Nothing: the file would be written.
    Missing,
    /// The file, and perhaps what its host added to it.
    Kept,
    /// Something else. It was left alone.
    Other,
}

impl PlaceState {
    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Missing => "missing",
            Self::Kept => "kept",
            Self::Other => "other",
        }
    }
}

/// A file at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutBack<T> {
    /// What stands there now.
    pub state: PlaceState,
    /// What the writer of the content said.
    pub told: T,
}

/// Why a file was not put back. Nothing of it is left.
#[derive(Debug)]
pub enum PutBackError<E> {
    /// The place cannot be read or written.
    Place(io::Error),
    /// The writer of the content failed.
    Content(E),
}

/// Writes a file to its place, unless something stands there.
///
/// The file is new, whole and on the disk when this returns; folders on the way are made. Its time is now: hosts delete
/// files by their age. Cost: one pass over the content.
///
/// * `is_try` - nothing is written.
/// * `content` - writes the content, once.
pub fn put_back<T, E>(
    path: &Path,
    is_try: bool,
    content: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<PutBack<T>, PutBackError<E>> {
    let (place, failed) = (PutBackError::Place, PutBackError::Content);
    match File::open(path) {
        Ok(file) => {
            let mut there = Comparison { file: BufReader::new(file), is_equal: true };
            let told = content(&mut there).map_err(failed)?;
            let state = if there.is_equal { PlaceState::Kept } else { PlaceState::Other };
            Ok(PutBack { state, told })
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(place(error)),
        Err(_) if is_try => {
            Ok(PutBack { state: PlaceState::Missing, told: content(&mut io::sink()).map_err(failed)? })
        }
        Err(_) => {
            let folder = path.parent().unwrap_or(path);
            fs::create_dir_all(folder).map_err(place)?;
            let mut file = BufWriter::new(tempfile::NamedTempFile::new_in(folder).map_err(place)?);
            let told = content(&mut file).map_err(failed)?;
            let file = file.into_inner().map_err(|error| place(error.into_error()))?;
            file.as_file().sync_all().map_err(place)?;
            file.persist_noclobber(path).map_err(|error| place(error.error))?;
            sync_folder(folder).map_err(place)?;
            Ok(PutBack { state: PlaceState::Written, told })
        }
    }
}

/// Compares what is written with the beginning of a file.
struct Comparison {
    file: BufReader<File>,
    is_equal: bool,
}

impl Write for Comparison {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_equal {
            let mut there = Vec::with_capacity(bytes.len());
            self.file.by_ref().take(bytes.len() as u64).read_to_end(&mut there)?;
            self.is_equal = there == bytes;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/session.jsonl");
        let put = |is_try| put_back(&path, is_try, |out| out.write_all(b"one\ntwo\n")).unwrap().state;
        assert_eq!(put(true), PlaceState::Missing);
        assert!(!path.exists());
        assert_eq!(put(false), PlaceState::Written);
        for (there, want) in [
            ("one\ntwo\n", PlaceState::Kept),
            ("one\ntwo\nthree\n", PlaceState::Kept),
            ("one\n", PlaceState::Other),
            ("", PlaceState::Other),
            ("two\none\n", PlaceState::Other),
        ] {
            fs::write(&path, there).unwrap();
            assert_eq!(put(false), want, "{there}");
            assert_eq!(fs::read_to_string(&path).unwrap(), there, "it is left alone");
        }
    }

    #[test]
    fn a_failed_writer_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let failed = put_back(&path, false, |out| {
            out.write_all(b"half").ok();
            Err::<(), _>("gone")
        });
        assert!(matches!(failed, Err(PutBackError::Content("gone"))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
