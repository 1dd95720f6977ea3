//! `unforget bench gateway`: calls through the daemon, compared with equal calls straight to the provider, in one run.

mod wire;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use unforget_engine::Engine;
use unforget_engine::host::{Array, Asking, Brings, DeliveredArray, Host, HostError};
use unforget_wire::Format;

use super::Times;
use super::workload::folder;
use crate::app::App;
use crate::args::GatewayBenchArgs;
use crate::commands::engine::now;
use crate::commands::serve::asked_to_end;
use crate::failure::{Exit, Failure, Outcome};
use wire::{HttpClient, Pace, Took};

/// Turns of a conversation.
const TURNS: usize = 8;

/// Messages stored at once.
const BATCH: usize = 1_000;

/// Approximate tokens of a message in the long history.
const MESSAGE: u64 = 400;

/// Number of memory measurements while the streams run.
const LOOKS: u32 = 10;

/// Unmeasured calls behind the long history: the first one makes its summaries.
const WARM: usize = 5;

/// Times of equal calls both ways, in microseconds.
#[derive(Debug, Serialize)]
struct Both {
    direct: Times,
    gateway: Times,
    /// Added time at this quantile.
    added_p50: i64,
    added_p99: i64,
}

impl Both {
    fn of(direct: &[u64], gateway: &[u64]) -> Self {
        let (direct, gateway) = (Times::of(direct), Times::of(gateway));
        let (added_p50, added_p99) =
            (gateway.p50 as i64 - direct.p50 as i64, gateway.p99 as i64 - direct.p99 as i64);
        Self { direct, gateway, added_p50, added_p99 }
    }
}

/// Resident memory of the daemon, in bytes.
#[derive(Debug, Serialize)]
struct Memory {
    begun: u64,
    /// With the idle connections open.
    idle: u64,
    idle_connections: usize,
    /// While the streams run, at equal intervals.
    running: Vec<u64>,
    /// The peak over everything.
    peak: u64,
}

#[derive(Debug, Serialize)]
struct GatewayJson {
    streams: usize,
    /// Turns per second through the gateway; an equal number goes straight to the provider.
    rate_asked: f64,
    rate: f64,
    first_byte: Both,
    event: Both,
    #[serde(skip_serializing_if = "Option::is_none")]
    long: Option<Both>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_tokens: Option<u64>,
    memory: Memory,
}

