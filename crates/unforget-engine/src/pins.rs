//! Pins of a conversation: read, changed, proposed; files that they follow.

mod file;

use std::path::Path;

use unforget_core::entry::{Entry, Part};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::pin::{Followed, Pin, PinError, PinFile, PinId, Pins, Reading};
use unforget_store::{PinFileRow, PinRow, SaidRows, StoreError};
use unforget_text::{ProposalKind, RepeatedWords};
use unforget_wire::{Format, decode};

use crate::recall::Address;
use crate::rows::pins_of;
use crate::{Engine, EngineError};

/// A sentence that a person may want to pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// Its number among the proposals of the conversation as it is now, from 1.
    pub number: u64,
    /// The entry that it stands in.
    pub seq: Seq,
    /// Why it is proposed.
    pub kind: ProposalKind,
    /// The words, verbatim.
    pub text: String,
}

/// Words for a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinText<'a> {
    /// The words, verbatim.
    pub text: &'a str,
    /// The entry that says them.
    pub source: Option<Seq>,
}

/// Rows that are read at once.
const ROWS: u64 = 1_024;

/// How often a change is tried again when somebody else was faster.
const TRIES: u32 = 8;

impl Engine {
    /// The pins of a conversation.
    ///
    /// # Errors
    /// [`EngineError::Pin`] if what is stored is damaged.
    pub fn pins(&self, conversation: ConversationId) -> Result<Pins, EngineError> {
        Ok(pins_of(&self.store().said(conversation)?)?)
    }

    /// The files that the pins of a conversation follow, by place.
    pub fn followed_files(&self, conversation: ConversationId) -> Result<Vec<PinFileRow>, EngineError> {
        let said = self.store().said(conversation)?;
        let (pins, mut rows) = (pins_of(&said)?, said.files);
        rows.retain(|row| pins.file_of(row.file.pin).is_some());
        Ok(rows)
    }

    /// Pins words, verbatim. Doing it twice changes nothing.
    ///
    /// * `source` - the entry that they come from.
    ///
    /// # Errors
    /// [`EngineError::Pin`] with what is wrong with the words; then nothing changed.
    pub fn pin(
        &self,
        conversation: ConversationId,
        text: &str,
        source: Option<Seq>,
        now: Timestamp,
    ) -> Result<PinId, EngineError> {
        self.change_pins(conversation, now, |pins| pins.pin(text, source))
    }

    /// Takes a pin back.
    ///
    /// # Errors
    /// [`PinError::Unknown`].
    pub fn unpin(&self, conversation: ConversationId, id: PinId, now: Timestamp) -> Result<(), EngineError> {
        self.change_pins(conversation, now, |pins| pins.unpin(id))
    }

    /// Puts other words in the place of a pin.
    ///
    /// # Errors
    /// See [`Pins::supersede`].
    pub fn supersede_pin(
        &self,
        conversation: ConversationId,
        id: PinId,
        words: PinText<'_>,
        now: Timestamp,
    ) -> Result<PinId, EngineError> {
        self.change_pins(conversation, now, |pins| pins.supersede(id, words.text, words.source))
    }

    /// Pins the text of a file and follows the file: it is read again at breaks of prompts and when a prompt is opened, and a
    /// changed text supersedes the old text. A file that is pinned already keeps one pin, with its current text.
    ///
    /// Only for a person at the command line: the text goes into prompts, and every reader of the pins can read it.
    ///
    /// * `path` - absolute, as [`pin_place`] returns it.
    /// * `old` - the pin whose place the text takes.
    ///
    /// # Errors
    /// [`EngineError::PinFile`] if the file is no regular text file or too long; [`EngineError::Pin`] as
    /// [`Pins::pin_file`]. Then nothing changed.
    pub fn pin_file(
        &self,
        conversation: ConversationId,
        path: &Path,
        old: Option<PinId>,
        now: Timestamp,
    ) -> Result<PinId, EngineError> {
        let name = path.to_str().filter(|_| path.is_absolute()).ok_or_else(|| EngineError::Usage {
            what: format!("cannot pin {}: its path is not absolute, or not UTF-8", path.display()),
            hint: "name the file by an absolute path in UTF-8".to_owned(),
        })?;
        let words = match file::read(path) {
            Reading::Words(words) => words,
            Reading::Trouble(trouble) => {
                return Err(EngineError::PinFile { path: path.to_path_buf(), trouble });
            }
        };
        self.change_pins(conversation, now, |pins| pins.pin_file(name, &words, old))
    }

