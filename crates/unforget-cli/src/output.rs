//! The targets of output: results as text or JSON on stdout, everything else on stderr.
//!
//! Nothing else of the command line prints (`cargo xtask tidy` checks it): what a transcript holds comes out visible and
//! harmless, whoever writes it.

mod screen;
mod visible;

use std::fmt;
use std::io::{self, BufRead, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::json::ErrorJson;

pub(crate) use screen::{MouseDeed, Screen, ScreenEvent, ScreenKey, ScreenShape};
#[cfg(test)]
pub(crate) use visible::rendered;
pub(crate) use visible::{paint, visible};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Colours by meaning. Styles are empty when colours are off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Palette {
    /// Unforget.
    pub(crate) ours: Style,
    /// The way of sending everything.
    pub(crate) everything: Style,
    /// The way of the sliding window.
    pub(crate) sliding: Style,
    /// The window, limits.
    pub(crate) limit: Style,
    /// Headings and keys.
    pub(crate) strong: Style,
    /// Remarks and units.
    pub(crate) dim: Style,
    /// A good result.
    pub(crate) good: Style,
    /// A bad result.
    pub(crate) bad: Style,
}

impl Palette {
    /// The palette in colours.
    pub(crate) const fn colours() -> Self {
        Self {
            ours: AnsiColor::Cyan.on_default(),
            everything: AnsiColor::Red.on_default(),
            sliding: AnsiColor::Yellow.on_default(),
            limit: AnsiColor::Magenta.on_default(),
            strong: Style::new().bold(),
            dim: Style::new().dimmed(),
            good: AnsiColor::Green.on_default(),
            bad: AnsiColor::Red.on_default().bold(),
        }
    }
}

/// The outputs of a command.
pub(crate) struct Output {
    stdout: BufWriter<Box<dyn Write>>,
    /// The pager that shows stdout.
    pager: Option<Child>,
    is_terminal: bool,
    /// Whether stdout is JSON.
    pub(crate) json: bool,
    /// Whether progress and remarks are suppressed.
    pub(crate) quiet: bool,
    /// Colours of stdout.
    pub(crate) palette: Palette,
    /// Colours of stderr.
    pub(crate) notes: Palette,
}

impl Output {
    /// The process's outputs.
    pub(crate) fn new(json: bool, quiet: bool, color: Color) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let is_terminal = stdout.is_terminal();
        let palette = |choice| {
            if choice == anstream::ColorChoice::Never { Palette::default() } else { Palette::colours() }
        };
        let chosen = |auto| match color {
            Color::Auto => auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        let palette_out = palette(chosen(anstream::AutoStream::choice(&stdout)));
        let notes = palette(chosen(anstream::AutoStream::choice(&stderr)));
        let stdout: BufWriter<Box<dyn Write>> = BufWriter::new(Box::new(stdout));
        Self { stdout, pager: None, is_terminal, json, quiet, palette: palette_out, notes }
    }

    /// Columns of the terminal, or as `COLUMNS` says; 80 without either.
    pub(crate) fn width(&self) -> usize {
        self.columns().unwrap_or(80)
    }

    /// Columns of the terminal, or as `COLUMNS` says; `None` without either: then nothing needs to fit.
    pub(crate) fn columns(&self) -> Option<usize> {
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let terminal = || terminal_size::terminal_size().filter(|_| self.is_terminal);
        let columns = columns.or_else(|| terminal().map(|(width, _)| width.0.into()));
        columns.map(|columns: usize| columns.clamp(32, 400))
    }

    /// Shows everything that follows in a pager, if a person reads stdout: the command in `PAGER`, else `less -R`. Without
    /// one, or with an empty `PAGER`, nothing changes.
    pub(crate) fn page(&mut self) -> Outcome<()> {
        // Ends by itself where everything fits, and takes colours.
        self.page_with("FRX")
    }

    /// As [`Output::page`], but a pager of ours stays until the person leaves it: what follows covers the terminal.
    pub(crate) fn page_until_left(&mut self) -> Outcome<()> {
        self.page_with("R")
    }

    fn page_with(&mut self, less: &str) -> Outcome<()> {
        let named = std::env::var("PAGER").unwrap_or_else(|_| "less -R".to_owned());
        let mut words = named.split_whitespace();
        let Some(program) = words.next().filter(|_| self.is_terminal) else { return Ok(()) };
        self.stdout.flush()?;
        let mut pager = Command::new(program);
        pager.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            pager.env("LESS", less);
        }
        if let Ok(mut pager) = pager.spawn()
            && let Some(pipe) = pager.stdin.take()
        {
            self.stdout = BufWriter::new(Box::new(pipe));
            self.pager = Some(pager);
        }
        Ok(())
    }

    /// Whether a person reads stdout.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes text for a person: the method behind `write!` and `writeln!`.
    pub(crate) fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        self.stdout.write_all(visible::rendered(&text).as_bytes())
    }

    /// Writes one JSON value on a separate line; indented on a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Outcome<()> {
        let text = if self.is_terminal {
            serde_json::to_string_pretty(value)?
        } else {
            serde_json::to_string(value)?
        };
        self.json_text(&text)
    }

    /// Writes JSON that is text already on a separate line. Its values stay; some characters become escapes.
    pub(crate) fn json_text(&mut self, text: &str) -> Outcome<()> {
        Ok(writeln!(self.stdout, "{}", visible::visible_json(text))?)
    }

    /// A target for bytes as they are stored, such as a transcript. On a terminal they are text for a person.
    pub(crate) const fn bytes(&mut self) -> StoredBytes<'_> {
        StoredBytes { out: self }
    }

    /// Writes a remark to stderr, unless remarks are suppressed.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        if !self.quiet {
            remark(text);
        }
    }

    /// Reports a failure to people: the event, and the advised next step.
    pub(crate) fn complain(&self, failure: &Failure) {
        let notes = self.notes;
        let mut text = format!("{} {}", paint(notes.bad, "error:"), failure.message);
        if !failure.hint.is_empty() {
            text = format!("{text}\n{} {}", paint(notes.strong, " hint:"), failure.hint);
        }
        remark(text);
    }

    /// Reports the failure that ended the command: to people on stderr, to scripts on stdout.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.complain(failure);
        if self.json {
            self.json(&ErrorJson::of(failure)).ok();
        }
    }

    /// Shows everything written so far.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// Flushes everything written so far.
    pub(crate) fn finish(&mut self) -> Outcome<()> {
        let flushed = self.flush();
        if let Some(mut pager) = self.pager.take() {
            // Closes the pipe, and lets the person read on.
            self.stdout = BufWriter::new(Box::new(io::stdout()));
            pager.wait()?;
        }
        Ok(flushed?)
    }
}

