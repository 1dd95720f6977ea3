//! `unforget bench hints`: what hooks would have told recorded sessions, how often, how soon, and how often rightly.
//!
//! Every session is played in the order of time. A session is imported where it ended, as the hook of its host does;
//! so a hint comes from sessions that had ended before.

mod judge;
pub(super) mod recorded;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_text::{HINT_BYTES, MemoryItem, ShownMemory};

use super::workload::folder;
use super::{Times, sessions, timed};
use crate::app::App;
use crate::args::{Half, HintsArgs};
use crate::commands::hook::{AskedMoment, Heard, LATEST_BYTES, heard};
use crate::failure::{Exit, Failure, Outcome};
use crate::recognised::everything;
use crate::text;
use judge::{AHEAD, CommonNames, Judge};
use recorded::{Event, HookMoment, RecordedSession};

#[derive(Debug, Serialize)]
struct HintsJson {
    /// Sessions that were played, and files that are no session or a shorter copy of one.
    sessions: usize,
    skipped: usize,
    /// Sessions whose moments count.
    measured: usize,
    ahead: usize,
    bytes_max: usize,
    rows: Vec<HintRowJson>,
}

#[derive(Clone, Debug, Serialize)]
struct HintRowJson {
    event: &'static str,
    /// Least relevance; null where an identity decides.
    margin: Option<f64>,
    moments: usize,
    shown: usize,
    silence: f64,
    items: usize,
    right: usize,
    /// Right items of all that were told; null without any.
    precision: Option<f64>,
    /// Hints with a right item, of all.
    hints_right: usize,
    /// Share of right ones among items of the same kind that were not told, one drawn in the place of each told one.
    chance: Option<f64>,
    bytes: Times,
    time_us: Times,
}

/// What is added up for an event and a margin.
#[derive(Default)]
struct HintTally {
    moments: usize,
    shown: usize,
    items: usize,
    right: usize,
    hints_right: usize,
    chance: (usize, usize),
    bytes: Vec<u64>,
    times: Vec<u64>,
}

/// An event, and the place of its margin among those that are tried.
type Row = (Event, Option<usize>);

/// Plays sessions and reports what their hooks would have told.
pub(crate) fn run(app: &mut App, args: &HintsArgs) -> Outcome {
    let files = sessions::files(&args.files)?;
    let (recorded, measured) = read(&files, args.half)?;
    let mut bench = HintBench {
        common: CommonNames::of(&recorded),
        recorded: &recorded,
        margins: &args.margin,
        tallies: BTreeMap::new(),
        told: BTreeMap::new(),
        each: args.each.then(Vec::new),
    };
    bench.play(app, &measured)?;
    let rows = bench.rows();
    let each = bench.each.take().unwrap_or_default();
    let json = HintsJson {
        sessions: recorded.len(),
        skipped: files.len() - recorded.len(),
        measured: measured.iter().filter(|is_measured| **is_measured).count(),
        ahead: AHEAD,
        bytes_max: HINT_BYTES,
        rows,
    };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        for line in each {
            writeln!(app.out, "{line}")?;
        }
        say(app, &json)?;
    }
    Ok(Exit::Done)
}

/// The sessions of some files, the longest copy of each, with whether its moments count. A session belongs to the half
/// of the first file that holds it.
pub(super) fn read(files: &[PathBuf], half: Option<Half>) -> Outcome<(Vec<RecordedSession>, Vec<bool>)> {
    let place = folder()?;
    let mut found: BTreeMap<String, (usize, u64, PathBuf, String)> = BTreeMap::new();
    for (number, path) in files.iter().enumerate() {
        // A database for each: copies of a session are compared, not joined.
        let engine = Engine::open(&place.path().join(format!("{number}.sqlite")))?;
        let Ok(imported) = engine.import_file(path, &mut |_| ()) else { continue };
        let here = everything(&engine)?.into_iter().find(|one| one.stored.key == imported.conversation);
        let Some(folder) = here.filter(|one| one.stored.parent.is_none()).and_then(|one| one.facts.folder)
        else {
            continue;
        };
        let new = (number, imported.entries, path.clone(), folder);
        let old = found.entry(imported.conversation.0).or_insert_with(|| new.clone());
        if new.1 > old.1 {
            *old = (old.0, new.1, new.2, new.3);
        }
    }
    let mut all: Vec<_> = found.into_iter().collect();
    all.sort_by_key(|(_, (number, ..))| *number);
    let (mut recorded, mut measured) = (Vec::new(), Vec::new());
    for (key, (number, _, path, folder)) in all {
        let key = unforget_core::id::ConversationKey(key);
        recorded.extend(RecordedSession::read(&path, key, folder)?);
        let is_dev = number.is_multiple_of(2);
        measured.resize(recorded.len(), half.is_none_or(|half| is_dev == (half == Half::Dev)));
    }
    if recorded.is_empty() {
        let what = format!("none of {} is a session with a folder", text::plural(files.len() as u64, "file"));
        return Err(Failure::input("no-session", what, "name transcripts of agents"));
    }
    Ok((recorded, measured))
}

