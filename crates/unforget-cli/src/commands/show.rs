//! `unforget show`: reads a conversation.

use unforget_engine::Engine;
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::TurnRange;

use super::resume::is_resumed;
use crate::app::App;
use crate::args::{ReadFormat, ShowArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::paint;
use crate::reading::shown::ShownStyle;
use crate::reading::turn_json::TurnJson;
use crate::reading::{ReadOptions, ReadTurn, ToolsShown, TurnReader, markdown, page, shown};
use crate::recognised::{RecognisedConversation, one};
use crate::text;
use crate::when::Clock;

/// Prints the turns of a conversation.
pub(crate) fn run(app: &mut App, args: &ShowArgs) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?;
    app.tell_broken(&engine);
    let of = ThreadRef { conversation: found.conversation.id, thread: found.thread };
    let wanted = match (args.last, args.from) {
        (Some(last), _) => TurnRange::Last(last),
        (None, Some(from)) => TurnRange::From(from),
        (None, None) => TurnRange::All,
    };
    let format = if app.out.json { ReadFormat::Json } else { args.format.unwrap_or(ReadFormat::Text) };
    let recognised = one(&engine, found.conversation)?;
    if format == ReadFormat::Text && !args.no_pager {
        app.out.page()?;
    }
    let mut writer = TurnWriter {
        app,
        format,
        tools: args.tools,
        clock: Clock::here(),
        folder: recognised.facts.folder.clone(),
        failed: None,
        shown: 0,
    };
    writer.head(&recognised)?;
    let all = read(&engine, of, wanted, args, &mut writer)?;
    writer.end(&recognised, all)?;
    Ok(Exit::Done)
}

/// Reads the wanted turns, and returns the number of all turns.
fn read(
    engine: &Engine,
    of: ThreadRef,
    wanted: TurnRange,
    args: &ShowArgs,
    writer: &mut TurnWriter<'_>,
) -> Outcome<u64> {
    let options = ReadOptions { tools: args.tools != ToolsShown::None, all: args.all };
    let mut each = |turn: ReadTurn| writer.write(&turn);
    let mut reader = TurnReader::new(options, &mut each);
    let all = engine.read_turns(of, wanted, &mut |read| reader.take(&read))?;
    reader.finish();
    if let (TurnRange::From(from), true) = (wanted, all > 0)
        && from > all
    {
        let turns = text::plural(all, "turn");
        return Err(Failure::usage(format!("it has {turns}, there is no turn {from}"), "turns count from 1"));
    }
    Ok(all)
}

/// Writes turns in one form.
struct TurnWriter<'a> {
    app: &'a mut App,
    format: ReadFormat,
    tools: ToolsShown,
    clock: Clock,
    /// The folder of the session.
    folder: Option<String>,
    /// The first failure of stdout.
    failed: Option<Failure>,
    /// Number of turns written.
    shown: u64,
}

impl TurnWriter<'_> {
    fn head(&mut self, one: &RecognisedConversation) -> Outcome<()> {
        let p = self.app.out.palette;
        let (title, facts) = (one.title(), self.facts(one));
        match self.format {
            ReadFormat::Text => {
                writeln!(self.app.out, "{}\n{}\n", paint(p.strong, title), paint(p.dim, facts))?;
            }
            ReadFormat::Md => writeln!(self.app.out, "# {title}\n\n{facts}\n")?,
            ReadFormat::Html => write!(self.app.out, "{}", page::head(&title, &facts))?,
            ReadFormat::Json => {}
        }
        Ok(())
    }

    fn facts(&self, one: &RecognisedConversation) -> String {
        let branch = one.facts.branch.as_deref().map(|branch| format!(" ({branch})")).unwrap_or_default();
        let when = one.last().map(|last| self.clock.full(last)).unwrap_or_default();
        let project = format!("{}{branch}", one.project());
        let facts =
            [project, one.host().to_owned(), when, text::plural(one.facts.turns, "turn"), one.name.clone()];
        let facts: Vec<_> = facts.iter().filter(|fact| !fact.is_empty()).map(String::as_str).collect();
        text::one_line(&text::harmless(&facts.join(" · ")), 400)
    }

    fn write(&mut self, turn: &ReadTurn) {
        if self.failed.is_some() {
            return;
        }
        self.shown += 1;
        let out = &mut self.app.out;
        let (palette, columns) = (out.palette, out.width());
        let folder = self.folder.as_deref().filter(|folder| folder.len() > 1);
        let style = ShownStyle { palette, columns, tools: self.tools, clock: &self.clock, folder };
        let written = match self.format {
            ReadFormat::Text => write!(out, "{}", shown::turn(turn, style)).map_err(Failure::from),
            ReadFormat::Md => {
                write!(out, "{}", markdown::turn(turn, self.tools, &self.clock)).map_err(Failure::from)
            }
            ReadFormat::Html => {
                write!(out, "{}", page::turn(turn, self.tools, &self.clock)).map_err(Failure::from)
            }
            ReadFormat::Json => out.json(&TurnJson::new(turn, self.tools == ToolsShown::Full)),
        };
        self.failed = written.err();
    }

    fn end(self, one: &RecognisedConversation, all: u64) -> Outcome<()> {
        let Self { app, format, failed, shown, .. } = self;
        if let Some(failure) = failed {
            return Err(failure);
        }
        if shown == 0 && format != ReadFormat::Json {
            app.out.note("nothing in it has words for a person; --all shows every entry");
        }
        match format {
            ReadFormat::Html => write!(app.out, "{}", page::END)?,
            ReadFormat::Text => {
                let mut line = text::plural(all, "turn");
                if is_resumed(one) {
                    line.extend([" · unforget resume ", &one.name, " goes on with it"]);
                }
                writeln!(app.out, "{}", paint(app.out.palette.dim, line))?;
            }
            ReadFormat::Md | ReadFormat::Json => {}
        }
        Ok(())
    }
}
