//! `unforget status`: which entries the prompt leaves out, why, and how to get them back.

use serde::Serialize;
use serde_json::Value;
use unforget_core::id::ConversationKey;
use unforget_engine::host::is_internal;
use unforget_engine::prompt::How;
use unforget_server::serve::runs::DaemonJson;
use unforget_store::walk;

use crate::app::App;
use crate::args::StatusArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{
    BriefJson, BrokenJson, CacheJson, FateJson, LISTED, LeftJson, LiveJson, NewestJson, StandingLeftJson,
    StatusJson, StatusesJson, VectorsJson,
};
use crate::output::paint;
use crate::recognised::{Grouped, RecognisedConversation, some};
use crate::remote::{Remote, encoded, field, shaped};
use crate::text;
use crate::when::Clock;

/// Most left-out entries shown on a terminal.
const ROWS: usize = 12;

/// Shows the state of prompts.
pub(crate) fn run(app: &mut App, args: &StatusArgs) -> Outcome {
    match &args.conversation {
        Some(name) => one(app, name),
        None => all(app),
    }
}

/// Whether a daemon has the database, even if it does not answer.
fn beside_daemon(app: &App) -> bool {
    app.settings.db.value.local_path().is_ok_and(|path| Remote::is_beside(&path))
}

/// Facts that only a daemon that owns the database knows.
fn live(app: &App, path: &str) -> Option<LiveJson> {
    let answer = Remote::of(&app.settings.db.value)?.call("GET", path, None).ok()?;
    let live = Some(field(&answer, "live")).filter(|live| *live != Value::Null)?;
    shaped(live).ok()
}

fn one(app: &mut App, name: &str) -> Outcome {
    let engine = app.read()?;
    let stored = super::resolve(&engine, name)?.conversation;
    let recipes = engine.recipes(stored.id)?;
    let parts = engine.newest_parts(stored.id, &recipes);
    let live = live(app, &format!("conversations/{}/status", encoded(&stored.key.0)));
    let status = StatusJson::new(&stored, &recipes, &parts, &engine.followed_files(stored.id)?, live);
    let status = status.with_meaning(VectorsJson::of(&engine, &stored)?);
    if app.out.json {
        app.out.json(&status)?;
        return Ok(Exit::Done);
    }
    let strong = app.out.palette.strong;
    let title = status.title.as_deref().map(text::harmless).unwrap_or_default();
    let heading = paint(strong, text::key(&status.conversation));
    if title.is_empty() {
        writeln!(app.out, "{heading}")?;
    } else {
        writeln!(app.out, "{heading}  {}", text::one_line(&title, 80))?;
    }
    match &status.prompt {
        Some(newest) => writeln!(app.out, "  prompt   {}", prompt(newest))?,
        None if status.conversation.starts_with("journal:") => {
            writeln!(app.out, "  prompt   none was made: all messages so far were passed on unchanged")?;
        }
        None => writeln!(app.out, "  prompt   none was made of this transcript")?,
    }
    if let Some(newest) = status.prompt.as_ref().filter(|newest| newest.raised_left_out > 0) {
        let lost = text::plural(newest.raised_left_out, "entry");
        writeln!(
            app.out,
            "  put back {lost} had no room: see `unforget uncompact {} --list`",
            status.conversation
        )?;
    }
    say_provisional(app, &status)?;
    say_left(app, &status)?;
    say_pinned(app, &status)?;
    say_breaks(app, &status)?;
    if let Some(vectors) = &status.meaning {
        say_vectors(app, vectors)?;
    }
    say_live(app, status.live.as_ref())?;
    Ok(Exit::Done)
}

/// How far the vectors are.
fn say_vectors(app: &mut App, vectors: &VectorsJson) -> Outcome<()> {
    let VectorsJson { model, entries, left, without } = vectors;
    let entries = text::plural(*entries, "entry");
    let model = text::one_line(&text::harmless(model), 60);
    let without = match without {
        0 => String::new(),
        pieces => {
            format!(", {} of texts without one: the model failed on them", text::plural(*pieces, "piece"))
        }
    };
    writeln!(
        app.out,
        "  meaning  {entries} with a vector of {model}, {} waiting{without}",
        text::count(*left)
    )?;
    Ok(())
}

/// A prompt on one line.
fn prompt(newest: &NewestJson) -> String {
    let how =
        if newest.rung == "assembled" { String::new() } else { format!("; shortened: {}", newest.rung) };
    format!(
        "r{}, {}: {} tokens of messages; with instructions and tools {} at most, of {} ({}){how}",
        newest.prompt,
        newest.time.as_deref().unwrap_or("no time"),
        text::count(newest.tokens),
        text::count(newest.tokens_upper),
        text::count(newest.budget),
        text::percent(newest.used),
    )
}