/// Bytes on their way to stdout. See [`Output::bytes`].
pub(crate) struct StoredBytes<'a> {
    out: &'a mut Output,
}

impl Write for StoredBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.out.is_terminal {
            return self.out.stdout.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.out.stdout.write_all(visible(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.stdout.flush()
    }
}

/// Writes a remark to stderr: for servers, whose stdout is a protocol.
pub(crate) fn remark(text: impl fmt::Display) {
    // A failure of stderr cannot be reported anywhere.
    writeln!(io::stderr(), "{}", visible::rendered(&text.to_string())).ok();
}

/// Whether a person reads stderr.
pub(crate) fn is_log_on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// A target for lines of a log, on stderr. Colours are the log's own: it escapes what its fields hold.
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().write_all(visible::log_line(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Asks a person to agree: `y` or `yes`. False for any other answer, or if nobody can be asked.
pub(crate) fn agrees(question: &str) -> bool {
    asked(question).is_some_and(|answer| ["y", "yes"].iter().any(|yes| answer.eq_ignore_ascii_case(yes)))
}

/// The next step after a question that was not answered.
///
/// * `answer` - what to type.
pub(crate) fn how_to_agree(answer: &str) -> String {
    if io::stdin().is_terminal() {
        format!("answer {answer} when asked, or add --yes")
    } else {
        "nobody was asked, since stdin is no terminal: add --yes".to_owned()
    }
}

/// Asks a person to type a word. False if another text was typed or nobody can be asked.
pub(crate) fn types(question: &str, word: &str) -> bool {
    asked(question).is_some_and(|answer| answer.eq_ignore_ascii_case(word))
}

/// What a person answers, on one line. `None` if nobody can be asked.
fn asked(question: &str) -> Option<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return None;
    }
    let mut stderr = io::stderr();
    write!(stderr, "{} ", visible::rendered(question)).and_then(|()| stderr.flush()).ok();
    let mut line = String::new();
    stdin.lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}
