//! `unforget verify`.

use unforget_engine::trust::Verified;
use unforget_store::Problem;

use crate::app::{App, show_progress};
use crate::args::VerifyArgs;
use crate::failure::{Exit, Outcome};
use crate::json::VerifyJson;
use crate::output::paint;
use crate::text;

/// Reads everything back and reports problems.
pub(crate) fn run(app: &mut App, _: &VerifyArgs) -> Outcome {
    let engine = app.read()?;
    let bar = app.progress(0, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left");
    bar.set_message("reading everything back");
    let verified = engine.verify(&mut |done, total| show_progress(&bar, done, total));
    bar.finish_and_clear();
    let verified = verified?;
    let is_ok = verified.problems.is_empty();
    if app.out.json {
        app.out.json(&VerifyJson::from(&verified))?;
    } else {
        say(app, &verified)?;
    }
    Ok(if is_ok { Exit::Done } else { Exit::Problems })
}

fn say(app: &mut App, verified: &Verified) -> Outcome<()> {
    let p = app.out.palette;
    for problem in &verified.problems {
        let place = match (&problem.conversation, problem.seq) {
            (Some(key), Some(seq)) => format!("{}, entry {seq}", text::key(&key.0)),
            (Some(key), None) => text::key(&key.0),
            (None, _) => "the database".to_owned(),
        };
        writeln!(app.out, "{} {place}: {}", paint(p.bad, problem.kind), text::harmless(&problem.detail))?;
    }
    let looked_at = format!(
        "{}, {}, {}, {}, {}",
        text::plural(verified.conversations, "conversation"),
        text::plural(verified.entries, "entry"),
        text::plural(verified.segments, "index segment"),
        text::plural(verified.summaries, "summary"),
        text::plural(verified.snapshots, "save"),
    );
    match verified.problems.len() as u64 {
        0 => {
            let line = "all of it reads back as it was received";
            writeln!(app.out, "{} {looked_at}: {line}", paint(p.good, "✓"))?;
        }
        n => {
            writeln!(app.out, "{} in {looked_at}", paint(p.bad, text::plural(n, "problem")))?;
            app.out.note(if verified.problems.iter().all(Problem::is_derived) {
                "nothing that was delivered is damaged: the next command that writes takes the damaged rows out, and they are made again from the log"
            } else {
                "unforget restore puts a backup in its place; importing the transcripts again adds what is missing"
            });
        }
    }
    if !verified.unfinished.is_empty() {
        let what = text::plural(verified.unfinished.len() as u64, "conversation");
        let first = verified.unfinished.first().map(|key| text::key(&key.0)).unwrap_or_default();
        app.out.note(format_args!(
            "not read to its end: the file of {what}, such as {first}; unforget doctor says how to go on"
        ));
    }
    Ok(())
}
