//! `unforget replay`.

mod say;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use unforget_engine::Engine;
use unforget_engine::replay::{Prices, ReplayOptions, Report, replay};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::{Dialect, Reader};

use super::prompt::shape_of;
use crate::app::{App, show_progress};
use crate::args::ReplayArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::html;
use crate::json::ReportJson;

/// Number of facts outside the context that are looked up at the end.
const FACTS: usize = 40;

const BAR: &str = "{msg:24!} {bar:24.cyan} {binary_bytes:>10} of {binary_total_bytes:<10}  {eta} left";

/// Replays a transcript and shows the report.
pub(crate) fn run(app: &mut App, args: &ReplayArgs) -> Outcome {
    let report = report(app, args)?;
    if let Some(path) = &args.html {
        fs::write(path, html::page(&report)).map_err(|error| Failure::file(path, &error))?;
    }
    if app.out.json {
        app.out.json(&ReportJson::from(&report))?;
    } else {
        let text = say::text(&report, app.out.palette, app.out.width());
        write!(app.out, "{text}")?;
        if let Some(path) = &args.html {
            writeln!(app.out, "\nreport: {}", path.display())?;
        }
    }
    Ok(if is_sound(&report) { Exit::Done } else { Exit::Problems })
}

/// Whether every prompt could have been sent.
pub(crate) fn is_sound(report: &Report) -> bool {
    report.rejected.is_empty()
        && report.too_large.is_empty()
        && report.without_request.is_empty()
        && report.unproved.is_empty()
}

fn report(app: &App, args: &ReplayArgs) -> Outcome<Report> {
    let format = format_of(&args.file)?;
    let (shape, model) = shape_of(app, &args.shape, format);
    let options = ReplayOptions {
        shape,
        model,
        prices: prices_of(shape.dialect),
        // Anthropic publishes no tokeniser; another one stands in for every provider.
        provider: Some(ModelRuler::O200k),
        validate: !args.no_validate,
        facts: FACTS,
    };
    // Dropped last, since it holds the store's files.
    let folder =
        tempfile::tempdir().map_err(|error| Failure::file(Path::new("a temporary folder"), &error))?;
    let engine = if app.is_db_named {
        // A store that already knows the session is replayed again, so a killed replay can be repeated.
        app.open()?
    } else {
        Engine::open(&folder.path().join("replay.sqlite"))?
    };
    let bar = app.progress(0, BAR);
    let mut progress = |bytes, total, calls: u64| {
        show_progress(&bar, bytes, total);
        bar.set_message(crate::text::plural(calls, "call"));
    };
    let report = replay(&engine, &args.file, &options, &mut progress);
    bar.finish_and_clear();
    Ok(report?)
}

/// Name of a transcript's format, from its head.
fn format_of(path: &Path) -> Outcome<&'static str> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let reader = Reader::open(BufReader::new(file))
        .map_err(|source| unforget_engine::EngineError::Read { path: path.to_path_buf(), source })?;
    Ok(reader.source().format.name())
}

/// List prices of input in US dollars for Claude Sonnet, GPT-5 and Gemini 3 Pro, with their cache factors.
const fn prices_of(dialect: Dialect) -> Prices {
    let cache_ttl_ms = dialect.cache_ttl_ms();
    match dialect {
        Dialect::Anthropic | Dialect::Pi | Dialect::BedrockConverse => {
            Prices { input: 3.0, write: 1.25, read: 0.1, cache_ttl_ms }
        }
        Dialect::Gemini => Prices { input: 2.0, write: 1.0, read: 0.1, cache_ttl_ms },
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            Prices { input: 1.25, write: 1.0, read: 0.1, cache_ttl_ms }
        }
    }
}
