//! Measures the index on a JSON Lines transcript: `cargo run --release --example speed FILE`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_for_each,
    clippy::too_many_lines,
    clippy::cast_lossless,
    clippy::print_stdout,
    reason = "a measurement, not the product"
)]

use std::time::Instant;

use unforget_recall::fields::DocTerms;
use unforget_recall::filter;
use unforget_recall::grep::Pattern;
use unforget_recall::query::Query;
use unforget_recall::rank::{Limits, search};
use unforget_recall::segment::{Segment, SegmentBuilder, SegmentError, SegmentReader, merge};
use unforget_recall::source::{MemoryIndex, SegmentIndex};
use unforget_recall::terms::{Analyser, Shape, Sink, Term};

/// Text of every string below `value`, joined.
fn texts(value: &serde_json::Value, key: &str, out: &mut String) {
    match value {
        serde_json::Value::String(text)
            if matches!(key, "text" | "thinking" | "arguments" | "command" | "path" | "content") =>
        {
            out.push_str(text);
            out.push('\n');
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, key, out)),
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| texts(value, key, out)),
        _ => {}
    }
}

struct Count(u64);
impl Sink for Count {
    fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
        self.0 = self.0.wrapping_add(term.value() | 1);
    }
}

/// Processor time of this thread in seconds, where the system provides it, since a machine is rarely idle.
fn cpu() -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos: Option<f64> = told.and_then(|line| line.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64(), |nanos| nanos / 1e9)
}

fn rate(label: &str, bytes: usize, started: f64) {
    let seconds = cpu() - started;
    println!("{label:<28} {:>8.1} ms {:>8.1} MB/s", seconds * 1e3, bytes as f64 / seconds / 1e6);
}

fn main() {
    let raw = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let docs: Vec<String> = raw
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .map(|value: serde_json::Value| {
            let mut text = String::new();
            texts(&value, "", &mut text);
            text
        })
        .collect();
    let bytes: usize = docs.iter().map(String::len).sum();
    println!("{} entries, {:.1} MB of text", docs.len(), bytes as f64 / 1e6);

    let mut analyser = Analyser::new();
    for _ in 0..5 {
        let (started, mut count) = (cpu(), Count(0));
        docs.iter().for_each(|text| analyser.text(text, &mut count));
        rate("analyse", bytes, started);
        assert!(count.0 > 0);
    }

    let started = cpu();
    let mut doc = DocTerms::new();
    let (mut terms, mut words) = (0, 0);
    for text in &docs {
        doc.clear();
        doc.text(&mut analyser, text);
        terms += doc.terms().len();
        words += doc.length() as usize;
    }
    rate("analyse to documents", bytes, started);
    println!("{terms} postings, {words} words");

    for _ in 0..3 {
        let started = cpu();
        for text in &docs {
            doc.clear();
            doc.text(&mut analyser, text);
        }
        rate("analyse to documents", bytes, started);
    }
    let started = cpu();
    let mut segments: Vec<Segment> = Vec::new();
    let mut builder = SegmentBuilder::new();
    for (seq, text) in (0..).zip(&docs) {
        doc.clear();
        doc.text(&mut analyser, text);
        builder.add(seq, &doc).unwrap();
        if builder.memory_bytes() > 24 << 20 {
            segments.extend(std::mem::take(&mut builder).finish());
        }
    }
    segments.extend(builder.finish());
    rate("build segments", bytes, started);
    let size: usize = segments.iter().map(Segment::bytes).sum();
    println!(
        "{} segments, {:.2} MB, headers {:?}",
        segments.len(),
        size as f64 / 1e6,
        segments.iter().map(|s| s.header.len()).collect::<Vec<_>>()
    );

    let started = cpu();
    let merged = merge(&segments).unwrap().unwrap();
    rate("merge", bytes, started);
    println!(
        "merged {:.2} MB, {} terms",
        merged.bytes() as f64 / 1e6,
        SegmentReader::parse(&merged.header).unwrap().terms()
    );

    queries(&docs, &segments, "segments");
    queries(&docs, std::slice::from_ref(&merged), "merged");
    filters(&raw);
}

fn queries(docs: &[String], segments: &[Segment], label: &str) {
    let mut analyser = Analyser::new();
    let mut times = Vec::new();
    for at in 0..200 {
        let text = &docs[at * docs.len() / 200];
        let query: String = text.split_whitespace().skip(3).take(3 + at % 12).collect::<Vec<_>>().join(" ");
        let started = cpu();
        let Ok(query) = Query::parse(&mut analyser, &query, None) else { continue };
        let readers = segments.iter().map(|one| SegmentReader::parse(&one.header).unwrap()).collect();
        let fetch = |segment: usize, block: usize| Ok::<_, SegmentError>(&segments[segment].blocks[block]);
        let mut index = SegmentIndex::new(readers, MemoryIndex::new(), fetch).unwrap();
        let ranked = search(&query, &mut index, &Limits::default()).unwrap();
        times.push((cpu() - started) * 1e3);
        assert_eq!(ranked.total, docs.len() as u64);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "query over {label}: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms",
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
}

fn filters(raw: &[u8]) {
    let chunks: Vec<&[u8]> = raw.chunks(64 << 10).collect();
    let started = cpu();
    let filters: Vec<Vec<u8>> = chunks.iter().map(|chunk| filter::build(chunk)).collect();
    rate("trigram filters", raw.len(), started);
    println!("{:.2} MB of filters", filters.iter().map(Vec::len).sum::<usize>() as f64 / 1e6);
    for pattern in [
        "ERR_[0-9]+",
        "zqxjkv",
        "(?i)reference tag",
        "connection refused",
        r"\bfoo\w+bar",
        "Exception|panicked",
    ] {
        let pattern = Pattern::new(pattern).unwrap();
        let started = Instant::now();
        let kept: Vec<&[u8]> = chunks
            .iter()
            .zip(&filters)
            .filter(|(_, f)| filter::matches(f, pattern.need()))
            .map(|(c, _)| *c)
            .collect();
        let filtered = started.elapsed();
        let found: usize = kept.iter().map(|chunk| pattern.find(chunk, 40, 1000).len()).sum();
        println!(
            "{:?}: {} of {} chunks, {} matches, filter {:?}, all {:?}",
            pattern
                .need()
                .clauses()
                .first()
                .map(|c| c.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect::<Vec<_>>()),
            kept.len(),
            chunks.len(),
            found,
            filtered,
            started.elapsed()
        );
    }
}
