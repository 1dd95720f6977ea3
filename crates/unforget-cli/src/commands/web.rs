//! `unforget web`: the page in a browser.

use std::process::{Command, Stdio};

use serde::Serialize;
use unforget_server::serve::PAGE;

use super::serve::{for_commands, open};
use crate::app::App;
use crate::args::WebArgs;
use crate::config::process_env;
use crate::failure::{Exit, Outcome};
use crate::overrides::ServeArgs;
use crate::recognised::one;
use crate::remote::Remote;

/// Programs that open an address in the browser of a person, in the order in which they are tried.
const OPENERS: &[&str] = if cfg!(target_os = "macos") {
    &["open"]
} else if cfg!(windows) {
    &["explorer"]
} else {
    &["xdg-open", "wslview"]
};

/// The page's address.
#[derive(Debug, Serialize)]
struct WebJson {
    url: String,
    /// Whether this command serves the page, until it is ended.
    serving: bool,
}

/// Opens the page.
pub(crate) fn run(app: &mut App, args: &WebArgs) -> Outcome {
    let place = place(app, args)?;
    if let Some(remote) = Remote::of(&app.settings.db.value) {
        say(app, args, &WebJson { url: format!("{}{place}", remote.url()), serving: false })?;
        return Ok(Exit::Done);
    }
    let wanted = ServeArgs { listen: args.listen, ..ServeArgs::default() };
    let serving = app.settings.serve.with(&wanted, &process_env)?;
    let opened = open(app, &wanted, for_commands(serving, &wanted)?)?;
    say(app, args, &WebJson { url: format!("http://{}{place}", opened.listen), serving: true })?;
    app.out.note("Ctrl-C ends it");
    opened.until_ended()?;
    Ok(Exit::Done)
}

/// The path to begin with.
fn place(app: &App, args: &WebArgs) -> Outcome<String> {
    let Some(name) = &args.conversation else { return Ok("/".to_owned()) };
    let engine = app.read()?;
    let found = one(&engine, super::resolve(&engine, name)?.conversation)?;
    let bytes = found.stored.key.0.bytes();
    let encoded = bytes.map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    Ok(format!("{PAGE}/c/{}", encoded.collect::<String>()))
}

/// Prints the address, and starts a browser unless that is not wanted.
fn say(app: &mut App, args: &WebArgs, page: &WebJson) -> Outcome<()> {
    if app.out.json {
        app.out.json(page)?;
    } else {
        writeln!(app.out, "{}", page.url)?;
    }
    app.out.flush()?;
    if !args.no_open && !app.out.json && !OPENERS.iter().any(|opener| is_started(opener, &page.url)) {
        app.out.note("no browser could be started: open the address yourself");
    }
    Ok(())
}

/// Starts a program with an address, and leaves it alone.
fn is_started(opener: &str, url: &str) -> bool {
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