/// Says which entries stand in a coarse summary.
fn say_provisional(app: &mut App, status: &StatusJson) -> Outcome<()> {
    for coarse in status.left.iter().filter(|left| left.how == How::Coarse.name()) {
        writeln!(
            app.out,
            "  coarse   s:{}-{} stand in a summary of a few places; all of the history is read in the background, and the \
             next break on a cold cache shows its summaries (`unforget compact {}` does it now)",
            coarse.first, coarse.last, status.conversation
        )?;
    }
    Ok(())
}

fn say_left(app: &mut App, status: &StatusJson) -> Outcome<()> {
    if let Some(why) = &status.left_unknown {
        writeln!(app.out, "  left     not known: {why}; the next prompt will tell")?;
        return Ok(());
    }
    if status.left.is_empty() {
        if status.prompt.is_some() {
            writeln!(app.out, "  left     nothing: every entry is there as it is")?;
        }
        return Ok(());
    }
    writeln!(app.out, "  left     {}", text::plural(status.left.len() as u64, "part"))?;
    let key = &status.conversation;
    let row = |left: &LeftJson| {
        let by = if left.by_model == Some(true) { ", by a model" } else { "" };
        vec![
            "  ".to_owned(),
            if left.first == left.last {
                format!("s:{}", left.first)
            } else {
                format!("s:{}-{}", left.first, left.last)
            },
            format!("{}{by}", left.how),
            text::count(left.tokens),
            format!("unforget expand {} --conversation {key}", left.expand),
        ]
    };
    let more = status.left.len().saturating_sub(ROWS);
    let rows = status.left.iter().skip(more).map(row).collect();
    let head = ["", "entries", "shown as", "tokens", "how to get it back"];
    write!(app.out, "{}", text::table(&head, rows, &[3]))?;
    if more > 0 {
        app.out.note(format!("{} before these: --json lists all", text::plural(more as u64, "part")));
    }
    Ok(())
}

/// Shows the pinned files and their troubles.
fn say_pinned(app: &mut App, status: &StatusJson) -> Outcome<()> {
    for file in &status.pinned_files {
        let read = file.read.as_deref().unwrap_or("no time");
        let path = text::harmless(&file.path);
        writeln!(app.out, "  pinned   {path}: pin {}, read {read}", file.pin)?;
        if let (Some(detail), Some(next)) = (&file.detail, file.next) {
            writeln!(app.out, "           {}: its last text stays pinned; {next}", text::harmless(detail))?;
        }
    }
    Ok(())
}

fn say_breaks(app: &mut App, status: &StatusJson) -> Outcome<()> {
    if status.kept == 0 {
        return Ok(());
    }
    writeln!(app.out, "  breaks   {} of {}", status.broke, text::plural(status.kept, "kept prompt"))?;
    let row = |broken: &BrokenJson| {
        vec![
            "  ".to_owned(),
            format!("r{}", broken.prompt),
            broken.time.clone().unwrap_or_default(),
            broken.cause.to_owned(),
            broken.at.to_owned(),
            text::count(broken.rebilled),
            broken.words.to_owned(),
        ]
    };
    let rows: Vec<_> = status.breaks.iter().map(row).collect();
    if !rows.is_empty() {
        let head = ["", "prompt", "time", "cause", "at", "billed again", "why"];
        write!(app.out, "{}", text::table(&head, rows, &[5]))?;
    }
    Ok(())
}

fn say_live(app: &mut App, live: Option<&LiveJson>) -> Outcome<()> {
    let Some(live) = live else {
        let why = if beside_daemon(app) {
            "the daemon of this database does not answer this command"
        } else {
            "no daemon was asked"
        };
        let knows = "only a running daemon knows the providers' counts and caches";
        app.out.note(format_args!("{why}: {knows}"));
        return Ok(());
    };
    if let Some(newest) = live.counts.last() {
        writeln!(
            app.out,
            "  counted  {} by the provider; {} expected, {} at most when it was sent, of {}",
            text::count(newest.counted),
            text::count(newest.expected),
            text::count(newest.bound),
            text::count(newest.budget),
        )?;
    }
    if !live.standing_left_out.is_empty() {
        let one = |left: &StandingLeftJson| format!("{} {} bytes", left.kind, text::count(left.bytes));
        let all: Vec<String> = live.standing_left_out.iter().map(one).collect();
        let all = all.join(", ");
        writeln!(
            app.out,
            "  standing context that does not fit: {all}; a larger window or shorter files bring it back"
        )?;
    }
    say_cache(app, &live.cache)
}

