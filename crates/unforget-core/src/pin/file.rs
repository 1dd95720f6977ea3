//! Pins that follow files.
//!
//! The text of a file is pinned like any other text. The engine reads the file again at a break of a prompt and when a prompt is
//! opened: a changed text becomes a new pin in the place of the old pin. A file that cannot be read keeps its last text, and
//! the trouble is recorded.

use crate::digest::Digest;

use super::{Pin, PinError, PinId, PinState, Pins, check};

/// A file whose text is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinFile {
    /// Place of its pins in the block: [`Pin::order`]. The place stays when one pin succeeds another.
    pub place: u64,
    /// Its absolute path.
    pub path: String,
    /// The pin with its text. The file is followed as long as this pin is active.
    pub pin: PinId,
    /// Digest of the text.
    pub digest: Digest,
    /// Why the pinned text may be older than the file.
    pub trouble: Option<Trouble>,
}

/// Why a file cannot be pinned in its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is nothing at the path.
    Gone,
    /// The system refuses to read it.
    Unreadable,
    /// It is a folder.
    Folder,
    /// It is a pipe, a device or a socket.
    Special,
    /// It, or a folder on the way to it, is a symbolic link.
    Link,
    /// It has more than [`Pins::FILE_BYTES_MAX`] bytes.
    TooLarge,
    /// It is not UTF-8.
    NotText,
    /// It is empty or holds only white space.
    Blank,
}

impl Trouble {
    /// All kinds, in the order of their stored numbers, from 1: new kinds go to the end.
    pub const ALL: [Self; 8] = [
        Self::Gone,
        Self::Unreadable,
        Self::Folder,
        Self::Special,
        Self::Link,
        Self::TooLarge,
        Self::NotText,
        Self::Blank,
    ];

    /// Name for scripts, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Unreadable => "unreadable",
            Self::Folder => "folder",
            Self::Special => "special",
            Self::Link => "link",
            Self::TooLarge => "too-large",
            Self::NotText => "not-text",
            Self::Blank => "blank",
        }
    }

    /// The end of a sentence that begins with the path.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Gone => "is not there",
            Self::Unreadable => "cannot be read",
            Self::Folder => "is a folder",
            Self::Special => "is a pipe, a device or a socket",
            Self::Link => "is a symbolic link, or in a folder that is one",
            Self::TooLarge => "is larger than the 32 KiB that a pinned file may have",
            Self::NotText => "is not UTF-8 text",
            Self::Blank => "is empty",
        }
    }

    /// Advice for the user.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Gone => "check the path; if the file was there before, put it back, or unpin it",
            Self::Unreadable => "check the permissions of the file and its folders",
            Self::Folder | Self::Special => "pin a regular file",
            Self::Link => "pin the file that the link leads to",
            Self::TooLarge => "pin a shorter file with the rules alone",
            Self::NotText => "save it as UTF-8",
            Self::Blank => "write the rules into it, or unpin it",
        }
    }
}

/// Result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Its text.
    Words(String),
    /// Why there is no text.
    Trouble(Trouble),
}

/// Change found by reading a file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The text changed: the new text has a new pin.
    Changed {
        /// The file.
        path: String,
        /// The new pin.
        pin: PinId,
    },
    /// The file cannot be read any more, or for another reason than before.
    Troubled {
        /// The file.
        path: String,
        /// The pin with the last text.
        pin: PinId,
        /// Why.
        trouble: Trouble,
    },
    /// The file can be read again, and its text is the pinned text.
    Mended {
        /// The file.
        path: String,
        /// The pin.
        pin: PinId,
    },
}

impl Pins {
    /// Largest pinned file, in bytes.
    pub const FILE_BYTES_MAX: usize = 32 * 1024;

    /// All files that are or were pinned, by place.
    pub fn files(&self) -> &[PinFile] {
        &self.files
    }

    /// Files that are followed, since their pins are active; by place.
    pub fn followed(&self) -> impl Iterator<Item = &PinFile> {
        self.files
            .iter()
            .filter(|file| self.pins.iter().any(|pin| pin.id == file.pin && pin.state == PinState::Active))
    }

    /// The file of an active pin.
    pub fn file_of(&self, id: PinId) -> Option<&PinFile> {
        self.followed().find(|file| file.pin == id)
    }

    /// The file of a pin, active or not.
    pub fn origin(&self, pin: &Pin) -> Option<&PinFile> {
        self.files.iter().find(|file| file.place == pin.order && pin.id <= file.pin && pin.source.is_none())
    }

