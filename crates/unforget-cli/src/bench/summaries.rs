//! `unforget bench summaries`: how much of a session is still told after its host compacted it: by the host's own
//! summary, by ours, by both.

pub(super) mod ask;
mod play;
pub(super) mod tells;

use std::path::Path;

use serde::Serialize;
use unforget_core::digest::Digest;
use unforget_core::tokens::Ruler;
use unforget_engine::prompt::Shape;
use unforget_wire::Dialect;

use super::sessions;
use crate::app::App;
use crate::args::{Half, SummariesArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::text;
use ask::Kind;
use play::{Point, points};
use tells::Page;

#[derive(Debug, Serialize)]
struct BenchSummariesJson {
    window: u64,
    seed: u64,
    /// Files whose host compacted, and files whose host did not.
    sessions: u64,
    skipped: u64,
    /// Number of compactions by hosts.
    points: u64,
    /// Number of summaries requested from the scripted model.
    asked: u64,
    /// Number of summaries that it wrote.
    written: u64,
    arms: Vec<ArmJson>,
}

#[derive(Debug, Serialize)]
struct ArmJson {
    arm: &'static str,
    /// Mean size.
    tokens: u64,
    questions: u64,
    answered: u64,
    share: f64,
    kinds: Vec<KindJson>,
}

#[derive(Debug, Serialize)]
struct KindJson {
    kind: &'static str,
    questions: u64,
    answered: u64,
}

/// A compaction with its folder and file number.
struct Placed {
    folder: String,
    file: usize,
    point: Point,
}

/// A text that is searched for answers: name, and the text at a compaction, given another compaction.
type Arm = (&'static str, fn(&Point, Option<&Point>) -> Option<String>);

const ARMS: [Arm; 8] = [
    ("host", |here, _| Some(here.host.clone())),
    ("ours", |here, _| Some(here.ours.clone())),
    ("ours+host", |here, _| Some(here.ours_host.clone())),
    ("model+host", |here, _| Some(here.model_host.clone())),
    ("prompt", |here, _| Some(here.prompt.clone())),
    ("prompt+host", |here, _| Some(here.prompt_host.clone())),
    ("other host", |_, other| other.map(|other| other.host.clone())),
    ("other ours", |_, other| other.map(|other| other.ours.clone())),
];

/// Plays sessions up to their hosts' compactions, and reports how much of the earlier history is told there.
pub(crate) fn run(app: &mut App, args: &SummariesArgs) -> Outcome {
    let mut files = sessions::files(&args.files)?;
    files.retain(|path| args.half.is_none_or(|half| half == half_of(path)));
    let (mut placed, mut sessions, mut skipped) = (Vec::new(), 0, 0);
    let bar = app.progress(files.len() as u64, "{msg} {bar:24.cyan} {pos} of {len}  {eta} left");
    for (file, path) in files.iter().enumerate() {
        bar.inc(1);
        bar.set_message(sessions::short(path));
        let found = points(path, args.window, args.seed)?;
        if found.is_empty() {
            skipped += 1;
        } else {
            sessions += 1;
        }
        let folder = path.parent().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        placed.extend(found.into_iter().map(|point| Placed { folder: folder.clone(), file, point }));
    }
    bar.finish_and_clear();
    if placed.is_empty() {
        let what = format!("the host compacted none of {}", text::plural(files.len() as u64, "file"));
        return Err(Failure::input("no-session", what, "name transcripts with summaries of their hosts"));
    }
    let points = placed.len() as u64;
    let arms = ARMS.iter().map(|arm| ask_arm(*arm, &placed, args.window)).collect();
    let asked = placed.iter().map(|placed| placed.point.asked).sum();
    let written = placed.iter().map(|placed| placed.point.written).sum();
    let (window, seed) = (args.window, args.seed);
    let json = BenchSummariesJson { window, seed, sessions, skipped, points, asked, written, arms };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    Ok(Exit::Done)
}

/// The half to which a file belongs, by its name, so that there is no selection.
fn half_of(path: &Path) -> Half {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if Digest::of(name.as_bytes()).short() % 2 == 0 { Half::Dev } else { Half::Report }
}

fn ask_arm((arm, text): Arm, placed: &[Placed], window: u64) -> ArmJson {
    let ruler = Shape::new(window, None, Dialect::Anthropic).ruler;
    let mut kinds = Kind::ALL.map(|kind| (kind, 0, 0));
    let (mut tokens, mut texts) = (0, 0);
    for (at, here) in placed.iter().enumerate() {
        let Some(said) = text(&here.point, other(placed, at).map(|other| &other.point)) else { continue };
        tokens += ruler.count(&said).expected;
        texts += 1;
        let page = Page::new(&said);
        for question in &here.point.questions {
            for (_, asked, answered) in kinds.iter_mut().filter(|(kind, ..)| *kind == question.kind) {
                *asked += 1;
                *answered += u64::from(page.tells(&question.answer));
            }
        }
    }
    let (questions, answered) =
        kinds.iter().fold((0, 0), |(asked, told), kind| (asked + kind.1, told + kind.2));
    let kinds = kinds.map(|(kind, questions, answered)| KindJson { kind: kind.name(), questions, answered });
    let share = if questions == 0 { 0.0 } else { answered as f64 / questions as f64 };
    ArmJson { arm, tokens: tokens / texts.max(1), questions, answered, share, kinds: kinds.into() }
}

/// A compaction of another session, preferably from another folder. It is the control: its answers are chance hits.
fn other(placed: &[Placed], at: usize) -> Option<&Placed> {
    let here = placed.get(at)?;
    let others = || placed.iter().cycle().skip(at + placed.len() / 2).take(placed.len());
    let elsewhere = others().find(|other| other.folder != here.folder);
    elsewhere.or_else(|| others().find(|other| other.file != here.file))
}

fn say(app: &mut App, json: &BenchSummariesJson) -> Outcome<()> {
    let (points, sessions) =
        (text::plural(json.points, "compaction"), text::plural(json.sessions, "session"));
    let skipped = text::plural(json.skipped, "file");
    writeln!(app.out, "{points} of {sessions} by their hosts; {skipped} skipped without one")?;
    let mut head = vec!["arm", "tokens", "answered"];
    head.extend(Kind::ALL.map(Kind::name));
    let row = |arm: &ArmJson| {
        let all = format!("{} of {}, {}", arm.answered, arm.questions, text::percent(arm.share));
        let mut row = vec![arm.arm.to_owned(), arm.tokens.to_string(), all];
        row.extend(arm.kinds.iter().map(|kind| format!("{}/{}", kind.answered, kind.questions)));
        row
    };
    let rows = json.arms.iter().map(row).collect();
    write!(app.out, "{}", text::table(&head, rows, &[1, 2, 3, 4, 5, 6, 7, 8]))?;
    writeln!(app.out, "summaries by the model: {} of {} written", json.written, json.asked)?;
    writeln!(
        app.out,
        "host: its own summary; ours: summaries and ledger without it; prompt: at {}; model: a scripted one, extracting; \
         other: of another session, told by chance",
        text::short(json.window)
    )?;
    Ok(())
}