/// Measures and reports the overhead.
pub(super) fn run(app: &mut App, args: &GatewayBenchArgs) -> Outcome {
    let folder = folder()?;
    let db = folder.path().join("gateway.sqlite");
    if let Some(tokens) = args.history {
        app.out.note(format_args!("laying down {tokens} tokens"));
        lay_down(&db, tokens)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // The end of the bench also ends its daemon.
    let measured = runtime.block_on(async {
        tokio::select! {
            measured = measure(&db, args) => measured,
            () = asked_to_end() => Err(Failure::input("interrupted", "the measurement was asked to end", "")),
        }
    })?;
    app.out.json(&measured)?;
    Ok(Exit::Done)
}

/// Stores a conversation of this many tokens, under the name `long`.
fn lay_down(db: &Path, tokens: u64) -> Outcome<()> {
    let host = Host::new(Engine::open(db)?, now);
    let form = Format::OpenAiResponses;
    let asking = Asking {
        tenant: "default",
        session: Some("long"),
        is_named: true,
        user: None,
        kind: "",
        is_bare: false,
        form,
    };
    let message = |n: u64| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        let words =
            (0..MESSAGE / 4).map(|word| format!("word{} of file{} ", (n * 31 + word) % 9_973, n % 89));
        let text = words.collect::<Vec<_>>().concat();
        format!(r#"{{"role":"{role}","content":"{text}"}}"#)
    };
    let count = tokens / MESSAGE;
    let mut lane = None;
    for from in (0..count).step_by(BATCH) {
        let bodies: Vec<String> = (from..count.min(from + BATCH as u64)).map(message).collect();
        let array =
            Array::read(form, bodies.iter().map(String::as_bytes), &Array::default()).map_err(refused)?;
        let lane = match &lane {
            Some(lane) => lane,
            None => lane.insert(host.recognise(&asking, &array).map_err(refused)?),
        };
        host.take(&lane.lane, form, DeliveredArray { brings: Brings::Rest(None), array: &array }, None)
            .map_err(refused)?;
    }
    Ok(())
}

/// The daemon in a separate process.
struct Daemon {
    child: Child,
    address: SocketAddr,
}

impl Daemon {
    fn start(db: &Path, upstream: SocketAddr) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--db")
            .arg(db)
            .args(["--json", "serve", "--listen", "127.0.0.1:0", "--upstream"])
            .arg(format!("http://{upstream}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let told: Option<serde_json::Value> = serde_json::from_str(&line).ok();
        let address = told.and_then(|told| told.get("listen")?.as_str()?.parse().ok());
        let Some(address) = address else { return Err(failed(format!("the daemon said {line:?}"))) };
        Ok(Self { child, address })
    }

    /// A line of its process status; 0 where the system does not provide it.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn refused(error: HostError) -> Failure {
    failed(error.to_string())
}

fn failed(what: String) -> Failure {
    Failure::input("bench", what, "run it again with UNFORGET_LOG=debug to see the cause")
}

async fn measure(db: &Path, args: &GatewayBenchArgs) -> Outcome<GatewayJson> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?;
    tokio::spawn(wire::provide(listener, Pace { events: 8, pause: Duration::from_millis(2) }));
    let daemon = Daemon::start(db, upstream)?;
    let begun = daemon.memory("VmRSS:");
    let mut idle = Vec::new();
    for _ in 0..args.idle {
        idle.push(TcpStream::connect(daemon.address).await?);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle_memory = daemon.memory("VmRSS:");
    let started = std::time::Instant::now();
    let load = Load {
        direct: upstream,
        gateway: daemon.address,
        streams: args.streams,
        rate: args.rate,
        seconds: args.seconds,
    };
    let tasks: Vec<_> = (0..args.streams).map(|stream| tokio::spawn(talk(stream, load))).collect();
    let mut running = Vec::new();
    for _ in 0..LOOKS {
        tokio::time::sleep(Duration::from_secs(args.seconds) / LOOKS).await;
        running.push(daemon.memory("VmRSS:"));
    }
    let (mut direct, mut gateway) = (Vec::new(), Vec::new());
    for task in tasks {
        let (one, other) = task.await.map_err(|error| failed(error.to_string()))??;
        direct.extend(one);
        gateway.extend(other);
    }
    let rate = gateway.len() as f64 / started.elapsed().as_secs_f64();
    let long = match args.history {
        Some(_) => Some(long(upstream, daemon.address, args.turns).await?),
        None => None,
    };
    let first = |took: &[Took]| took.iter().map(|took| took.first).collect::<Vec<_>>();
    let events = |took: &[Took]| took.iter().flat_map(|took| took.events.iter().copied()).collect::<Vec<_>>();
    Ok(GatewayJson {
        streams: args.streams,
        rate_asked: args.rate,
        rate,
        first_byte: Both::of(&first(&direct), &first(&gateway)),
        event: Both::of(&events(&direct), &events(&gateway)),
        long,
        history_tokens: args.history,
        memory: Memory {
            begun,
            idle: idle_memory,
            idle_connections: idle.len(),
            running,
            peak: daemon.memory("VmHWM:"),
        },
    })
}

/// What all streams do together.
#[derive(Clone, Copy)]
struct Load {
    /// Address of the provider.
    direct: SocketAddr,
    gateway: SocketAddr,
    streams: usize,
    /// Turns per second of all streams.
    rate: f64,
    seconds: u64,
}

/// One stream's turns: each first straight to the provider, then through the gateway.
async fn talk(stream: usize, load: Load) -> std::io::Result<(Vec<Took>, Vec<Took>)> {
    let Load { direct, gateway, streams, rate, seconds } = load;
    let every = Duration::from_secs_f64(streams as f64 / rate);
    let mut ticks = tokio::time::interval_at(
        tokio::time::Instant::now() + every.mul_f64(stream as f64 / streams as f64),
        every,
    );
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut one, mut other) = (HttpClient::connect(direct).await?, HttpClient::connect(gateway).await?);
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    let until = std::time::Instant::now() + Duration::from_secs(seconds);
    let mut messages = Vec::new();
    for turn in 0.. {
        ticks.tick().await;
        if std::time::Instant::now() > until {
            break;
        }
        let session = format!("session-id: s{stream}-{}\r\n", turn / TURNS);
        if turn % TURNS == 0 {
            messages.clear();
        }
        messages.push(format!(
            r#"{{"role":"user","content":"Question {turn} of stream {stream}: what is next?"}}"#
        ));
        let body = format!(r#"{{"model":"gpt-5","stream":true,"messages":[{}]}}"#, messages.join(","));
        direct.push(one.call("/v1/chat/completions", "", &body).await?);
        let took = other.call("/v1/chat/completions", &session, &body).await?;
        // As in real clients, the conversation continues from the received answer.
        messages.push(format!(r#"{{"role":"assistant","content":"{}"}}"#, took.said));
        through.push(took);
    }
    Ok((direct, through))
}

/// Turns behind the long history, one after another.
async fn long(direct: SocketAddr, gateway: SocketAddr, turns: usize) -> Outcome<Both> {
    let (mut one, mut other) = (HttpClient::connect(direct).await?, HttpClient::connect(gateway).await?);
    let (mut alone, mut through) = (Vec::new(), Vec::new());
    let named = "x-unforget-conversation: long\r\n";
    for turn in 0..turns + WARM {
        let body = format!(
            r#"{{"model":"gpt-5","stream":true,"conversation":"long","input":[{{"role":"user","content":"Question {turn}: what of word{turn}?"}}]}}"#
        );
        let direct = one.call("/v1/responses", "", &body).await?;
        let gateway = other.call("/v1/responses", named, &body).await?;
        if turn >= WARM {
            alone.push(direct.first);
            through.push(gateway.first);
        }
    }
    Ok(Both::of(&alone, &through))
}
