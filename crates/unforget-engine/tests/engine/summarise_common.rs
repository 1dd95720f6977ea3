//! A conversation played turn by turn while models write summaries of it.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unforget_core::id::{ConversationId, Thread, Timestamp};
use unforget_engine::Engine;
use unforget_engine::prompt::{Prompt, Session, Shape, ThreadRef};
use unforget_engine::replay::RecordedHost;
use unforget_engine::summarise::{Config, Priced, Summarisers};
use unforget_engine::view::Answers;
use unforget_llm::{CallPolicy, Cancel, Clock, Model};
use unforget_store::{Spend, SummaryRow, read_all};
use unforget_wire::{Dialect, Reader, Record};

/// A clock that advances only on request.
#[derive(Default)]
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(1_763_000_000_000 + self.0.load(Ordering::SeqCst) as i64)
    }
}

impl Clock for TestClock {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
    fn time(&self) -> Timestamp {
        self.now()
    }
    fn wait(&self, time: Duration, _: &Cancel) {
        self.pass(time);
    }
    fn chance(&self) -> f64 {
        0.5
    }
}

/// Spending limit per hour of a conversation in the tests.
pub(crate) const CAPS: Spend = Spend { calls: 40, input: 60_000, output: 40_000, micros: 30_000 };

pub(crate) fn config() -> Config {
    Config {
        window: 8_192,
        output_tokens_max: 500,
        within: Duration::from_secs(2),
        caps: CAPS,
        calls: CallPolicy {
            attempts_max: 2,
            attempt: Duration::from_millis(80),
            wait: Duration::from_millis(10),
            ..CallPolicy::default()
        },
        ..Config::default()
    }
}

pub(crate) fn models(engine: &Engine, model: Arc<dyn Model>, clock: &Arc<TestClock>) -> Summarisers {
    let priced = Priced { model, price: (100_000, 400_000) };
    Summarisers::new(engine, priced, vec![], config(), Arc::clone(clock) as Arc<dyn Clock>).unwrap()
}

/// A session of `turns` turns in pi's format.
pub(crate) fn transcript(turns: u64) -> String {
    let mut lines = vec![
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#
            .to_owned(),
    ];
    for n in 0..turns * 2 {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"{n:08x}\"") };
        let turn = n / 2;
        let (role, text, stop) = if n % 2 == 0 {
            (
                "user",
                format!(
                    "Please look at src/part_{turn}.rs, the parser there loses the last line. Ticket PAR-{turn} has the log. Never touch the generated files while you are at it, and tell me what you found before you change anything."
                ),
                "",
            )
        } else {
            (
                "assistant",
                format!(
                    "I read src/part_{turn}.rs. The loop ended one line early, because the buffer was compared with its capacity. I decided to compare with the length instead, and the tests of part_{turn} passed afterwards: 12 passed, 0 failed."
                ),
                r#","stopReason":"stop""#,
            )
        };
        lines.push(format!(
            r#"{{"type":"message","id":"{:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:{:02}.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]{stop}}}}}"#,
            n + 1,
            n % 60
        ));
    }
    lines.join("\n") + "\n"
}

/// The messages of a transcript or of the journal of its lane, byte for byte, with the end of their lines.
pub(crate) fn said(text: &[u8]) -> Vec<&str> {
    let lines = std::str::from_utf8(text).unwrap().lines();
    lines.filter_map(|line| line.split_once(r#""message":"#)).map(|(_, message)| message).collect()
}

/// A lane that receives one entry at a time.
pub(crate) struct Play {
    pub(crate) engine: Engine,
    pub(crate) id: ConversationId,
    pub(crate) shape: Shape,
    pub(crate) session: Session,
    pub(crate) host: Arc<Mutex<RecordedHost>>,
    records: std::vec::IntoIter<Record>,
    answers: Answers,
    /// Number of entries stored.
    pub(crate) pushed: u64,
    pub(crate) prompts: u64,
    /// Duration of each prompt.
    pub(crate) took: Vec<Duration>,
}

impl Play {
    pub(crate) fn new(engine: Engine, turns: u64, window: u64) -> Self {
        let text = transcript(turns);
        let mut reader = Reader::open(text.as_bytes()).unwrap();
        let mut host = RecordedHost::begin(&engine, reader.source(), None);
        let id = host.open().unwrap();
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            records.push(record);
        }
        let shape = Shape::new(window, None, Dialect::Anthropic);
        let session = Session::new(&engine, ThreadRef { conversation: id, thread: Thread(0) }, shape, true);
        Self {
            engine,
            id,
            shape,
            session,
            host: Arc::new(Mutex::new(host)),
            records: records.into_iter(),
            answers: Answers::default(),
            // The header of the journal.
            pushed: 1,
            prompts: 0,
            took: Vec::new(),
        }
    }

    /// Takes the next entry, preceded by a prompt if a model is called for it; `None` at the end.
    pub(crate) fn step(&mut self, now: Timestamp) -> Option<Option<Prompt>> {
        let record = self.records.next()?;
        self.session.at(now);
        let prompt = self.answers.is_call(&record.entry).then(|| {
            let start = std::time::Instant::now();
            let prompt = self.session.prompt().unwrap();
            self.took.push(start.elapsed());
            self.prompts += 1;
            let certificate = prompt.admitted.certificate();
            assert!(certificate.total.upper <= self.shape.policy.budget(), "I10");
            assert_eq!(certificate.proof, Ok(()), "I6");
            prompt
        });
        for stored in self.host.lock().unwrap().deliver(vec![record]).unwrap() {
            self.session.push(stored.seq, stored.parent, &stored.entry, stored.tokens).unwrap();
            self.pushed += 1;
        }
        Some(prompt)
    }

    /// The median and the maximum time of a prompt.
    pub(crate) fn latency(&self) -> (Duration, Duration) {
        let mut took = self.took.clone();
        took.sort_unstable();
        (took[took.len() / 2], took[took.len() - 1])
    }

    /// The models' summaries, found through their finished jobs.
    pub(crate) fn rewrites(&self) -> Vec<SummaryRow> {
        let store = self.engine.store();
        let jobs = read_all(|page| store.jobs(self.id, page)).unwrap();
        jobs.iter().filter_map(|job| store.rewrite(self.id, &job.key).unwrap()).collect()
    }
}
