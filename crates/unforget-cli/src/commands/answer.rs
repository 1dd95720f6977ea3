//! `unforget answer`: answers a question from the stored conversations.

use std::time::Duration;

use serde_json::json;
use unforget_engine::Engine;
use unforget_engine::recall::{Grant, Question, Reader};
use unforget_engine::summarise::{ASKED, Cancel};

use super::confined;
use super::engine::now;
use crate::app::App;
use crate::args::AnswerArgs;
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{AnswerJson, AnswerLineJson, NamedJson, PassageJson, time};
use crate::output::paint;
use crate::remote::{self, Remote, Writer};
use crate::text;

/// Answers by a model that reads within a grant; without a model the found passages are the answer.
pub(crate) fn run(app: &mut App, args: &AnswerArgs) -> Outcome {
    let with_model = !args.no_model && app.settings.summariser.is_model();
    if with_model && process_env(ASKED).is_some() {
        let what = "a model that is writing an answer cannot ask for another one";
        return Err(Failure::usage(what, "add --no-model to print the passages alone"));
    }
    let open = if with_model { App::open_existing } else { App::open_or_read };
    let answered = match app.writer(open)? {
        Writer::Here(engine) => here(app, &engine, args, with_model)?,
        // The daemon answers about all it has; what ran at one place is answered from here, without a model.
        Writer::There(_) if !args.place.filter()?.is_open() => here(app, &app.read()?, args, false)?,
        Writer::There(remote) => there(&remote, args)?,
    };
    if app.out.json {
        app.out.json(&answered)?;
        return Ok(Exit::Done);
    }
    say(app, &answered)?;
    Ok(Exit::Done)
}

fn here(app: &App, engine: &Engine, args: &AnswerArgs, with_model: bool) -> Outcome<AnswerJson> {
    let models = if with_model { app.settings.summariser.models(engine, &process_env, None)? } else { None };
    let grant = Grant {
        scope: confined(engine, args.conversation.as_deref())?,
        tokens: args.tokens,
        depth: args.depth,
        output_tokens_max: args.output,
        within: Duration::from_secs(args.within),
    };
    let cancel = Cancel::default();
    let reader = models.as_ref().map(|models| Reader { models, cancel: &cancel });
    let question = Question { text: &args.question, from: &args.from, now: Some(now()) };
    let engine = args.place.filter()?.confine(engine.clone())?;
    Ok(AnswerJson::from(&engine.answer(&question, &grant, reader)?))
}

/// Answers by the daemon that owns the database.
fn there(remote: &Remote, args: &AnswerArgs) -> Outcome<AnswerJson> {
    let AnswerArgs { question, conversation, from, tokens, depth, output, within, no_model, .. } = args;
    let body = json!({
        "question": question, "conversation": conversation, "from": from, "tokens": tokens, "depth": depth,
        "output": output, "within": within, "model": !no_model,
    });
    remote::shaped(remote.call("POST", "answer", Some(&body))?)
}

fn say(app: &mut App, answered: &AnswerJson) -> Outcome<()> {
    let p = app.out.palette;
    if let Some(text) = &answered.text {
        writeln!(app.out, "{}\n", text::harmless(text))?;
    }
    let has_text = answered.text.is_some();
    if !has_text {
        statements(app, &answered.lines)?;
    }
    let is_behind = |one: &PassageJson| {
        if has_text { one.cited } else { answered.lines.iter().any(|line| line.number == one.number) }
    };
    let is_short = has_text || !answered.lines.is_empty();
    for one in answered.passages.iter().filter(|one| is_behind(one) || !is_short) {
        show(app, one, is_short)?;
    }
    let told = match &*answered.ended {
        "uncited" => Some("the answer cites none of its passages: treat it as a guess".to_owned()),
        "no-model" => {
            let more = "no model was asked: these are statements of the passages and rows made of them; --json has all passages";
            Some(more.to_owned())
        }
        "unsure" => Some(format!(
            "unsure: no statement holds more than {} % of the question's words, weighed by rarity; the answer may not be stored",
            answered.held
        )),
        "partial" => Some(format!("partial: {}", answered.why.as_deref().unwrap_or_default())),
        _ => None,
    };
    if let Some(told) = told {
        writeln!(app.out, "{}", text::harmless(&told))?;
    }
    if let Some(negative) = &answered.negative {
        writeln!(app.out, "{}", text::harmless(negative))?;
    }
    if !answered.invented.is_empty() {
        let numbers: Vec<_> = answered.invented.iter().map(|number| format!("[{number}]")).collect();
        writeln!(app.out, "{}: there is no such passage", numbers.join(", "))?;
    }
    for one in answered.from.iter().filter(|one| one.read < one.entries) {
        writeln!(app.out, "{}", text::harmless(&not_all(one)))?;
    }
    if answered.behind > 0 {
        let what = text::plural(answered.behind, "entry");
        writeln!(app.out, "{what} of older sessions not read for this: unforget memory reads them")?;
    }
    let line = format!(
        "{} read, {}; {} searched of {}",
        text::plural(answered.passages.len() as u64, "passage"),
        text::plural(u64::from(answered.calls), "call"),
        text::count(answered.searched),
        text::plural(answered.total, "entry")
    );
    writeln!(app.out, "{}", paint(p.dim, line))?;
    Ok(())
}

/// The statements of the passages, under the names of their kinds.
fn statements(app: &mut App, lines: &[AnswerLineJson]) -> Outcome<()> {
    let p = app.out.palette;
    let mut kind = "";
    for line in lines {
        if line.kind != kind {
            kind = &line.kind;
            writeln!(app.out, "{}", paint(p.dim, kind))?;
        }
        writeln!(app.out, "  {} [{}]", text::harmless(&line.text), line.number)?;
    }
    if !lines.is_empty() {
        writeln!(app.out)?;
    }
    Ok(())
}

/// Describes the unread part of a name.
fn not_all(one: &NamedJson) -> String {
    let mut line =
        format!("{}: {} of {} read whole", one.id, text::count(one.read), text::plural(one.entries, "entry"));
    for (count, how) in [(one.cut, "in part"), (one.purged, "purged")] {
        if count > 0 {
            let part = format!(", {} {how}", text::count(count));
            line += &part;
        }
    }
    line
}

/// Shows a passage: on one line beside an answer, otherwise whole.
fn show(app: &mut App, one: &PassageJson, in_line: bool) -> Outcome<()> {
    let p = app.out.palette;
    let when = one.time.as_deref().and_then(time).map(text::minute).unwrap_or_default();
    let facts = format!("[{}] {}  {}  {when}", one.number, one.id, one.role);
    writeln!(app.out, "{}", paint(p.ours, text::harmless(&facts)))?;
    if in_line {
        writeln!(app.out, "    {}", text::one_line(&text::harmless(&one.text), 100))?;
        return Ok(());
    }
    for line in text::harmless(&one.text).lines() {
        writeln!(app.out, "    {line}")?;
    }
    Ok(())
}
