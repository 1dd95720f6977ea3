//! Invented files and tool outputs of the invented project.

use std::fmt::Write;

use unforget_bench::Random;

const STATIONS: [&str; 9] =
    ["KELD", "ARNES", "STORV", "HAVNA", "MIDSUND", "LOFSKER", "BREKKE", "VIKNES", "TAKAM"];
const VERBS: [&str; 14] = [
    "load", "merge", "check", "shift", "smooth", "round", "find", "drop", "group", "write", "read",
    "compare", "clip", "join",
];
const NOUNS: [&str; 14] = [
    "readings",
    "station",
    "offset",
    "window",
    "extremes",
    "series",
    "gap",
    "harbour",
    "prediction",
    "interval",
    "forecast",
    "snapshot",
    "batch",
    "marker",
];
const BODIES: [&str; 8] = [
    "    if not readings:\n        return []\n    ordered = sorted(readings, key=lambda r: r.time)\n    return [r for r in ordered if r.height_m is not None]\n",
    "    total = 0.0\n    for reading in readings:\n        total += reading.height_m * WEIGHTS.get(reading.source, 1.0)\n    return total / max(len(readings), 1)\n",
    "    station = STATIONS.get(code.upper())\n    if station is None:\n        raise UnknownStation(code)\n    log.debug(\"station %s at %.4f, %.4f\", code, station.lat, station.lon)\n    return station\n",
    "    before, after = bracket(series, moment)\n    if after is None:\n        return before.height_m\n    share = (moment - before.time) / (after.time - before.time)\n    return before.height_m + share * (after.height_m - before.height_m)\n",
    "    with connect(settings.database_url) as db:\n        rows = db.execute(\n            \"select time, height_m, source from reading where station = %s and time >= %s order by time\",\n            (code, since),\n        )\n        return [Reading(*row) for row in rows]\n",
    "    key = (code, day.isoformat())\n    if key in _cache:\n        _hits.inc()\n        return _cache[key]\n    value = compute(code, day)\n    _cache[key] = value\n    return value\n",
    "    lines = [f\"{r.time:%H:%M}  {r.height_m:5.2f} m  {r.kind}\" for r in extremes]\n    width = max((len(line) for line in lines), default=0)\n    return \"\\n\".join(line.ljust(width) for line in lines)\n",
    "    gaps = []\n    for left, right in zip(series, series[1:]):\n        if right.time - left.time > MAX_GAP:\n            gaps.append(Gap(left.time, right.time))\n    return gaps\n",
];

