//! A folder in which machines leave their histories for each other: a shared folder, a mounted drive, a disk.
//!
//! ```text
//! unforget-sync.json           what this folder is; the salt of its passphrase
//! histories/<conversation>/
//!   <tip>.tip                  the end of a path: its parts, its trailer
//!   <part>.part                records of a path, compressed
//!   <entry>.purged             an entry that was purged: nobody brings it back
//!   <saying>.said              a title, star, tag or verdict, entries put back, or any of them taken away
//! ```
//!
//! Files are written whole under another name first, a tip after its parts, and no file is ever changed. So a machine that ends in
//! the middle leaves a folder in order, and two machines may write at the same time. Other files are left alone: cloud drives make some.

mod files;
mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unforget_core::digest::Chain;
use unforget_core::id::ConversationKey;

use crate::error::{Result, SyncError};
use crate::folder_seal::FolderSeal;
use crate::local::LocalHistory;
use crate::record_frames::{self, FrameError};
use crate::take::SyncEvent;
use crate::tip::{HistorySource, KnownSayings, PurgedEntry, SentSaying, TipLayout, TipPart, TranscriptTip};
use files::{FileKind, Marker, PurgedFile, TipFile};

/// A folder of histories.
pub struct SyncFolder {
    root: PathBuf,
    seal: FolderSeal,
    is_trial: bool,
    /// What was found, by conversation. Read again by each list.
    found: BTreeMap<ConversationKey, FolderHistory>,
    /// Files that cannot be read, or are not what their names say.
    damaged: Vec<PathBuf>,
}

/// One conversation of a folder.
#[derive(Default)]
struct FolderHistory {
    tips: BTreeMap<Chain, TipFile>,
    purged: BTreeSet<Chain>,
    /// Names of all files.
    files: BTreeSet<String>,
}

/// What was written to a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutReport {
    /// Conversations of which something new was written.
    pub conversations: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Conversations of which purged text was removed from the folder.
    pub purged: u64,
    /// Conversations that were passed over.
    pub left: u64,
    /// Sayings of people that were written.
    pub sayings: u64,
}

impl SyncFolder {
    /// Opens a folder of histories, or makes one of an empty folder or a new one. What it makes only its owner can read,
    /// unless the folder is there and others may write in it.
    ///
    /// * `passphrase` - encrypts contents and names; for a new folder it is set.
    /// * `is_trial` - whether to make nothing.
    ///
    /// # Errors
    /// [`SyncError::NoParent`], [`SyncError::OtherFolder`], [`SyncError::NewerFolder`], [`SyncError::Passphrase`],
    /// [`SyncError::File`].
    pub fn open(root: &Path, passphrase: Option<&str>, is_trial: bool) -> Result<Self> {
        let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
        if !root.exists() && parent.is_some_and(|parent| !parent.exists()) {
            return Err(SyncError::NoParent { path: root.to_owned() });
        }
        let seal = match Marker::read(root)? {
            Some(marker) => marker.seal(root, passphrase)?,
            None if is_trial => FolderSeal::Open,
            None => Marker::make(root, passphrase)?,
        };
        Ok(Self { root: root.to_owned(), seal, is_trial, found: BTreeMap::new(), damaged: Vec::new() })
    }

    /// Files that cannot be used, as far as they were not written again. If one is removed, the machine that has its records writes it.
    pub fn damaged(&self) -> &[PathBuf] {
        &self.damaged
    }

