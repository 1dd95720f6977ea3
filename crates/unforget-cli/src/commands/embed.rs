//! `unforget embed`: gives entries their vectors.

use serde::Serialize;
use unforget_engine::Engine;
use unforget_engine::meaning::{EmbedStep, MeaningModel};
use unforget_store::{Conversation, read_all};

use super::engine::now;
use crate::app::App;
use crate::args::EmbedArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// Further attempts at texts that fail.
const FAILED_MAX: u32 = 2;

/// What the command came to, for `--json`.
#[derive(Debug, Default, Serialize)]
struct EmbedJson {
    model: String,
    /// Number of conversations.
    conversations: u64,
    /// Entries with a vector now.
    entries: u64,
    /// Entries that got their turn by this command, with words or without.
    done: u64,
    /// Vectors that were stored.
    vectors: u64,
    /// Pieces of texts without a vector after this command.
    refused: u64,
    /// Pieces of texts without a vector: the model failed on each of them alone.
    without: u64,
    /// Entries that still wait.
    left: u64,
    /// Why they wait; null if none does, or if nothing was to be made.
    waits: Option<String>,
}

/// Gives entries their vectors until none waits, or until the model fails.
pub(crate) fn run(app: &mut App, args: &EmbedArgs) -> Outcome {
    let engine = if args.count { app.read()? } else { app.open_existing()? };
    let Some(model) = engine.meaning() else {
        return Err(Failure::input(
            "no-model",
            "no model of vectors is configured, or it cannot be used".to_owned(),
            "name one in the table meaning of the settings file, see docs/models.md; unforget config check says more",
        ));
    };
    let all = match &args.conversation {
        Some(name) => vec![super::resolve(&engine, name)?.conversation],
        None => newest_first(&engine)?,
    };
    let mut json = EmbedJson { model: model.name().to_owned(), ..EmbedJson::default() };
    if args.again {
        for conversation in &all {
            engine.drop_vectors(conversation.id)?;
        }
    }
    if !args.count {
        work(app, &engine, &model, &all, &mut json)?;
    }
    for conversation in &all {
        let state = engine.meaning_state(conversation, &model)?;
        json.entries += state.entries;
        json.left += state.left;
        json.without += state.without;
        json.conversations += 1;
    }
    let exit = if json.waits.is_some() { Exit::Problems } else { Exit::Done };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    Ok(exit)
}

fn newest_first(engine: &Engine) -> Outcome<Vec<Conversation>> {
    let mut all = read_all(|page| engine.store().conversations(page))?;
    all.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
    Ok(all)
}

fn work(
    app: &App,
    engine: &Engine,
    model: &MeaningModel,
    all: &[Conversation],
    json: &mut EmbedJson,
) -> Outcome<()> {
    let mut left = 0;
    for conversation in all {
        left += engine.meaning_state(conversation, model)?.left;
    }
    let bar = app.progress(left, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left");
    bar.set_message("making vectors");
    for conversation in all {
        let mut failed = 0;
        loop {
            match engine.embed_newest(conversation.id, model, now())? {
                EmbedStep::Idle => break,
                EmbedStep::Done { entries, vectors, refused } => {
                    json.done += entries;
                    json.vectors += vectors;
                    json.refused += refused;
                    bar.inc(entries);
                    failed = 0;
                }
                EmbedStep::SpentUp { .. } => {
                    let name = text::key(&conversation.key.0);
                    json.waits = Some(format!("the spending limit of this hour is reached for {name}"));
                    break;
                }
                // After the second failure, each text is asked for alone.
                EmbedStep::Failed { is_model: false, .. } if failed < FAILED_MAX => failed += 1,
                EmbedStep::Failed { why, .. } => {
                    json.waits = Some(why);
                    bar.finish_and_clear();
                    return Ok(());
                }
                EmbedStep::OtherLength(conflict) => {
                    bar.finish_and_clear();
                    let what = text::harmless(&conflict.to_string());
                    let hint = "see docs/models.md";
                    return Err(Failure::input("vector-length", what, hint));
                }
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn say(app: &mut App, json: &EmbedJson) -> Outcome<()> {
    let EmbedJson { model, entries, done, vectors, without, left, waits, .. } = json;
    let model = text::one_line(&text::harmless(model), 100);
    if *done > 0 {
        let (entries, vectors) = (text::plural(*done, "entry"), text::plural(*vectors, "vector"));
        writeln!(app.out, "{entries} done, {vectors} by {model}")?;
    }
    if *without > 0 {
        let pieces = text::plural(*without, "piece");
        writeln!(
            app.out,
            "{pieces} of texts without a vector: the model failed on them; they are found by words"
        )?;
    }
    let conversations = text::plural(json.conversations, "conversation");
    let (entries, left) = (text::plural(*entries, "entry"), text::count(*left));
    writeln!(app.out, "{conversations}: {entries} with a vector of {model}, {left} waiting")?;
    if let Some(why) = waits {
        writeln!(app.out, "they wait: {}", text::one_line(&text::harmless(why), 300))?;
    }
    Ok(())
}
