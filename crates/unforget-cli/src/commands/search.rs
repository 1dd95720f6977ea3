//! `unforget search`.

use unforget_core::id::Timestamp;
use unforget_engine::recall::{Hit, SearchAnswer, SearchQuery};

use super::{confined, role_of, time_of};
use crate::app::App;
use crate::args::SearchArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{SearchJson, id_of};
use crate::output::paint;
use crate::text;

/// Number of copies of a hit that are named.
const ALSO_SHOWN: usize = 3;

/// Finds entries by words. Without results, it reports how much was searched.
pub(crate) fn run(app: &mut App, args: &SearchArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let wanted = SearchQuery {
        text: args.query.join(" "),
        conversation: confined(&engine, args.conversation.as_deref())?,
        role: args.role.map(role_of),
        author: args.author.clone(),
        tool: args.tool.clone(),
        since: time_of(args.since.as_deref())?,
        until: time_of(args.until.as_deref())?,
        limit: args.limit,
        budget_tokens: args.budget,
        now: Some(Timestamp(jiff::Timestamp::now().as_millisecond())),
        is_unasked: false,
    };
    let answer = engine.search(&wanted)?;
    if app.out.json {
        app.out.json(&SearchJson::from(&answer))?;
        return Ok(Exit::Done);
    }
    for hit in &answer.results {
        show(app, hit)?;
    }
    looked_at(app, &answer)?;
    Ok(Exit::Done)
}

fn show(app: &mut App, hit: &Hit) -> Outcome<()> {
    let p = app.out.palette;
    let id = id_of(&hit.conversation.0, hit.seq.0);
    let who = hit.author.as_deref().unwrap_or_else(|| hit.role.name());
    let when = hit.time.map(text::minute).unwrap_or_default();
    let facts = format!("{who}  {when}  score {:.1}, {}", hit.score, text::plural(hit.tokens, "token"));
    writeln!(app.out, "{}  {}", paint(p.ours, id), paint(p.dim, text::harmless(&facts)))?;
    let more = if hit.is_whole { "" } else { " …" };
    for line in text::harmless(&hit.text).lines() {
        writeln!(app.out, "  {line}")?;
    }
    if !more.is_empty() {
        writeln!(app.out, "  {}", paint(p.dim, "… unforget expand shows all of it"))?;
    }
    if let Some(also) = also(hit) {
        writeln!(app.out, "  {}", paint(p.dim, text::harmless(&also)))?;
    }
    Ok(writeln!(app.out)?)
}

/// Names some copies of a hit, and counts the others.
fn also(hit: &Hit) -> Option<String> {
    let names: Vec<String> =
        hit.also.iter().take(ALSO_SHOWN).map(|copy| id_of(&copy.conversation.0, copy.seq.0)).collect();
    let more = hit.also.len().saturating_sub(ALSO_SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("also in {}{rest}", names.join(", ")))
}

fn looked_at(app: &mut App, answer: &SearchAnswer) -> Outcome<()> {
    let dim = app.out.palette.dim;
    if !answer.evidence.is_empty() {
        writeln!(app.out, "{}", text::harmless(&answer.evidence))?;
    }
    let line = format!(
        "{} shown of {} that match; {} searched of {}",
        text::count(answer.results.len() as u64),
        text::count(answer.matched),
        text::count(answer.searched),
        text::plural(answer.total, "entry"),
    );
    writeln!(app.out, "{}", paint(dim, line))?;
    if !answer.absent.is_empty() && !answer.results.is_empty() {
        let absent = text::harmless(&answer.absent.join(", "));
        writeln!(app.out, "{}", paint(dim, format!("nowhere: {absent}")))?;
    }
    Ok(())
}