    /// Pins the text of a file. A file that is followed already keeps one pin: a changed text supersedes the old one.
    ///
    /// * `old` - the pin whose place the text takes.
    ///
    /// # Errors
    /// [`PinError::Blank`], [`PinError::TooLong`], [`PinError::TooMany`]; with `old` also [`PinError::Unknown`] and
    /// [`PinError::NotActive`], and [`PinError::Elsewhere`] if the file is followed at another place. Then nothing changed.
    pub fn pin_file(&mut self, path: &str, words: &str, old: Option<PinId>) -> Result<PinId, PinError> {
        check(words, Self::FILE_BYTES_MAX)?;
        let known = self.followed().find(|file| file.path == path).map(|file| (file.place, file.pin));
        let place = match old {
            None => None,
            Some(id) => {
                let pin = self.find(id)?;
                if known.is_none() && pin.state != PinState::Active {
                    return Err(PinError::NotActive { id });
                }
                Some(pin.order)
            }
        };
        match (known, place) {
            (Some((known, pin)), Some(place)) if known != place => Err(PinError::Elsewhere { pin }),
            (Some(_), _) => Ok(self.take(path, words)),
            (None, None) if self.active().len() >= Self::ACTIVE_MAX => Err(PinError::TooMany),
            (None, place) => {
                let id = self.add(words, None, place);
                if let Some(old) = old {
                    self.find(old)?.state = PinState::SupersededBy(id);
                }
                let place = place.unwrap_or(id.0);
                self.files.retain(|file| file.place != place);
                let digest = Digest::of(words.as_bytes());
                self.files.push(PinFile { place, path: path.to_owned(), pin: id, digest, trouble: None });
                self.files.sort_by_key(|file| file.place);
                Ok(id)
            }
        }
    }

    /// Takes the result of reading a file again. The same result twice changes nothing, nor does a file that is not followed.
    pub fn follow(&mut self, path: &str, reading: &Reading) -> Option<Followed> {
        let file = self.followed().find(|file| file.path == path)?.clone();
        let (path, pin) = (file.path, file.pin);
        let trouble = match reading {
            Reading::Words(words) => check(words, Self::FILE_BYTES_MAX).err().map(|error| match error {
                PinError::TooLong { .. } => Trouble::TooLarge,
                _ => Trouble::Blank,
            }),
            Reading::Trouble(trouble) => Some(*trouble),
        };
        match (trouble, reading) {
            (None, Reading::Words(words)) => {
                let now = self.take(&path, words);
                if now != pin {
                    return Some(Followed::Changed { path, pin: now });
                }
                file.trouble.map(|_| Followed::Mended { path, pin })
            }
            (trouble, _) => {
                let new = trouble.filter(|_| file.trouble != trouble);
                let held = self.files.iter_mut().find(|held| held.place == file.place)?;
                held.trouble = trouble;
                new.map(|trouble| Followed::Troubled { path, pin, trouble })
            }
        }
    }

    /// Whether only texts of followed files differ from `before`. Then a prompt that shows `before` may keep these until its
    /// next break.
    pub fn is_same_but_files(&self, before: &Self) -> bool {
        let (now, then) = (self.active(), before.active());
        now.len() == then.len()
            && now.iter().zip(&then).all(|(now, then)| {
                now.order == then.order && (now.id == then.id || self.follows_file_of(now, before, then))
            })
    }

    /// Whether a pin follows the file that another pin followed.
    fn follows_file_of(&self, pin: &Pin, before: &Self, old: &Pin) -> bool {
        let now = self.file_of(pin.id).map(|file| &file.path);
        now.is_some() && now == before.file_of(old.id).map(|file| &file.path)
    }

    /// Supersedes the pin of a followed file if the text changed.
    fn take(&mut self, path: &str, words: &str) -> PinId {
        let Some(at) = self.followed().find(|file| file.path == path).map(|file| (file.place, file.pin))
        else {
            return PinId(0);
        };
        let (place, old) = at;
        let digest = Digest::of(words.as_bytes());
        let is_same = self.files.iter().any(|file| file.place == place && file.digest == digest);
        let pin = if is_same { old } else { self.add(words, None, Some(place)) };
        for one in self.pins.iter_mut().filter(|one| one.id == old && old != pin) {
            one.state = PinState::SupersededBy(pin);
        }
        for file in self.files.iter_mut().filter(|file| file.place == place) {
            (file.pin, file.digest, file.trouble) = (pin, digest, None);
        }
        pin
    }
}

