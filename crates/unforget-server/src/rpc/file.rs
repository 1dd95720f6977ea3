//! Reads the active path of a transcript file as an array.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use unforget_engine::host::Delivered;
use unforget_wire::{Format, ReadError, Reader};

use super::protocol::{Code, Failure, FileRead};

/// Largest file in bytes, since all of it is held in memory.
const FILE_MAX: u64 = 512 << 20;

/// A line of a pi transcript.
#[derive(Deserialize)]
struct TranscriptLine<'a> {
    #[serde(default, borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default, rename = "parentId")]
    parent: Option<String>,
    #[serde(default, borrow)]
    message: Option<&'a RawValue>,
}

/// A record of the tree.
struct Node {
    id: Option<String>,
    parent: Option<usize>,
    /// A message's body; `None` for other records.
    body: Option<Vec<u8>>,
    is_reset: bool,
}

/// Reads the messages of a transcript's active path behind its last reset.
///
/// # Errors
/// [`Code::File`] if the file is unreadable, too large, or has another form.
pub(super) fn read(path: &Path, form: Format) -> Result<(Vec<Delivered>, FileRead), Failure> {
    let failed =
        |what: String, hint: &str| Failure::new(Code::File, format!("{}: {what}", path.display()), hint);
    let hint = "unforget import takes files of any size and of every format";
    let file = File::open(path).map_err(|error| failed(error.to_string(), "check the path"))?;
    let facts = file.metadata().map_err(|error| failed(error.to_string(), "check the path"))?;
    if !facts.is_file() || facts.len() > FILE_MAX {
        return Err(failed(format!("not a file of at most {FILE_MAX} bytes"), hint));
    }
    let unreadable = |error: ReadError| failed(error.to_string(), hint);
    let mut reader = Reader::open(BufReader::new(file)).map_err(unreadable)?;
    let found = reader.source().format;
    if found != form {
        return Err(failed(format!("its form is {}, the lane's is {}", found.name(), form.name()), hint));
    }
    let mut tree = Tree::default();
    let mut records = 0;
    while let Some(record) = reader.next_record().map_err(unreadable)? {
        records += 1;
        if form == Format::Pi {
            tree.line(&record.body);
        } else {
            let parent = tree.nodes.len().checked_sub(1);
            tree.nodes.push(Node { id: None, parent, body: Some(record.body), is_reset: false });
        }
    }
    Ok(tree.path(records))
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    places: HashMap<String, usize>,
}

impl Tree {
    /// Takes a line. Lines that are cut off or not part of the tree are ignored.
    fn line(&mut self, body: &[u8]) {
        let Ok(line) = serde_json::from_slice::<TranscriptLine<'_>>(body) else { return };
        if line.kind.as_deref() == Some("session") {
            return;
        }
        let last = self.nodes.len().checked_sub(1);
        // Without ids the file is a list. A missing parent is replaced by the previous line.
        let parent = match (&line.id, &line.parent) {
            (Some(_), None) => None,
            (_, Some(parent)) => self.places.get(parent).copied().or(last),
            (None, None) => last,
        };
        let is_message = line.kind.as_deref().is_none_or(|kind| kind == "message");
        let bare = || line.kind.is_none().then_some(body);
        let message = line.message.map(|message| message.get().as_bytes()).or_else(bare);
        if let Some(id) = &line.id {
            self.places.insert(id.clone(), self.nodes.len());
        }
        self.nodes.push(Node {
            id: line.id,
            parent,
            body: message.filter(|_| is_message).map(<[u8]>::to_vec),
            is_reset: line.kind.as_deref() == Some("reset"),
        });
    }

    /// The messages from the last record back to the last reset or the root.
    fn path(mut self, records: u64) -> (Vec<Delivered>, FileRead) {
        let messages = self.nodes.iter().filter(|node| node.body.is_some()).count() as u64;
        let (mut taken, mut before) = (Vec::new(), 0);
        let mut at = self.nodes.len().checked_sub(1);
        let mut is_before = false;
        while let Some(node) = at.and_then(|at| self.nodes.get_mut(at)) {
            // A parent always stands before its child, so the loop ends.
            at = node.parent;
            is_before |= node.is_reset;
            match node.body.take() {
                Some(_) if is_before => before += 1,
                Some(body) => {
                    taken.push(Delivered { body: Some(body), id: node.id.clone(), ..Delivered::default() });
                }
                None => {}
            }
        }
        taken.reverse();
        let delivered = taken.len() as u64;
        let read = FileRead {
            records,
            delivered,
            off_path: messages - delivered - before,
            before_reset: before,
            other: records - messages,
        };
        (taken, read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Write;

    use super::*;

    fn bodies(lines: &[&str], form: Format) -> (Vec<String>, FileRead) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{}", lines.join("\n")).unwrap();
        let (messages, read) = read(file.path(), form).unwrap();
        let text = |one: Delivered| String::from_utf8(one.body.unwrap()).unwrap();
        (messages.into_iter().map(text).collect(), read)
    }

    const HEAD: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#;

    fn line(id: &str, parent: &str, text: &str) -> String {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
        )
    }

    #[test]
    fn the_active_path_is_read() {
        let lines = [line("a", "", "1"), line("b", "a", "2"), line("c", "b", "3"), line("d", "b", "4")];
        let lines: Vec<&str> = std::iter::once(HEAD).chain(lines.iter().map(String::as_str)).collect();
        let (found, read) = bodies(&lines, Format::Pi);
        let want = [1, 2, 4].map(|at| format!(r#"{{"role":"user","content":"{at}"}}"#));
        assert_eq!(found, want, "the bytes as they stand, without the abandoned branch");
        assert_eq!(read, FileRead { records: 5, delivered: 3, off_path: 1, before_reset: 0, other: 1 });
    }

    #[test]
    fn a_reset_is_a_beginning() {
        let reset = r#"{"type":"reset","id":"r","parentId":"a"}"#;
        let (first, second) = (line("a", "", "1"), line("b", "r", "2"));
        let (found, read) = bodies(&[HEAD, &first, reset, &second], Format::Pi);
        assert_eq!((found.len(), read.before_reset), (1, 1));
    }

    #[test]
    fn plain_arrays_are_taken_whole() {
        let lines = [r#"{"role":"user","content":"1"}"#, r#"{"role":"assistant","content":"2"}"#];
        let (found, _) = bodies(&lines, Format::OpenAiChat);
        assert_eq!(found, lines);
    }

    #[test]
    fn another_form_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{HEAD}\n{}", line("a", "", "1")).unwrap();
        assert_eq!(read(file.path(), Format::OpenAiChat).unwrap_err().data.kind, "file");
        assert_eq!(read(Path::new("/nowhere"), Format::Pi).unwrap_err().data.kind, "file");
    }
}
