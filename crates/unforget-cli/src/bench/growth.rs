//! `unforget bench growth`.

use serde::Serialize;
use unforget_engine::Engine;
use unforget_engine::recall::SearchQuery;

use super::grep::{self, Grepped};
use super::import::{self, Import};
use super::turns::{self, Turns};
use super::workload::Workload;
use super::{Times, timed};
use crate::app::App;
use crate::args::GrowthArgs;
use crate::failure::{Exit, Outcome};
use crate::output::paint;
use crate::text;

/// Searches per size.
const SEARCHES: usize = 200;

/// The results for one size.
#[derive(Debug, Serialize)]
struct Size {
    messages: u64,
    import: Import,
    turns: Turns,
    catch_up: Times,
    search: Times,
    grep: Vec<Grepped>,
}

#[derive(Debug, Serialize)]
struct GrowthJson<'a> {
    window: u64,
    seed: u64,
    sizes: &'a [Size],
    growth: Option<Growth>,
}

/// Ratio of the largest to the smallest size; 1 means no growth.
#[derive(Debug, Serialize)]
struct Growth {
    messages: f64,
    commit_p50: f64,
    commit_p99: f64,
    prompt_p50: f64,
    prompt_p99: f64,
    assemble_p99: f64,
    resume_p50: f64,
    catch_up_p50: f64,
    search_p50: f64,
}

