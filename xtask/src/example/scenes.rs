//! The scenes of the story.

use serde_json::json;

use super::fake;
use super::session::{Call, Session};
use super::tasks::{Extra, Task};

/// The first morning: the project's purpose, and the rules that hold to the end.
pub(crate) fn opening(session: &mut Session) {
    session.entry("session_info", json!({"name": "tideboard: spring release"}));
    session.entry(
        "custom",
        json!({"customType": "model-snapshot", "data": {"provider": "anthropic", "modelId": "claude-opus-4-5"}}),
    );
    session.user(
        "Hi. This is tideboard, the service behind the tide boards in our nine harbours. We want to ship the release \
         called 'Spring Tide' on Friday. Some rules that hold for the whole week:\n\n1. Never touch the migrations folder, \
         not even to fix a typo. Ingrid Solheim, the harbour master, signs those off herself.\n2. Always use British \
         spelling in everything you write: code comments, commit messages, docs (harbour, colour, initialise).\n3. Do not \
         add a dependency without asking me.\n4. Run the tests of a module after each change to it.\n\nFacts you will need: \
         the datum offset of Keldvik (KELD) is 1.87 m; the old sheet says 1.78, that is a typo. The staging database \
         listens on port 6543, not 5432. Clients send their key in the header X-Tide-Key.",
    );
    let listing = "README.md\nmigrations/0001_reading.sql\nmigrations/0002_station.sql\nmigrations/0003_extreme.sql\n\
                   pyproject.toml\nsrc/tideboard/__init__.py\nsrc/tideboard/alerts.py\nsrc/tideboard/api.py\n\
                   src/tideboard/cache.py\nsrc/tideboard/cli.py\nsrc/tideboard/datum.py\nsrc/tideboard/export.py\n\
                   src/tideboard/ingest.py\nsrc/tideboard/interp.py\nsrc/tideboard/render.py\nsrc/tideboard/report.py\n\
                   src/tideboard/scheduler.py\nsrc/tideboard/stations.py\ntests/\nweb/board.html\n";
    let modules = ["ingest", "interp", "datum", "api"];
    let mut calls = vec![Call::bash("git ls-files | grep -v node_modules", listing.to_string())];
    calls.extend(modules.map(|module| Call::read(&path(module), fake::code(module, None))));
    session.work(
        "Before anything else I should see the layout and read the modules that matter most. I keep the four rules in mind: \
         migrations are off limits, British spelling, no new dependencies, tests after each change.",
        "I shall have a look at the layout and the central modules first.",
        calls,
    );
    session.answer(
        "Understood. I have read the layout and the ingest, interpolation, datum and API modules. I will leave migrations/ \
         alone, write British English, ask before adding a dependency and run a module's tests after every change. I have \
         noted KELD = 1.87 m, staging on port 6543, and X-Tide-Key.",
    );
}

/// Events between two tasks.
pub(crate) fn before_task(session: &mut Session, index: usize) {
    match index {
        3 => aborted(session),
        7 => japanese_report(session),
        11 => provider_error(session),
        14 => shell(session),
        17 => rewind(session),
        20 => unanswered_and_compacted(session),
        24 => {
            session.entry("thinking_level_change", json!({"thinkingLevel": "low"}));
            session.entry("thinking_level_change", json!({"thinkingLevel": "medium"}));
            session.model("claude-sonnet-4-5");
            session.entry(
                "custom_message",
                json!({"customType": "host-note", "display": false,
                    "content": "The user switched to a smaller model for routine work. Working tree is clean."}),
            );
        }
        29 => early_fact(session),
        _ => {}
    }
}

/// One task: look, change, test, perhaps mend, report.
pub(crate) fn task(session: &mut Session, task: &Task) {
    session.user(task.ask);
    let mut reads = vec![Call::read(&path(task.module), fake::code(task.module, None))];
    reads.extend(task.also.iter().map(|module| Call::read(&path(module), fake::code(module, None))));
    session.work(task.thought, "", reads);
    if let Some(look) = evidence(session, task) {
        session.work("", "Now the evidence for it.", vec![look]);
    }
    edit(session, task.module, task.function, "");
    let run = format!("python -m pytest -q tests/test_{}.py", task.module);
    if let Some(why) = task.fails {
        let output = fake::tests(task.module, Some(why), &mut session.random);
        session.work("", "", vec![Call { failed: true, ..Call::bash(&run, output) }]);
        let thought = format!(
            "The test says: {why}. My change was right for the ordinary case and wrong at the edge. I shall handle the \
             edge explicitly rather than loosen the test."
        );
        session.work(
            &thought,
            "",
            vec![Call::read(&path(task.module), fake::code(task.module, Some(task.function)))],
        );
        edit(session, task.module, task.function, "_edge");
    }
    let output = fake::tests(task.module, None, &mut session.random);
    let diff = fake::diff(task.module, task.function, &mut session.random);
    session.work("", "", vec![Call::bash(&run, output), Call::bash("git diff", diff)]);
    session.answer(task.done);
}

