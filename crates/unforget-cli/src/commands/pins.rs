//! `unforget pin`, `unpin` and `pins`.

use std::path::Path;

use serde_json::json;
use unforget_core::id::Seq;
use unforget_core::pin::{PinId, PinState};
use unforget_engine::{Engine, PinText, Proposed};
use unforget_store::{Conversation, PinRow, SaidRows};

use super::engine::now;
use crate::app::App;
use crate::args::{PinArgs, PinsArgs, UnpinArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{PinJson, PinnedJson, PinsJson};
use crate::output::paint;
use crate::remote::{Writer, encoded, number};
use crate::text;

/// Columns of words on a terminal.
const WIDTH: usize = 100;

/// Pins words.
pub(crate) fn pin(app: &mut App, args: &PinArgs) -> Outcome {
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    if let Some(path) = &args.file {
        let id = put_file(&writer, &found, path, args.supersedes)?;
        return shown(app, &engine, &found, id);
    }
    let source = args.entry.as_deref().map(|name| engine.words_of(found.id, name)).transpose()?;
    let (seq, said) = source.map_or((None, None), |(seq, said)| (Some(seq), Some(said)));
    let words = args.text.clone().or(said).unwrap_or_default();
    let id = put(&writer, &found, PinWords { text: &words, entry: seq }, args.supersedes)?;
    shown(app, &engine, &found, id)
}

/// Takes a pin back.
pub(crate) fn unpin(app: &mut App, args: &UnpinArgs) -> Outcome {
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    match &writer {
        Writer::Here(engine) => engine.unpin(found.id, PinId(args.pin), now())?,
        Writer::There(remote) => {
            remote.call("DELETE", &format!("{}/{}", place(&found), args.pin), None)?;
        }
    }
    shown(app, &engine, &found, PinId(args.pin))
}

/// Words to pin, and the entry that says them.
struct PinWords<'a> {
    text: &'a str,
    entry: Option<Seq>,
}

/// Pins words, here or by the daemon.
fn put(
    writer: &Writer,
    found: &Conversation,
    PinWords { text, entry }: PinWords<'_>,
    old: Option<u64>,
) -> Outcome<PinId> {
    match (writer, old) {
        (Writer::Here(engine), Some(old)) => {
            Ok(engine.supersede_pin(found.id, PinId(old), PinText { text, source: entry }, now())?)
        }
        (Writer::Here(engine), None) => Ok(engine.pin(found.id, text, entry, now())?),
        (Writer::There(remote), old) => {
            let body = json!({"text": text, "entry": entry.map(|seq| seq.to_string())});
            let (method, place) = match old {
                Some(old) => ("PUT", format!("{}/{old}", place(found))),
                None => ("POST", place(found)),
            };
            Ok(PinId(number(&remote.call(method, &place, Some(&body))?, "pin")))
        }
    }
}

/// Pins the text of a file, here or through the daemon. The daemon may have another working folder, so it gets the absolute path.
fn put_file(writer: &Writer, found: &Conversation, path: &Path, old: Option<u64>) -> Outcome<PinId> {
    let place = unforget_engine::pin_place(path).map_err(|error| Failure::file(path, &error))?;
    match writer {
        Writer::Here(engine) => Ok(engine.pin_file(found.id, &place, old.map(PinId), now())?),
        Writer::There(remote) => {
            let hint = "name the file by a path in UTF-8";
            let name = place
                .to_str()
                .ok_or_else(|| Failure::usage(format!("{} is not UTF-8", place.display()), hint))?;
            let body = json!({"conversation": found.key.0, "path": name, "supersedes": old});
            Ok(PinId(number(&remote.call("POST", "local/pins", Some(&body))?, "pin")))
        }
    }
}

/// Where the daemon has the pins of a conversation.
fn place(found: &Conversation) -> String {
    format!("conversations/{}/pins", encoded(&found.key.0))
}