    /// Whether contents and names are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.seal, FolderSeal::Key { .. })
    }

    /// Writes what the folder does not have of this machine's histories, and removes what this machine purged.
    ///
    /// A tip that continues another one takes its place. A conversation that cannot be read is told and passed over. In a trial only the
    /// number of conversations and bytes is found.
    ///
    /// Cost: O(entries) of rows without their bytes, and the bytes of new records.
    ///
    /// # Errors
    /// Those of the folder and of the store.
    pub fn put(
        &mut self,
        local: &mut LocalHistory<'_>,
        told: &mut dyn FnMut(SyncEvent<'_>),
    ) -> Result<PutReport> {
        self.read()?;
        let mut report = PutReport::default();
        if !self.is_trial {
            report.purged = self.remove_purged(local)?;
        }
        let mut grown = BTreeSet::new();
        for tip in local.tips()? {
            match self.put_tip(local, &tip) {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    report.bytes += bytes;
                    grown.insert(tip.key);
                }
                Err(error @ SyncError::File { .. }) => return Err(error),
                Err(error) if error.is_of_everything() => return Err(error),
                Err(why) => {
                    report.left += 1;
                    told(SyncEvent::Left { key: &tip.key, why });
                }
            }
        }
        report.conversations = grown.len() as u64;
        report.sayings = self.put_sayings(local)?;
        Ok(report)
    }

    /// Writes a tip and its parts. Returns the number of bytes, in a trial those of the records; `None` if all is there.
    fn put_tip(&mut self, local: &mut LocalHistory<'_>, tip: &TranscriptTip) -> Result<Option<u64>> {
        let known = self.found.get(&tip.key);
        let is_whole = |history: &FolderHistory, file: &TipFile| {
            file.parts().all(|part| history.files.contains(&self.part_file(&part)))
        };
        if known
            .is_some_and(|history| history.tips.get(&tip.chain).is_some_and(|file| is_whole(history, file)))
        {
            return Ok(None);
        }
        let purged = known.map_or(Ok(0), |history| purged_within(local, tip, &history.purged))?;
        if purged > 0 {
            return Err(SyncError::Purged { purged });
        }
        let layout = local.layout(tip)?;
        let (mut start, mut bytes) = (0, 0);
        for part in &layout.parts {
            let file = self.part_file(part);
            if !self.found.get(&tip.key).is_some_and(|history| history.files.contains(&file)) {
                bytes += if self.is_trial {
                    part.bytes
                } else {
                    let frames = local.part(tip, start, part)?;
                    self.write(&tip.key, file, files::packed(&self.place(&tip.key), &frames)?)?
                };
            }
            start = part.end;
        }
        if !self.is_trial {
            let file = TipFile::new(tip, &layout);
            bytes += self.write(&tip.key, self.tip_file(tip.chain), file.encoded())?;
            self.found.entry(tip.key.clone()).or_default().tips.insert(tip.chain, file);
            self.remove_continued(local, tip, &layout)?;
        }
        Ok(Some(bytes))
    }

    /// Removes the tips that a new one continues, and the parts that only they have.
    fn remove_continued(
        &mut self,
        local: &LocalHistory<'_>,
        tip: &TranscriptTip,
        layout: &TipLayout,
    ) -> Result<()> {
        let Some(history) = self.found.get(&tip.key) else { return Ok(()) };
        let mut continued = Vec::new();
        for (chain, file) in &history.tips {
            if file.length() < tip.length && local.is_on_path(tip, *chain, file.length())? {
                continued.push((*chain, file.parts().collect::<Vec<_>>()));
            }
        }
        for (chain, parts) in continued {
            self.remove(&tip.key, &self.tip_file(chain))?;
            for part in parts.iter().filter(|part| !layout.parts.contains(part)) {
                self.remove(&tip.key, &self.part_file(part))?;
            }
            if let Some(history) = self.found.get_mut(&tip.key) {
                history.tips.remove(&chain);
            }
        }
        Ok(())
    }

    /// Marks what this machine purged, and removes every tip with a marked entry and the parts that no other tip has.
    ///
    /// Another machine may have put such a tip there before it saw the mark, so this is looked at each time. Returns the number of
    /// conversations from which something was removed.
    fn remove_purged(&mut self, local: &mut LocalHistory<'_>) -> Result<u64> {
        for purged in local.purged()? {
            let Some(history) = self.found.get(&purged.key) else { continue };
            if !history.purged.contains(&purged.chain) {
                let mark = PurgedFile::new(&purged).encoded();
                self.write(&purged.key, self.purged_file(purged.chain), mark)?;
                self.found.entry(purged.key).or_default().purged.insert(purged.chain);
            }
        }
        let marked = self.found.iter().filter(|(_, history)| !history.purged.is_empty());
        let marked: Vec<ConversationKey> = marked.map(|(key, _)| key.clone()).collect();
        let mut cleaned = 0;
        for key in marked {
            let (tips, sayings) = (self.clean(local, &key)?, self.clean_sayings(&key)?);
            cleaned += u64::from(tips || sayings);
        }
        Ok(cleaned)
    }

    /// Removes the marked tips of a conversation. Returns whether there were any.
    fn clean(&mut self, local: &LocalHistory<'_>, key: &ConversationKey) -> Result<bool> {
        let Some(history) = self.found.get(key) else { return Ok(false) };
        let (marks, mut gone) = (history.purged.clone(), Vec::new());
        let tips: Vec<TranscriptTip> = history.tips.values().map(TipFile::tip).collect::<Result<_>>()?;
        for tip in tips {
            if self.is_marked(local, &tip, &marks)? {
                gone.push(tip.chain);
            }
        }
        for chain in &gone {
            self.remove(key, &self.tip_file(*chain))?;
            if let Some(history) = self.found.get_mut(key) {
                history.tips.remove(chain);
            }
        }
        // A machine that was ended left parts without a tip, and files half written.
        let Some(history) = self.found.get(key) else { return Ok(false) };
        let needed = history.tips.values().flat_map(TipFile::parts).map(|part| self.part_file(&part));
        let needed: BTreeSet<String> = needed.collect();
        let is_idle = |name: &&String| {
            (files::is_part(name) || name.starts_with(files::WRITING)) && !needed.contains(*name)
        };
        let idle: Vec<String> = history.files.iter().filter(is_idle).cloned().collect();
        for name in &idle {
            self.remove(key, name)?;
        }
        Ok(!gone.is_empty() || !idle.is_empty())
    }

    /// Whether a tip has a marked entry. A tip that this machine does not know is read.
    fn is_marked(
        &mut self,
        local: &LocalHistory<'_>,
        tip: &TranscriptTip,
        marks: &BTreeSet<Chain>,
    ) -> Result<bool> {
        if local.known(&tip.key, tip.chain)?.is_some() {
            return Ok(purged_within(local, tip, marks)? > 0);
        }
        let (mut start, mut chain) = (0, Chain::root());
        for part in self.layout(tip)?.parts {
            let Ok(frames) = self.part(tip, start, &part) else { return Ok(false) };
            match record_frames::follow(chain, &frames, marks) {
                Ok(checked) => chain = checked.chain,
                Err(error) => return Ok(error == FrameError::Purged),
            }
            start = part.end;
        }
        Ok(false)
    }

    /// Reads all tips and marks.
    fn read(&mut self) -> Result<()> {
        self.found.clear();
        self.damaged.clear();
        for folder in files::folders(&self.histories())? {
            let mut history = FolderHistory::default();
            let mut key = None;
            for name in files::names(&folder)? {
                let path = folder.join(&name);
                if let Some(kind) = files::kind(&name) {
                    let read = kind.read(&path, &name, &self.seal);
                    let chained = read.and_then(|file| Some((file.chain()?, file)));
                    let named = chained.filter(|(chain, _)| name == self.small_file(&kind, *chain));
                    match named {
                        Some((chain, file)) => key = Some(file.into_history(chain, &mut history)),
                        None => self.damaged.push(path),
                    }
                }
                history.files.insert(name);
            }
            let Some(key) = key else { continue };
            if self.place(&key) == folder {
                self.found.insert(key, history);
            } else {
                self.damaged.push(folder);
            }
        }
        Ok(())
    }

    fn write(&mut self, key: &ConversationKey, name: String, content: Vec<u8>) -> Result<u64> {
        let sealed = self.seal.seal(&name, content)?;
        let path = self.place(key).join(&name);
        files::write(&path, &sealed)?;
        self.damaged.retain(|damaged| *damaged != path);
        self.found.entry(key.clone()).or_default().files.insert(name);
        Ok(sealed.len() as u64)
    }

    fn remove(&mut self, key: &ConversationKey, name: &str) -> Result<()> {
        files::remove(&self.place(key).join(name))?;
        if let Some(history) = self.found.get_mut(key) {
            history.files.remove(name);
        }
        Ok(())
    }

    fn histories(&self) -> PathBuf {
        self.root.join("histories")
    }

    fn place(&self, key: &ConversationKey) -> PathBuf {
        self.histories().join(self.seal.name(&key.0))
    }

    fn tip_file(&self, chain: Chain) -> String {
        format!("{}.tip", self.seal.name(&format!("tip {}", chain.0.hex())))
    }

    fn small_file(&self, kind: &FileKind, chain: Chain) -> String {
        match kind {
            FileKind::Tip => self.tip_file(chain),
            FileKind::Purged => self.purged_file(chain),
        }
    }

    fn part_file(&self, part: &TipPart) -> String {
        format!("{}.part", self.seal.name(&format!("part {} {}", part.bytes, part.chain.0.hex())))
    }

    fn purged_file(&self, chain: Chain) -> String {
        format!("{}.purged", self.seal.name(&format!("purged {}", chain.0.hex())))
    }
}

