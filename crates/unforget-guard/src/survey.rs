//! Inspects many files at once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::GuardError;
use super::inspect::{Inspection, inspect};
use crate::walk;

/// Maximum number of files inspected at the same time.
const WORKERS_MAX: usize = 8;

/// The transcripts at and below a path, sorted: every `*.jsonl` of a folder, without following links; a file by itself.
/// The second list has the folders and files that cannot be read.
pub fn transcripts(path: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, io::Error)>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    walk(path, &mut |outcome, file| match outcome {
        Ok(()) if file == path || file.extension().is_some_and(|end| end == "jsonl") => {
            found.push(file.to_path_buf());
        }
        Ok(()) => {}
        Err(error) => unreadable.push((file.to_path_buf(), error)),
    });
    (found, unreadable)
}

/// Inspects files on all processors and calls `each` with the results in the given order.
pub fn survey(files: &[PathBuf], each: &mut dyn FnMut(&Path, Result<Inspection, GuardError>)) {
    let next = AtomicUsize::new(0);
    let workers =
        std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX).min(files.len());
    let (done, outcomes) = mpsc::sync_channel(workers * 4);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (done, next) = (done.clone(), &next);
            scope.spawn(move || {
                while let Some((at, path)) = take(files, next) {
                    if done.send((at, inspect(path))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let (mut early, mut told) = (BTreeMap::new(), 0);
        for (at, outcome) in outcomes {
            early.insert(at, outcome);
            while let Some(outcome) = early.remove(&told) {
                if let Some(path) = files.get(told) {
                    each(path, outcome);
                }
                told += 1;
            }
        }
    });
}

fn take<'a>(files: &'a [PathBuf], next: &AtomicUsize) -> Option<(usize, &'a PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    files.get(at).map(|path| (at, path))
}