fn evidence(session: &mut Session, task: &Task) -> Option<Call> {
    let random = &mut session.random;
    Some(match task.extra {
        Extra::None => return None,
        Extra::Log(day, lines) => {
            Call::bash(&format!("cat logs/ingest-2026-03-{day:02}.log"), fake::log(day, lines, random))
        }
        Extra::Csv(rows) => Call::bash("cat data/readings-march.csv", fake::csv(rows, random)),
        Extra::Answer(stations) => Call::bash(
            "curl -s -H \"X-Tide-Key: $KEY\" localhost:8080/v2/extremes | python -m json.tool",
            fake::api_answer(stations, random),
        ),
        Extra::Grep(what) => {
            let modules = ["ingest", "interp", "datum", "api", "render", "report", "export", "alerts"];
            let found = fake::matches(what, &modules, random);
            Call::new("grep", json!({"pattern": what, "path": "src"}), found)
        }
    })
}

fn edit(session: &mut Session, module: &str, function: &str, suffix: &str) {
    let arguments = json!({
        "path": path(module),
        "oldText": "    return value\n",
        "newText": format!("    return value\n\n\ndef {function}{suffix}(code, readings):\n    ...\n"),
    });
    let output = format!("Successfully replaced text in {}.", path(module));
    session.work("", "", vec![Call::new("edit", arguments, output)]);
}

fn path(module: &str) -> String {
    format!("src/tideboard/{module}.py")
}

/// The agent is about to break a rule; the person stops it while it writes the call.
fn aborted(session: &mut Session) {
    session.user("The station table has no column for the datum offset. How would you store it?");
    let id = session.token("toolu_01", 22);
    let signature = session.token("Er", 178);
    session.assistant(
        &[
            json!({"type": "thinking", "thinking": "A column needs a migration. I could add 0004_datum.sql next to the others.",
                "thinkingSignature": signature}),
            json!({"type": "text", "text": "I will add a column with a new migration."}),
            json!({"type": "toolCall", "id": id, "name": "write", "arguments": {"path": "migrations/0004_datum.sql"},
                "partialJson": "{\"path\": \"migrations/0004_datum.sql\", \"content\": \"alter table station add col"}),
        ],
        json!({"stopReason": "aborted", "errorMessage": "Request was aborted."}),
    );
    session.user(
        "Stop. I said never touch the migrations folder. Write down what the migration should do in docs/for-ingrid.md and \
         leave it at that. The offsets stay in stations.toml until she has signed.",
    );
    session.work(
        "I nearly broke rule 1. The right thing is a note for Ingrid Solheim; the offsets stay in stations.toml.",
        "You are right, I apologise. I will write the note and leave migrations/ alone.",
        vec![Call::new(
            "write",
            json!({"path": "docs/for-ingrid.md", "content": "# For Ingrid Solheim\n\nWe propose a column `datum_offset_m` on \
                `station`, in metres, not null, with the values of stations.toml. No migration has been written.\n"}),
            "Successfully wrote 141 bytes to docs/for-ingrid.md".to_string(),
        )],
    );
    session.answer("Done: docs/for-ingrid.md holds the proposal, nothing in migrations/ has changed, offsets stay in stations.toml.");
}

fn japanese_report(session: &mut Session) {
    session.user(
        "This came from our sister harbour in Japan, station TAKAM: 「高松港の潮位が1時間ずれて表示されます。満潮は06:12のはずですが、\
         掲示板には07:12と出ています。夏時間の処理が原因ではないでしょうか。」 Please find out why.",
    );
    let output = fake::api_answer(9, &mut session.random);
    session.work(
        "They say that the tide at Takamatsu is shown one hour late, 07:12 for 06:12, and suspect summer time. Japan has no \
         summer time, so render.py probably applies the board's zone instead of the station's.",
        "The report says that high water is shown at 07:12 for 06:12. I will compare the API with the board.",
        vec![
            Call::bash("curl -s -H \"X-Tide-Key: $KEY\" localhost:8080/v2/extremes | python -m json.tool", output),
            Call::read(&path("render"), fake::code("render", None)),
            Call::read(&path("stations"), fake::code("stations", None)),
        ],
    );
    session.answer(
        "render.py shifts every station by the zone of the board (Europe/Oslo) and adds summer time twice for stations \
         without it. The API itself is right. 原因は掲示板側の時差処理です。 I suggest formatting in the station's own zone.",
    );
}

fn provider_error(session: &mut Session) {
    session.user("Next: the alert thresholds. Read alerts.py and tell me what triggers the red flag.");
    session.assistant(
        &[],
        json!({"stopReason": "error",
            "errorMessage": "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"}),
    );
    session.entry(
        "custom",
        json!({"customType": "openclaw:prompt-error", "data": {"status": 529, "retryable": true}}),
    );
    session.user("try again");
    session.work("", "", vec![Call::read(&path("alerts"), fake::code("alerts", None))]);
    session.answer(
        "The red flag goes up when the predicted extreme is more than 0.60 m above the station's mean high water for two \
         consecutive forecasts. One forecast alone gives amber.",
    );
}

