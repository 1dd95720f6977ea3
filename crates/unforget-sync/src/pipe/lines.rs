//! Lines and bytes on a pipe.

use std::io::{BufRead, ErrorKind, Read as _, Write};

use serde::Serialize;

use crate::error::{Result, SyncError};

/// Most bytes of a line: a layout of a million parts.
const LINE_MAX: u64 = 256 << 20;

/// Most bytes of a part: its last record may be as large as a transcript allows.
const BYTES_MAX: u64 = 4 << 30;

/// A failure of the other side.
pub(super) fn broken(what: impl Into<String>) -> SyncError {
    SyncError::Pipe { what: what.into() }
}

/// Writes a value as one line, and sends it.
pub(super) fn write_line(output: &mut dyn Write, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value).map_err(|error| broken(error.to_string()))?;
    line.push(b'\n');
    output.write_all(&line).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => broken("ended in the middle"),
        _ => broken(format!("is gone: {error}")),
    })
}

/// Reads a line; `None` at the end.
pub(super) fn read_line(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = input.take(LINE_MAX).read_until(b'\n', &mut line);
    read.map_err(|error| broken(format!("is gone: {error}")))?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) => Err(broken("ended in the middle of a line")),
    }
}

/// Reads that many bytes. Memory grows with what comes, not with what is announced.
pub(super) fn read_bytes(input: &mut dyn BufRead, bytes: u64) -> Result<Vec<u8>> {
    if bytes > BYTES_MAX {
        return Err(broken(format!("announced {bytes} bytes at once")));
    }
    let mut content = Vec::new();
    let read = input.take(bytes).read_to_end(&mut content);
    read.map_err(|error| broken(format!("is gone: {error}")))?;
    if content.len() as u64 == bytes { Ok(content) } else { Err(broken("ended in the middle of a part")) }
}
