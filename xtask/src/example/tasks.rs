//! The work of the week.

/// Material of a task beside the code.
#[derive(Clone, Copy)]
pub(crate) enum Extra {
    None,
    /// A log: day of March, lines.
    Log(u64, u64),
    /// Readings: rows.
    Csv(u64),
    /// An answer of the API: stations.
    Answer(usize),
    /// A search.
    Grep(&'static str),
}

/// One request of the person.
pub(crate) struct Task {
    pub(crate) ask: &'static str,
    pub(crate) thought: &'static str,
    pub(crate) module: &'static str,
    pub(crate) also: &'static [&'static str],
    pub(crate) extra: Extra,
    pub(crate) function: &'static str,
    /// The first test run's failure, if it fails.
    pub(crate) fails: Option<&'static str>,
    pub(crate) done: &'static str,
}

/// A row of the table.
macro_rules! tasks {
    ($( $ask:literal, $thought:literal, $module:literal + $also:expr, $extra:expr, $function:literal, $fails:expr, $done:literal; )*) => {
        &[ $( Task { ask: $ask, thought: $thought, module: $module, also: &$also, extra: $extra, function: $function,
            fails: $fails, done: $done } ),* ]
    };
}

use Extra::{Answer, Csv, Grep, Log, None as Nothing};

