//! Errors inside the SQLite store, before the file and the method are known.

use std::path::Path;

use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_NOMEM};
use rusqlite::{Error, ErrorCode};

use crate::error::{BoxError, StoreError};

/// Result of a step inside the SQLite store.
pub(super) type Outcome<T> = std::result::Result<T, Fault>;

/// The failure of a step.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite failed.
    Sql(Error),
    /// The step itself fails.
    Store(StoreError),
}

impl Fault {
    /// Whether the database file is malformed.
    pub(super) fn is_corrupt(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
            || error.sqlite_error_code() == Some(ErrorCode::NotADatabase))
    }

    /// The reason to stop all writing, if the error shows that the file is malformed or was replaced.
    pub(super) fn damage(&self, path: &Path) -> Option<StoreError> {
        match self {
            Self::Sql(error) if self.is_corrupt() => {
                Some(StoreError::Corrupt { path: path.to_path_buf(), detail: error.to_string() })
            }
            Self::Store(StoreError::Corrupt { path, detail }) => {
                Some(StoreError::Corrupt { path: path.clone(), detail: detail.clone() })
            }
            Self::Store(StoreError::Replaced { path }) => Some(StoreError::Replaced { path: path.clone() }),
            Self::Store(StoreError::LockLost { path }) => Some(StoreError::LockLost { path: path.clone() }),
            _ => None,
        }
    }

    /// The error for the caller.
    ///
    /// * `operation` - name of the store method, for logs.
    pub(super) fn into_store(self, path: &Path, operation: &'static str) -> StoreError {
        let error = match self {
            Self::Store(error) => return error,
            Self::Sql(error) => error,
        };
        let path = path.to_path_buf();
        let extended = error.sqlite_error().map_or(SQLITE_NOMEM, |inner| inner.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            _ if extended == SQLITE_IOERR_SHMSIZE => StoreError::Full { path },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, detail: error.to_string() },
            Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path, detail: error.to_string() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, pid: 0 },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            _ => StoreError::Backend { operation, source: BoxError::from(error) },
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