fn shell(session: &mut Session) {
    let output = fake::log(3, 60, &mut session.random);
    session.entry(
        "message",
        json!({"message": {"role": "bashExecution", "command": "tail -n 60 logs/ingest-2026-03-03.log", "output": output,
            "exitCode": 0, "cancelled": false, "truncated": false, "timestamp": 1_772_545_000_000_u64}}),
    );
    session.user("I have just tailed the log above. Does the 502 come from us or from upstream?");
    session.answer(
        "From upstream: each 502 is an answer of the gauge service to our ingest, and the retry succeeds.",
    );
}

/// The person goes back and asks differently: a fork in the tree.
fn rewind(session: &mut Session) {
    let place = session.place();
    session.user("Should we replace the interpolation with a cubic spline from scipy?");
    let output = fake::csv(200, &mut session.random);
    session.work(
        "A spline would overshoot at gaps, and scipy would be a new dependency, which I may not add without asking.",
        "I will look at the readings around gaps.",
        vec![Call::bash("head -200 data/readings-march.csv", output)],
    );
    session.answer(
        "A spline overshoots by up to 0.14 m beside gaps longer than 40 minutes, and scipy would be a new dependency. I \
         advise against it.",
    );
    session.rewind(place);
    session.entry(
        "branch_summary",
        json!({"fromId": session.place(), "summary": "Explored a cubic spline from scipy: overshoots by up to 0.14 m beside \
            gaps longer than 40 minutes and needs a dependency. Rejected."}),
    );
    session.user("Forget splines. Use the two-point harmonic method, behind the feature flag TB_NEW_INTERP, off by default.");
    session
        .answer("Agreed: the two-point harmonic method in interp.py, behind TB_NEW_INTERP, off by default.");
}

/// A call that is never answered, and the host's own compaction behind it.
fn unanswered_and_compacted(session: &mut Session) {
    session.user("Check the whole test suite once before lunch.");
    let kept = session.place();
    session.ask_tools("", "Running everything.", &[Call::bash("python -m pytest -q", String::new())]);
    session.entry(
        "compaction",
        json!({
            "summary": "## Goal\nShip the release 'Spring Tide' of tideboard on Friday.\n\n## Constraints\n- Never touch \
                migrations/.\n- British spelling.\n- No new dependency without asking.\n- Run a module's tests after each \
                change.\n\n## State\nDatum, ingest, render, cache and alert work is done; the harmonic interpolation stands \
                behind TB_NEW_INTERP.",
            "firstKeptEntryId": kept,
            "tokensBefore": 168_412,
            "details": {"readFiles": ["src/tideboard/interp.py", "src/tideboard/datum.py"], "modifiedFiles":
                ["src/tideboard/interp.py", "docs/for-ingrid.md"]},
        }),
    );
    session
        .user("The terminal had hung, I closed it. We will run the suite in CI. Go on with the next item.");
    session.answer("All right, I leave the full run to CI and go on.");
}

fn early_fact(session: &mut Session) {
    session.user("Quick check before I write to Ingrid: which offset did I give you for Keldvik on Monday, and why not the sheet's?");
    session.think_and_answer(
        "On Monday morning: KELD is 1.87 m, and the old sheet says 1.78, which is a typo.",
        "You gave 1.87 m for Keldvik (KELD). The old sheet says 1.78 m, which you called a typo.",
    );
}

/// The last afternoon: late questions about early statements.
pub(crate) fn closing(session: &mut Session) {
    session.user(
        "We ship in an hour. Please write the release note: name of the release, the flag and its default, the staging port \
         for the smoke test, the header for clients, and who signs the migration.",
    );
    session.think_and_answer(
        "All of these were said during the week: Spring Tide; TB_NEW_INTERP, off by default; port 6543; X-Tide-Key; Ingrid \
         Solheim, the harbour master. British spelling.",
        "# Spring Tide\n\n- The harmonic interpolation is behind the flag TB_NEW_INTERP, off by default.\n- Smoke test: the \
         staging database listens on port 6543.\n- Clients send their key in the header X-Tide-Key.\n- The column for the \
         datum offset awaits the signature of Ingrid Solheim, the harbour master; no migration is part of this release.\n- \
         The board now shows each harbour in its own time zone and in the right colour.",
    );
    session.entry("label", json!({"targetId": session.place(), "label": "release note"}));
    session.user("Did we change anything under migrations/ this week?");
    session.work("", "", vec![Call::bash("git diff --stat spring-tide-base -- migrations/", String::new())]);
    session.answer("No. The diff of migrations/ is empty, as you asked on Monday.");
}