    /// Reads the followed files again. Returns the changes.
    ///
    /// Cost: one read of each file, of [`Pins::ACTIVE_MAX`] at most; a write if something changed.
    pub(crate) fn follow_pins(
        &self,
        conversation: ConversationId,
        now: Timestamp,
    ) -> Result<Vec<Followed>, EngineError> {
        let pins = self.pins(conversation)?;
        let read = |followed: &PinFile| (followed.path.clone(), file::read(Path::new(&followed.path)));
        let readings: Vec<(String, Reading)> = pins.followed().map(read).collect();
        if readings.is_empty() {
            return Ok(Vec::new());
        }
        self.change_pins(conversation, now, |pins| {
            Ok(readings.iter().filter_map(|(path, reading)| pins.follow(path, reading)).collect())
        })
    }

    fn change_pins<T>(
        &self,
        conversation: ConversationId,
        now: Timestamp,
        act: impl Fn(&mut Pins) -> Result<T, PinError>,
    ) -> Result<T, EngineError> {
        let mut tries = 0;
        loop {
            let said = self.store().said(conversation)?;
            let mut pins = pins_of(&said)?;
            let SaidRows { pins: before, files: known, .. } = said;
            let done = act(&mut pins)?;
            let after: Vec<PinRow> =
                pins.all().iter().enumerate().map(|(at, pin)| stamped(pin, before.get(at), now)).collect();
            let files: Vec<PinFileRow> =
                pins.files().iter().filter_map(|file| changed(file, &known, now)).collect();
            if after == before && files.is_empty() {
                return Ok(done);
            }
            tries += 1;
            match self.store().put_pins(conversation, &before, &after, &files) {
                Err(StoreError::PinsMoved { .. }) if tries < TRIES => {}
                written => return Ok(written.map(|()| done)?),
            }
        }
    }

    /// Words of an entry and its place: what a pin is made from.
    ///
    /// * `name` - as `describe` takes it, or a plain seq.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if it is not one entry with words.
    pub fn words_of(&self, conversation: ConversationId, name: &str) -> Result<(Seq, String), EngineError> {
        let seq = self.entry_of(conversation, name)?;
        let entries = self.entries_in(conversation, seq.0..seq.0 + 1)?;
        let text = entries.first().map(|(_, entry)| words(entry)).unwrap_or_default();
        if text.trim().is_empty() {
            let what = format!("entry {seq} has no words");
            return Err(EngineError::Usage { what, hint: "name an entry of a person".to_owned() });
        }
        Ok((seq, text))
    }

    /// The one entry with this name, and its conversation.
    ///
    /// * `at_hand` - the conversation that `s:12` and `12` belong to; `e:KEY:12` needs none.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if nothing has the name, if it is another thing, or several entries.
    pub fn entry_named(
        &self,
        at_hand: Option<ConversationId>,
        name: &str,
    ) -> Result<(ConversationId, Seq), EngineError> {
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let name = if is_plain { format!("s:{name}") } else { name.to_owned() };
        match self.address(at_hand, &name)? {
            Address::Entries { conversation, seqs } if seqs.end - seqs.start == 1 => {
                Ok((conversation, Seq(seqs.start)))
            }
            _ => Err(EngineError::Usage {
                what: format!("{name} is not a single entry"),
                hint: "name one entry: e:KEY:12, or s:12 with a conversation".to_owned(),
            }),
        }
    }

