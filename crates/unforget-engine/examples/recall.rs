//! Measures the time of searches: `recall DB search|grep|igrep TEXT…`, each text ten times.

use std::path::PathBuf;
use std::time::Instant;

use unforget_engine::recall::{GrepQuery, SearchQuery};
use unforget_engine::{Engine, EngineError};

fn main() -> Result<(), EngineError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(db), Some(kind)) = (arguments.next(), arguments.next()) else { return Ok(()) };
    let engine = Engine::open(&PathBuf::from(db))?;
    for text in arguments {
        let mut times = Vec::new();
        let mut said = String::new();
        for _ in 0..10 {
            let start = Instant::now();
            said = if kind == "search" {
                let answer = engine.search(&SearchQuery { text: text.clone(), ..SearchQuery::default() })?;
                format!(
                    "{} of {} matched, {} searched {}",
                    answer.results.len(),
                    answer.matched,
                    answer.searched,
                    answer.evidence
                )
            } else {
                let ignore_case = kind == "igrep";
                let query = GrepQuery { pattern: text.clone(), ignore_case, ..GrepQuery::default() };
                let answer = engine.grep(&query)?;
                format!(
                    "{} matches, {} of {} chunks, limit {}",
                    answer.matches.len(),
                    answer.chunks_scanned,
                    answer.chunks_total,
                    answer.stopped_at_limit
                )
            };
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (median, worst) = (times.get(5).copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
        println!("{median:.1} ms median, {worst:.1} ms worst: {text}: {said}");
    }
    Ok(())
}
