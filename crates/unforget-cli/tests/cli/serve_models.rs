//! Models in a running daemon: summaries in the background of the gateway, and commands through the daemon.

#![cfg(unix)]
use crate::support;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::daemon::Daemon;
use crate::support::models::{GOOD, KEY, LETTERS, place, settings};
use crate::support::{Place, text};
use serde_json::{Value, json};
use unforget_testkit::provider::{Act, Provider, Reply, openai};

/// Longest wait for any expected event.
const PATIENCE: Duration = Duration::from_mins(2);

fn good() -> Act {
    openai::text(&format!(r#"{{"title":"{GOOD}"}}"#))
}

/// A model for clients. It reports no usage: the small figures of so short a script would be believed.
fn upstream() -> Act {
    let message = json!({"role": "assistant", "content": "I did."});
    let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
    let body = json!({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]});
    Act::Reply(Reply::new(200, body.to_string()))
}

/// A client of the gateway with one conversation.
struct Client {
    url: String,
    name: &'static str,
    messages: Vec<Value>,
}

impl Client {
    fn new(daemon: &Daemon, name: &'static str) -> Self {
        Self { url: daemon.url.clone(), name, messages: Vec::new() }
    }

    /// A turn; returns its duration.
    fn turn(&mut self) -> Duration {
        let turn = self.messages.len() / 2;
        let words =
            format!("Look at src/part_{turn}.rs of {}: its parser loses the last line again. ", self.name);
        self.messages.push(json!({"role": "user", "content": words.repeat(8)}));
        let body = json!({"model": "m", "max_tokens": 100, "messages": self.messages}).to_string();
        let begun = Instant::now();
        let answer = ureq::post(format!("{}/v1/chat/completions", self.url))
            .config()
            .http_status_as_error(false)
            .build()
            .header("x-unforget-conversation", self.name)
            .header("content-type", "application/json")
            .send(body);
        let took = begun.elapsed();
        let mut answer = answer.unwrap();
        let status = answer.status();
        let text = answer.body_mut().read_to_string().unwrap();
        assert!(status.is_success(), "{status}: {text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        self.messages.push(answer["choices"][0]["message"].clone());
        took
    }

    fn key(&self) -> String {
        format!("journal:gateway/default/{}", self.name)
    }
}

/// Waits until a condition holds.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

fn serve(place: &Place, upstream: &Provider) -> Daemon {
    Daemon::with(place, &["--upstream", &upstream.address(), "--window", "*=8k"])
}

fn jobs(place: &Place, key: &str, state: &str) -> usize {
    let jobs = place.json(&["jobs", key], 0);
    jobs["jobs"].as_array().unwrap().iter().filter(|job| job["state"] == state).count()
}

fn metrics(daemon: &Daemon) -> String {
    let mut answer = ureq::get(format!("{}/metrics", daemon.url)).call().unwrap();
    answer.body_mut().read_to_string().unwrap()
}

#[test]
fn summaries_of_a_model_are_written_behind_the_gateway_and_sent_with_the_next_break() {
    let (summariser, upstream) = (Provider::always(good()), Provider::always(upstream()));
    let place = Place::new();
    settings(&place, &[&summariser.address()]);
    let daemon = serve(&place, &upstream);
    let mut client = Client::new(&daemon, "long");
    let (mut turns, sent) = (0, |upstream: &Provider| {
        let heard = upstream.heard();
        heard.last().is_some_and(|heard| String::from_utf8_lossy(&heard.body).contains(GOOD))
    });
    until("a summary of the model is never sent", || {
        client.turn();
        turns += 1;
        sent(&upstream).then_some(())
    });
    assert!(jobs(&place, &client.key(), "done") > 0, "after {turns} turns");
    let heard = summariser.heard();
    assert!(heard.iter().all(|heard| heard.header("authorization") == Some(&format!("Bearer {LETTERS}"))));
    let figures = metrics(&daemon);
    assert!(figures.contains(r#"unforget_model_jobs_total{ended="written"}"#), "{figures}");
    assert!(figures.contains(r#"unforget_model_tokens_total{kind="output"}"#));
    assert!(!figures.contains("hunter2") && !figures.contains("part_") && !figures.contains("long"));
    daemon.end();
    place.run(&["verify"], 0);
}

/// A silent provider delays neither calls nor the daemon's end; its question is asked once more.
#[test]
fn f023_a_dead_provider_delays_no_call_and_its_job_is_done_once_more() {
    for is_killed in [false, true] {
        let (hangs, upstream) = (Provider::always(Act::Hang), Provider::always(upstream()));
        let place = Place::new();
        settings(&place, &[&hangs.address()]);
        let daemon = serve(&place, &upstream);
        let mut client = Client::new(&daemon, "kept");
        until("the model is never asked", || {
            client.turn();
            (!hangs.heard().is_empty()).then_some(())
        });
        let mut other = Client::new(&daemon, "other");
        let slowest = (0..10).map(|_| client.turn().max(other.turn())).max().unwrap();
        // An attempt at a model has two minutes.
        assert!(slowest < Duration::from_mins(1), "{slowest:?}");
        assert_eq!(hangs.heard().len(), 1, "one call at a time");
        assert_eq!(jobs(&place, &client.key(), "leased"), 1);
        let begun = Instant::now();
        if is_killed {
            daemon.kill();
        } else {
            daemon.end();
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());

        let works = Provider::always(good());
        settings(&place, &[&works.address()]);
        let daemon = serve(&place, &upstream);
        until("the job is never done again", || {
            (jobs(&place, &client.key(), "done") > 0 && jobs(&place, &client.key(), "waiting") == 0)
                .then_some(())
        });
        let mut asked: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for heard in hangs.heard().into_iter().chain(works.heard()) {
            *asked.entry(heard.body).or_default() += 1;
        }
        let again: Vec<usize> = asked.values().copied().filter(|times| *times > 1).collect();
        assert_eq!(again, [2], "the one that was under way, and no other: killed {is_killed}");
        let mut client = Client { url: daemon.url.clone(), ..client };
        client.turn();
        let exported = place.run(&["export", &client.key()], 0);
        assert!(text(&exported.stdout).matches("loses the last line again").count() >= 8 * 10);
        daemon.end();
        place.run(&["verify"], 0);
    }
}

/// A failing provider is called less and less, as without a daemon, and reported.
#[test]
fn f013_a_provider_that_fails_is_left_alone() {
    let fails = Provider::always(Act::Reply(openai::error(401, "auth", "invalid_api_key", LETTERS)));
    let upstream = Provider::always(upstream());
    let place = Place::new();
    settings(&place, &[&fails.address()]);
    let daemon = serve(&place, &upstream);
    let mut client = Client::new(&daemon, "refused");
    until("the refusal is never told", || {
        client.turn();
        metrics(&daemon).contains(r#"unforget_model_faults_total{fault="auth"}"#).then_some(())
    });
    for _ in 0..5 {
        client.turn();
    }
    assert_eq!(fails.heard().len(), 1, "nobody asks again by himself");
    let told = place.json(&["jobs", &client.key()], 0);
    assert!(told["accounts"][0]["state"].as_str().unwrap().starts_with("blocked"), "{told}");
    assert!(!told.to_string().contains("hunter2"), "{told}");

    // A new key in the settings is another account, and the running daemon notices it.
    let works = Provider::always(good());
    settings(&place, &[&works.address()]);
    until("the settings are never read again", || (!works.heard().is_empty()).then_some(()));
    daemon.end();
}

/// A command that runs in the background.
fn apart(place: &Place, args: &[&str]) -> Command {
    let mut command = Command::new(support::binary());
    command.args(args).current_dir(place.path("")).env_clear().env("HOME", place.path(""));
    command.env("UNFORGET_DB", place.path("store.sqlite"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Removes values that differ from run to run and from place to place.
fn settled(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for name in ["summariser_us", "time", "state_since"] {
                    fields.remove(name);
                }
                fields.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

#[test]
fn the_command_line_says_the_same_with_a_daemon_and_without() {
    let provider = Provider::always(good());
    let (alone, through) = (place(&[&provider.address()]), place(&[&provider.address()]));
    let daemon = Daemon::start(&through);
    let question = "what was wrong with part_7";
    let first = format!("e:{KEY}:8");
    let table: [(&[&str], i32); 19] = [
        (&["answer", question, KEY], 0),
        (&["answer", question, KEY, "--from", &first, "--tokens", "90"], 0),
        (&["answer", question, "--no-model"], 0),
        (&["answer", "zebra", KEY], 0),
        (&["answer", question, KEY, "--from", "e:pi:others:1"], 2),
        (&["answer", question, "nosuch"], 2),
        (&["compact", KEY, "--window", "2k"], 0),
        (&["compact", KEY, "--window", "2k"], 0),
        (&["compact", "models", "--window", "3k", "--dialect", "openai-chat", "--model", "gpt-5"], 0),
        (&["compact", "nosuch"], 2),
        (&["jobs", KEY], 0),
        (&["jobs", KEY, "--run"], 0),
        (&["jobs", "nosuch", "--run"], 2),
        (&["jobs", KEY, "--clear"], 0),
        (&["jobs", "nosuch", "--clear"], 2),
        (&["compact", KEY, "--window", "1k", "--force"], 0),
        (&["jobs", KEY], 0),
        (&["describe", "s:3", "--conversation", KEY], 0),
        (&["answer", question, KEY], 0),
    ];
    for (number, (args, exit)) in table.into_iter().enumerate() {
        // Alternately for programs and for people, so that both take the same steps in the same order.
        if number % 2 == 0 || args.contains(&"--force") {
            let (one, other) = (alone.json(args, exit), through.json(args, exit));
            assert_eq!(settled(one), settled(other), "{args:?}");
        } else {
            let (one, other) = (alone.run(args, exit), through.run(args, exit));
            assert_eq!(text(&one.stdout), text(&other.stdout), "{args:?}");
            assert_eq!(text(&one.stderr), text(&other.stderr), "{args:?}");
        }
    }
    settings(&alone, &[]);
    settings(&through, &[]);
    until("the settings are never read again", || {
        let asked = through.command().args(["jobs", KEY, "--run"]).output().unwrap();
        (asked.status.code() == Some(2)).then_some(())
    });
    let args = ["jobs", KEY, "--run"];
    let none = alone.json(&args, 2);
    assert_eq!((&none["error"]["kind"], &none), (&json!("no-model"), &through.json(&args, 2)));
    daemon.end();
}

/// Summaries requested by a person take precedence over the background, and no work is done twice.
#[test]
fn what_a_person_asks_for_is_not_done_beside_them() {
    let provider = Provider::always(good());
    let place = place(&[&provider.address()]);
    let daemon = Daemon::start(&place);
    let compacted = place.json(&["compact", KEY, "--window", "2k"], 0);
    let jobs = place.json(&["jobs", KEY], 0);
    let all = jobs["jobs"].as_array().unwrap();
    assert!(all.iter().all(|job| job["state"] == "done" && job["attempts"] == 1), "{jobs}");
    assert_eq!(compacted["by_model"].as_u64(), Some(all.len() as u64));
    assert_eq!(jobs["hour"]["calls"].as_u64(), Some(provider.heard().len() as u64));
    daemon.end();
}

/// Ctrl-C ends the daemon's work for a person: written summaries stay, and the rest waits.
#[test]
fn ctrl_c_ends_what_the_daemon_does_for_a_person() {
    let Act::Reply(slow) = good() else { panic!("it is an answer") };
    let drips = Provider::always(Act::Drip(slow, Duration::from_millis(20)));
    let place = place(&[&drips.address()]);
    let daemon = Daemon::start(&place);
    let mut command = apart(&place, &["--json", "compact", KEY, "--window", "2k"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    until("the model is not asked", || (!drips.heard().is_empty()).then_some(()));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &told["held"]), (Some(0), &json!("the work was told to end")), "{told}");
    let (done, waiting) = (jobs(&place, KEY, "done"), jobs(&place, KEY, "waiting"));
    assert!(done < 2 && waiting > 2, "{done} done, {waiting} wait");
    // A slow machine may begin the second job before the signal arrives.
    assert!(drips.heard().len() <= done + 1, "nobody else is asked");
    daemon.end();
    place.run(&["verify"], 0);
}

/// The daemon ends although a person's question and jobs wait for a silent model.
#[test]
fn a_daemon_ends_while_people_wait_for_a_dead_model() {
    let hangs = Provider::always(Act::Hang);
    let place = place(&[&hangs.address()]);
    let daemon = Daemon::start(&place);
    let wait = |args: &[&str]| apart(&place, args).spawn().unwrap();
    let mut waiting =
        [wait(&["compact", KEY, "--window", "2k"]), wait(&["answer", "what was wrong with part_7", KEY])];
    until("the model is not asked twice", || (hangs.heard().len() >= 2).then_some(()));
    // Reading continues meanwhile, and a second request for this work is refused with the reason.
    place.json(&["jobs", KEY], 0);
    let busy = place.json(&["jobs", KEY, "--run"], 4);
    assert_eq!(busy["error"]["kind"], "busy", "{busy}");
    let begun = Instant::now();
    daemon.end();
    // An attempt at a model has two minutes.
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    for child in &mut waiting {
        assert!(!child.wait().unwrap().success(), "they are told");
    }
    place.run(&["verify"], 0);
}

/// Compacting a live conversation neither stops it nor duplicates anything in it.
#[test]
fn a_conversation_that_is_compacted_while_it_talks_goes_on() {
    const TURNS: usize = 60;
    let (summariser, upstream) = (Provider::always(good()), Provider::always(upstream()));
    let place = Place::new();
    settings(&place, &[&summariser.address()]);
    let daemon = serve(&place, &upstream);
    let mut client = Client::new(&daemon, "talks");
    client.turn();
    let key = client.key();
    let talking = std::thread::spawn(move || {
        for _ in 1..TURNS {
            client.turn();
        }
        client
    });
    let mut compacted = 0;
    while !talking.is_finished() {
        place.json(&["compact", &key, "--window", "8k", "--dialect", "openai-chat"], 0);
        compacted += 1;
    }
    let mut client = talking.join().unwrap();
    client.turn();
    let listed = place.json(&["stats", &key], 0);
    daemon.end();
    let exported = text(&place.run(&["export", &key], 0).stdout);
    for turn in 0..=TURNS {
        let words = format!("src/part_{turn}.rs of talks");
        let lines = exported.lines().filter(|line| line.contains(&words)).count();
        assert_eq!(lines, 1, "turn {turn}, {compacted} times compacted: {listed}");
    }
    place.run(&["verify"], 0);
}
