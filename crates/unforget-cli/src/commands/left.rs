//! `unforget left`: what a prompt does not show word for word, since which break, and how to get it back.

use std::sync::Arc;

use unforget_engine::Engine;
use unforget_engine::calls::CallHistory;
use unforget_engine::left::{LeftPlace, LeftQuestion, LeftRead};
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_engine::trust::Resolved;
use unforget_server::json::{NotShownFilter, NotShownJson, NotShownThingJson};
use unforget_text::ToldKind;

use super::engine::now;
use super::prompt::shape_of;
use crate::app::{App, show_progress};
use crate::args::LeftArgs;
use crate::failure::{Exit, Outcome};
use crate::output::paint;
use crate::text;
use crate::value::Dialect;

/// Shows how much of a history is played.
const HISTORY_BAR: &str = "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left";

/// Most characters of a thing for a person. `--json` has 240.
const CHARS: usize = 120;

/// Breaks that are listed for a person.
const ROWS: usize = 12;

/// Tells what left.
pub(crate) fn run(app: &mut App, args: &LeftArgs) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?;
    let (shape, _) = shape_of(app, &args.shape, &found.conversation.format);
    let calls = calls_of(app, &engine, &found, shape, args.played)?;
    let place = match (&args.call, args.broke) {
        (Some(call), _) => LeftPlace::Call(call.clone()),
        (None, Some(number)) => LeftPlace::Break(number),
        (None, None) => LeftPlace::Newest,
    };
    let of = ThreadRef { conversation: found.conversation.id, thread: found.thread };
    let read = engine.left(LeftQuestion { of, calls: &calls, searches: 0, now: Some(now()) }, &place)?;
    let kinds = args.kind.clone();
    let wanted = NotShownFilter { kinds, limit: args.limit, with_standing: args.standing };
    let told = NotShownJson::new(&found.conversation.key.0, &calls, &read, &wanted);
    app.tell_broken(&engine);
    if app.out.json {
        app.out.json(&told)?;
    } else {
        // The breaks of kept prompts count for `uncompact`, and `--played` shows others.
        let has_sent = args.played && CallHistory::sent(&engine, found.conversation.id)?.is_some();
        say(app, &told, &read, &put_back(&told, args, has_sent))?;
    }
    Ok(if told.needs.is_some() { Exit::Input } else { Exit::Done })
}

/// The calls of a conversation, as they were sent, or played for a shape.
fn calls_of(
    app: &App,
    engine: &Engine,
    found: &Resolved,
    shape: Shape,
    is_played: bool,
) -> Outcome<CallHistory> {
    let id = found.conversation.id;
    if let Some(sent) = CallHistory::sent(engine, id)?.filter(|_| !is_played) {
        return Ok(sent);
    }
    let bar = app.progress(0, HISTORY_BAR);
    bar.set_message("playing the calls");
    let mut progress = |done, total| {
        show_progress(&bar, done, total);
        true
    };
    let of = ThreadRef { conversation: id, thread: found.thread };
    let played = engine.play_calls(of, shape, &mut progress);
    bar.finish_and_clear();
    let played = played?.ok_or_else(|| crate::failure::Failure::usage("playing was ended", ""))?;
    Ok(CallHistory::played(Arc::new(played)))
}

/// How entries stand in prompts again: commands for the breaks that were told.
///
/// * `has_sent` - whether other calls than the played ones were sent.
fn put_back(told: &NotShownJson, args: &LeftArgs, has_sent: bool) -> String {
    let command = format!("unforget uncompact {} ", text::quoted(&told.conversation));
    let newest = args.broke.or_else(|| told.why.iter().filter_map(|why| why.broke).max());
    let Some(number) = newest.filter(|_| !has_sent) else { return format!("{command}--entries N") };
    let mut of_break = format!("{command}--break {number}");
    if told.calls == "played" {
        let shape = &args.shape;
        let window = shape.window.map(|window| format!(" --window {window}"));
        let model = shape.model.as_deref().map(|model| format!(" --model {}", text::quoted(model)));
        let dialect = shape.dialect.map(|Dialect(dialect)| format!(" --dialect {}", dialect.name()));
        of_break.extend([window, model, dialect].into_iter().flatten());
    }
    format!("{of_break}; of single entries, --entries N")
}

