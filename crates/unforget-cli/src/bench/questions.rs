//! `unforget bench questions`: questions about recorded sessions, asked of search, answer and ledger.

mod derive;

use std::collections::BTreeMap;

use serde::Serialize;
use unforget_bench::Random;
use unforget_engine::Engine;
use unforget_engine::recall::{CLUES_SHOWN, Clue, ClueKind, Grant, Hit, Question, SearchQuery};

use super::hints::read;
use super::hints::recorded::RecordedSession;
use super::summaries::tells::{Answer, Page};
use super::workload::folder;
use super::{Times, sessions, timed};
use crate::app::App;
use crate::args::QuestionsArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;
use derive::{OwnKind, OwnQuestion, questions};

/// Hits that a search shows.
const HITS: usize = 10;

#[derive(Debug, Serialize)]
struct QuestionsJson {
    seed: u64,
    sessions: usize,
    /// Questions that the rules made, of which some were drawn.
    made: usize,
    rows: Vec<QuestionRowJson>,
    search_us: Times,
    answer_us: Times,
}

/// Shares of the questions of a kind, or of all.
#[derive(Debug, Serialize)]
struct QuestionRowJson {
    kind: &'static str,
    questions: usize,
    /// An entry of the evidence is among the first five, or ten.
    r5: f64,
    r10: f64,
    search: SourceJson,
    answer: SourceJson,
    ledger: SourceJson,
}

/// How often a text held the answer.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct SourceJson {
    answered: f64,
    /// How often it held the answer to another question of the kind.
    chance: f64,
}

/// What came back for a question.
struct Reply {
    place: Option<usize>,
    /// Of the hits, of the answer's lines, of the ledger's clues.
    texts: [String; 3],
}

/// A question about a session.
struct AskedQuestion<'a> {
    session: &'a RecordedSession,
    question: OwnQuestion,
}

/// Makes, draws and asks the questions.
pub(crate) fn run(app: &mut App, args: &QuestionsArgs) -> Outcome {
    let files = sessions::files(&args.files)?;
    let (recorded, measured) = read(&files, args.half)?;
    let about = recorded.iter().zip(&measured).filter(|(_, is_measured)| **is_measured);
    let mut of_kinds: BTreeMap<OwnKind, Vec<AskedQuestion<'_>>> = BTreeMap::new();
    for (session, _) in about {
        for question in questions(session) {
            of_kinds.entry(question.kind).or_default().push(AskedQuestion { session, question });
        }
    }
    let made = of_kinds.values().map(Vec::len).sum();
    let asked = drawn(of_kinds, args);
    if asked.is_empty() {
        let what = format!("{} gave no question", text::plural(recorded.len() as u64, "session"));
        return Err(Failure::input("no-questions", what, "name longer transcripts of agents"));
    }
    let place = folder()?;
    let engine = Engine::open(&place.path().join("questions.sqlite"))?;
    for session in &recorded {
        let imported = engine.import_file(&session.path, &mut |_| ())?;
        engine.keep_memory(&imported.conversation)?;
    }
    let (mut replies, mut search_us, mut answer_us) = (Vec::new(), Vec::new(), Vec::new());
    for one in &asked {
        let (reply, times) = reply(&engine, one)?;
        replies.push(reply);
        search_us.push(times.0);
        answer_us.push(times.1);
    }
    if args.show {
        show(app, &asked, &replies)?;
    }
    let kinds = OwnKind::ALL.map(|kind| row(kind.name(), &asked, &replies, |one| one == kind));
    let rows = kinds.into_iter().chain([row("all", &asked, &replies, |_| true)]).collect();
    let json = QuestionsJson {
        seed: args.seed,
        sessions: recorded.len(),
        made,
        rows,
        search_us: Times::of(&search_us),
        answer_us: Times::of(&answer_us),
    };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    Ok(Exit::Done)
}

/// Some questions, by seed: one of each kind in turn, equal texts once.
fn drawn<'a>(
    of_kinds: BTreeMap<OwnKind, Vec<AskedQuestion<'a>>>,
    args: &QuestionsArgs,
) -> Vec<AskedQuestion<'a>> {
    let mut random = Random::new(args.seed);
    let mut pools: Vec<Vec<AskedQuestion<'a>>> = of_kinds.into_values().collect();
    let mut drawn: Vec<AskedQuestion<'a>> = Vec::new();
    while pools.iter().any(|pool| !pool.is_empty()) {
        for pool in pools.iter_mut().filter(|pool| !pool.is_empty()) {
            let new = pool.swap_remove(random.below(pool.len()));
            let is_new = drawn.iter().all(|old| old.question.text != new.question.text);
            if is_new && drawn.len() < args.questions {
                drawn.push(new);
            }
        }
    }
    drawn
}

