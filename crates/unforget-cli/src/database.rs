//! Where the database is: a file, or a server.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unforget_core::digest::Digest;
use unforget_engine::{Engine, EngineError, chunk_filter};
use unforget_store::StoreError;
use unforget_store_pg::{MadeSchema, PgOptions, PgPlace, PgStore};

use crate::environment::{process_env, state_folder};
use crate::failure::{Failure, Outcome};

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

    /// The path on this machine beside which its daemon's address, log and arriving answers lie: the file itself, or for a server
    /// a name in the folder of states.
    ///
    /// # Errors
    /// `usage` for a server, if the environment names no folder of states.
    pub(crate) fn local_path(&self) -> Outcome<Cow<'_, Path>> {
        if let Self::File(path) = self {
            return Ok(Cow::Borrowed(path));
        }
        let Some(folder) = state_folder(&process_env) else {
            let what = format!("nothing says where this machine's files about {self} lie");
            return Err(Failure::usage(what, "set HOME or XDG_STATE_HOME"));
        };
        let name = Digest::of(self.to_string().as_bytes()).hex();
        let name = format!("postgres-{}", name.get(..16).unwrap_or_default());
        Ok(Cow::Owned(folder.join("unforget").join("servers").join(name)))
    }

    /// Whether there may be a database: a file exists; a server is asked when it is opened.
    pub(crate) fn may_exist(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }

    /// Opens it for writing. A database on a server must have our tables.
    pub(crate) fn open(&self) -> Result<Engine, EngineError> {
        match self {
            Self::File(path) => Engine::open(path),
            Self::Server(place) => Ok(shared(PgStore::open(place, options())?)),
        }
    }

    /// Opens it for writing; makes what is missing. On a server, that is a schema of our own.
    ///
    /// * `told` - called with what a person should know of it.
    pub(crate) fn open_or_make(&self, told: &dyn Fn(&str)) -> Result<Engine, EngineError> {
        let Self::Server(place) = self else { return self.open() };
        let store = PgStore::open(place, PgOptions { may_make: true, ..options() })?;
        if let Some(MadeSchema { others }) = store.made()
            && others > 0
        {
            told(&format!(
                "{place} has {others} tables of others; those of unforget stand beside them now, in a schema of their own \
                 named unforget, and nothing else is touched"
            ));
        }
        Ok(shared(store))
    }

    /// Opens it for reading.
    pub(crate) fn open_reader(&self) -> Result<Engine, EngineError> {
        match self {
            Self::File(path) => Engine::open_reader(path),
            Self::Server(place) => {
                let options = PgOptions { is_reader: true, ..options() };
                Ok(Engine::reading(Arc::new(PgStore::open(place, options)?)))
            }
        }
    }
}

/// An engine on a database that other processes may write too.
fn shared(store: PgStore) -> Engine {
    let store = Arc::new(store);
    let peers = Arc::clone(&store);
    Engine::on(store).with_peers(peers)
}

fn options() -> PgOptions {
    PgOptions { filter: Some(Arc::new(chunk_filter)), ..PgOptions::default() }
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
