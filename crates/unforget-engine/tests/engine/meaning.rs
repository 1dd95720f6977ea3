//! Vectors of entries by a scripted model, and searches that use them.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::Engine;
use unforget_engine::meaning::{EmbedStep, EmbedderPort, MeaningConfig, MeaningModel};
use unforget_engine::recall::{SearchAnswer, SearchQuery};
use unforget_engine::summarise::{Account, Cause, Fault, SystemClock};
use unforget_llm::Clock as _;
use unforget_llm::embed::Embedded;
use unforget_store::{
    Conversation, Page, SegmentHead, Spend, SpendHour, SpendKind, Store, StoreLayer, read_all,
};

const NOW: Timestamp = Timestamp(3_600_000 * 1000);

/// Words that mean the same to the scripted model.
const SAME: [(&str, &str); 2] = [("mauzi", "cat"), ("ship", "deploy")];

const DIMENSION: usize = 256;

/// What the model does with a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Well,
    Fails,
    /// Makes vectors of half the length.
    Half,
    /// Refuses calls with the word `forbidden`.
    Refuses,
    RefusesAll,
}

/// A model whose vectors are sums of words.
struct Scripted {
    name: String,
    account: Account,
    is_local: bool,
    mode: Mutex<Mode>,
    calls: Mutex<Vec<Vec<String>>>,
}

impl Scripted {
    fn new(name: &str, is_local: bool) -> Arc<Self> {
        let account = Account { provider: "test".to_owned(), credential: "none".to_owned() };
        let (mode, calls) = (Mutex::new(Mode::Well), Mutex::default());
        Arc::new(Self { name: name.to_owned(), account, is_local, mode, calls })
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    /// The texts of all calls since the last look.
    fn heard(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    fn model(self: &Arc<Self>, config: MeaningConfig) -> Arc<MeaningModel> {
        Arc::new(MeaningModel::new(
            Arc::clone(self) as Arc<dyn EmbedderPort>,
            config,
            Arc::new(SystemClock::new()),
        ))
    }
}

impl EmbedderPort for Scripted {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_local(&self) -> bool {
        self.is_local
    }

    fn embed(&self, texts: &[&str], _: Duration) -> Result<Embedded, Fault> {
        self.calls.lock().unwrap().push(texts.iter().map(|text| (*text).to_owned()).collect());
        let fails = |cause| Err(Fault::told(cause, &self.account, &self.name, ""));
        match *self.mode.lock().unwrap() {
            Mode::Fails => return fails(Cause::Connect),
            Mode::RefusesAll => return fails(Cause::Invalid),
            Mode::Refuses if texts.iter().any(|text| text.contains("forbidden")) => {
                return fails(Cause::Policy);
            }
            Mode::Well | Mode::Half | Mode::Refuses => {}
        }
        let tokens = texts.iter().map(|text| text.split_whitespace().count() as u64).sum();
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| vector(text)).collect();
        if *self.mode.lock().unwrap() == Mode::Half {
            for vector in &mut vectors {
                vector.truncate(DIMENSION / 2);
            }
        }
        Ok(Embedded { vectors, tokens: Some(tokens) })
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut sum = vec![0.01; DIMENSION];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
        let word = SAME.iter().find(|(other, _)| *other == word).map_or(word, |(_, plain)| plain);
        for (place, slot) in sum.iter_mut().enumerate() {
            let hash = blake3::hash(format!("{word} {place}").as_bytes());
            *slot += if hash.as_bytes()[0] > 127 { 1.0 } else { -1.0 };
        }
    }
    sum
}

/// Said in turn by a person and an assistant.
fn engine(lines: &[&str]) -> (Engine, Conversation) {
    let engine = Engine::in_memory();
    let said = (0..).zip(lines).map(|(at, text)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        serde_json::json!({"role": role, "content": text}).to_string()
    });
    let said: Vec<String> = said.collect();
    let imported = engine.import_reader(said.join("\n").as_bytes(), "test").unwrap();
    let conversation = engine.store().find(&imported.conversation).unwrap().unwrap();
    (engine, conversation)
}

