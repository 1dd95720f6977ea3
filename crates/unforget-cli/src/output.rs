//! The targets of output: results as text or JSON on stdout, everything else on stderr.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::args::Color;
use crate::failure::{Failure, Outcome};
use crate::json::ErrorJson;

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

/// A text in a style; unchanged if the style is empty.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The outputs of a command.
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
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
        Self { stdout: BufWriter::new(stdout), is_terminal, json, quiet, palette: palette_out, notes }
    }

    /// Columns of the terminal; 80 without one.
    pub(crate) fn width(&self) -> usize {
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let terminal = || terminal_size::terminal_size().filter(|_| self.is_terminal);
        columns.or_else(|| terminal().map(|(width, _)| width.0.into())).unwrap_or(80).clamp(32, 400)
    }

    /// Writes one JSON value on a separate line; indented on a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Outcome<()> {
        if self.is_terminal {
            serde_json::to_writer_pretty(&mut self.stdout, value)?;
        } else {
            serde_json::to_writer(&mut self.stdout, value)?;
        }
        Ok(writeln!(self.stdout)?)
    }

    /// Writes a remark to stderr, unless remarks are suppressed.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            // A failure of stderr cannot be reported anywhere.
            writeln!(io::stderr(), "{text}").ok();
        }
    }

    /// Reports a failure to people: the event, and the advised next step.
    pub(crate) fn complain(&self, failure: &Failure) {
        let notes = self.notes;
        let mut text = format!("{} {}", paint(notes.bad, "error:"), failure.message);
        if !failure.hint.is_empty() {
            text = format!("{text}\n{} {}", paint(notes.strong, " hint:"), failure.hint);
        }
        // A failure of stderr cannot be reported anywhere.
        writeln!(io::stderr(), "{text}").ok();
    }

    /// Reports the failure that ended the command: to people on stderr, to scripts on stdout.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.complain(failure);
        if self.json {
            self.json(&ErrorJson::of(failure)).ok();
        }
    }

    /// Flushes everything written so far.
    pub(crate) fn finish(&mut self) -> Outcome<()> {
        Ok(self.stdout.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