/// The first pin whose file cannot come from the operations of [`Pins`]: each file has its own place, and a pin there without a
/// source entry.
pub(super) fn damaged(pins: &[Pin], files: &[PinFile]) -> Option<PinId> {
    let mut before = 0;
    for file in files {
        let is_there = |pin: &Pin| pin.id == file.pin && pin.order == file.place && pin.source.is_none();
        if file.place <= before || !pins.iter().any(is_there) {
            return Some(file.pin);
        }
        before = file.place;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::pin::{Show, beside};
    use crate::tokens::fair_share;

    /// `+a` pins a, `-1` unpins, `1>b` puts b in the place of 1; `f=x` pins the file f, which says x; `2>f=x` does in the place
    /// of 2; `f~y` finds that f says y; `f~` finds no words; `f!` finds that it is gone. Errors are left aside.
    fn pins(script: &str) -> Pins {
        let mut pins = Pins::default();
        for word in script.split_whitespace() {
            step(&mut pins, word);
        }
        pins
    }

    fn step(pins: &mut Pins, word: &str) {
        let id = |text: &str| PinId(text.parse().unwrap());
        if let Some(text) = word.strip_prefix('+') {
            pins.pin(text, None).ok();
        } else if let Some(text) = word.strip_prefix('-') {
            pins.unpin(id(text)).ok();
        } else if let Some(path) = word.strip_suffix('!') {
            pins.follow(path, &Reading::Trouble(Trouble::Gone));
        } else if let Some((path, words)) = word.split_once('~') {
            pins.follow(path, &Reading::Words(words.to_owned()));
        } else if let Some((place, words)) = word.split_once('=') {
            let (old, path) =
                place.split_once('>').map_or((None, place), |(old, path)| (Some(id(old)), path));
            pins.pin_file(path, words, old).ok();
        } else if let Some((old, text)) = word.split_once('>') {
            pins.supersede(id(old), text, None).ok();
        }
    }

    /// The active pins, each with its file and a mark for trouble with the file.
    fn show(pins: &Pins) -> String {
        let one = |pin: &Pin| {
            let file = pins.file_of(pin.id);
            let trouble = file.and_then(|file| file.trouble).map_or("", |_| "!");
            file.map_or_else(|| pin.text.clone(), |file| format!("{}={}{trouble}", file.path, pin.text))
        };
        pins.active().into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn files_table() {
        let table = [
            ("f=x +a", "f=x a", "in the order of pinning"),
            ("f=x +a f~y", "f=y a", "other words take the place"),
            ("f=x f~x", "f=x", "the same words stay"),
            ("f=x f!", "f=x!", "gone: what was read last stays"),
            ("f=x f! f~x", "f=x", "back again"),
            ("f=x f! f~y", "f=y", "back with other words"),
            ("f=x f~", "f=x!", "emptied: what was read last stays"),
            ("f=x f=y", "f=y", "pinned again: one pin, with the words of now"),
            ("f=x -1 f~y", "", "what was taken back is not followed"),
            ("f=x -1 f=y", "f=y", "and can be pinned again"),
            ("f=x 1>a f~y", "a", "a person's words in its place end it"),
            ("+a 1>f=x f~y +b", "f=y b", "a file in the place of words"),
            ("f=x 1>g=y f~z", "g=y", "another file in its place"),
            ("f=x g=y 1>g=z", "f=x g=y", "one file has one place"),
            ("f=x 1>f=y", "f=y", "in its own place"),
            ("f=x +x", "f=x x", "typed words are no file's: those may change"),
            ("+x f=x f~y", "x f=y", "and stay when the file changes"),
            ("f=x g=x g~y", "f=x g=y", "two files that said the same"),
            ("9>f=x", "", "in the place of nothing"),
            ("g~y", "", "a file that is not pinned"),
        ];
        for (script, want, why) in table {
            let pins = pins(script);
            assert_eq!(show(&pins), want, "{why}: {script}");
            let stored = Pins::restore(pins.all().to_vec(), pins.files().to_vec());
            assert_eq!(stored.unwrap(), pins, "{why}: stored and read");
        }
    }

    #[test]
    fn what_changed_is_told_once() {
        let mut pins = pins("f=x");
        let (path, gone) = ("f".to_owned(), Reading::Trouble(Trouble::Gone));
        assert_eq!(pins.follow("f", &Reading::Words("x".to_owned())), None);
        let troubled = Followed::Troubled { path: path.clone(), pin: PinId(1), trouble: Trouble::Gone };
        assert_eq!(pins.follow("f", &gone), Some(troubled));
        assert_eq!(pins.follow("f", &gone), None, "known");
        let large = Reading::Words("x".repeat(32 * 1024 + 1));
        let troubled = Followed::Troubled { path: path.clone(), pin: PinId(1), trouble: Trouble::TooLarge };
        assert_eq!(pins.follow("f", &large), Some(troubled), "another reason");
        let mended = Followed::Mended { path: path.clone(), pin: PinId(1) };
        assert_eq!(pins.follow("f", &Reading::Words("x".to_owned())), Some(mended));
        let changed = Followed::Changed { path, pin: PinId(2) };
        assert_eq!(pins.follow("f", &Reading::Words("y".to_owned())), Some(changed));
        assert_eq!(pins.pin_file("f", &"x".repeat(32 * 1024 + 1), None).ok(), None, "32 KiB are the most");
        assert!(Trouble::TooLarge.words().contains("32 KiB"));
    }

    #[test]
    fn what_waits_for_a_break_table() {
        let table = [
            ("f=x +a", "f=x +a", true, "nothing happened"),
            ("f=x +a", "f=x +a f~y", true, "a file says something else"),
            ("f=x +a", "f=x +a f~y f~z f!", true, "twice, and is gone"),
            ("f=x +a", "f=x +a f~y 2>b", false, "a person changed something too"),
            ("f=x", "f=x +a", false, "a new pin"),
            ("f=x", "f=x -1", false, "taken back"),
            ("f=x", "f=x 1>a", false, "a person's words in its place"),
            ("f=x", "f=x 1>g=y", false, "another file in its place"),
            ("+a", "+a 1>f=x", false, "a file in the place of words"),
        ];
        for (before, now, want, why) in table {
            assert_eq!(pins(now).is_same_but_files(&pins(before)), want, "{why}: {before} | {now}");
        }
    }

    #[test]
    fn a_prompt_says_words_once_and_not_those_beside_it() {
        let pins = pins("f=x g=x +a h=z");
        let how = [(PinId(4), Show::Beside), (PinId(3), Show::Short("a…".to_owned()))];
        let shown = pins.shown(&BTreeMap::from(how));
        assert_eq!(shown.ids(), [1, 2, 3].map(PinId), "words that stand are shown, whosever they are");
        assert_eq!(shown.block().unwrap().blocks.len(), 3, "a head, x, a…");
        let (one, two) = (BTreeSet::from([PinId(1)]), BTreeSet::from([PinId(1), PinId(2)]));
        let table = [
            (&two, &one, true, &two, "a break takes what is"),
            (&two, &one, false, &one, "what comes to stand beside it stands twice until then"),
            (&one, &two, false, &one, "what stands there no more is shown at once"),
        ];
        for (now, before, breaks, want, why) in table {
            assert_eq!(beside(now, before, breaks), *want, "{why}");
        }
        assert_eq!(fair_share(vec![100, 2_000, 3_000], 2_100), Some(1_000), "short files stay whole");
        assert_eq!(fair_share(vec![100, 2_000], 2_100), None);
    }

    #[test]
    fn damage_is_found() {
        let whole = pins("f=x +a g=y");
        let file = |change: &dyn Fn(&mut Vec<PinFile>)| {
            let mut files = whole.files().to_vec();
            change(&mut files);
            Pins::restore(whole.all().to_vec(), files)
        };
        assert_eq!(file(&|_| ()), Ok(whole.clone()));
        for (change, why) in [
            (&(|files: &mut Vec<PinFile>| files.reverse()) as &dyn Fn(&mut Vec<PinFile>), "out of order"),
            (&|files| files[0].pin = PinId(9), "a pin that is not there"),
            (&|files| files[0].pin = PinId(2), "a pin of another place"),
        ] {
            assert!(matches!(file(change), Err(PinError::Damaged { .. })), "{why}");
        }
    }

    proptest! {
        /// Whatever was done, pins are read as they were stored, each followed file has one pin, and reading again what a
        /// file says changes nothing.
        #[test]
        fn files_hold(steps in prop::collection::vec(
            "(\\+[a-c]|-[1-6]|[1-6]>[a-c]|[fg]=[a-c]|[1-6]>[fg]=[a-c]|[fg]~[a-c]?|[fg]!)", 0..24)) {
            let mut pins = Pins::default();
            for word in &steps {
                step(&mut pins, word);
                let before = pins.clone();
                if !word.contains('=') && !word.starts_with('+') {
                    step(&mut pins, word);
                    prop_assert_eq!(&pins, &before, "{}", word);
                }
            }
            prop_assert_eq!(Pins::restore(pins.all().to_vec(), pins.files().to_vec()).unwrap(), pins.clone());
            let paths: Vec<&str> = pins.followed().map(|file| file.path.as_str()).collect();
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
            for file in pins.followed() {
                let pin = pins.all().iter().find(|pin| pin.id == file.pin).unwrap();
                prop_assert_eq!(file.digest, Digest::of(pin.text.as_bytes()));
            }
        }
    }
}
