//! Errors of the driver, and what they say of a statement.

use std::fmt;

use tokio_postgres::error::{DbError, Severity, SqlState};
use unforget_store::StoreError;

/// The result of a step inside the crate.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// Why a step failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// For the caller of the store.
    Store(StoreError),
    /// The driver or the server.
    Driver(tokio_postgres::Error),
    /// No answer in time.
    Late,
    /// The server acknowledged a commit with a warning.
    Warned(String),
    /// No connection could be made.
    Unreachable(String),
    /// A column holds an impossible value.
    Column(&'static str),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}

impl Fault {
    fn db(&self) -> Option<&DbError> {
        match self {
            Self::Driver(error) => error.as_db_error(),
            _ => None,
        }
    }

    /// Whether the server refused the statement: nothing of it was written. Anything else leaves the outcome open.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Store(_) | Self::Column(_) => true,
            // Words that end a session (FATAL, PANIC) may come behind a commit.
            Self::Driver(_) => self.db().is_some_and(|db| db.parsed_severity() == Some(Severity::Error)),
            Self::Late | Self::Warned(_) | Self::Unreachable(_) => false,
        }
    }

    /// Whether the same statement may succeed at once: the server gave it up in favour of another.
    pub(crate) fn is_clash(&self) -> bool {
        let retried = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
        ];
        self.db().is_some_and(|db| retried.contains(db.code()))
    }

    /// Whether the connection can be used again.
    pub(crate) fn keeps_connection(&self) -> bool {
        self.is_refusal()
    }

    /// The error for the caller.
    pub(crate) fn into_store(self, place: &str, operation: &'static str) -> StoreError {
        let place = || place.to_owned();
        match self {
            Self::Store(error) => error,
            Self::Unreachable(detail) => StoreError::Unreachable { place: place(), detail },
            Self::Driver(error) if error.code() == Some(&SqlState::DISK_FULL) => {
                StoreError::Full { path: place().into() }
            }
            Self::Driver(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
                StoreError::ReadOnly { path: place().into() }
            }
            other => StoreError::Backend { operation, source: other.to_string().into() },
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Driver(error) => f.write_str(&told(error)),
            Self::Late => f.write_str("the server did not answer in time"),
            Self::Warned(words) => write!(f, "the server warned: {words}"),
            Self::Unreachable(detail) => write!(f, "no connection: {detail}"),
            Self::Column(name) => write!(f, "column {name} has an impossible value"),
        }
    }
}

/// The words of the server, or those of the driver with their cause.
pub(crate) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} ({})", db.message(), db.code().code());
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
