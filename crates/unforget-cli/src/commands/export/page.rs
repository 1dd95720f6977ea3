//! `unforget export --html`: a conversation as one page to read and share.

use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;
use unforget_engine::Engine;
use unforget_engine::trust::Resolved;
use unforget_server::json::PageExportJson;
use unforget_server::when::Clock;
use unforget_web::{PageFile, PageFileError, PageReport, sealed_page};

use super::super::passphrase::passphrase;
use super::super::prompt::shape_of;
use crate::app::{App, show_progress};
use crate::args::ExportArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// Writes the page to stdout or to a new file. A page that fails half way leaves no file.
pub(super) fn run(app: &mut App, args: &ExportArgs, engine: &Engine, of: &Resolved) -> Outcome {
    let passphrase = args.encrypt.as_deref().map(|path| passphrase(app, path)).transpose()?;
    let (shape, _) = shape_of(app, &args.shape, &of.conversation.format);
    let clock = Clock::here();
    let page = PageFile { engine, of, shape, clock: &clock, is_masked: args.mask };
    let written = match args.file() {
        None => {
            let bar = bar(app);
            let mut out = app.out.bytes();
            write(&page, passphrase.as_deref(), &mut out, &mut |done, all| show_progress(&bar, done, all))
        }
        Some(path) => {
            let bar = bar(app);
            to_new_file(path, |out| {
                write(&page, passphrase.as_deref(), out, &mut |done, all| show_progress(&bar, done, all))
            })
        }
    }?;
    say(app, args, &of.conversation.key.0, written)?;
    Ok(Exit::Done)
}

/// A bar that is gone with its page.
fn bar(app: &App) -> indicatif::ProgressBar {
    let bar = app.progress(0, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left");
    bar.set_message("writing the page");
    bar.with_finish(indicatif::ProgressFinish::AndClear)
}

fn write(
    page: &PageFile<'_>,
    passphrase: Option<&str>,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Outcome<PageReport> {
    let failed = |error| match error {
        PageFileError::Engine(error) => Failure::from(error),
        PageFileError::Write(error) => error.into(),
    };
    let Some(passphrase) = passphrase else { return page.write(out, progress).map_err(failed) };
    let mut plain = Vec::new();
    let written = page.write(&mut plain, progress).map_err(failed)?;
    let sealed = sealed_page(plain, passphrase)
        .map_err(|error| Failure::input("not-encrypted", error.to_string(), "export it without --encrypt"))?;
    out.write_all(sealed.as_bytes())?;
    Ok(written)
}

/// Writes a new file as a whole or not at all.
fn to_new_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Outcome<PageReport>,
) -> Outcome<PageReport> {
    let failed = |error| Failure::file(path, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut out = BufWriter::new(NamedTempFile::new_in(folder).map_err(failed)?);
    let written = write(&mut out)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    Ok(written)
}

fn say(app: &mut App, args: &ExportArgs, key: &str, written: PageReport) -> Outcome<()> {
    let PageReport { turns, entries, calls, masked } = written;
    let Some(path) = args.file() else { return Ok(()) };
    if app.out.json {
        let path = path.display().to_string();
        let is_encrypted = args.encrypt.is_some();
        let conversation = key.to_owned();
        return app.out.json(&PageExportJson {
            conversation,
            turns,
            entries,
            calls,
            masked,
            is_encrypted,
            path,
        });
    }
    let (turns, calls) = (text::plural(turns, "turn"), text::plural(calls, "call"));
    let masked = if args.mask {
        format!(", credentials masked in {}", text::plural(masked, "text"))
    } else {
        String::new()
    };
    writeln!(app.out, "{turns}, {calls}{masked} to {}", path.display())?;
    Ok(())
}