fn embed_all(engine: &Engine, of: &Conversation, model: &MeaningModel) -> (u64, u64) {
    let (mut entries, mut vectors) = (0, 0);
    loop {
        match engine.embed_newest(of.id, model, NOW).unwrap() {
            EmbedStep::Done { entries: more, vectors: made, .. } => {
                entries += more;
                vectors += made;
            }
            EmbedStep::Idle => return (entries, vectors),
            other => panic!("{other:?}"),
        }
    }
}

fn search(engine: &Engine, text: &str) -> SearchAnswer {
    engine.search(&SearchQuery { text: text.to_owned(), ..SearchQuery::default() }).unwrap()
}

fn order(answer: &SearchAnswer) -> Vec<u64> {
    answer.results.iter().map(|hit| hit.seq.0).collect()
}

const TALK: [&str; 6] = [
    "We will deploy the gateway on Friday evening",
    "Understood, the checklist stays the same",
    "My cat sleeps on the warm keyboard",
    "That is hard on the keys",
    "The parser needs another test",
    "I will write one",
];

#[test]
fn what_shares_no_word_is_found_and_the_receipt_says_how() {
    let (engine, of) = engine(&TALK);
    assert_eq!(search(&engine, "mauzi").meaning, None, "no model");
    let scripted = Scripted::new("m", true);
    let model = scripted.model(MeaningConfig::default());
    engine.set_meaning(Some(Arc::clone(&model)));
    let before = search(&engine, "mauzi");
    assert_eq!(before.results, [], "only its words are known");
    assert_eq!(before.meaning.unwrap().trouble.as_deref(), Some("no entry has a vector yet"));
    assert_eq!(scripted.heard(), [] as [Vec<String>; 0], "nothing to compare: nobody is asked");
    assert_eq!(embed_all(&engine, &of, &model), (6, 6));
    let after = search(&engine, "mauzi");
    assert_eq!(order(&after).first(), Some(&2));
    assert_eq!(
        (after.matched, after.absent.as_slice()),
        (0, ["mauzi".to_owned()].as_slice()),
        "words stay exact"
    );
    assert!(after.meant > 0);
    let receipt = after.meaning.unwrap();
    assert_eq!(receipt.to_string(), "meaning: model m, 6 of 6 entries");
    scripted.heard();
    let unasked = SearchQuery { text: "mauzi".to_owned(), is_unasked: true, ..SearchQuery::default() };
    assert_eq!(engine.search(&unasked).unwrap().meaning, None);
    assert_eq!(scripted.heard().len(), 0, "what nobody asked for waits for nobody");
    let clone = engine.confined([of.id].into());
    assert_eq!(order(&search(&clone, "ship")).first(), Some(&0));
    assert_eq!(scripted.heard(), [["ship".to_owned()]], "a clone has the model, and only the query is asked");
    search(&engine, "ship");
    assert_eq!(scripted.heard().len(), 0, "the next page asks nothing");
}

