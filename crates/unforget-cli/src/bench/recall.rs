//! `unforget bench recall`.

mod vectors;

use std::rc::Rc;
use std::time::Instant;

use serde::Serialize;
use unforget_eval::{
    Arm, Case, EvalSet, FullText, Half, Ranking, Report, Row, SetError, Sources, Vectors, run as ask,
};
use unforget_recall::tuning::Tuning;

use self::vectors::ModelVectors;
use crate::app::App;
use crate::args::{Half as HalfArg, RecallArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// Name of our arm.
const OURS: &str = "ours";

/// Name of our arm with vectors.
const MEANING: &str = "ours, meaning";

#[derive(Debug, Serialize)]
struct RecallJson {
    /// Our ranking on the first set: what stood here when there was one set.
    #[serde(flatten)]
    first: SetJson,
    /// A row for each arm of each set.
    sets: Vec<SetJson>,
    /// Number of JSON files in folders that hold no data set.
    passed_over: usize,
}

#[derive(Clone, Debug, Serialize)]
struct SetJson {
    set: String,
    arm: &'static str,
    conversations: usize,
    turns: usize,
    categories: Vec<RecallRowJson>,
    all: RecallRowJson,
    /// Number of questions without evidence.
    skipped: usize,
    latency_us: LatencyJson,
    /// Bytes of the texts, and of the vectors; null without any.
    text_bytes: u64,
    vector_bytes: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct RecallRowJson {
    category: String,
    questions: usize,
    r1: f64,
    r5: f64,
    r10: f64,
    r20: f64,
    within_500: f64,
    within_1000: f64,
    within_2000: f64,
    within_4000: f64,
    all_in_ten: f64,
    session_hit1: f64,
    session_hit5: f64,
    session_mrr: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct LatencyJson {
    p50: f64,
    p99: f64,
    max: f64,
}

/// Asks the questions of data sets and reports how much of the evidence is found.
pub(crate) fn run(app: &mut App, args: &RecallArgs) -> Outcome {
    let tuning = tuning(&args.set)?;
    let half = args.half.map(|half| match half {
        HalfArg::Dev => Half::Odd,
        HalfArg::Report => Half::Even,
    });
    let sources = Sources::read(&args.files).map_err(|error| unread(&error))?;
    let passed_over = sources.passed_over.len();
    let sets = sources.sets(half, args.seed).map_err(|error| unread(&error))?;
    let model = args.meaning.as_ref().map(|folder| ModelVectors::new(folder, args.vectors.as_ref()));
    let model: Option<Rc<dyn Vectors>> = model.transpose()?.map(|model| Rc::new(model) as Rc<dyn Vectors>);
    let mut rows = Vec::new();
    for set in &sets {
        rows.push(measured(set, OURS, &mut |case| Ok(Box::new(Ranking::new(&case.turns, tuning))))?);
        if let Some(model) = &model {
            let mut bytes = 0;
            let mut row = measured(set, MEANING, &mut |case| {
                let arm = Ranking::new(&case.turns, tuning).with_meaning(&case.turns, Rc::clone(model));
                let arm = arm.map_err(|why| failed(format!("the model of vectors: {why}")))?;
                bytes += arm.meaning_bytes();
                Ok(Box::new(arm))
            })?;
            row.vector_bytes = Some(bytes);
            rows.push(row);
        }
        rows.push(measured(set, "fts5 bm25", &mut |case| {
            let arm = FullText::new(&case.turns);
            Ok(Box::new(arm.map_err(|error| failed(format!("SQLite's full text search: {error}")))?))
        })?);
    }
    let Some(first) = rows.first().cloned() else {
        return Err(Failure::input(
            "no-questions",
            "there is no data set below the given paths".to_owned(),
            "give a LoCoMo or LongMemEval file, a folder of BEAM, or transcripts",
        ));
    };
    let json = RecallJson { first, sets: rows, passed_over };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json, args.kinds)?;
    }
    Ok(Exit::Done)
}

fn unread(error: &SetError) -> Failure {
    Failure::input(
        "not-a-data-set",
        error.to_string(),
        "give a LoCoMo or LongMemEval file, a folder of BEAM, or transcripts",
    )
}

/// The default weights with some changed.
fn tuning(changes: &[String]) -> Outcome<Tuning> {
    let mut tuning = Tuning::default();
    for change in changes {
        let applied = change.split_once('=').and_then(|(name, weight)| {
            let weight = weight.trim().parse().ok()?;
            *tuning.weight(name.trim())? = weight;
            Some(())
        });
        applied.ok_or_else(|| {
            Failure::input(
                "unknown-weight",
                format!("`{change}` changes no weight"),
                format!("give NAME=WEIGHT with a name of {}", Tuning::NAMES.join(", ")),
            )
        })?;
    }
    Ok(tuning)
}

/// The measures of one arm over a set.
fn measured(
    set: &EvalSet,
    arm_name: &'static str,
    index: &mut dyn FnMut(&Case) -> Outcome<Box<dyn Arm>>,
) -> Outcome<SetJson> {
    let started = Instant::now();
    let mut report = Report::default();
    for case in &set.cases {
        let mut arm = index(case)?;
        let clock = &mut || started.elapsed().as_secs_f64() * 1e6;
        ask(case, arm.as_mut(), clock, &mut report)
            .map_err(|why| failed(format!("{arm_name} cannot rank {}: {why}", set.name)))?;
    }
    Ok(SetJson {
        set: set.name.clone(),
        arm: arm_name,
        conversations: set.cases.len(),
        turns: set.cases.iter().map(|case| case.turns.len()).sum(),
        categories: report
            .categories
            .iter()
            .map(|(name, row)| RecallRowJson::new(name.clone(), row))
            .collect(),
        all: RecallRowJson::new("all".to_owned(), &report.all),
        skipped: report.skipped,
        latency_us: LatencyJson::of(&report),
        text_bytes: set.cases.iter().flat_map(|case| &case.turns).map(|turn| turn.text.len() as u64).sum(),
        vector_bytes: None,
    })
}

fn failed(message: String) -> Failure {
    Failure { kind: "bench", message, hint: String::new(), exit: Exit::Store }
}

fn say(app: &mut App, json: &RecallJson, kinds: bool) -> Outcome<()> {
    let mut rows = Vec::new();
    for set in &json.sets {
        let shown = set.categories.iter().filter(|_| kinds).chain([&set.all]);
        rows.extend(shown.map(|row| cells(set, row)));
    }
    let head = [
        "set",
        "questions",
        "kind",
        "arm",
        "R@1",
        "R@5",
        "R@10",
        "R@20",
        "in 2000 tokens",
        "all@10",
        "session@1",
        "session@5",
        "MRR",
        "p50",
        "p99",
        "vectors",
    ];
    write!(app.out, "{}", text::table(&head, rows, &[1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]))?;
    if json.passed_over > 0 {
        let files = text::plural(json.passed_over as u64, "file");
        writeln!(app.out, "{files} in the folders held no data set")?;
    }
    Ok(())
}

fn cells(set: &SetJson, row: &RecallRowJson) -> Vec<String> {
    let shares = [
        row.r1,
        row.r5,
        row.r10,
        row.r20,
        row.within_2000,
        row.all_in_ten,
        row.session_hit1,
        row.session_hit5,
        row.session_mrr,
    ];
    let LatencyJson { p50, p99, .. } = set.latency_us;
    let names =
        [set.set.clone(), row.questions.to_string(), row.category.clone(), set.arm.to_owned()].into_iter();
    let times = [p50, p99].map(|time| text::micros(time as u64));
    let size = set.vector_bytes.map_or_else(String::new, |bytes| {
        format!("{} ({})", text::bytes(bytes), text::percent(bytes as f64 / set.text_bytes.max(1) as f64))
    });
    names.chain(shares.iter().map(|share| format!("{share:.3}"))).chain(times).chain([size]).collect()
}

impl RecallRowJson {
    fn new(category: String, row: &Row) -> Self {
        let ([r1, r5, r10, r20], [within_500, within_1000, within_2000, within_4000]) =
            (row.recall, row.within);
        Self {
            category,
            questions: row.questions,
            r1,
            r5,
            r10,
            r20,
            within_500,
            within_1000,
            within_2000,
            within_4000,
            all_in_ten: row.all_in_ten,
            session_hit1: row.session_first,
            session_hit5: row.session_five,
            session_mrr: row.session_rank,
        }
    }
}

impl LatencyJson {
    fn of(report: &Report) -> Self {
        let times = &report.times;
        let at = |permille: usize| {
            let index = (times.len() * permille / 1_000).min(times.len().saturating_sub(1));
            times.get(index).copied().unwrap_or(0.0)
        };
        Self { p50: at(500), p99: at(990), max: at(1_000) }
    }
}
