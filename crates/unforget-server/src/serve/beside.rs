//! The file beside a database that names this machine's daemon, for our own command line.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The address of the daemon that has a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its address.
    pub url: String,
    /// A token that proves read access to this file, and thus to the database. New at each start.
    pub token: String,
}

impl Beside {
    /// The file of a database's daemon; `None` if it is missing or unreadable.
    ///
    /// A killed daemon leaves the file behind: ownership is decided by the database's lock, and this only tells the
    /// address. Of several daemons on a database that may be shared, the last one that started is named.
    pub fn read(db: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(place(db)).ok()?).ok()
    }

    /// Writes the file beside a database, readable by its owner only. Dropping the result removes the file, unless
    /// another daemon replaced it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn leave(&self, db: &Path) -> io::Result<Left> {
        let path = place(db);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let content = serde_json::to_vec(self)?;
        options.open(&path)?.write_all(&content)?;
        Ok(Left { path, content })
    }
}

/// The written file, removed when dropped.
#[derive(Debug)]
pub struct Left {
    path: PathBuf,
    content: Vec<u8>,
}

impl Drop for Left {
    fn drop(&mut self) {
        if fs::read(&self.path).is_ok_and(|content| content == self.content) {
            // A file that stays names an address where nobody listens any more.
            fs::remove_file(&self.path).ok();
        }
    }
}

fn place(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push(".daemon");
    path.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn it_is_for_the_owner_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("unforget.db");
        let beside = Beside { url: "http://127.0.0.1:1".to_owned(), token: "uft_0".to_owned() };
        assert_eq!(Beside::read(&db), None);
        fs::write(place(&db), "what another left").unwrap();
        assert_eq!(Beside::read(&db), None);
        let left = beside.leave(&db).unwrap();
        assert_eq!(Beside::read(&db), Some(beside));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(place(&db)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let other = Beside { url: "http://127.0.0.1:2".to_owned(), token: "uft_1".to_owned() };
        let left_by_other = other.leave(&db).unwrap();
        drop(left);
        assert_eq!(Beside::read(&db), Some(other), "the address of the last one that started");
        drop(left_by_other);
        assert_eq!(Beside::read(&db), None);
    }
}