/// Seed of a name, so that a file always has the same content.
fn seed(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A Python module. `changed` is the function that the last edit appended.
pub(crate) fn code(module: &str, changed: Option<&str>) -> String {
    let mut random = Random::new(seed(module));
    let mut out = format!(
        "\"\"\"tideboard.{module}: part of the harbour tide board.\"\"\"\n\nfrom __future__ import annotations\n\nimport logging\n\
         from datetime import date, datetime, timedelta\n\nfrom tideboard.model import Extreme, Gap, Reading, Station\n\
         from tideboard.settings import settings\n\nlog = logging.getLogger(__name__)\n\nMAX_GAP = timedelta(minutes={})\n\n",
        random.between(11, 40)
    );
    for _ in 0..random.between(7, 14) {
        let (verb, noun) = (random.pick(&VERBS), random.pick(&NOUNS));
        let body = random.pick(&BODIES);
        write!(
            out,
            "\ndef {verb}_{noun}(code: str, readings: list[Reading], since: datetime) -> object:\n    \"\"\"{} the {noun} \
             of one station.\n\n    Times are UTC; heights are metres above the station's datum.\n    \"\"\"\n{body}\n",
            capital(verb)
        )
        .ok();
    }
    if let Some(name) = changed {
        write!(
            out,
            "\ndef {name}(code: str, readings: list[Reading]) -> object:\n{}\n",
            random.pick(&BODIES)
        )
        .ok();
    }
    out
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Output of a test run. `failed` names a test and the reason.
pub(crate) fn tests(module: &str, failed: Option<&str>, random: &mut Random) -> String {
    let count = random.between(9, 34);
    let mut out = format!(
        "============================= test session starts ==============================\n\
         platform linux -- Python 3.12.4, pytest-8.3.2\nrootdir: /home/mara/tideboard\ncollected {count} items\n\n"
    );
    for number in 1..=count {
        let (verb, noun) = (random.pick(&VERBS), random.pick(&NOUNS));
        let bad = failed.is_some() && number == count / 2;
        let verdict = if bad { "FAILED" } else { "PASSED" };
        writeln!(
            out,
            "tests/test_{module}.py::test_{verb}_{noun}_{number} {verdict:28}[{:3}%]",
            number * 100 / count
        )
        .ok();
    }
    match failed {
        Some(why) => write!(
            out,
            "\n=================================== FAILURES ===================================\n\
             E       AssertionError: {why}\n\ntests/test_{module}.py:{}: AssertionError\n\
             =========================== short test summary info ============================\n\
             FAILED tests/test_{module}.py - AssertionError: {why}\n\
             ========================= 1 failed, {} passed in {}.{:02}s =========================\n",
            random.between(20, 200),
            count - 1,
            random.between(0, 6),
            random.between(0, 99)
        ),
        None => writeln!(
            out,
            "\n============================== {count} passed in {}.{:02}s ==============================",
            random.between(0, 6),
            random.between(0, 99)
        ),
    }
    .ok();
    out
}

/// Service log of a day in March 2026; one line in 40 is a warning or an error.
pub(crate) fn log(day: u64, lines: u64, random: &mut Random) -> String {
    let mut out = String::new();
    for line in 0..lines {
        let second = line * 86_400 / lines;
        let time =
            format!("2026-03-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60);
        let station = random.pick(&STATIONS);
        let (height, ms) = (random.between(20, 480), random.between(3, 90));
        match random.weighted(&[390, 6, 4]) {
            1 => writeln!(out, "{time} WARN  ingest station={station} late reading, gap of {ms} min"),
            2 => writeln!(
                out,
                "{time} ERROR ingest station={station} upstream answered 502, retry in 30 s (attempt {})",
                random.between(1, 4)
            ),
            _ => writeln!(
                out,
                "{time} INFO  ingest station={station} height_m={}.{:02} source=gauge ms={ms}",
                height / 100,
                height % 100
            ),
        }
        .ok();
    }
    out
}

/// Readings as CSV, with a header.
pub(crate) fn csv(rows: u64, random: &mut Random) -> String {
    let mut out = String::from("station,time,height_m,source,quality\n");
    for row in 0..rows {
        let (station, height) = (random.pick(&STATIONS), random.between(20, 480));
        let quality = random.pick(&["good", "good", "good", "good", "suspect"]);
        writeln!(
            out,
            "{station},2026-03-0{}T{:02}:{:02}:00Z,{}.{:02},gauge,{quality}",
            1 + row * 5 / rows.max(1),
            row * 120 / rows.max(1) % 24,
            row % 6 * 10,
            height / 100,
            height % 100
        )
        .ok();
    }
    out
}

/// The API's answer for some stations, as indented JSON.
pub(crate) fn api_answer(stations: usize, random: &mut Random) -> String {
    let list: Vec<serde_json::Value> = STATIONS
        .iter()
        .take(stations)
        .map(|station| {
            let extremes: Vec<serde_json::Value> = (0..8)
                .map(|n| {
                    serde_json::json!({
                        "kind": if n % 2 == 0 { "high" } else { "low" },
                        "time": format!("2026-03-0{}T{:02}:{:02}:00Z", 4 + n / 4, n % 4 * 6, random.between(0, 59)),
                        "height_m": random.between(20, 480) as f64 / 100.0,
                    })
                })
                .collect();
            serde_json::json!({"station": station, "datum": "chart", "extremes": extremes})
        })
        .collect();
    serde_json::to_string_pretty(&list).unwrap_or_default()
}

/// Matches of a search, file by file.
pub(crate) fn matches(what: &str, modules: &[&str], random: &mut Random) -> String {
    let mut out = String::new();
    for module in modules {
        for _ in 0..random.between(2, 7) {
            let (line, verb, noun) = (random.between(8, 260), random.pick(&VERBS), random.pick(&NOUNS));
            writeln!(out, "src/tideboard/{module}.py:{line}:    {verb}_{noun}({what}, since=since)").ok();
        }
    }
    out
}

/// A diff of one change.
pub(crate) fn diff(module: &str, function: &str, random: &mut Random) -> String {
    let line = random.between(40, 220);
    let body = random.pick(&BODIES);
    let mut out = format!(
        "diff --git a/src/tideboard/{module}.py b/src/tideboard/{module}.py\nindex {:07x}..{:07x} 100644\n\
         --- a/src/tideboard/{module}.py\n+++ b/src/tideboard/{module}.py\n@@ -{line},6 +{line},14 @@\n     return value\n \n",
        random.bits() >> 36,
        random.bits() >> 36
    );
    writeln!(out, "+def {function}(code: str, readings: list[Reading]) -> object:").ok();
    for added in body.lines() {
        writeln!(out, "+{added}").ok();
    }
    out
}