    /// Sentences of a conversation that a person may want to pin, oldest first, each once, without those that are
    /// pinned or were, and those that were taken back. O(history).
    pub fn proposed_pins(&self, conversation: ConversationId) -> Result<Vec<Proposed>, EngineError> {
        let pins = self.pins(conversation)?;
        let mut proposed: Vec<Proposed> = Vec::new();
        let mut seen: std::collections::BTreeSet<String> =
            pins.all().iter().map(|pin| pin.text.clone()).collect();
        let stored = self.store().conversation(conversation)?;
        let left = self.taken_back(&stored, Seq(0))?;
        for from in (0..stored.entries).step_by(ROWS as usize) {
            let entries = self.entries_in(conversation, from..from + ROWS)?;
            for (seq, entry) in entries.into_iter().filter(|(seq, _)| !left.contains(seq)) {
                for found in unforget_text::proposals(&entry) {
                    if seen.insert(found.text.to_owned()) {
                        let number = proposed.len() as u64 + 1;
                        proposed.push(Proposed {
                            number,
                            seq,
                            kind: found.kind,
                            text: found.text.to_owned(),
                        });
                    }
                }
            }
        }
        Ok(proposed)
    }

    /// Pins that repeat words of these entries and do not come from them, by [`RepeatedWords`]: a purge of the entries
    /// leaves such pins as they are.
    ///
    /// Cost: O(bytes of the entries).
    ///
    /// # Errors
    /// [`EngineError::Store`]; [`EngineError::Pin`] if what is stored is damaged.
    pub fn pins_repeating(
        &self,
        conversation: ConversationId,
        seqs: std::ops::Range<u64>,
    ) -> Result<Vec<PinId>, EngineError> {
        let pins = self.pins(conversation)?;
        let is_kept = |pin: &&Pin| pin.source.is_none_or(|source| !seqs.contains(&source.0));
        let kept: Vec<&Pin> = pins.all().iter().filter(is_kept).collect();
        let words = RepeatedWords::new(kept.iter().map(|pin| pin.text.as_str()));
        let mut repeating = std::collections::BTreeSet::new();
        for from in seqs.clone().step_by(ROWS as usize) {
            for (_, entry) in self.entries_in(conversation, from..seqs.end.min(from + ROWS))? {
                repeating.extend(words.in_text(&crate::recall::text(&entry)));
            }
        }
        Ok(repeating.into_iter().filter_map(|at| kept.get(at)).map(|pin| pin.id).collect())
    }

    /// Entries by seq, clamped to what is there; purged ones are passed over.
    pub(crate) fn entries_in(
        &self,
        conversation: ConversationId,
        seqs: std::ops::Range<u64>,
    ) -> Result<Vec<(Seq, Entry)>, EngineError> {
        let format = self.store().conversation(conversation)?.format;
        let format = Format::by_name(&format).unwrap_or(Format::Unknown);
        let raw = self.store().raw(conversation, seqs)?;
        let kept = raw.into_iter().filter(|raw| !raw.body.is_empty());
        Ok(kept.map(|raw| (raw.seq, decode(format, &raw.body))).collect())
    }
}

/// A pin with its times.
fn stamped(pin: &Pin, before: Option<&PinRow>, now: Timestamp) -> PinRow {
    let (made, changed) = match before {
        Some(row) if row.pin == *pin => (row.made, row.changed),
        Some(row) => (row.made, now),
        None => (now, now),
    };
    PinRow { pin: pin.clone(), made, changed }
}

/// The new row of a file whose stored row differs, with the time of reading.
fn changed(file: &PinFile, known: &[PinFileRow], now: Timestamp) -> Option<PinFileRow> {
    let before = known.iter().find(|row| row.file.place == file.place);
    let is_read = |row: &&PinFileRow| row.file.pin == file.pin && row.file.digest == file.digest;
    let read = before.filter(is_read).map_or(now, |row| row.read);
    before.is_none_or(|row| row.file != *file).then(|| PinFileRow { file: file.clone(), read })
}

/// The absolute path of a file that a person names, with canonical folders. The file itself is checked when it is read.
///
/// # Errors
/// If its folder does not exist.
pub fn pin_place(path: &Path) -> std::io::Result<std::path::PathBuf> {
    let absolute = std::path::absolute(path)?;
    let Some((folder, name)) = absolute.parent().zip(absolute.file_name()) else { return Ok(absolute) };
    Ok(std::fs::canonicalize(folder)?.join(name))
}

/// The words of an entry, parts joined by lines.
fn words(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