/// How many of these purged entries a tip has.
fn purged_within(local: &LocalHistory<'_>, tip: &TranscriptTip, purged: &BTreeSet<Chain>) -> Result<u64> {
    let mut within = 0;
    for chain in purged {
        within += u64::from(local.position_on(tip, *chain)?.is_some());
    }
    Ok(within)
}

impl HistorySource for SyncFolder {
    fn tips(&mut self) -> Result<Vec<TranscriptTip>> {
        self.read()?;
        self.found.values().flat_map(|history| history.tips.values()).map(TipFile::tip).collect()
    }

    fn layout(&mut self, tip: &TranscriptTip) -> Result<TipLayout> {
        let file = self.found.get(&tip.key).and_then(|history| history.tips.get(&tip.chain));
        file.map(TipFile::layout).ok_or_else(|| SyncError::Damaged {
            place: self.place(&tip.key).display().to_string(),
            what: "another machine removed this tip meanwhile".to_owned(),
        })
    }

    fn part(&mut self, tip: &TranscriptTip, start: u64, part: &TipPart) -> Result<Vec<u8>> {
        let name = self.part_file(part);
        let path = self.place(&tip.key).join(&name);
        let most = part.bytes.saturating_add(part.end.saturating_sub(start).saturating_mul(16));
        let most = most.min(files::PART_MAX);
        let content = self.seal.open(&name, files::read(&path, files::PART_MAX)?);
        content.and_then(|content| files::unpacked(&content, most)).ok_or_else(|| SyncError::Damaged {
            place: path.display().to_string(),
            what: "it is not what was written under this name".to_owned(),
        })
    }

    fn purged(&mut self) -> Result<Vec<PurgedEntry>> {
        let all = self.found.iter();
        let each = all.flat_map(|(key, history)| history.purged.iter().map(move |chain| (key, *chain)));
        Ok(each.map(|(key, chain)| PurgedEntry { key: key.clone(), chain }).collect())
    }

    fn sayings(&mut self, known: &KnownSayings) -> Result<Option<Vec<SentSaying>>> {
        Ok(Some(self.unknown_sayings(known)))
    }
}
