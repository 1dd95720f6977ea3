//! The scripted provider as a process, for clients in other processes.
//!
//! Prints its address as the first line. With `--log` every request is a line of JSON, in order of arrival: number,
//! time, dialect, status, tokens, the validator's findings, and the body with its digest.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_testkit::upstream::{Came, Look, Rules, Script, Upstream, plan, scripts};

/// What it serves.
#[derive(Parser)]
struct Args {
    /// Address and port; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Tokens that a request and its answer may have.
    #[arg(long)]
    window: u64,
    /// What it says: `tools` or `words`.
    #[arg(long, default_value = "tools", value_parser = script)]
    script: Named,
    /// A plan for a coding agent in place of a script: a file of JSON, see `upstream::plan`.
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Refuse only prompts that are too large without their answer; what the validator says is logged all the same.
    #[arg(long)]
    window_only: bool,
    /// Count a token for so many bytes, in place of those of `o200k_base`.
    #[arg(long)]
    bytes_per_token: Option<u64>,
    /// Where requests are written.
    #[arg(long)]
    log: Option<PathBuf>,
    /// Leave bodies out of the log.
    #[arg(long)]
    no_bodies: bool,
}

#[derive(Clone)]
struct Named(Script);

fn script(name: &str) -> Result<Named, String> {
    scripts::by_name(name).map(Named).ok_or_else(|| "there are: tools, words".to_owned())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let has_bodies = !args.no_bodies;
    let look = args.log.map(File::create).transpose()?.map(|file| log(file, has_bodies));
    let script = args.plan.as_deref().map(plan::load).transpose()?.unwrap_or(args.script.0);
    let rules =
        Rules { window: args.window, is_lenient: args.window_only, bytes_per_token: args.bytes_per_token };
    let upstream = Upstream::start_at(args.listen, rules, script, look).await;
    writeln!(std::io::stdout(), "{}", upstream.url())?;
    std::future::pending::<()>().await;
    Ok(())
}

/// Logged headers: those that identify client, session or attempt.
const LOGGED: [&str; 12] = [
    "user-agent",
    "x-claude-code-session-id",
    "x-claude-code-agent-id",
    "x-claude-code-parent-agent-id",
    "session-id",
    "thread-id",
    "x-codex-turn-metadata",
    "x-codex-window-id",
    "x-openai-subagent",
    "x-stainless-retry-count",
    "content-encoding",
    "anthropic-beta",
];

/// Writes each request as a line.
fn log(file: File, has_bodies: bool) -> Look {
    let begun = Instant::now();
    let out = Mutex::new((file, 0_u64));
    Arc::new(move |came: &Came| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let header =
            |name: &'static str| Some((name.to_owned(), Value::from(came.headers.get(name)?.to_str().ok()?)));
        let headers: Value = LOGGED.into_iter().filter_map(header).collect();
        let body = has_bodies.then(|| serde_json::from_slice::<Value>(&came.body).ok()).flatten();
        let line = json!({
            "number": out.1, "at_ms": u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "dialect": came.dialect.name(), "status": came.status, "tokens": came.tokens, "violations": came.violations,
            "bytes": came.body.len(), "digest": Digest::of(&came.body).hex(), "headers": headers, "body": body,
        });
        out.1 += 1;
        // A failed write shows as a log that is too short.
        writeln!(out.0, "{line}").ok();
    })
}