/// Says how a pin stands now.
fn shown(app: &mut App, engine: &Engine, found: &Conversation, pin: PinId) -> Outcome {
    let (key, id) = (&found.key.0, found.id);
    let SaidRows { pins: rows, files, .. } = engine.store().said(id)?;
    let Some(row) = rows.iter().find(|row| row.pin.id == pin) else { return Ok(Exit::Done) };
    if app.out.json {
        app.out.json(&PinnedJson { conversation: key.clone(), pin: PinJson::new(row, &files) })?;
    } else {
        writeln!(
            app.out,
            "{} {} {}: {}",
            paint(app.out.palette.strong, text::key(key)),
            pin,
            state(row),
            words(&row.pin.text)
        )?;
    }
    Ok(Exit::Done)
}

/// Lists pins and proposals, and accepts these.
pub(crate) fn list(app: &mut App, args: &PinsArgs) -> Outcome {
    let writer =
        if args.accept.is_empty() { Writer::Here(app.read()?) } else { app.writer(App::open_existing)? };
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    if !args.accept.is_empty() {
        accept(&engine, &writer, &found, &args.accept)?;
    }
    let SaidRows { pins: rows, files, .. } = engine.store().said(found.id)?;
    let proposals = if args.proposals { engine.proposed_pins(found.id)? } else { Vec::new() };
    if app.out.json {
        app.out.json(&PinsJson {
            conversation: found.key.0,
            pins: rows.iter().map(|row| PinJson::new(row, &files)).collect(),
            proposals: proposals.iter().map(Into::into).collect(),
        })?;
        return Ok(Exit::Done);
    }
    let table = rows.iter().map(|row| {
        let file = files.iter().find(|file| file.file.pin == row.pin.id);
        let file = file.map(|file| text::harmless(&file.file.path));
        let from = row.pin.source.map(|seq| format!("s:{seq}")).or(file).unwrap_or_default();
        vec![row.pin.id.0.to_string(), state(row), from, text::minute(row.changed), words(&row.pin.text)]
    });
    write!(app.out, "{}", text::table(&["pin", "state", "from", "since", "words"], table.collect(), &[0]))?;
    for (file, trouble) in files.iter().filter_map(|row| Some((&row.file, row.file.trouble?))) {
        if rows.iter().any(|row| row.pin.id == file.pin && row.pin.state == PinState::Active) {
            let (path, why, next) = (text::harmless(&file.path), trouble.words(), trouble.hint());
            app.out.note(format!("pin {}: {path} {why}; its last text stays pinned: {next}", file.pin.0));
        }
    }
    if args.proposals {
        proposed(app, &proposals)?;
    }
    Ok(Exit::Done)
}

fn accept(engine: &Engine, writer: &Writer, found: &Conversation, numbers: &[u64]) -> Outcome<()> {
    let proposals = engine.proposed_pins(found.id)?;
    let chosen = numbers.iter().map(|number| {
        let found = proposals.iter().find(|one| one.number == *number);
        let message = || format!("there is no proposal {number}");
        found.ok_or_else(|| Failure::usage(message(), "unforget pins CONVERSATION --proposals lists them"))
    });
    // All are looked up before any is pinned.
    let chosen: Vec<&Proposed> = chosen.collect::<Outcome<_>>()?;
    for one in chosen {
        put(writer, found, PinWords { text: &one.text, entry: Some(one.seq) }, None)?;
    }
    Ok(())
}

fn proposed(app: &mut App, proposals: &[Proposed]) -> Outcome<()> {
    let rows = proposals.iter().map(|one| {
        let kind = one.kind.name().to_owned();
        vec![one.number.to_string(), kind, format!("s:{}", one.seq), words(&one.text)]
    });
    let head = ["proposal", "kind", "from", "words"];
    write!(app.out, "\n{}", text::table(&head, rows.collect(), &[0]))?;
    if !proposals.is_empty() {
        app.out.note("pin one with --accept NUMBER");
    }
    Ok(())
}

fn state(row: &PinRow) -> String {
    match row.pin.state {
        PinState::Active => "active".to_owned(),
        PinState::Retired => "retired".to_owned(),
        PinState::SupersededBy(by) => format!("superseded by {}", by.0),
    }
}

fn words(text: &str) -> String {
    text::one_line(text, WIDTH)
}
