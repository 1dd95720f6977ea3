//! `unforget bench recall`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use unforget_recall::eval::{self, Case, Question, Report, Row, Turn, spoken_time};
use unforget_recall::rank::Tuning;

use crate::app::App;
use crate::args::RecallArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// Highest session number tried; real files skip some.
const SESSIONS_MAX: usize = 200;

#[derive(Debug, Serialize)]
struct RecallJson {
    conversations: u64,
    categories: Vec<RecallRowJson>,
    all: RecallRowJson,
    skipped: usize,
    latency_us: LatencyJson,
}

#[derive(Debug, Serialize)]
struct RecallRowJson {
    category: String,
    questions: usize,
    r5: f64,
    r10: f64,
    r20: f64,
    within_500: f64,
    within_1000: f64,
    within_2000: f64,
    within_4000: f64,
}

#[derive(Debug, Serialize)]
struct LatencyJson {
    p50: f64,
    p99: f64,
    max: f64,
}

/// Asks the questions of LoCoMo files and reports how much of the evidence is found.
pub(crate) fn run(app: &mut App, args: &RecallArgs) -> Outcome {
    let mut cases = Vec::new();
    for path in &args.files {
        cases.extend(read(path)?);
    }
    let started = Instant::now();
    let report = eval::run(&cases, Tuning::default(), &mut || started.elapsed().as_secs_f64() * 1e6);
    let json = RecallJson {
        conversations: cases.len() as u64,
        categories: report
            .categories
            .iter()
            .map(|(name, row)| RecallRowJson::new(named(name), row))
            .collect(),
        all: RecallRowJson::new("all".to_owned(), &report.all),
        skipped: report.skipped,
        latency_us: LatencyJson::of(&report),
    };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    Ok(Exit::Done)
}

fn say(app: &mut App, json: &RecallJson) -> Outcome<()> {
    let row = |row: &RecallRowJson| {
        let shares =
            [row.r5, row.r10, row.r20, row.within_500, row.within_1000, row.within_2000, row.within_4000];
        let shares = shares.iter().map(|share| format!("{share:.3}"));
        [row.category.clone(), row.questions.to_string()].into_iter().chain(shares).collect::<Vec<_>>()
    };
    let rows = json.categories.iter().chain([&json.all]).map(row).collect();
    let head =
        ["category", "questions", "R@5", "R@10", "R@20", "in 500", "in 1000", "in 2000", "in 4000 tokens"];
    write!(app.out, "{}", text::table(&head, rows, &[1, 2, 3, 4, 5, 6, 7, 8]))?;
    let LatencyJson { p50, p99, .. } = json.latency_us;
    writeln!(
        app.out,
        "{}; {} without evidence; {} per search, {} at p99",
        text::plural(json.conversations, "conversation"),
        text::plural(json.skipped as u64, "question"),
        text::micros(p50 as u64),
        text::micros(p99 as u64)
    )?;
    Ok(())
}

impl RecallRowJson {
    fn new(category: String, row: &Row) -> Self {
        let ([r5, r10, r20], [within_500, within_1000, within_2000, within_4000]) = (row.recall, row.within);
        Self {
            category,
            questions: row.questions,
            r5,
            r10,
            r20,
            within_500,
            within_1000,
            within_2000,
            within_4000,
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

/// LoCoMo's categories by their numbers.
fn named(number: &str) -> String {
    let name = match number {
        "1" => "multi-hop",
        "2" => "temporal",
        "3" => "open-domain",
        "4" => "single-hop",
        "5" => "adversarial",
        other => other,
    };
    name.to_owned()
}

/// The conversations of a file: one, or an array of them.
fn read(path: &Path) -> Outcome<Vec<Case>> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let failed = |what: &str| {
        Failure::input(
            "not-locomo",
            format!("{}: {what}", path.display()),
            "give a LoCoMo file: conversation and qa",
        )
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| failed(&error.to_string()))?;
    let samples = match value {
        Value::Array(samples) => samples,
        one => vec![one],
    };
    let cases: Vec<_> = samples.iter().filter_map(case_of).collect();
    if cases.is_empty() { Err(failed("there is no conversation in it")) } else { Ok(cases) }
}

fn case_of(sample: &Value) -> Option<Case> {
    let talk = sample.get("conversation")?;
    let mut turns = Vec::new();
    for session in 1..=SESSIONS_MAX {
        let Some(said) = talk.get(format!("session_{session}")).and_then(Value::as_array) else { continue };
        let time = spoken_time(&text_of(talk, &format!("session_{session}_date_time")));
        turns.extend(said.iter().map(|turn| Turn {
            id: text_of(turn, "dia_id"),
            author: text_of(turn, "speaker"),
            time,
            text:
                format!("{}\n{}", text_of(turn, "text"), text_of(turn, "blip_caption")).trim_end().to_owned(),
        }));
    }
    let asked = sample.get("qa").and_then(Value::as_array);
    let questions = asked.into_iter().flatten().map(|question| {
        let evidence = question.get("evidence").and_then(Value::as_array);
        Question {
            text: text_of(question, "question"),
            category: question.get("category").map(ToString::to_string).unwrap_or_default(),
            evidence: evidence.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    });
    let questions = questions.collect();
    (!turns.is_empty()).then_some(Case { turns, questions })
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
