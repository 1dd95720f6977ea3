//! Passphrases, from files: an argument or a variable would be seen by other users.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::app::App;
use crate::failure::{Failure, Outcome};

/// Fewest letters of a passphrase that goes without a remark.
const LONG_ENOUGH: usize = 16;

/// Most bytes of a file that are read for its first line.
const FILE_BYTES: u64 = 64 << 10;

/// The first line of a file.
///
/// # Errors
/// If the file cannot be read, or the line is blank or has no end in its first 64 KiB.
pub(super) fn passphrase(app: &App, path: &Path) -> Outcome<String> {
    let failed = |error| Failure::file(path, &error);
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let line = first_line(&bytes).ok_or_else(|| {
        let what =
            format!("the first line of {} is blank, no text or too long for a passphrase", path.display());
        Failure::usage(what, "write the passphrase into its first line")
    })?;
    if line.chars().count() < LONG_ENOUGH {
        app.out.note(
            "a short passphrase can be guessed by whoever has the file: four random words or more last",
        );
    }
    Ok(line)
}

/// The first line, without the mark that some editors write before it; `None` if nobody can type it.
fn first_line(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    if end.is_none() && bytes.len() as u64 >= FILE_BYTES {
        return None;
    }
    let line = std::str::from_utf8(bytes.get(..end.unwrap_or(bytes.len()))?).ok()?;
    let line = line.trim_start_matches('\u{feff}');
    let line = line.strip_suffix('\r').unwrap_or(line);
    let is_typed = !line.trim().is_empty() && !line.contains(char::is_control);
    is_typed.then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_table() {
        let long = vec![0; 64 << 10];
        let table: [(&[u8], Option<&str>, &str); 9] = [
            (b"nine blue herons\nmore", Some("nine blue herons"), "a line"),
            (b"nine blue herons", Some("nine blue herons"), "without an end"),
            (b"nine blue herons\r\n", Some("nine blue herons"), "of Windows"),
            (b"\xef\xbb\xbfnine", Some("nine"), "with a mark before it"),
            (b" nine ", Some(" nine "), "spaces are typed too"),
            (b"", None, "nothing"),
            (b"   \nnine", None, "only spaces"),
            (b"ni\x00ne", None, "what nobody types"),
            (&long, None, "no end"),
        ];
        for (bytes, want, why) in table {
            assert_eq!(first_line(bytes).as_deref(), want, "{why}");
        }
    }
}
