//! Replays a transcript and prints the totals: for measuring without the command line.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "an example")]
use std::path::Path;
use unforget_engine::{Engine, prompt::Shape, replay::*};
use unforget_wire::Dialect;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dialect = Dialect::by_name(args.get(3).map_or("anthropic", String::as_str)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(&dir.path().join("r.sqlite")).unwrap();
    let shape = Shape::new(args[2].parse().unwrap(), None, dialect);
    let options = ReplayOptions { shape, model: None, prices: Prices { input: 3.0, write: 1.25, read: 0.1 }, validate: args.get(4).is_none(), facts: 200 };
    let r = replay(&engine, Path::new(&args[1]), &options, &mut |_, _, _| ()).unwrap();
    println!("{} calls={} entries={} visible={} turns={} rejected={} too_large={} noreq={} unproved={} breaks={:?} summaries={:?} ms={}", args[1], r.calls.len(), r.entries, r.visible, r.turns, r.rejected.len(), r.too_large.len(), r.without_request.len(), r.unproved.len(), r.breaks, r.summaries, r.elapsed_ms);
    let q = |f: fn(&Call) -> u64, p| quantile(r.calls.iter().map(f), p);
    println!("  prompt us p50 {} p99 {} max {} | commit p50 {} p99 {} | summariser sum {} ms | render p50 {} | max prompt {} upper {} budget {}", q(|c| c.prompt_us - c.summariser_us, 500), q(|c| c.prompt_us - c.summariser_us, 990), q(|c| c.prompt_us, 1000), q(|c| c.commit_us, 500), q(|c| c.commit_us, 990), r.calls.iter().map(|c| c.summariser_us).sum::<u64>() / 1000, q(|c| c.render_us, 500), q(|c| c.prompt.expected, 1000), q(|c| c.prompt.upper, 1000), r.budget);
    println!("  ours {:?} hit {:.3}\n  all {:?} hit {:.3}\n  sliding {:?} hit {:.3} overflow_at {:?} facts {:?}", r.ours, r.ours.hit_rate(), r.everything, r.everything.hit_rate(), r.sliding, r.sliding.hit_rate(), r.overflow_at, r.facts);
    let rungs = r.calls.iter().fold(std::collections::BTreeMap::new(), |mut m, c| { *m.entry(c.rung).or_insert(0) += 1; m });
    println!("  rungs {rungs:?}");
    for x in r.rejected.iter().take(3) { println!("  rejected {x:?}"); }
    for x in r.too_large.iter().take(3) { println!("  too large {x:?}"); }
    for x in r.without_request.iter().take(5) { println!("  no request {x:?}"); }
}