#[test]
fn the_newest_entries_come_first_and_nothing_is_made_twice() {
    let lines: Vec<String> = (0..150).map(|at| format!("line number{at}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (engine, of) = engine(&lines);
    let scripted = Scripted::new("m", true);
    let model = scripted.model(MeaningConfig { batch: 10, ..MeaningConfig::default() });
    let first = engine.embed_newest(of.id, &model, NOW).unwrap();
    assert_eq!(first, EmbedStep::Done { entries: 10, vectors: 10, refused: 0 });
    let heard = scripted.heard();
    assert_eq!(
        (heard[0].first().unwrap().as_str(), heard[0].len()),
        ("line number140", 10),
        "the newest ten"
    );
    let state = engine.meaning_state(&of, &model).unwrap();
    assert_eq!((state.entries, state.left), (10, 140));
    // Another process goes on where the first one was ended.
    let (again, calls) = (Scripted::new("m", true), 14);
    assert_eq!(
        embed_all(&engine, &of, &again.model(MeaningConfig { batch: 10, ..MeaningConfig::default() })),
        (140, 140)
    );
    let heard = again.heard();
    assert_eq!(heard.len(), calls);
    assert!(heard.iter().flatten().all(|text| text != "line number140"), "what is stored is not asked again");
    let heads = read_all(|page| engine.store().segments(of.id, page)).unwrap().len();
    assert!(heads < 12, "segments are merged: {heads}");
    let more = serde_json::json!({"role": "user", "content": "line number150"}).to_string();
    let whole: Vec<String> = (0..150)
        .map(|at| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            serde_json::json!({"role": role, "content": format!("line number{at}")}).to_string()
        })
        .chain([more])
        .collect();
    engine.import_reader(whole.join("\n").as_bytes(), "test").unwrap();
    let of = engine.store().conversation(of.id).unwrap();
    assert_eq!(of.entries, 151);
    assert_eq!(embed_all(&engine, &of, &model), (1, 1), "only what is new");
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
}

#[test]
fn heads_of_segments_are_read_once_by_a_search() {
    let (engine, of) = engine(&TALK);
    let model = Scripted::new("m", true).model(MeaningConfig::default());
    embed_all(&engine, &of, &model);
    let counted = Arc::new(Counted { inner: engine, heads: AtomicU64::new(0) });
    let engine = Engine::on(Arc::clone(&counted) as Arc<dyn Store>);
    engine.set_meaning(Some(model));
    assert_eq!(order(&search(&engine, "mauzi")).first(), Some(&2));
    assert_eq!(counted.heads.load(Ordering::Relaxed), 1);
}

/// A store that counts reads of the heads of segments.
struct Counted {
    inner: Engine,
    heads: AtomicU64,
}

impl StoreLayer for Counted {
    fn inner(&self) -> &dyn Store {
        self.inner.store()
    }

    fn segments(&self, id: ConversationId, page: Page<u64>) -> unforget_store::Result<Vec<SegmentHead>> {
        self.heads.fetch_add(1, Ordering::Relaxed);
        self.inner().segments(id, page)
    }
}

#[test]
fn queries_are_charged_to_the_newest_conversation() {
    let (engine, of) = engine(&TALK);
    let scripted = Scripted::new("m", false);
    let caps = Spend { calls: 3, input: 10_000, output: 0, micros: u64::MAX };
    let model = scripted.model(MeaningConfig { caps, price: 1_000_000, ..MeaningConfig::default() });
    engine.set_meaning(Some(Arc::clone(&model)));
    embed_all(&engine, &of, &model);
    let now = SystemClock::new().time();
    let hour = SpendHour { kind: SpendKind::Meaning, hour: now.0 / 3_600_000 };
    for (asked, want) in [("mauzi", 1), ("mauzi", 1), ("the ship", 2), ("parser words", 3)] {
        assert_eq!(search(&engine, asked).meaning.unwrap().trouble, None, "{asked}");
        assert_eq!(engine.store().spent(of.id, hour).unwrap().calls, want, "{asked}");
    }
    let spent = engine.store().spent(of.id, hour).unwrap();
    assert_eq!((spent.input, spent.micros), (5, 5), "by the model's own count");
    scripted.heard();
    let told = search(&engine, "another question").meaning.unwrap().words_only().unwrap();
    assert!(told.starts_with("ranked by words only: ") && told.contains("limit"), "{told}");
    assert_eq!(scripted.heard().len(), 0, "nobody was asked");
    // Nothing can be written: what this process asks is bounded all the same.
    let trial = engine.scratch();
    assert!(search(&trial, "one more question").meaning.unwrap().trouble.is_some());
    let fresh =
        scripted.model(MeaningConfig { caps: Spend { calls: 5, ..caps }, ..MeaningConfig::default() });
    trial.set_meaning(Some(fresh));
    let mut asked = 0;
    while search(&trial, &format!("question {asked}")).meaning.unwrap().trouble.is_none() {
        asked += 1;
    }
    assert_eq!(asked, 2, "three are stored");
}

#[test]
fn vectors_of_another_length_are_told_and_kept() {
    let (engine, of) = engine(&TALK);
    let scripted = Scripted::new("m", true);
    let model = scripted.model(MeaningConfig::default());
    engine.set_meaning(Some(Arc::clone(&model)));
    embed_all(&engine, &of, &model);
    scripted.set(Mode::Half);
    let fresh = scripted.model(MeaningConfig::default());
    engine.set_meaning(Some(Arc::clone(&fresh)));
    let answer = search(&engine, "parser test");
    let why = answer.meaning.unwrap().trouble.unwrap();
    assert!(why.contains("128 numbers") && why.contains("have 256") && why.contains("--again"), "{why}");
    assert!(!answer.results.is_empty(), "words find");
    engine.purge(&of, 2..3).unwrap();
    assert!(
        matches!(engine.embed_newest(of.id, &fresh, NOW).unwrap(), EmbedStep::Done { .. }),
        "none is left"
    );
}

#[test]
fn another_model_makes_its_own() {
    let (engine, of) = engine(&TALK);
    let old = Scripted::new("old", true).model(MeaningConfig::default());
    embed_all(&engine, &of, &old);
    let scripted = Scripted::new("new", true);
    let new = scripted.model(MeaningConfig::default());
    engine.set_meaning(Some(Arc::clone(&new)));
    let receipt = search(&engine, "mauzi").meaning.unwrap();
    assert_eq!((receipt.model.as_str(), receipt.entries), ("new", 0), "vectors of another model say nothing");
    assert_eq!(embed_all(&engine, &of, &new), (6, 6));
    assert_eq!(order(&search(&engine, "mauzi")).first(), Some(&2));
    let left = engine.meaning_state(&of, &old).unwrap();
    assert_eq!((left.entries, left.left), (0, 6), "those of the old one are gone");
}

#[test]
fn a_purge_takes_vectors_along() {
    let (engine, of) = engine(&TALK);
    let model = Scripted::new("m", true).model(MeaningConfig::default());
    embed_all(&engine, &of, &model);
    engine.set_meaning(Some(Arc::clone(&model)));
    engine.purge(&of, 2..3).unwrap();
    let state = engine.meaning_state(&of, &model).unwrap();
    assert_eq!((state.entries, state.left), (0, 6), "the segment that covered it is gone");
    assert_eq!(embed_all(&engine, &of, &model), (6, 5), "and made again without it");
    assert!(!order(&search(&engine, "mauzi")).contains(&2));
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
}

#[test]
fn a_search_without_an_answer_ranks_by_words_and_says_why() {
    let (engine, of) = engine(&TALK);
    let scripted = Scripted::new("m", false);
    let model = scripted.model(MeaningConfig::default());
    embed_all(&engine, &of, &model);
    let by_words = order(&search(&engine, "parser test"));
    engine.set_meaning(Some(model));
    scripted.heard();
    scripted.set(Mode::Fails);
    let answer = search(&engine, "parser test");
    assert_eq!(order(&answer), by_words);
    let receipt = answer.meaning.unwrap();
    let line = receipt.to_string();
    assert!(
        line.starts_with("by words alone") && line.contains("6 of 6") && line.contains("no connection"),
        "{line}"
    );
    scripted.set(Mode::Well);
    let again = search(&engine, "another question of the parser").meaning.unwrap();
    assert!(again.trouble.unwrap().contains("not asked again"));
    assert_eq!(scripted.heard().len(), 1, "a model that failed rests");
}

#[test]
fn a_call_stays_within_the_cap_of_the_hour() {
    let (engine, of) = engine(&TALK);
    let scripted = Scripted::new("m", false);
    let caps = Spend { calls: 2, input: 1_000, output: 0, micros: u64::MAX };
    let config = || MeaningConfig { batch: 2, caps, price: 1_000_000, ..MeaningConfig::default() };
    let model = scripted.model(config());
    let step = |now| engine.embed_newest(of.id, &model, now).unwrap();
    assert!(matches!(step(NOW), EmbedStep::Done { entries: 2, .. }));
    assert!(matches!(step(NOW), EmbedStep::Done { entries: 2, .. }));
    let next = Timestamp(NOW.0 + 3_600_000);
    assert_eq!(step(NOW), EmbedStep::SpentUp { until: next });
    assert_eq!(scripted.heard().len(), 2);
    let hour = SpendHour { kind: SpendKind::Meaning, hour: 1000 };
    let spent = engine.store().spent(of.id, hour).unwrap();
    assert_eq!((spent.calls, spent.input), (2, 22), "by the model's own count");
    assert_eq!(engine.store().spent(of.id, SpendHour::of_summaries(1000)).unwrap(), Spend::default());
    assert!(matches!(step(next), EmbedStep::Done { entries: 2, .. }), "the next hour");
    let local = Scripted::new("local", true).model(MeaningConfig { caps: Spend::default(), ..config() });
    assert_eq!(embed_all(&engine, &of, &local), (6, 6), "a model in this process costs nothing");
}

#[test]
fn refused_texts_do_not_hold_up_the_others() {
    let (engine, of) = engine(&["one thing", "a forbidden thing", "another thing"]);
    let scripted = Scripted::new("m", true);
    let model = scripted.model(MeaningConfig::default());
    scripted.set(Mode::RefusesAll);
    assert!(
        matches!(engine.embed_newest(of.id, &model, NOW).unwrap(), EmbedStep::Failed { .. }),
        "all: the calls"
    );
    assert_eq!(engine.meaning_state(&of, &model).unwrap().left, 3);
    scripted.set(Mode::Refuses);
    let step = engine.embed_newest(of.id, &model, NOW).unwrap();
    assert_eq!(step, EmbedStep::Done { entries: 3, vectors: 2, refused: 1 });
    assert_eq!(engine.embed_newest(of.id, &model, NOW).unwrap(), EmbedStep::Idle);
    let (engine, of) = self::engine(&["a forbidden thing"]);
    assert_eq!(
        engine.embed_newest(of.id, &model, NOW).unwrap(),
        EmbedStep::Done { entries: 1, vectors: 0, refused: 1 },
        "the only one of its call"
    );
}

#[test]
fn what_leaves_the_process_has_no_credentials() {
    let secret = format!("sk-ant-api03-{}", "a1B2".repeat(24));
    let line = format!("the key is {secret}");
    let (engine, of) = engine(&[&line]);
    for (is_local, leaves) in [(true, true), (false, false)] {
        let scripted = Scripted::new(if is_local { "in" } else { "out" }, is_local);
        let model =
            scripted.model(MeaningConfig { text_prefix: "passage: ".to_owned(), ..MeaningConfig::default() });
        embed_all(&engine, &of, &model);
        let heard = scripted.heard();
        assert!(heard[0][0].starts_with("passage: the key is"), "{heard:?}");
        assert_eq!(heard[0][0].contains(&secret), leaves, "{heard:?}");
    }
}

#[test]
fn a_private_key_longer_than_a_piece_does_not_leave_the_process() {
    let line = "MIIEowIBAAKCAQEAx7Qp0sV9tY3kZ5nR8mW2bL4cH6jD1fG0uTqXeSiNoKvPaByC";
    let dashes = "-".repeat(5);
    let key = format!(
        "{dashes}BEGIN PRIVATE KEY{dashes}\n{}{dashes}END PRIVATE KEY{dashes}",
        format!("{line}\n").repeat(25)
    );
    let (engine, of) = engine(&[&format!("here it is:\n{key}\nand more words")]);
    let scripted = Scripted::new("out", false);
    embed_all(&engine, &of, &scripted.model(MeaningConfig::default()));
    let heard = scripted.heard().concat().concat();
    assert!(heard.contains("more words") && !heard.contains(&line[..20]), "{heard}");
}

#[test]
fn a_new_index_of_words_keeps_the_vectors() {
    let (engine, of) = engine(&TALK);
    let model = Scripted::new("m", true).model(MeaningConfig::default());
    embed_all(&engine, &of, &model);
    engine.set_meaning(Some(Arc::clone(&model)));
    let before = search(&engine, "mauzi");
    engine.reindex(of.id).unwrap();
    assert_eq!(search(&engine, "mauzi"), before);
    assert_eq!(engine.meaning_state(&of, &model).unwrap().entries, 6);
    assert_eq!(engine.doctor().unwrap(), [], "nothing waits");
    engine.purge(&of, 0..1).unwrap();
    let findings = engine.doctor().unwrap();
    assert!(findings.iter().any(|one| one.command.starts_with("unforget embed")), "{findings:?}");
}
