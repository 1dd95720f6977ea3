//! Errors and warnings of the reader.

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Byte offset from the start of the file.
    pub byte: u64,
}

impl Place {
    /// The place behind `bytes` that start here.
    pub(crate) fn after(self, bytes: &[u8]) -> Self {
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        Self { line: self.line + lines as u64, byte: self.byte + bytes.len() as u64 }
    }
}

/// An irregularity in a transcript that did not stop the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where it starts.
    pub place: Place,
    /// Number of bytes concerned.
    pub bytes: u64,
    /// The irregularity and its treatment, for a person: lower case, no full stop.
    pub what: String,
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading failed.
    #[error("the file cannot be read from byte {byte} on")]
    Io {
        /// Number of bytes read before.
        byte: u64,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// Not a transcript: no JSON object or array at its start.
    #[error("it is not a transcript: {what}")]
    NotATranscript {
        /// What the file contains instead.
        what: String,
        /// Whether the first record has begun: then it may be a transcript soon.
        is_begun: bool,
    },
}
