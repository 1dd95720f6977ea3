//! A machine of the tests: a database in memory, and sessions that grow.

use std::fmt::Write as _;
use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::ConversationKey;
use unforget_engine::Engine;
use unforget_sync::{
    EngineIntake, HistorySource, LocalHistory, PutReport, SyncEvent, SyncFolder, TakeReport, take,
};

/// A machine.
pub(crate) struct Machine {
    pub(crate) engine: Engine,
}

/// Everything that was told of a step, by name.
pub(crate) type Told = Vec<String>;

impl Machine {
    pub(crate) fn new() -> Self {
        Self { engine: Engine::in_memory() }
    }

    /// Imports a transcript as the host wrote it.
    pub(crate) fn has(&self, transcript: &str) {
        self.engine.import_reader(transcript.as_bytes(), "/home/ann/session.jsonl").unwrap();
    }

    pub(crate) fn put(&self, folder: &mut SyncFolder) -> (PutReport, Told) {
        let mut told = Told::new();
        let put = folder.put(&mut LocalHistory::new(&self.engine), &mut |event| told.push(said(&event)));
        (put.unwrap(), told)
    }

    pub(crate) fn take(&self, from: &mut dyn HistorySource, purges: bool) -> (TakeReport, Told) {
        let mut told = Told::new();
        let mut into = EngineIntake(&self.engine);
        let taken = take(&self.engine, from, Some(&mut into), purges, &mut |event| told.push(said(&event)));
        (taken.unwrap(), told)
    }

    /// Takes from a folder, and puts into it.
    pub(crate) fn sync(&self, folder: &mut SyncFolder) -> TakeReport {
        let taken = self.take(folder, false).0;
        self.put(folder);
        taken
    }

    /// Every tip, as key and chain.
    pub(crate) fn tips(&self) -> Vec<(ConversationKey, Chain)> {
        let mut tips: Vec<_> = LocalHistory::new(&self.engine).tips().unwrap();
        tips.sort_by(|a, b| (&a.key, a.chain).cmp(&(&b.key, b.chain)));
        tips.into_iter().map(|tip| (tip.key, tip.chain)).collect()
    }

    /// Every entry, as key and chain.
    pub(crate) fn entries(&self) -> Vec<(ConversationKey, Chain)> {
        let store = self.engine.store();
        let mut entries = Vec::new();
        for stored in unforget_store::read_all(|page| store.conversations(page)).unwrap() {
            let rows = store.rows(stored.id, 0..stored.entries).unwrap();
            entries.extend(rows.into_iter().map(|row| (stored.key.clone(), row.chain)));
        }
        entries
    }

    /// The current transcript of a session.
    pub(crate) fn export(&self, session: &str) -> String {
        let stored = self.engine.store().find(&key(session)).unwrap().expect("the session is there");
        let mut bytes = Vec::new();
        self.engine.export(stored.id, None, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    pub(crate) fn purge(&self, session: &str, entries: Range<u64>) {
        let stored = self.engine.store().find(&key(session)).unwrap().unwrap();
        self.engine.purge(&stored, entries).unwrap();
    }

    /// The database reads back as it was received.
    pub(crate) fn is_sound(&self) {
        assert_eq!(self.engine.store().verify(&mut |_, _| ()).unwrap(), []);
    }
}

pub(crate) fn key(session: &str) -> ConversationKey {
    ConversationKey(format!("pi:{session}"))
}

/// A session of pi.
///
/// * `words` - what the person says, message by message.
pub(crate) fn session(name: &str, words: &[String]) -> String {
    let mut text = format!(
        r#"{{"type":"session","version":3,"id":"{name}","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/ann/tide"}}"#
    );
    let mut parent = "null".to_owned();
    for (number, words) in words.iter().enumerate() {
        let id = format!("{:08x}", u32::try_from(number).unwrap() + 1);
        let (minute, second) = (number / 60 % 60, number % 60);
        let time = format!("2026-03-01T1{}:{minute:02}:{second:02}.000Z", number / 3600);
        write!(
            text,
            "\n{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}}}}"
        )
        .unwrap();
        parent = format!("\"{id}\"");
    }
    text.push('\n');
    text
}

/// Numbered words.
pub(crate) fn words(count: usize, of: &str) -> Vec<String> {
    (0..count).map(|number| format!("{of} {number}")).collect()
}

fn said(event: &SyncEvent<'_>) -> String {
    match event {
        SyncEvent::Taken { key, added } => format!("taken {} {added}", key.0),
        SyncEvent::Waiting { key, records } => format!("waiting {} {records}", key.0),
        SyncEvent::PurgedElsewhere { key, entries, is_done } => {
            format!("purged {} {entries} {is_done}", key.0)
        }
        SyncEvent::Said { key, added } => format!("said {} {added}", key.0),
        SyncEvent::NoSayings => "no sayings".to_owned(),
        SyncEvent::Left { key, why } => format!("left {}: {why}", key.0),
    }
}
