//! `unforget answer`: a question answered from what is stored.

use std::io::Write;
use std::time::Duration;

use unforget_engine::recall::{Answered, Ended, Evidence, Grant, Named, Question, Reader};
use unforget_engine::summarise::{ASKED, Cancel};

use super::confined;
use super::engine::now;
use crate::app::App;
use crate::args::AnswerArgs;
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{AnswerJson, id_of, role};
use crate::output::paint;
use crate::text;

/// Answers with a model that reads within a grant; without one, what was found is the answer.
pub(crate) fn run(app: &mut App, args: &AnswerArgs) -> Outcome {
    let with_model = !args.no_model && app.settings.summariser.is_model();
    if with_model && process_env(ASKED).is_some() {
        let what = "a model that is being asked may not ask for an answer";
        return Err(Failure::usage(what, "--no-model gives the passages"));
    }
    let engine = if with_model { app.open_existing()? } else { app.open_or_read()? };
    let models = if with_model { app.settings.summariser.models(&engine, &process_env, None)? } else { None };
    let grant = Grant {
        scope: confined(&engine, args.conversation.as_deref())?,
        tokens: args.tokens,
        depth: args.depth,
        output_tokens_max: args.output,
        within: Duration::from_secs(args.within),
    };
    let cancel = Cancel::default();
    let reader = models.as_ref().map(|models| Reader { models, cancel: &cancel });
    let question = Question { text: &args.question, from: &args.from, now: Some(now()) };
    let answered = engine.answer(&question, &grant, reader)?;
    if app.out.json {
        app.out.json(&AnswerJson::from(&answered))?;
        return Ok(Exit::Done);
    }
    say(app, &answered)?;
    Ok(Exit::Done)
}

fn say(app: &mut App, answered: &Answered) -> Outcome<()> {
    let p = app.out.palette;
    if let Some(text) = &answered.text {
        writeln!(app.out, "{}\n", text::harmless(text))?;
    }
    let has_text = answered.text.is_some();
    for one in answered.evidence.iter().filter(|one| one.is_cited || !has_text) {
        show(app, one, has_text)?;
    }
    let told = match &answered.ended {
        Ended::Answered => None,
        Ended::Uncited => Some("it cites nothing that it read: take it as a guess".to_owned()),
        Ended::NoModel => Some("no model was asked; this is what was found".to_owned()),
        Ended::NothingFound => Some(answered.negative.clone()),
        Ended::Partial(why) => Some(format!("partial: {why}")),
    };
    if let Some(told) = told {
        writeln!(app.out, "{}", text::harmless(&told))?;
    }
    if !answered.invented.is_empty() {
        let numbers: Vec<_> = answered.invented.iter().map(|number| format!("[{number}]")).collect();
        writeln!(app.out, "{}: there is no such passage", numbers.join(", "))?;
    }
    for one in answered.named.iter().filter(|one| one.read < one.entries) {
        writeln!(app.out, "{}", text::harmless(&not_all(one)))?;
    }
    let (searched, total) = answered.searched;
    let line = format!(
        "{} read, {}; {} searched of {}",
        text::plural(answered.evidence.len() as u64, "passage"),
        text::plural(u64::from(answered.calls), "call"),
        text::count(searched),
        text::plural(total, "entry")
    );
    writeln!(app.out, "{}", paint(p.dim, line))?;
    Ok(())
}

/// What was not read of a name.
fn not_all(one: &Named) -> String {
    let mut line = format!(
        "{}: {} of {} read whole",
        one.name,
        text::count(one.read),
        text::plural(one.entries, "entry")
    );
    for (count, how) in [(one.cut, "in part"), (one.purged, "purged")] {
        if count > 0 {
            let part = format!(", {} {how}", text::count(count));
            line += &part;
        }
    }
    line
}

/// A passage: in a line beside an answer, else whole.
fn show(app: &mut App, one: &Evidence, in_line: bool) -> Outcome<()> {
    let p = app.out.palette;
    let id = id_of(&one.conversation.0, one.seq.0);
    let when = one.time.map(text::minute).unwrap_or_default();
    let facts = format!("[{}] {id}  {}  {when}", one.number, role(one.role));
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