/// Measures every size and reports the growth.
pub(crate) fn run(app: &mut App, args: &GrowthArgs) -> Outcome {
    let mut sizes = Vec::new();
    let bar = app.progress(args.sizes.len() as u64, "{msg:24!} {bar:24.cyan} {pos} of {len} sizes");
    for &messages in &args.sizes {
        bar.set_message(text::plural(messages as u64, "message"));
        bar.tick();
        sizes.push(measure(messages, args)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let growth = match (sizes.first(), sizes.last()) {
        (Some(small), Some(large)) if sizes.len() > 1 => Some(growth(small, large)),
        _ => None,
    };
    if app.out.json {
        app.out.json(&GrowthJson { window: args.window, seed: args.seed, sizes: &sizes, growth })?;
    } else {
        say(app, &sizes, growth.as_ref())?;
    }
    Ok(Exit::Done)
}

fn measure(messages: usize, args: &GrowthArgs) -> Outcome<Size> {
    let mut workload = Workload::generate(messages, args.seed)?;
    let messages = workload.session.messages();
    let db = workload.beside("import.sqlite");
    let import = import::measure(&workload.path, &db)?;
    let mut catch_ups = Vec::new();
    for _ in 0..5 {
        let (done, us) = timed(|| -> Outcome<()> {
            Engine::open(&db)?.import_file(&workload.path, &mut |_| ())?;
            Ok(())
        });
        done?;
        catch_ups.push(us);
    }
    let engine = Engine::open(&db)?;
    let needle = workload.session.needles().first().map(|needle| needle.tag.clone());
    let grep = grep::measure(&engine, &workload.path, needle)?;
    let search = searches(&engine, args.seed)?;
    drop(engine);
    let turns = turns::measure(&mut workload, args.turns, args.window)?;
    Ok(Size { messages, import, turns, catch_up: Times::of(&catch_ups), search, grep })
}

/// Searches for words of the first turns, drawn from the vocabulary by frequency.
fn searches(engine: &Engine, seed: u64) -> Outcome<Times> {
    let mut text = String::new();
    let mut session = unforget_bench::Session::new(seed);
    while text.len() < 100_000 {
        session.turn(&mut text);
    }
    let is_word = |word: &&str| (4..16).contains(&word.len()) && word.chars().all(char::is_alphabetic);
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).filter(is_word).collect();
    let mut times = Vec::new();
    for query in words.chunks(4).take(SEARCHES) {
        let wanted = SearchQuery { text: query.join(" "), ..SearchQuery::default() };
        let (answer, us) = timed(|| engine.search(&wanted));
        answer?;
        times.push(us);
    }
    Ok(Times::of(&times))
}

fn growth(small: &Size, large: &Size) -> Growth {
    let ratio = |of: fn(&Size) -> u64| of(large) as f64 / of(small).max(1) as f64;
    Growth {
        messages: ratio(|size| size.messages),
        commit_p50: ratio(|size| size.turns.commit.p50),
        commit_p99: ratio(|size| size.turns.commit.p99),
        prompt_p50: ratio(|size| size.turns.prompt.p50),
        prompt_p99: ratio(|size| size.turns.prompt.p99),
        assemble_p99: ratio(|size| size.turns.assemble.p99),
        resume_p50: ratio(|size| size.turns.resume.p50),
        catch_up_p50: ratio(|size| size.catch_up.p50),
        search_p50: ratio(|size| size.search.p50),
    }
}

/// One line of the table: its name, and its value for a size.
type GrowthLine = (&'static str, fn(&Size) -> String);

const LINES: [GrowthLine; 21] = [
    ("transcript", |size| text::bytes(size.import.bytes)),
    ("import", |size| text::micros(size.import.ours_us)),
    ("  raw SQLite + FTS5", |size| text::micros(size.import.raw_sqlite_us)),
    ("  as fast as that", |size| format!("{:.2}×", size.import.speedup)),
    ("  peak memory", |size| peak(size.import.peak_bytes)),
    ("store / transcript", |size| text::percent(size.import.store_ratio)),
    ("open, nothing new", |size| text::micros(size.catch_up.p50)),
    ("commit of a turn, p50", |size| text::micros(size.turns.commit.p50)),
    ("commit of a turn, p99", |size| text::micros(size.turns.commit.p99)),
    ("  SQLite alone, p99", |size| text::micros(size.turns.raw_commit.p99)),
    ("next prompt, p50", |size| text::micros(size.turns.prompt.p50)),
    ("next prompt, p99", |size| text::micros(size.turns.prompt.p99)),
    ("  without summaries, p99", |size| text::micros(size.turns.assemble.p99)),
    ("open and next prompt", |size| text::micros(size.turns.resume.p50)),
    ("first prompt", |size| text::micros(size.turns.first_prompt.p50)),
    ("  for another model", |size| text::micros(size.turns.alike_prompt.p50)),
    ("  in another window", |size| text::micros(size.turns.other_prompt.p50)),
    ("compact all of it", |size| text::micros(size.turns.compact_us)),
    ("  of this, for summaries", |size| text::micros(size.turns.summariser_us)),
    ("search, p99", |size| text::micros(size.search.p99)),
    ("grep, slowest median", |size| {
        text::micros(size.grep.iter().map(|grep| grep.ours.p50).max().unwrap_or(0))
    }),
];

fn peak(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), text::bytes)
}

fn say(app: &mut App, sizes: &[Size], growth: Option<&Growth>) -> Outcome<()> {
    let names: Vec<_> = sizes.iter().map(|size| text::plural(size.messages, "message")).collect();
    let head: Vec<_> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    let row = |(name, of): &GrowthLine| {
        std::iter::once((*name).to_owned()).chain(sizes.iter().map(of)).collect::<Vec<_>>()
    };
    let right: Vec<_> = (1..head.len()).collect();
    write!(app.out, "{}", text::table(&head, LINES.iter().map(row).collect(), &right))?;
    let Some(growth) = growth else { return Ok(()) };
    let strong = app.out.palette.strong;
    let line = format!("growth over {:.0}× the messages", growth.messages);
    writeln!(app.out, "{}", paint(strong, line))?;
    let rows = [
        ("commit p50", growth.commit_p50),
        ("commit p99", growth.commit_p99),
        ("prompt p50", growth.prompt_p50),
        ("prompt p99", growth.prompt_p99),
        ("  without summaries", growth.assemble_p99),
        ("open and next prompt", growth.resume_p50),
        ("open, nothing new", growth.catch_up_p50),
        ("search p50", growth.search_p50),
    ];
    for (name, ratio) in rows {
        writeln!(app.out, "  {name:<22} {ratio:.2}×")?;
    }
    Ok(())
}