struct HintBench<'a> {
    recorded: &'a [RecordedSession],
    common: CommonNames,
    margins: &'a [f64],
    tallies: BTreeMap<Row, HintTally>,
    /// Hints of a session so far, each with the place of its moment in the file.
    told: BTreeMap<(usize, Option<usize>), Vec<ToldHint>>,
    each: Option<Vec<String>>,
}

/// A hint that a session was told.
struct ToldHint {
    /// Where the session's file ended then, in bytes.
    end: usize,
    text: String,
}

/// What happens in the order of time.
enum Happening {
    Hook { session: usize, moment: Box<HookMoment> },
    End { session: usize },
}

impl HintBench<'_> {
    fn play(&mut self, app: &App, measured: &[bool]) -> Outcome<()> {
        let place = folder()?;
        let db = place.path().join("hints.sqlite");
        let writer = Engine::open(&db)?;
        let mut happenings: Vec<(Timestamp, Happening)> = Vec::new();
        for (session, recorded) in self.recorded.iter().enumerate() {
            let is_measured = measured.get(session).is_some_and(|is_measured| *is_measured);
            let moments = if is_measured { recorded.moments() } else { Vec::new() };
            let time = |at: usize| recorded.steps.get(at).map_or_else(|| recorded.end(), |step| step.time);
            happenings.extend(
                moments
                    .into_iter()
                    .map(|moment| (time(moment.at), Happening::Hook { session, moment: Box::new(moment) })),
            );
            happenings.push((recorded.end(), Happening::End { session }));
        }
        // Stable: the order within a session stays.
        happenings.sort_by_key(|(time, _)| *time);
        let bar = app.progress(happenings.len() as u64, "{bar:24.cyan} {pos} of {len}  {eta} left");
        for (_, happening) in happenings {
            bar.inc(1);
            match happening {
                Happening::Hook { session, moment } => self.hook(&db, session, &moment)?,
                Happening::End { session } => {
                    let Some(ended) = self.recorded.get(session) else { continue };
                    let imported = writer.import_file(&ended.path, &mut |_| ())?;
                    writer.keep_memory(&imported.conversation)?;
                }
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn hook(&mut self, db: &std::path::Path, session: usize, moment: &HookMoment) -> Outcome<()> {
        let Some(here) = self.recorded.get(session) else { return Ok(()) };
        let judge = Judge::new(here, moment);
        let before = here.before(moment.at, LATEST_BYTES as usize);
        let margins: Vec<Option<usize>> = match moment.event {
            Event::Prompt | Event::Edit => (0..self.margins.len()).map(Some).collect(),
            _ => vec![None],
        };
        for row in margins {
            let margin = row.and_then(|row| self.margins.get(row)).copied();
            let Some(asked) = AskedMoment::of(&moment.input, margin.or(Some(0.0))) else { continue };
            let told = self.told.entry((session, row)).or_default();
            let end = here.steps.get(moment.at).map_or(usize::MAX, |step| step.start);
            let newest = || {
                let near = told.iter().filter(|hint| end.saturating_sub(hint.end) < LATEST_BYTES as usize);
                near.fold(before.clone(), |newest, hint| newest + &hint.text)
            };
            let hear = || heard(&Engine::open_reader(db)?, &moment.input, &asked, &newest);
            let (heard, time) = timed(hear);
            let heard = heard?;
            let tally = self.tallies.entry((moment.event, row)).or_default();
            tally.moments += 1;
            tally.times.push(time);
            let Some(hint) = &heard.hint else { continue };
            told.push(ToldHint { end, text: hint.text.clone() });
            tally.shown += 1;
            tally.bytes.push(hint.text.len() as u64);
            self.judge(&heard, &hint.items, &judge, row);
        }
        Ok(())
    }

    fn judge(&mut self, heard: &Heard, items: &[ShownMemory], judge: &Judge<'_>, row: Option<usize>) {
        let source = |session: usize| {
            let key = heard.keys.get(session)?;
            self.recorded.iter().find(|recorded| recorded.key == *key)
        };
        let moment = judge.moment;
        let is_right = |one: &ShownMemory| {
            source(one.session).is_some_and(|source| judge.is_right(&one.item, source, &self.common))
        };
        let right: Vec<bool> = items.iter().map(is_right).collect();
        let others: Vec<bool> =
            items.iter().filter_map(|one| other(heard, items, one)).map(|other| is_right(&other)).collect();
        if let Some(each) = &mut self.each {
            for (one, is_right) in items.iter().zip(&right) {
                let margin = row.and_then(|row| self.margins.get(row));
                let mark = if *is_right { "right" } else { "wrong" };
                let input = &moment.input;
                let about = format!("{}{} {}", input.prompt, input.tool_input, input.error);
                let about: String =
                    about.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
                each.push(format!(
                    "{mark} {:?} {margin:?} {} {}\n    at {about}",
                    moment.event,
                    one.item.kind.name(),
                    one.item.text
                ));
            }
        }
        let tally = self.tallies.entry((moment.event, row)).or_default();
        let count = |of: &[bool]| of.iter().filter(|is_right| **is_right).count();
        tally.items += right.len();
        tally.right += count(&right);
        tally.hints_right += usize::from(count(&right) > 0);
        tally.chance = (tally.chance.0 + count(&others), tally.chance.1 + others.len());
    }

    fn rows(&self) -> Vec<HintRowJson> {
        let share = |part: usize, of: usize| (of > 0).then(|| part as f64 / of as f64);
        let row = |((event, margin), tally): (&Row, &HintTally)| HintRowJson {
            event: match event {
                Event::Start => "start",
                Event::Edit => "edit",
                Event::Command => "command",
                Event::Failure => "failure",
                Event::Prompt => "prompt",
            },
            margin: margin.and_then(|margin| self.margins.get(margin)).copied(),
            moments: tally.moments,
            shown: tally.shown,
            silence: share(tally.moments - tally.shown, tally.moments).unwrap_or(1.0),
            items: tally.items,
            right: tally.right,
            precision: share(tally.right, tally.items),
            hints_right: tally.hints_right,
            chance: share(tally.chance.0, tally.chance.1),
            bytes: Times::of(&tally.bytes),
            time_us: Times::of(&tally.times),
        };
        self.tallies.iter().map(row).collect()
    }
}

/// Another item of the kind of `one`, from those that were not told. The words of `one` are the seed of the draw.
fn other(heard: &Heard, told: &[ShownMemory], one: &ShownMemory) -> Option<ShownMemory> {
    let is_other = |item: &MemoryItem| {
        item.kind == one.item.kind && told.iter().all(|shown| shown.item.text != item.text)
    };
    let others: Vec<ShownMemory> = heard
        .sessions
        .iter()
        .enumerate()
        .flat_map(|(session, left)| left.items.iter().map(move |item| (session, item)))
        .filter(|(_, item)| is_other(item))
        .map(|(session, item)| ShownMemory { session, item: item.clone() })
        .collect();
    let drawn = Digest::of(one.item.text.as_bytes()).short() as usize % others.len().max(1);
    others.into_iter().nth(drawn)
}

fn say(app: &mut App, json: &HintsJson) -> Outcome<()> {
    let (sessions, measured) =
        (text::plural(json.sessions as u64, "session"), text::plural(json.measured as u64, "session"));
    writeln!(app.out, "{sessions} played, moments of {measured} counted; {} files skipped", json.skipped)?;
    let head = [
        "at",
        "margin",
        "moments",
        "hints",
        "silence",
        "items",
        "right",
        "chance",
        "hints with a right item",
        "bytes",
        "most",
        "p50",
        "p99",
    ];
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"));
    let row = |row: &HintRowJson| {
        vec![
            row.event.to_owned(),
            row.margin.map_or_else(|| "–".to_owned(), |margin| margin.to_string()),
            row.moments.to_string(),
            row.shown.to_string(),
            text::percent(row.silence),
            row.items.to_string(),
            share(row.precision),
            share(row.chance),
            row.hints_right.to_string(),
            row.bytes.p50.to_string(),
            row.bytes.max.to_string(),
            text::micros(row.time_us.p50),
            text::micros(row.time_us.p99),
        ]
    };
    let rows = json.rows.iter().map(row).collect();
    write!(app.out, "{}", text::table(&head, rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))?;
    Ok(())
}
