//! The file beside a database that says which daemon owns it, for our own command line.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How to reach the daemon that owns a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its address.
    pub url: String,
    /// By which it knows who can read this file: the owner of the database. Made anew at each start.
    pub token: String,
}

impl Beside {
    /// What the daemon of a database left; `None` if nothing, or nothing that can be understood.
    ///
    /// A daemon that was killed leaves it behind: the database's lock says who owns it, this only where they listen.
    pub fn read(db: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(place(db)).ok()?).ok()
    }

    /// Leaves this beside a database, for its owner only, until what is returned is dropped.
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
        options.open(&path)?.write_all(&serde_json::to_vec(self)?)?;
        Ok(Left { path })
    }
}

/// A file that goes when this is dropped.
#[derive(Debug)]
pub struct Left {
    path: PathBuf,
}

impl Drop for Left {
    fn drop(&mut self) {
        // What stays says where nobody listens any more.
        fs::remove_file(&self.path).ok();
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
        drop(left);
        assert_eq!(Beside::read(&db), None);
    }
}
