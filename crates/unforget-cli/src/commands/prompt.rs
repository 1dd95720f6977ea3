//! `unforget prompt`.

use unforget_core::admit::{Certificate, Cover};
use unforget_core::compact::Provisional;
use unforget_core::id::Seq;
use unforget_engine::Engine;
use unforget_engine::prompt::{Prompt, Session, Shape, ThreadRef, TurnPlace, Until};
use unforget_engine::trust::Resolved;
use unforget_wire::{Format, validate};

use super::engine::now;
use crate::app::{App, show_progress};
use crate::args::{At, PromptArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{CertificateJson, PromptJson, violation};
use crate::output::paint;
use crate::overrides::ShapeArgs;
use crate::text;

/// Shows how much of a history is read.
const HISTORY_BAR: &str = "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left";

/// Makes the request of a conversation, for the present or for an earlier turn.
pub(crate) fn run(app: &mut App, args: &PromptArgs) -> Outcome {
    if let Some(At::Sent(number)) = args.at {
        return super::travel::rebuild(app, &args.conversation, number);
    }
    let (found, shape, model, prompt) = app.open_or_read_for(|engine| {
        let found = super::resolve(engine, &args.conversation)?;
        let until = match args.at {
            Some(At::Turn(turn) | At::Sent(turn)) => Until::Seq(seq_of_turn(engine, &found, turn)?),
            None => Until::Now,
        };
        let (shape, model) = shape_of(app, &args.shape, &found.conversation.format);
        let prompt = open(app, engine, &found, shape, until)?.prompt()?;
        Ok((found, shape, model, prompt))
    })?;
    let request = prompt.render(shape.target());
    let violations = validate(&request, shape.target()).err().unwrap_or_default();
    let violations: Vec<_> = violations.iter().map(violation).collect();
    let exit = if violations.is_empty() { Exit::Done } else { Exit::Problems };
    let (key, dialect) = (&found.conversation.key.0, shape.dialect.name());
    if app.out.json {
        let certificate = CertificateJson::new(key, dialect, model.as_deref(), &prompt, violations);
        app.out.json(&PromptJson::new(request, certificate)?)?;
    } else {
        // A person gets lines and a pager, a program the bytes.
        let shown = if app.out.is_terminal() { pretty(&request)? } else { request };
        if !args.no_pager {
            app.out.page()?;
        }
        app.out.json_text(&shown)?;
        app.out.finish()?;
        certify(app, key, dialect, &prompt, &violations);
    }
    Ok(exit)
}

/// JSON with indented lines.
fn pretty(json: &str) -> Outcome<String> {
    Ok(serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(json)?)?)
}

/// The target of prompts for a transcript of this format, and the model's name.
pub(super) fn shape_of(app: &App, args: &ShapeArgs, format: &str) -> (Shape, Option<String>) {
    let settings = app.shape(args);
    let usual = || unforget_wire::Dialect::usual(Format::by_name(format).unwrap_or(Format::Unknown));
    let dialect = settings.dialect.value.map_or_else(usual, |dialect| dialect.0);
    let model = settings.model.value;
    if let Some(name) = model.as_deref().filter(|name| !unforget_engine::ruler::is_known(name)) {
        app.out.note(format_args!("{name} is no model that is known here: its tokens are estimated, with an upper bound, and the request is for {}", dialect.name()));
    }
    (Shape::new(settings.window.value, model.as_deref(), dialect), model)
}

/// Opens a session on a lane, with a progress bar while its history is played.
pub(super) fn open(
    app: &App,
    engine: &Engine,
    found: &Resolved,
    shape: Shape,
    until: Until,
) -> Outcome<Session> {
    let bar = app.progress(0, HISTORY_BAR);
    bar.set_message("reading the history");
    let mut progress = |done, total| show_progress(&bar, done, total);
    let session = Session::open(engine, lane(found), shape, until, &mut progress);
    bar.finish_and_clear();
    let mut session = session?;
    session.at(now());
    Ok(session)
}

/// Opens a session on the end of a lane, with summaries of all of its history.
pub(super) fn open_whole(app: &App, engine: &Engine, found: &Resolved, shape: Shape) -> Outcome<Session> {
    let bar = app.progress(0, HISTORY_BAR);
    bar.set_message("reading the history");
    let mut go_on = |done, total| {
        show_progress(&bar, done, total);
        true
    };
    let session = Session::open_whole(engine, lane(found), shape, &mut go_on);
    bar.finish_and_clear();
    let mut session = session?;
    session.at(now());
    Ok(session)
}

const fn lane(found: &Resolved) -> ThreadRef {
    ThreadRef { conversation: found.conversation.id, thread: found.thread }
}

