//! Plays a recorded session with one writer of summaries, and inspects it after some breaks.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use unforget_bench::{Probe, ProbeKind, Voice, probes};
use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::id::{Seq, Thread};
use unforget_core::policy::FAN_IN;
use unforget_core::tokens::Tokens;
use unforget_engine::prompt::{Session, Shape, ThreadRef};
use unforget_engine::replay::{RecordedEntry, RecordedHost};
use unforget_engine::summarise::{Config, Shift, Summarisers, SystemClock, Urgency};
use unforget_engine::view::Answers;
use unforget_engine::{Engine, EngineError};
use unforget_store::Spend;
use unforget_wire::{Dialect, Reader};

use super::look::{Looked, Tally, says, words_of};
use super::model::SummaryWriter;
use crate::commands::engine::now;
use crate::failure::{Failure, Outcome};

/// Numbers of breaks after which needles are looked for.
pub(super) const CHECKPOINTS: [u64; 3] = [1, 3, 6];

/// Most rules pinned per session, and the number of entries from which they are taken.
const PINS: (usize, u64) = (3, 60);

/// An entry that a question can be about.
pub(super) struct Asked {
    pub(super) seq: Seq,
    pub(super) voice: Voice,
    pub(super) probes: Vec<Probe>,
}

/// A session in progress.
pub(super) struct Play {
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) lane: ThreadRef,
    pub(super) asked: Vec<Asked>,
    pub(super) pins: Vec<String>,
    /// Key of the conversation.
    pub(super) key: String,
    models: Option<Summarisers>,
}

/// Plays a file and adds the results to `tally`; returns false if it is no session with a break.
pub(super) fn play(
    path: &Path,
    window: u64,
    seed: u64,
    writer: SummaryWriter,
    tally: &mut Tally,
) -> Outcome<bool> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let Ok(mut reader) = Reader::open(BufReader::new(file)) else { return Ok(false) };
    let engine = Engine::in_memory();
    let engine = if writer == SummaryWriter::Deterministic { engine } else { engine.with_models() };
    let mut host = RecordedHost::begin(&engine, reader.source(), None);
    let key = host.conversation_key(None).to_string();
    let lane = ThreadRef { conversation: host.open()?, thread: Thread(0) };
    let session = Session::new(&engine, lane, Shape::new(window, None, Dialect::Anthropic), true);
    let models = models(&engine, writer)?;
    let mut play = Play { engine, session, lane, asked: Vec::new(), pins: Vec::new(), key, models };
    let (mut answers, mut breaks, mut looked) = (Answers::default(), 0, 0);
    let failed = |source| EngineError::Read { path: path.into(), source };
    while let Some(record) = reader.next_record().map_err(failed)? {
        let is_main = record.entry.thread.is_none();
        if is_main && answers.is_call(&record.entry) {
            let before = play.session.context().epoch;
            let looked_at = play.call(tally)?;
            breaks += u64::from(play.session.context().epoch > before);
            while let Some(said) = &looked_at
                && CHECKPOINTS.get(looked).is_some_and(|at| breaks >= *at)
            {
                play.engine.maintain_index(play.lane.conversation)?;
                Looked { play: &play, said, seed }.at(looked, tally)?;
                looked += 1;
            }
        }
        for delivered in host.deliver(vec![record])?.into_iter().filter(|_| is_main) {
            play.push(&delivered)?;
        }
    }
    play.depth(tally);
    Ok(looked > 0)
}

/// The scripted model as a summariser; `None` for the writer without one.
pub(in crate::bench) fn models(engine: &Engine, writer: SummaryWriter) -> Outcome<Option<Summarisers>> {
    let Some(model) = writer.model() else { return Ok(None) };
    let most = u64::MAX;
    let caps = Spend { calls: most, input: most, output: most, micros: most };
    let config = Config { caps, ..Config::default() };
    Ok(Some(Summarisers::new(engine, model.into(), Vec::new(), config, Arc::new(SystemClock::default()))?))
}

impl Play {
    /// The text of the next prompt; `None` if it does not fit. Models write summaries behind it.
    fn call(&mut self, tally: &mut Tally) -> Outcome<Option<String>> {
        let prompt = match self.session.prompt() {
            Ok(prompt) => prompt,
            Err(EngineError::Irreducible(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let said = words_of(prompt.admitted.request());
        tally.pins.0 += self.pins.len() as u64;
        tally.pins.1 += self.pins.iter().filter(|pin| says(&said, pin)).count() as u64;
        if let Some(models) = &self.models {
            let shift = Shift { limit: usize::MAX, urgency: Urgency::Normal };
            for report in self.engine.work(self.lane.conversation, models, now(), shift)? {
                let refused = report.refused.first().map_or(report.why, |flaw| flaw.name().to_owned());
                *tally.jobs.entry((report.ended.name(), refused)).or_default() += 1;
            }
        }
        Ok(Some(said))
    }

    fn push(&mut self, delivered: &RecordedEntry) -> Outcome<()> {
        let RecordedEntry { seq, parent, entry, tokens, .. } = delivered;
        if !self.session.push(*seq, *parent, entry, *tokens)? {
            return Ok(());
        }
        let Some(voice) = voice(entry) else { return Ok(()) };
        let probes = probes(&text_of(entry), voice);
        let rules = probes.iter().filter(|probe| probe.kind == ProbeKind::Rule);
        for rule in rules.filter(|_| seq.0 < PINS.1) {
            if self.pins.len() < PINS.0
                && self.engine.pin(self.lane.conversation, &rule.text, Some(*seq), now()).is_ok()
            {
                self.pins.push(rule.text.clone());
            }
        }
        self.asked.push(Asked { seq: *seq, voice, probes });
        Ok(())
    }

    /// How often entries were compressed: once into a leaf, and once per level above it.
    fn depth(&self, tally: &mut Tally) {
        let roots = &self.session.context().roots;
        let leaves: u64 = roots.iter().map(|root| (FAN_IN as u64).pow(u32::from(root.level))).sum();
        let most = leaves.max(1).ilog(FAN_IN as u64);
        for root in roots {
            *tally.depth.entry(root.level).or_default() += root.count;
            tally.too_deep += if u32::from(root.level) > most { root.count } else { 0 };
        }
        let shown: Tokens = self.session.total();
        tally.largest = tally.largest.max(shown.expected);
    }
}

fn voice(entry: &Entry) -> Option<Voice> {
    match entry.origin {
        Origin::Human => Some(Voice::Person),
        Origin::Model => Some(Voice::Model),
        Origin::Tool => Some(Voice::Tool),
        _ => None,
    }
}

/// The text of an entry, calls and results included, without reasoning.
fn text_of(entry: &Entry) -> String {
    let mut text = String::new();
    for part in &entry.parts {
        match part {
            Part::Text(words) => text += words,
            Part::ToolCall(call) => text += &call.arguments.replace("\\n", "\n"),
            Part::ToolResult(result) => {
                for part in &result.content {
                    if let Part::Text(words) = part {
                        text += words;
                    }
                }
            }
            Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => {}
        }
        text.push('\n');
    }
    text
}
