//! `unforget bench import`.

use std::path::Path;

use serde::Serialize;
use unforget_engine::Engine;

use super::workload::{Workload, folder, size_of};
use super::{memory, raw, timed};
use crate::app::App;
use crate::args::ImportBenchArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// One import, compared with raw SQLite storing the same text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Import {
    /// Records of the transcript.
    pub(super) entries: u64,
    /// Bytes of the transcript.
    pub(super) bytes: u64,
    /// Time of the import, in microseconds.
    pub(super) ours_us: u64,
    /// Time of raw SQLite without parsing, in microseconds.
    pub(super) raw_sqlite_us: u64,
    /// Ratio of raw SQLite's time to ours: above 1 we are faster.
    pub(super) speedup: f64,
    /// Bytes of our store.
    pub(super) store_bytes: u64,
    /// Ratio of our store's size to the transcript's.
    pub(super) store_ratio: f64,
    /// Bytes of raw SQLite.
    pub(super) raw_sqlite_bytes: u64,
    /// Peak memory of the import, in bytes.
    pub(super) peak_bytes: Option<u64>,
}

/// Measures one import.
pub(crate) fn run(app: &mut App, args: &ImportBenchArgs) -> Outcome {
    let import = if let Some(path) = &args.file {
        let folder = folder()?;
        measure(path, &folder.path().join("ours.sqlite"))?
    } else {
        app.out.note(format_args!("generating {}", text::plural(args.messages as u64, "message")));
        let workload = Workload::generate(args.messages, args.seed)?;
        measure(&workload.path, &workload.beside("ours.sqlite"))?
    };
    if app.out.json {
        app.out.json(&import)?;
        return Ok(Exit::Done);
    }
    let rows = vec![
        vec!["Unforget".to_owned(), text::micros(import.ours_us), text::bytes(import.store_bytes)],
        vec![
            "SQLite + FTS5".to_owned(),
            text::micros(import.raw_sqlite_us),
            text::bytes(import.raw_sqlite_bytes),
        ],
    ];
    let size = format!("{}, {}", text::plural(import.entries, "entry"), text::bytes(import.bytes));
    writeln!(app.out, "{size}")?;
    write!(app.out, "{}", text::table(&["", "time", "on disk"], rows, &[1, 2]))?;
    let peak = import.peak_bytes.map_or_else(|| "unknown".to_owned(), text::bytes);
    writeln!(
        app.out,
        "{:.2}× as fast; {} of the transcript on disk; peak memory {peak}",
        import.speedup,
        text::percent(import.store_ratio)
    )?;
    Ok(Exit::Done)
}

/// Imports a transcript into `db`, which stays, and into a temporary raw SQLite database beside it.
pub(super) fn measure(path: &Path, db: &Path) -> Outcome<Import> {
    memory::forget_peak();
    let engine = Engine::open(db)?;
    let (imported, ours_us) = timed(|| engine.import_file(path, &mut |_| ()));
    let imported = imported?;
    let peak_bytes = memory::peak();
    engine.store().maintain()?;
    drop(engine);
    let store_bytes = size_of(db);
    let other = db.with_extension("raw");
    let raw_sqlite_us = raw::import(&other, path)?;
    let raw_sqlite_bytes = size_of(&other);
    std::fs::remove_file(&other).map_err(|error| Failure::file(&other, &error))?;
    Ok(Import {
        entries: imported.entries,
        bytes: imported.bytes,
        ours_us,
        raw_sqlite_us,
        speedup: raw_sqlite_us as f64 / ours_us.max(1) as f64,
        store_bytes,
        store_ratio: store_bytes as f64 / imported.bytes.max(1) as f64,
        raw_sqlite_bytes,
        peak_bytes,
    })
}