/// The message that begins a turn, counted from 1.
fn seq_of_turn(engine: &Engine, found: &Resolved, turn: u64) -> Outcome<Seq> {
    const HINT: &str = "turns count from 1";
    let stored = &found.conversation;
    match engine.turn(ThreadRef { conversation: stored.id, thread: found.thread }, turn)? {
        TurnPlace::At(seq) => Ok(seq),
        TurnPlace::Missing { turns } => {
            let turns = text::plural(turns, "turn");
            Err(Failure::usage(format!("{} has {turns}, there is no turn {turn}", stored.key), HINT))
        }
    }
}

/// Prints the certificate, for people.
fn certify(app: &App, key: &str, dialect: &str, prompt: &Prompt, violations: &[String]) {
    let p = app.out.notes;
    let certificate: &Certificate = prompt.admitted.certificate();
    let Certificate { total, window, reserve, ruler, authority, rung, cover, proof, omitted, .. } =
        certificate;
    let sections = &certificate.sections;
    let budget = window.saturating_sub(*reserve);
    let n = text::count;
    let said = |text: String| app.out.note(text);
    said(format!("{} {key}", paint(p.strong, "certificate")));
    said(format!(
        "  for        {dialect}, window {} less {} for the answer: {}",
        n(*window),
        n(*reserve),
        n(budget)
    ));
    let share = certificate.bound as f64 / budget.max(1) as f64;
    let how = if authority.name() == "assembled" {
        "assembled".to_owned()
    } else {
        format!("{}: {}", authority.name(), rung.name())
    };
    said(format!(
        "  tokens     {} expected, {} at most ({} of the budget) by {ruler}; {how}",
        n(total.expected),
        n(certificate.bound),
        text::percent(share)
    ));
    said(format!(
        "  sections   system {}, pins {}, summaries {}, ledger {}, put back {}, carried {}, tail {}, frame {}",
        n(sections.system.expected),
        n(sections.pins.expected),
        n(sections.summaries.expected),
        n(sections.ledger.expected),
        n(sections.raised.expected),
        n(sections.carried.expected),
        n(sections.tail.expected),
        n(sections.frame.expected)
    ));
    let Cover { verbatim, stubbed, summarised, elided } = *cover;
    let proved = match proof {
        Ok(()) => paint(p.good, "cover proved"),
        Err(error) => paint(p.bad, error),
    };
    said(format!(
        "  entries    {}: {verbatim} verbatim, {stubbed} stubbed, {summarised} summarised, {elided} elided; {proved}",
        n(cover.total())
    ));
    say_provisional(app, key, certificate);
    if cover.total() == 0 {
        let what = "no message of this conversation is for a model; the request holds a placeholder";
        said(format!("  {}      {what}", paint(p.bad, "EMPTY")));
    }
    say_pins(app, prompt);
    say_raised(app, certificate);
    if !omitted.is_empty() {
        said(format!(
            "  not sent   parts of {}; --json lists them",
            text::plural(omitted.len() as u64, "entry")
        ));
    }
    match violations {
        [] => said(format!("  valid      {}", paint(p.good, format!("yes, for {dialect}")))),
        many => many.iter().for_each(|violation| said(format!("  {}  {violation}", paint(p.bad, "INVALID")))),
    }
}

/// Says which summaries others will replace.
fn say_provisional(app: &App, key: &str, certificate: &Certificate) {
    let Provisional { other, coarse } = certificate.provisional;
    if other + coarse == 0 {
        return;
    }
    let of_other = format!("{} in summaries made for another window", text::count(other));
    let of_coarse = format!("up to {} in a coarse one, made from a few places", text::count(coarse));
    let parts = [(other, of_other), (coarse, of_coarse)];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
    app.out.note(format!(
        "  {}  {}; `unforget compact {key}` reads all of the history, and a daemon does so by itself",
        paint(app.out.notes.bad, "PROVISIONAL"),
        parts.join(", ")
    ));
}

/// Says what a prompt shows of the entries that people put back.
fn say_raised(app: &App, certificate: &Certificate) {
    let raised = certificate.raised;
    if raised.total() > 0 {
        app.out.note(format!(
            "  put back   {} whole, {} cut; {} have no room",
            text::count(raised.whole),
            text::count(raised.short),
            text::count(raised.left_out)
        ));
    }
}

/// Shows the pins of a prompt, and the files shown in part.
fn say_pins(app: &App, prompt: &Prompt) {
    let p = app.out.notes;
    let pins = &prompt.admitted.certificate().pins;
    if !pins.is_empty() {
        let count = text::plural(pins.len() as u64, "active pin");
        app.out.note(format!("  pinned     {count}, verbatim; {}", paint(p.good, "proved")));
    }
    for short in &prompt.short_pins {
        let (shown, bytes) = (text::count(short.shown as u64), text::count(short.bytes as u64));
        let path = text::harmless(&short.path);
        let what = paint(p.bad, "SHORTENED");
        app.out.note(format!("  {what}  {shown} of the {bytes} bytes of {path}; too long for its share"));
    }
}