/// The tasks, in the order of the week; eight on a day.
pub(crate) const TASKS: &[Task] = tasks! {
    "Start with the datum: apply the offset of each station when readings come in, KELD first.",
    "The offset belongs at the edge, in ingest, once. datum.py has the table, ingest.py has the readings. KELD must be 1.87 m.",
    "datum" + ["ingest"], Csv(180), "apply_offset", Some("KELD: expected 1.87, got 1.78"),
    "Offsets are applied once, on ingest. KELD uses 1.87 m; the old sheet's 1.78 had slipped into a test fixture, which I corrected.";

    "Readings arrive twice when the gauge retries. Drop exact repeats, but keep two equal heights at different times.",
    "A repeat has the same station, time and source. Height must not decide, since two equal heights in a row are common.",
    "ingest" + [], Log(2, 260), "drop_repeats", None,
    "A reading is a repeat if station, time and source agree. Equal heights at different times stay.";

    "The gauge at HAVNA reports in centimetres since February. Handle it without a special case in ten places.",
    "One place: the station table gets a unit, and ingest converts. Everything behind it is in metres.",
    "stations" + ["ingest"], Nothing, "unit_of", None,
    "Stations have a unit now, HAVNA is in centimetres, and ingest converts before anything else sees the value.";

    "Write a command `tideboard offsets` that lists code, offset and where the value came from.",
    "cli.py uses argparse; the list comes from datum.py. The source is stations.toml for all nine for now.",
    "cli" + ["datum"], Nothing, "list_offsets", None,
    "`tideboard offsets` prints code, offset in metres and source. All nine come from stations.toml.";

    "Gaps: a board should show a dash, not a line drawn through the gap. Longest gap to bridge is 40 minutes.",
    "interp.py brackets a moment by two readings. If they are more than 40 minutes apart the answer is no value.",
    "interp" + ["render"], Csv(240), "bridge_gap", Some("gap of 40 min exactly should be bridged"),
    "Gaps up to and including 40 minutes are bridged, longer ones give a dash.";

    "Why is the API slow for LOFSKER? 900 ms against 60 ms for the others.",
    "LOFSKER has one-minute readings, ten times the rows. api.py loads a month to show a day.",
    "api" + ["cache"], Log(2, 420), "window_of_day", None,
    "The API loaded a month of readings to show one day. It now loads the day and 12 hours on either side: 55 ms for LOFSKER.";

    "Add a cache for the extremes of a day, invalidated when a reading of that day arrives late.",
    "Key by station and day; ingest tells the cache which day a late reading belongs to. No dependency, a dict will do.",
    "cache" + ["ingest"], Nothing, "forget_day", Some("late reading of yesterday must drop yesterday, not today"),
    "The cache holds a day's extremes; a late reading drops exactly its own day.";

    "Fix the board for stations outside our time zone, as found with TAKAM.",
    "Format in the station's own zone. zoneinfo is in the standard library, so there is no new dependency.",
    "render" + ["stations"], Grep("Europe/Oslo"), "local_time", None,
    "Each station is shown in its own zone. TAKAM shows 06:12 for high water, as the report expected.";

    "Good morning. The night's log has warnings about late readings; is something wrong?",
    "Count the late ones per station and hour. If they cluster, it is one gauge's clock.",
    "scheduler" + [], Log(3, 500), "late_by_station", None,
    "The late readings cluster at MIDSUND between 02:00 and 03:00: its gauge restarts nightly. Nothing is lost. I added a count per station.";

    "The scheduler runs the report at 16:00 local on Thursdays; it must do so over the change to summer time too.",
    "Compute the next run in the local zone and convert, rather than add 7 days in UTC.",
    "scheduler" + ["report"], Nothing, "next_thursday", Some("2026-04-02: expected 14:00Z, got 15:00Z"),
    "The next run is computed in local time: 15:00Z before 29 March, 14:00Z after it.";

    "The report for Ingrid should list suspect readings by station, worst first.",
    "report.py has the totals; the quality column says suspect. Sort by share, then by code, so that the order is stable.",
    "report" + ["export"], Csv(320), "suspect_by_station", None,
    "The report lists suspect readings by share, ties by code. VIKNES leads this week.";

    "Put amber between green and red for the alerts: more than 0.40 m, two forecasts.",
    "The red rule is 0.60 m on two consecutive forecasts. Amber is the same with 0.40 m; red wins.",
    "alerts" + [], Nothing, "flag_of", None,
    "Amber is above 0.40 m on two forecasts, red above 0.60 m. Red wins where both hold.";

    "Colours on the board: green, amber, red must also be told apart by shape. One of our harbour hands is colour-blind.",
    "render.py draws the flag. A circle, a triangle and a square will do, with a text label for screen readers.",
    "render" + ["alerts"], Nothing, "flag_shape", None,
    "Flags have shape and label besides colour: circle, triangle, square.";

    "Export to CSV writes a comma in `height_m` on Norwegian machines. Please make it locale-proof.",
    "format() with the n type follows the locale. Use an f-string with .2f, which does not.",
    "export" + [], Csv(400), "plain_number", None,
    "Numbers are written with a full stop on every machine.";

    "Explain the 502s in the log to Ingrid in two sentences, and make the retry wait grow.",
    "Wait 30, 60, 120 s and then 5 minutes. A cap is needed so that the morning report is not late.",
    "ingest" + ["scheduler"], Log(3, 380), "next_wait", None,
    "The gauge service answers 502 when it restarts; we try again and lose nothing. Waits are 30, 60, 120 and then 300 seconds.";

    "Let clients ask for several stations in one request, at most 9.",
    "api.py takes one code. A list keeps the order of the request; an unknown code is an error that names it.",
    "api" + ["stations"], Answer(9), "many_stations", Some("duplicate codes should be answered once each"),
    "`/v2/extremes?station=KELD,HAVNA` works, up to 9 codes, in the order asked, repeats included.";

    "Wednesday. First the key: the header check is case-sensitive, and one client sends x-tide-key.",
    "HTTP header names are case-insensitive. The framework's mapping is too, but api.py copies it to a dict first.",
    "api" + [], Grep("X-Tide-Key"), "client_key", None,
    "X-Tide-Key is matched whatever its case.";

    "Now implement the harmonic method behind the flag.",
    "Two consecutive extremes, half a cosine between them. The flag TB_NEW_INTERP is read once at start.",
    "interp" + ["datum", "settings"], Nothing, "harmonic", Some("at the extreme itself: expected 3.42, got 3.41"),
    "harmonic() is half a cosine between two extremes, exact at both ends, and used only if TB_NEW_INTERP is set.";

    "Compare the old and the new method on this month's readings and give me the largest difference.",
    "Leave out moments beside gaps, and report the station and the time of the largest difference.",
    "interp" + ["export"], Csv(520), "largest_difference", None,
    "The largest difference is 0.09 m, at BREKKE on 4 March, half-way between low and high water.";

    "The board flickers when it reloads. Render to a second buffer and swap.",
    "web/board.html replaces the table row by row. Building the fragment first and swapping once is enough.",
    "render" + [], Nothing, "swap_board", None,
    "The board builds the new table first and swaps it in one step.";

    "Alert mails went out twice last night. Find out why.",
    "Two schedulers ran during the deploy. An alert needs an identity: station, rule and the time of the extreme.",
    "alerts" + ["scheduler"], Log(4, 450), "alert_identity", None,
    "Two schedulers overlapped during the deploy. An alert now has an identity and is sent once, whoever comes first.";

    "Make `tideboard doctor` that checks the configuration and says what to do.",
    "Checks: stations.toml parses, nine stations, offsets present, database reachable, key set. Each with one line of advice.",
    "cli" + ["settings", "stations"], Nothing, "doctor", Some("a missing key should exit with 1"),
    "`tideboard doctor` checks five things, says what to do for each, and exits with 1 if anything is wrong.";

    "The smoke test on staging cannot connect. You know the port.",
    "The staging database is on 6543, as said on Monday; settings.py still has 5432 as the default for staging.",
    "settings" + [], Grep("5432"), "staging_url", None,
    "Staging used 5432. It is 6543 now, and the smoke test connects.";

    "Give me the p99 of the API from the log of today.",
    "The ms column is per reading, so I need the API's own log lines. I will read both.",
    "report" + ["api"], Log(4, 600), "percentile", None,
    "p50 is 21 ms, p99 is 88 ms, over 600 requests.";

    "Thursday. Today the report for Ingrid goes out at 16:00; please do a dry run.",
    "Dry run: build, do not send. Check the spelling too: harbour, colour, metre.",
    "report" + ["export"], Answer(9), "dry_run", None,
    "The dry run has nine stations and 14 suspect readings; nothing was sent. Spelling is British throughout.";

    "The board in STORV shows yesterday's extremes until 00:10.",
    "The cache's day is UTC and the board's day is local. The key must use the local day of the station.",
    "cache" + ["render", "stations"], Nothing, "local_day", None,
    "The cache is keyed by the station's local day; STORV turns over at midnight.";

    "Add the mean high water to the station page.",
    "It is a mean over the last 19 years where we have them, otherwise over what there is; say which.",
    "stations" + ["report"], Csv(260), "mean_high_water", None,
    "The page shows mean high water and the years that it is taken over.";

    "Someone asks for the data as JSON lines. Streaming, please: a year is 50 million bytes.",
    "A generator from the database cursor to the response; never a list.",
    "export" + ["api"], Answer(6), "json_lines", Some("last line should end with a newline"),
    "`/v2/readings.jsonl` streams from the cursor; memory stays flat.";

    "Clean up the log: one line per batch instead of one per reading.",
    "Keep per-reading lines at debug level. The batch line has station, count, earliest, latest and milliseconds.",
    "ingest" + [], Log(5, 520), "batch_line", None,
    "Info has one line per batch; per-reading lines moved to debug.";

    "Check that nothing imports scipy or pandas.",
    "Search src and pyproject. I was told not to add a dependency, and I have not; this is a check.",
    "interp" + ["report"], Grep("import pandas"), "no_heavy_imports", None,
    "Neither is imported, and pyproject.toml has not changed this week.";

    "ARNES was renamed to ARNESUND by the port authority. Keep the old code as an alias.",
    "An alias table in stations.py, resolved at the edge; the stored code stays so that history is whole.",
    "stations" + ["api", "cli"], Nothing, "resolve_alias", None,
    "ARNESUND answers, ARNES still works, and stored readings keep their code.";

    "Write the docs page for client authors: key, stations, errors, limits.",
    "The header is X-Tide-Key, nine stations at most, errors name the code that was wrong.",
    "api" + ["export"], Answer(4), "error_body", None,
    "docs/clients.md covers the key, stations, errors and limits, in British English.";

    "Friday. Last checks: does the flag default to off in every environment?",
    "settings.py reads TB_NEW_INTERP; unset means off. Check staging and production files as well.",
    "settings" + ["interp"], Grep("TB_NEW_INTERP"), "flag_default", None,
    "TB_NEW_INTERP is off by default and set in no environment.";

    "One more: the dash for gaps is a hyphen on the board; use an en dash.",
    "One character in render.py and its snapshot test.",
    "render" + [], Nothing, "gap_mark", None,
    "Gaps show an en dash.";

    "Double-check the offsets against the signed sheet I put in data/signed-offsets.csv.",
    "Nine rows; KELD must be 1.87.",
    "datum" + ["stations"], Csv(40), "check_signed", None,
    "All nine agree with the signed sheet, KELD included at 1.87 m.";
};
