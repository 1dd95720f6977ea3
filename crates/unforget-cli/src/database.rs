//! Where the database is: a file, or a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unforget_engine::{Engine, EngineError, chunk_filter};
use unforget_store::{Store, StoreError};
use unforget_store_pg::{PgOptions, PgPlace, PgStore};

/// The place of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    /// A file of SQLite.
    File(PathBuf),
    /// A database on a PostgreSQL server.
    Server(Box<PgPlace>),
}

impl Database {
    /// A file, or the address of a server: `postgres://user@host/database`.
    ///
    /// # Errors
    /// What is wrong with the address. The text itself, which may hold a password, is not part of it.
    pub(crate) fn new(text: PathBuf) -> Result<Self, String> {
        match text.to_str() {
            Some(address) if PgPlace::is_meant(address) => Ok(Self::Server(Box::new(address.parse()?))),
            _ => Ok(Self::File(text)),
        }
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// The file, for a command that works on files only.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] on a server.
    pub(crate) fn file_for(&self, operation: &'static str) -> Result<&Path, StoreError> {
        let why = "this works on a database in a file only";
        self.file().ok_or_else(|| StoreError::Unsupported { place: self.to_string(), operation, why })
    }

    /// Whether there may be a database: a file exists; a server is asked when it is opened.
    pub(crate) fn may_exist(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }

    /// Opens it for writing; makes what is missing.
    pub(crate) fn open(&self) -> Result<Engine, EngineError> {
        match self {
            Self::File(path) => Engine::open(path),
            Self::Server(place) => Ok(Engine::on(on_server(place, false)?)),
        }
    }

    /// Opens it for reading.
    pub(crate) fn open_reader(&self) -> Result<Engine, EngineError> {
        match self {
            Self::File(path) => Engine::open_reader(path),
            Self::Server(place) => Ok(Engine::reading(on_server(place, true)?)),
        }
    }
}

fn on_server(place: &PgPlace, is_reader: bool) -> Result<Arc<dyn Store>, StoreError> {
    let options = PgOptions { filter: Some(Arc::new(chunk_filter)), is_reader, ..PgOptions::default() };
    Ok(Arc::new(PgStore::open(place, options)?))
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Server(place) => write!(f, "{place}"),
        }
    }
}

impl From<&str> for Database {
    fn from(path: &str) -> Self {
        Self::File(path.into())
    }
}