fn say(app: &mut App, told: &NotShownJson, read: &LeftRead, put_back: &str) -> Outcome<()> {
    let strong = app.out.palette.strong;
    let turn = told.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let time = told.time.as_deref().map(|time| format!(", {time}")).unwrap_or_default();
    let name = match &told.before {
        Some(before) => format!("call {before} to call {}", told.call),
        None => format!("call {}", told.call),
    };
    writeln!(app.out, "{} of {}{turn}{time}", paint(strong, name), text::key(&told.conversation))?;
    let how = if told.calls == "sent" { "as it was sent" } else { "as if for this window" };
    let window = text::count(told.window);
    if let Some(needs) = told.needs {
        let needs = text::count(needs);
        writeln!(app.out, "  no request of it fits a window of {window}: the smallest needs {needs} tokens")?;
        app.out.note("take a larger window: unforget left SESSION --window 200k --played");
        return Ok(());
    }
    writeln!(app.out, "  prompt   {} tokens, window {window}, {how}", text::count(told.tokens))?;
    if told.same == Some(false) {
        writeln!(
            app.out,
            "  {}",
            paint(app.out.palette.bad, "NOT the bytes that were sent: the digest differs")
        )?;
    }
    if told.is_nothing() {
        let what = match (&told.before, read.answer.is_some()) {
            (Some(_), _) => "nothing: every entry that stood there before still does",
            (None, _) => "nothing: every entry before it stands in the prompt word for word",
        };
        writeln!(app.out, "  left     {}", paint(app.out.palette.good, what))?;
        return Ok(());
    }
    let entries = text::plural(told.entries, "entry");
    let cause = told.cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    let verb = if told.before.is_some() { "stopped standing" } else { "do not stand" };
    writeln!(
        app.out,
        "  left     {entries} {verb} there word for word{}",
        if told.before.is_some() { cause } else { String::new() }
    )?;
    say_reasons(app, told)?;
    say_lines(app, told)?;
    say_things(app, told)?;
    say_rest(app, told, put_back)
}

/// Says since when and why, the newest break first.
fn say_reasons(app: &mut App, told: &NotShownJson) -> Outcome<()> {
    for why in told.why.iter().take(ROWS) {
        let spans: Vec<&str> = why.spans.iter().map(|span| span.rsplit(':').next().unwrap_or(span)).collect();
        let more = spans.len().saturating_sub(4);
        let mut shown = spans.iter().take(4).map(|span| format!("s:{span}")).collect::<Vec<_>>().join(" ");
        if more > 0 {
            shown = format!("{shown} and {more} more");
        }
        let words = text::harmless(&why.words);
        writeln!(app.out, "  why      {}: {words}", text::harmless(&shown))?;
    }
    let more = told.why.len().saturating_sub(ROWS);
    if more > 0 {
        app.out.note(format!("{} before these: --json lists all", text::plural(more as u64, "reason")));
    }
    Ok(())
}

fn say_lines(app: &mut App, told: &NotShownJson) -> Outcome<()> {
    if told.lines.is_empty() {
        return Ok(());
    }
    writeln!(
        app.out,
        "\n{}",
        paint(app.out.palette.strong, "Lines of summaries that no summary says any more")
    )?;
    for line in &told.lines {
        writeln!(app.out, "  - {}", text::one_line(&text::harmless(&line.text), CHARS))?;
        writeln!(app.out, "{}", paint(app.out.palette.dim, format!("    {}", text::harmless(&line.how))))?;
    }
    Ok(())
}

fn say_things(app: &mut App, told: &NotShownJson) -> Outcome<()> {
    let p = app.out.palette;
    for count in told.counts.iter().filter(|count| count.things > 0) {
        let Some(kind) = ToldKind::by_name(count.kind) else { continue };
        let gone = count.things.saturating_sub(count.in_prompt);
        let heading = format!("{} ({})", kind.heading(), kind.about());
        let how_many = format!(
            "{} not in the prompt, {} still there in these words",
            text::count(gone),
            text::count(count.in_prompt)
        );
        writeln!(app.out, "\n{}: {how_many}", paint(p.strong, heading))?;
        for thing in told.things.iter().filter(|thing| thing.kind == count.kind) {
            say_thing(app, thing)?;
        }
        let wanted = count.things - if count.listed > gone { 0 } else { count.in_prompt };
        let more = wanted.saturating_sub(count.listed);
        if more > 0 {
            writeln!(app.out, "{}", paint(p.dim, format!("  {} more: --limit", text::count(more))))?;
        }
    }
    Ok(())
}

fn say_thing(app: &mut App, thing: &NotShownThingJson) -> Outcome<()> {
    let p = app.out.palette;
    let mark = if thing.in_prompt { "=" } else { "-" };
    writeln!(app.out, "  {mark} {}", text::one_line(&text::harmless(&thing.text), CHARS))?;
    let since = thing.broke.map(|number| format!("  (break {number})")).unwrap_or_default();
    writeln!(app.out, "{}", paint(p.dim, format!("    {}{since}", text::harmless(&thing.how))))?;
    Ok(())
}

/// Says what was not looked through, what cannot be got back, and how all of it stands in prompts again.
fn say_rest(app: &mut App, told: &NotShownJson, put_back: &str) -> Outcome<()> {
    if !told.unreachable.is_empty() {
        let lost = text::plural(told.unreachable.len() as u64, "entry");
        let what = format!("{lost} cannot be got back: the words were purged");
        writeln!(app.out, "\n{}", paint(app.out.palette.bad, what))?;
    }
    if told.unread > 0 {
        let unread = text::count(told.unread);
        app.out.note(format!("{unread} older entries were not looked through for these lists: --break N looks at those of one break"));
    }
    app.out.note(format!("into the next prompts again: {put_back}"));
    Ok(())
}
