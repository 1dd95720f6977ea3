//! Real transcripts are no refusals, although some of them quote many.
use std::path::{Path, PathBuf};

use unforget_wire::refusal::{Refusal, Reply, classify};

/// Most bytes of transcripts read.
const BYTES_MAX: usize = 64 << 20;

fn folder() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    std::env::var_os("UNFORGET_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from)
}

/// The transcripts under a folder, in order of their names.
fn transcripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(files) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        if file.is_dir() {
            transcripts(&file, found);
        } else if file.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
            found.push(file);
        }
    }
}

#[test]
fn f005_real_transcripts_are_no_overflows() {
    let mut files = Vec::new();
    transcripts(&folder(), &mut files);
    if files.is_empty() {
        eprintln!("skipped: no data");
        return;
    }
    let (mut bytes, mut lines) = (0, 0_usize);
    for file in files {
        let text = std::fs::read(&file).unwrap();
        for line in text.split(|byte| *byte == b'\n') {
            // As an answer, as a stream, and as the output of a broken server.
            let stream = [b"data: ", line, b"\n\n"].concat();
            for (status, body) in [(Some(200), line), (Some(200), &*stream), (Some(400), &*stream)] {
                let found = classify(&Reply { status, body, ..Reply::default() });
                let is_over = matches!(found, Some(Refusal::Overflow(_)));
                let is_wrong = is_over || (found.is_some() && status == Some(200));
                assert!(!is_wrong, "{}: {found:?}: {}", file.display(), String::from_utf8_lossy(line));
            }
            lines += 1;
        }
        bytes += text.len();
        if bytes > BYTES_MAX {
            break;
        }
    }
    eprintln!("{lines} lines, {bytes} bytes");
    assert!(lines > 1_000);
}