fn say_cache(app: &mut App, cache: &CacheJson) -> Outcome<()> {
    let share = cache.cached as f64 / cache.input.max(1) as f64;
    writeln!(
        app.out,
        "  cache    {}, {} tokens of input, {} of them from the cache; cost as {} fresh ones",
        text::plural(cache.calls, "call"),
        text::count(cache.input),
        text::percent(share),
        text::count(cache.cost),
    )?;
    let row = |one: &FateJson| {
        let cause = one.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        vec![
            "  ".to_owned(),
            format!("{}{cause}", one.fate),
            one.calls.to_string(),
            text::count(one.missed),
            text::count(one.lost),
        ]
    };
    let rows: Vec<_> = cache.fates.iter().map(row).collect();
    if !rows.is_empty() {
        let head = ["", "fate", "calls", "billed anew", "cost more"];
        write!(app.out, "{}", text::table(&head, rows, &[2, 3, 4]))?;
    }
    Ok(())
}

/// The state of all prompts, and of the daemon.
#[derive(Serialize)]
struct WithDaemon {
    #[serde(flatten)]
    status: StatusesJson,
    /// Null if none has the database.
    daemon: Option<DaemonJson>,
}

fn say_daemon(app: &mut App, daemon: Option<&DaemonJson>) -> Outcome<()> {
    let Some(daemon) = daemon else {
        app.out.note(if beside_daemon(app) {
            "a daemon has this database, and does not answer this command: does it ask for a token?"
        } else {
            "no daemon has this database"
        });
        return Ok(());
    };
    let since = daemon.since.as_deref().unwrap_or("no time");
    let stays = match daemon.until_unused {
        Some(seconds) => {
            format!("ends {seconds} to {} seconds after its last use", seconds.saturating_mul(2))
        }
        None => "stays until it is stopped".to_owned(),
    };
    let calls = text::plural(daemon.calls as u64, "running call");
    writeln!(app.out, "daemon   process {}, since {since}, {calls}; {stays}", daemon.pid)?;
    for run in &daemon.runs {
        writeln!(app.out, "  command  {}, process {}", text::harmless(&run.command), run.pid)?;
    }
    Ok(())
}

/// Lists the most recently active conversations.
fn all(app: &mut App) -> Outcome {
    let engine = app.read()?;
    let brief = |one| Ok(BriefJson::new(one, &engine.recipes(one.id)?));
    let conversations = engine.recent(LISTED)?.iter().map(brief).collect::<Outcome<Vec<_>>>()?;
    let status = StatusesJson { conversations, live: live(app, "status") };
    let daemon = Remote::of(&app.settings.db.value).and_then(|remote| remote.daemon().ok());
    if app.out.json {
        app.out.json(&WithDaemon { status, daemon })?;
        return Ok(Exit::Done);
    }
    let keys: Vec<_> =
        status.conversations.iter().map(|one| ConversationKey(one.conversation.clone())).collect();
    let grouped = Grouped::new(some(&engine, &keys.iter().collect())?);
    let clock = Clock::here();
    let row = |one: &BriefJson| {
        let found = grouped.get(&ConversationKey(one.conversation.clone()));
        let last = found.and_then(RecognisedConversation::last).map(|last| clock.short(last));
        let newest = one.prompt.as_ref();
        vec![
            text::one_line(&text::harmless(found.map_or(&one.conversation, |found| &found.name)), 64),
            last.unwrap_or_default(),
            newest.map(|newest| text::count(newest.tokens)).unwrap_or_default(),
            newest.map(|newest| text::percent(newest.used)).unwrap_or_default(),
            if newest.is_some() { format!("{} of {}", one.broke, one.kept) } else { String::new() },
            found.map(|found| text::one_line(&found.title(), 40)).unwrap_or_default(),
        ]
    };
    let rows = status.conversations.iter().map(row).collect();
    let head = ["conversation", "last", "prompt", "of budget", "breaks", "title"];
    write!(app.out, "{}", text::table(&head, rows, &[2, 3, 4]))?;
    let mut total = 0_u64;
    for stored in walk(|page| engine.store().conversations(page)) {
        total += u64::from(!is_internal(&stored?.key));
    }
    let shown = status.conversations.len() as u64;
    if shown < total {
        let total = text::count(total);
        app.out.note(format_args!(
            "the {shown} most recent of {total} conversations; unforget status NAME shows any of them"
        ));
    }
    if let Some(live) = &status.live {
        say_cache(app, &live.cache)?;
    }
    say_daemon(app, daemon.as_ref())?;
    Ok(Exit::Done)
}
