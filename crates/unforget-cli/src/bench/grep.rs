//! `unforget bench grep`.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use unforget_engine::Engine;
use unforget_engine::recall::GrepQuery;

use super::workload::{Workload, folder};
use super::{Times, timed};
use crate::app::App;
use crate::args::ImportBenchArgs;
use crate::failure::{Exit, Outcome};
use crate::text;

/// Number of searches per pattern.
const ROUNDS: usize = 7;

/// Most matches requested.
const LIMIT: usize = 50;

/// The results of one pattern, by us and by ripgrep.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Grepped {
    /// The kind of pattern.
    pub(super) what: &'static str,
    /// The pattern.
    pub(super) pattern: String,
    /// Matches found, at most 50.
    pub(super) matches: u64,
    /// Our times, in microseconds.
    pub(super) ours: Times,
    /// Times of ripgrep over the file, process start included; `None` if it is not installed.
    pub(super) ripgrep: Option<Times>,
}

/// Measures grep over a transcript.
pub(crate) fn run(app: &mut App, args: &ImportBenchArgs) -> Outcome {
    let results = if let Some(path) = &args.file {
        let folder = folder()?;
        over(path, &folder.path().join("grep.sqlite"), None)?
    } else {
        app.out.note(format_args!("generating {}", text::plural(args.messages as u64, "message")));
        let workload = Workload::generate(args.messages, args.seed)?;
        let needle = workload.session.needles().first().map(|needle| needle.tag.clone());
        over(&workload.path, &workload.beside("grep.sqlite"), needle)?
    };
    if app.out.json {
        app.out.json(&results)?;
        return Ok(Exit::Done);
    }
    let row = |result: &Grepped| {
        let other = result.ripgrep.map_or_else(|| "–".to_owned(), |times| text::micros(times.p50));
        let ours =
            [text::count(result.matches), text::micros(result.ours.p50), text::micros(result.ours.max)];
        [vec![result.what.to_owned(), result.pattern.clone()], ours.to_vec(), vec![other]].concat()
    };
    let head = ["", "pattern", "matches", "median", "slowest", "ripgrep"];
    write!(app.out, "{}", text::table(&head, results.iter().map(row).collect(), &[2, 3, 4, 5]))?;
    Ok(Exit::Done)
}

fn over(path: &Path, db: &Path, needle: Option<String>) -> Outcome<Vec<Grepped>> {
    let engine = Engine::open(db)?;
    engine.import_file(path, &mut |_| ())?;
    measure(&engine, path, needle)
}

/// Searches for patterns of several kinds.
///
/// * `needle` - a word that occurs once.
pub(super) fn measure(engine: &Engine, path: &Path, needle: Option<String>) -> Outcome<Vec<Grepped>> {
    let mut patterns = vec![
        ("common word", "error".to_owned()),
        ("class", "(retry|timeout) [a-z]+ [0-9]+".to_owned()),
        ("nowhere", "qzxw_nowhere_at_all".to_owned()),
        ("no literal", "[0-9a-f]{39}z".to_owned()),
        ("quote", r#"timeout"}z"#.to_owned()),
        ("any character", "timeout.{0,3}zzz".to_owned()),
        ("letters", r"\w+timeout\d+x".to_owned()),
        ("edges, any case", r"(?i)\btimeout\b\s\d+".to_owned()),
    ];
    patterns.extend(needle.map(|needle| ("rare word", needle)));
    let one = |(what, pattern): (&'static str, String)| {
        let query = GrepQuery { pattern: pattern.clone(), limit: Some(LIMIT), ..GrepQuery::default() };
        let (mut times, mut matches) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let (answer, us) = timed(|| engine.grep(&query));
            matches = answer?.matches.len() as u64;
            times.push(us);
        }
        Ok(Grepped { what, matches, ours: Times::of(&times), ripgrep: ripgrep(&pattern, path), pattern })
    };
    patterns.into_iter().map(one).collect()
}

fn ripgrep(pattern: &str, path: &Path) -> Option<Times> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let mut command = Command::new("rg");
        command.args(["--no-config", "--count", "--text", "--"]).arg(pattern).arg(path);
        let (status, us) = timed(|| command.stdout(Stdio::null()).stderr(Stdio::null()).status());
        status.ok()?;
        times.push(us);
    }
    Some(Times::of(&times))
}