/// Asks search, with the ledger's rows beside the hits, and answer. Times in microseconds.
fn reply(engine: &Engine, asked: &AskedQuestion<'_>) -> Outcome<(Reply, (u64, u64))> {
    let text = &asked.question.text;
    let query =
        SearchQuery { text: text.clone(), limit: Some(HITS), clues: CLUES_SHOWN, ..SearchQuery::default() };
    let (found, search_us) = timed(|| engine.search(&query));
    let found = found?;
    let question = Question { text, ..Question::default() };
    let (answered, answer_us) = timed(|| engine.answer(&question, &Grant::default(), None));
    let lines: Vec<String> = answered?.lines.into_iter().map(|line| line.text).collect();
    let hits: Vec<&str> = found.results.iter().map(|hit| hit.text.as_str()).collect();
    let is_ledger = |clue: &&Clue| clue.kind == ClueKind::Ledger;
    let rows: Vec<&str> = found.clues.found.iter().filter(is_ledger).map(|clue| clue.text.as_str()).collect();
    let texts = [hits.join("\n"), lines.join("\n"), rows.join("\n")];
    let place = found.results.iter().position(|hit| is_evidence(hit, asked));
    Ok((Reply { place, texts }, (search_us, answer_us)))
}

fn is_evidence(hit: &Hit, asked: &AskedQuestion<'_>) -> bool {
    let own = std::iter::once((&hit.conversation, hit.seq));
    let mut entries = own.chain(hit.also.iter().map(|copy| (&copy.conversation, copy.seq)));
    entries.any(|(key, seq)| *key == asked.session.key && asked.question.evidence.contains(&(seq.0 as usize)))
}

fn row(
    kind: &'static str,
    asked: &[AskedQuestion<'_>],
    replies: &[Reply],
    is_wanted: impl Fn(OwnKind) -> bool,
) -> QuestionRowJson {
    let wanted: Vec<(&OwnQuestion, &Reply)> = asked
        .iter()
        .zip(replies)
        .map(|(asked, reply)| (&asked.question, reply))
        .filter(|(question, _)| is_wanted(question.kind))
        .collect();
    let share = |is: &dyn Fn(usize, &(&OwnQuestion, &Reply)) -> bool| {
        let count = wanted.iter().enumerate().filter(|(at, one)| is(*at, one)).count();
        count as f64 / wanted.len().max(1) as f64
    };
    let told = |reply: &Reply, source: usize, answer: &Answer| {
        reply.texts.get(source).is_some_and(|text| Page::new(text).tells(answer))
    };
    // The next question of the kind, in a circle.
    let other = |at: usize, question: &OwnQuestion| {
        let others = wanted.iter().cycle().skip(at + 1).take(wanted.len());
        others
            .map(|(other, _)| *other)
            .find(|other| other.kind == question.kind && other.answer != question.answer)
    };
    let source = |source: usize| SourceJson {
        answered: share(&|_, (question, reply)| told(reply, source, &question.answer)),
        chance: share(&|at, (question, reply)| {
            other(at, question).is_some_and(|other| told(reply, source, &other.answer))
        }),
    };
    QuestionRowJson {
        kind,
        questions: wanted.len(),
        r5: share(&|_, (_, reply)| reply.place.is_some_and(|place| place < 5)),
        r10: share(&|_, (_, reply)| reply.place.is_some()),
        search: source(0),
        answer: source(1),
        ledger: source(2),
    }
}

fn show(app: &mut App, asked: &[AskedQuestion<'_>], replies: &[Reply]) -> Outcome<()> {
    for (one, reply) in asked.iter().zip(replies) {
        let tells = reply.texts.iter().map(|text| Page::new(text).tells(&one.question.answer));
        let by: Vec<&str> = ["search", "answer", "ledger"]
            .into_iter()
            .zip(tells)
            .filter_map(|(name, tells)| tells.then_some(name))
            .collect();
        let place = reply.place.map_or_else(|| "–".to_owned(), |place| (place + 1).to_string());
        let by = if by.is_empty() { "nobody".to_owned() } else { by.join(", ") };
        writeln!(app.out, "{}: evidence at {place}, answered by {by}", one.question.text)?;
    }
    Ok(())
}

fn say(app: &mut App, json: &QuestionsJson) -> Outcome<()> {
    let sessions = text::plural(json.sessions as u64, "session");
    writeln!(
        app.out,
        "{sessions} in one database; {} questions made, drawn with seed {}",
        json.made, json.seed
    )?;
    let row = |row: &QuestionRowJson| {
        let mut cells = vec![row.kind.to_owned(), row.questions.to_string()];
        let of = |source: SourceJson| [source.answered, source.chance];
        let shares = [row.r5, row.r10].into_iter();
        let shares = shares.chain([row.search, row.answer, row.ledger].into_iter().flat_map(of));
        cells.extend(shares.map(|share| format!("{share:.2}")));
        cells
    };
    let head = [
        "kind",
        "questions",
        "R@5",
        "R@10",
        "told by search",
        "chance",
        "by answer",
        "chance",
        "by ledger",
        "chance",
    ];
    let rows = json.rows.iter().map(row).collect();
    write!(app.out, "{}", text::table(&head, rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9]))?;
    let (search, answer) = (json.search_us.p50, json.answer_us.p50);
    writeln!(app.out, "search {} and answer {} at p50", text::micros(search), text::micros(answer))?;
    Ok(())
}
