//! `unforget prompts`, `prompt --at rN`, `diff` and `why`: past prompts and their differences.

use unforget_core::id::Timestamp;
use unforget_engine::host::Kept;
use unforget_engine::prompt::{Broken, How, Part, Recipe, Until};

use super::prompt::{open, shape_of};
use crate::app::App;
use crate::args::{DiffArgs, PromptNumber, PromptsArgs, WhyArgs};
use crate::failure::{Exit, Outcome};
use crate::json::{DiffJson, PromptsJson, RebuiltJson, RecipeJson, WhyJson};
use crate::output::paint;
use crate::text;

/// Lists the stored prompts.
pub(crate) fn prompts(app: &mut App, args: &PromptsArgs) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let recipes = engine.recipes(found.id)?;
    if app.out.json {
        let prompts = recipes.iter().map(|(number, recipe)| RecipeJson::new(*number, recipe)).collect();
        app.out.json(&PromptsJson { conversation: found.key.0, prompts })?;
        return Ok(Exit::Done);
    }
    if recipes.is_empty() {
        let what = "no prompt of it is kept: only live hosts and the gateway are given prompts";
        app.out.note(format_args!("{what}; unforget prompt {} makes one", found.key));
        return Ok(Exit::Done);
    }
    let rows = recipes.iter().map(|(number, recipe)| {
        vec![
            format!("r{number}"),
            when(recipe.time),
            recipe.dialect.name().to_owned(),
            text::count(recipe.tokens.expected),
            recipe.rung.name().to_owned(),
            recipe.epoch.to_string(),
            recipe.broken.map(|broken| broken.cause.name()).unwrap_or_default().to_owned(),
            recipe.broken.map(|broken| broken.region.name()).unwrap_or_default().to_owned(),
            recipe.broken.map(|broken| text::count(broken.rebilled)).unwrap_or_default(),
            recipe.broken.map(|broken| text::count(broken.hit)).unwrap_or_default(),
        ]
    });
    let head =
        ["prompt", "time", "dialect", "tokens", "rung", "epoch", "break", "at", "billed again", "cached"];
    write!(app.out, "{}", text::table(&head, rows.collect(), &[3, 5, 8, 9]))?;
    Ok(Exit::Done)
}

/// Composes a sent prompt again.
pub(crate) fn rebuild(app: &mut App, conversation: &str, number: u64) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, conversation)?.conversation;
    let rebuilt = engine.rebuild(found.id, number)?;
    let exit = if rebuilt.is_same { Exit::Done } else { Exit::Problems };
    if app.out.json {
        app.out.json(&RebuiltJson::new(&found.key.0, number, &rebuilt)?)?;
        return Ok(exit);
    }
    writeln!(app.out, "[{}]", rebuilt.messages.join(",\n"))?;
    app.out.finish()?;
    let p = app.out.notes;
    let same = if rebuilt.is_same {
        paint(p.good, "byte for byte what was sent")
    } else {
        paint(p.bad, "NOT the bytes that were sent: the digest differs")
    };
    app.out.note(format!("r{number} of {}, {}: {same}", found.key.0, when(rebuilt.recipe.time)));
    Ok(exit)
}

/// Shows the differences between two prompts.
pub(crate) fn diff(app: &mut App, args: &DiffArgs) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let (PromptNumber(from), PromptNumber(to)) = (args.from, args.to);
    let difference = engine.difference(found.id, from, to)?;
    if app.out.json {
        app.out.json(&DiffJson::new(&found.key.0, from, to, &difference))?;
        return Ok(Exit::Done);
    }
    let (before, after) = &difference.recipes;
    let tokens = |recipe: &Recipe| text::count(recipe.tokens.expected);
    writeln!(app.out, "r{from} to r{to}: {} to {} tokens", tokens(before), tokens(after))?;
    for (number, recipe) in &difference.breaks {
        let Some(Broken { cause, region, rebilled, .. }) = recipe.broken else { continue };
        let (cause, at, again) = (cause.name(), region.name(), text::count(rebilled));
        writeln!(app.out, "  break at r{number}: {cause}, in the {at}, {again} tokens billed again")?;
    }
    for changed in &difference.changed {
        let is = changed.is.as_ref().map_or_else(|| "not on the path".to_owned(), form);
        writeln!(app.out, "  {}: {} became {is}", span(&changed.was), form(&changed.was))?;
    }
    for part in &difference.added {
        writeln!(app.out, "  {}: new, {}", span(part), form(part))?;
    }
    for (pins, word) in [(&difference.pins.0, "pinned"), (&difference.pins.1, "not pinned any more")] {
        for pin in pins {
            writeln!(app.out, "  {pin}: {word}")?;
        }
    }
    Ok(Exit::Done)
}

/// Shows how the newest prompt represents an entry.
pub(crate) fn why(app: &mut App, args: &WhyArgs) -> Outcome {
    let (key, seq, why) = app.open_or_read_for(|engine| {
        let at_hand = super::confined(engine, args.conversation.as_deref())?;
        let (id, seq) = engine.entry_named(at_hand, &args.entry)?;
        let key = engine.store().conversation(id)?.key.0;
        if let Some(why) = engine.represented(id, seq)? {
            return Ok((key, seq, why));
        }
        let found = super::resolve(engine, &key)?;
        let (shape, _) = shape_of(app, &args.shape, &found.conversation.format);
        let mut session = open(app, engine, &found, shape, Until::Now)?;
        let why = engine.represented_now(id, seq, &mut session)?;
        Ok((key, seq, why))
    })?;
    if app.out.json {
        app.out.json(&WhyJson::new(&key, seq, &why))?;
        return Ok(Exit::Done);
    }
    let how = why.part.as_ref().map_or_else(
        || "not shown: hidden, or not on the path".to_owned(),
        |part| format!("{} as part of {}", form(part), span(part)),
    );
    if let Some(Kept { number, since: (since, recipe) }) = &why.kept {
        let cause = recipe.broken.map_or_else(String::new, |broken| format!(" ({})", broken.cause.name()));
        writeln!(app.out, "s:{seq} in r{number}: {how}; since r{since}{cause}")?;
    } else {
        writeln!(app.out, "s:{seq} in a prompt made now: {how}")?;
    }
    if let Some(writer) = &why.writer {
        let by = super::describe::written(writer);
        writeln!(app.out, "  what is stored of it now is by {}", text::harmless(&by))?;
    }
    for pin in &why.pins {
        writeln!(app.out, "  its words are {pin}, in every prompt")?;
    }
    Ok(Exit::Done)
}

fn form(part: &Part) -> String {
    match &part.how {
        How::Summary { name, by_model } => {
            let by = if *by_model { " by a model" } else { "" };
            format!("summary {name}{by}, {} tokens", text::count(part.tokens))
        }
        how => format!("{}, {} tokens", how.name(), text::count(part.tokens)),
    }
}

fn span(part: &Part) -> String {
    let (first, last) = part.span;
    if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") }
}

fn when(time: Timestamp) -> String {
    text::minute(time)
}
