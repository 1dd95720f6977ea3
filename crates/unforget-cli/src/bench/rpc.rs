//! `unforget bench rpc`: the engine over stdio, compared with equal calls in this process.

mod client;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use unforget_bench::Session;
use unforget_engine::Engine;
use unforget_engine::host::{
    Ask, BodyDigest, Delivered, Host, HostError, LaneKey, LiveArray, Page, Turn, body_digest,
};
use unforget_wire::{Dialect, Format};

use super::workload::folder;
use super::{Times, memory, timed};
use crate::app::App;
use crate::args::RpcArgs;
use crate::commands::engine::now;
use crate::failure::{Exit, Failure, Outcome};
use client::RpcClient;

/// Messages of a page of the transcript.
const PAGE: usize = 512;

/// Live messages in the array of a question.
const LIVE: usize = 5_000;

/// Number of these that are in no transcript.
const VOLATILE: usize = 40;

/// Repetitions of a question that is not a turn.
const ROUNDS: usize = 9;

/// Restarts of the engine.
const RESTARTS: usize = 5;

/// Times of equal work over stdio and in this process, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Pair {
    rpc: Times,
    in_process: Times,
    /// Overhead of stdio: the median of the differences.
    overhead_p50: i64,
}

impl Pair {
    fn of(pairs: &[(u64, u64)]) -> Self {
        let (rpc, own): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let mut more: Vec<i64> = pairs.iter().map(|(rpc, own)| *rpc as i64 - *own as i64).collect();
        more.sort_unstable();
        let overhead_p50 = more.get(more.len() / 2).copied().unwrap_or_default();
        Self { rpc: Times::of(&rpc), in_process: Times::of(&own), overhead_p50 }
    }
}

#[derive(Debug, Serialize)]
struct RpcJson {
    messages: u64,
    stored_tokens: u64,
    /// Pages of 512 messages.
    page: Pair,
    first_assemble: Pair,
    status: Times,
    commit: Pair,
    assemble: Pair,
    /// The whole history again, by digests.
    replay: Pair,
    replay_bytes: u64,
    replay_peak_more_bytes: Option<u64>,
    replay_in_process_peak_more_bytes: Option<u64>,
    restarts: Restarts,
    /// The whole history again, with a base that the server remembers.
    replay_base: Times,
    /// 5,000 live messages, of which 40 are volatile and differ each time.
    live: Pair,
    /// The live messages with a base for the stable part.
    live_base: Times,
}

/// The first calls after a restart of the engine.
#[derive(Debug, Serialize)]
struct Restarts {
    /// Opening the lane.
    open: Pair,
    /// Then an empty page.
    catch_up: Pair,
    /// Then the next prompt.
    assemble: Pair,
    /// After another restart, the whole history by digests, including opening the lane.
    replay: Pair,
}

/// A message of the generated history.
struct Said {
    id: String,
    body: String,
    face: BodyDigest,
}

/// Both sides of the comparison.
struct RpcBoth {
    client: RpcClient,
    host: Host,
}

/// Measures and reports the overhead.
pub(super) fn run(app: &mut App, args: &RpcArgs) -> Outcome {
    let measured = measure(app, args)?;
    app.out.json(&measured)?;
    Ok(Exit::Done)
}

/// Whole turns with at least this many messages.
fn messages(session: &mut Session, count: usize) -> Outcome<Vec<Said>> {
    let mut messages = Vec::new();
    while messages.len() < count {
        messages.extend(turn(session)?);
    }
    Ok(messages)
}

fn measure(app: &App, args: &RpcArgs) -> Outcome<RpcJson> {
    let folder = folder()?;
    let (theirs, ours) = (folder.path().join("rpc.sqlite"), folder.path().join("own.sqlite"));
    let mut session = Session::new(args.seed);
    let mut history = messages(&mut session, args.messages)?;
    let mut both = RpcBoth::start(&theirs, &ours)?;
    both.open_lane("big")?;
    both.open_lane("live")?;
    app.out.note(format_args!("{} messages", history.len()));
    let page = both.lay_down("big", &history)?;
    both.client.call("maintain", r#"{"lane":"big"}"#)?;
    let first_assemble = Pair::of(&[both.assemble("big", args.budget)?]);
    let (mut statuses, mut commits, mut assembles) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..args.turns {
        let said = turn(&mut session)?;
        statuses.push(both.client.timed("status", "{}")?.1);
        commits.push(both.commit("big", number, &said)?);
        assembles.push(both.assemble("big", args.budget)?);
        history.extend(said);
    }
    let stored_tokens = both
        .client
        .call("status", r#"{"lane":"big"}"#)?
        .pointer("/debt/storedTokens")
        .and_then(Value::as_u64);
    let whole = format!(r#"{{"lane":"big","array":{}}}"#, digests(&history));
    let before = (both.client.forget_peak(), forget_peak());
    let mut replays = Vec::new();
    let mut told = Value::Null;
    for _ in 0..ROUNDS {
        let own = timed(|| both.host.sync(&LaneKey("big".to_owned()), Format::Pi, known(&history)));
        is_known(own.0.map(|receipt| receipt.added).map_err(|error| failed(&error))?)?;
        let (answer, us) = both.client.timed("catchUp", &whole)?;
        told = answer;
        replays.push((us, own.1));
    }
    is_known(added(&told))?;
    let replay_peak_more_bytes =
        both.client.peak().zip(before.0).map(|(after, before)| after.saturating_sub(before));
    let own_peak = memory::peak().zip(before.1).map(|(after, before)| after.saturating_sub(before));
    let behind = format!(r#"{{"lane":"big","array":{{"base":{},"messages":[]}}}}"#, array(&told));
    let mut bases = Vec::new();
    for _ in 0..ROUNDS {
        let (answer, us) = both.client.timed("catchUp", &behind)?;
        is_known(added(&answer))?;
        bases.push(us);
    }
    let (live, live_base) = both.live(&history, args.budget)?;
    both.end()?;
    let restarts = restarts(&theirs, &ours, &history, args.budget)?;
    Ok(RpcJson {
        messages: history.len() as u64,
        stored_tokens: stored_tokens.unwrap_or_default(),
        page,
        first_assemble,
        status: Times::of(&statuses),
        commit: Pair::of(&commits),
        assemble: Pair::of(&assembles),
        replay: Pair::of(&replays),
        replay_bytes: whole.len() as u64,
        replay_peak_more_bytes,
        replay_in_process_peak_more_bytes: own_peak,
        restarts,
        replay_base: Times::of(&bases),
        live,
        live_base,
    })
}

fn restarts(theirs: &Path, ours: &Path, history: &[Said], budget: u64) -> Outcome<Restarts> {
    let (mut open, mut catch_up, mut assemble, mut replay) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let whole = format!(r#"{{"lane":"big","form":"pi","array":{}}}"#, digests(history));
    for _ in 0..RESTARTS {
        let mut both = RpcBoth::start(theirs, ours)?;
        open.push(both.open_lane("big")?);
        catch_up.push(both.page("big", &[], "again")?);
        assemble.push(both.assemble("big", budget)?);
        both.end()?;
        let mut both = RpcBoth::start(theirs, ours)?;
        let own = timed(|| both.host.sync(&LaneKey("big".to_owned()), Format::Pi, known(history)));
        is_known(own.0.map(|receipt| receipt.added).map_err(|error| failed(&error))?)?;
        let (answer, us) = both.client.timed("catchUp", &whole)?;
        is_known(added(&answer))?;
        replay.push((us, own.1));
        both.end()?;
    }
    Ok(Restarts {
        open: Pair::of(&open),
        catch_up: Pair::of(&catch_up),
        assemble: Pair::of(&assemble),
        replay: Pair::of(&replay),
    })
}

impl RpcBoth {
    fn start(theirs: &Path, ours: &Path) -> Outcome<Self> {
        let mut client = RpcClient::start(theirs)?;
        client.call("initialize", "{}")?;
        Ok(Self { client, host: Host::new(Engine::open(ours)?, now) })
    }

    fn open_lane(&mut self, lane: &str) -> Outcome<(u64, u64)> {
        let own = timed(|| self.host.open(&LaneKey(lane.to_owned()), Format::Pi));
        own.0.map_err(|error| failed(&error))?;
        let (_, us) = self.client.timed("open", &format!(r#"{{"lane":"{lane}","form":"pi"}}"#))?;
        Ok((us, own.1))
    }

    fn end(mut self) -> Outcome<()> {
        self.client.call("shutdown", "{}")?;
        self.client.end()
    }

    /// Delivers a history in pages.
    fn lay_down(&mut self, lane: &str, history: &[Said]) -> Outcome<Pair> {
        let mut times = Vec::new();
        for (number, page) in history.chunks(PAGE).enumerate() {
            times.push(self.page(lane, page, &number.to_string())?);
        }
        Ok(Pair::of(&times))
    }

    fn page(&mut self, lane: &str, page: &[Said], cursor: &str) -> Outcome<(u64, u64)> {
        let messages = page.iter().map(Said::delivered).collect();
        let page_of = Page { messages, cursor: Some(cursor.to_owned()), is_reset: false };
        let own = timed(|| self.host.catch_up(&LaneKey(lane.to_owned()), Format::Pi, page_of));
        own.0.map_err(|error| failed(&error))?;
        let params = format!(r#"{{"lane":"{lane}","cursor":"{cursor}","messages":{}}}"#, bodies(page));
        let (_, us) = self.client.timed("catchUp", &params)?;
        Ok((us, own.1))
    }

    fn commit(&mut self, lane: &str, number: usize, said: &[Said]) -> Outcome<(u64, u64)> {
        let turn = Turn { key: number.to_string(), messages: said.iter().map(Said::delivered).collect() };
        let own = timed(|| self.host.commit_turn(&LaneKey(lane.to_owned()), Format::Pi, turn));
        own.0.map_err(|error| failed(&error))?;
        let params = format!(r#"{{"lane":"{lane}","turn":"{number}","messages":{}}}"#, bodies(said));
        let (_, us) = self.client.timed("commitTurn", &params)?;
        Ok((us, own.1))
    }

    fn assemble(&mut self, lane: &str, budget: u64) -> Outcome<(u64, u64)> {
        let ask = Ask::new(budget, Dialect::Pi);
        let own = timed(|| self.host.assemble(&LaneKey(lane.to_owned()), Format::Pi, &ask));
        own.0.map_err(|error| failed(&error))?;
        let params = format!(r#"{{"lane":"{lane}","budget":{budget},"dialect":"pi"}}"#);
        let (_, us) = self.client.timed("assemble", &params)?;
        Ok((us, own.1))
    }

    /// Prompts with a live array, by digests and with a base.
    fn live(&mut self, history: &[Said], budget: u64) -> Outcome<(Pair, Times)> {
        let durable = history.get(..(LIVE - VOLATILE).min(history.len())).unwrap_or_default();
        self.lay_down("live", durable)?;
        self.assemble("live", budget)?;
        let (mut times, mut bases) = (Vec::new(), Vec::new());
        let key = LaneKey("live".to_owned());
        let mut base = None;
        for round in 0..ROUNDS {
            let events: Vec<String> = (0..VOLATILE).map(|at| event(round, at)).collect();
            let mut messages = known(durable);
            messages.extend(
                events.iter().map(|body| Delivered { is_volatile: true, ..Delivered::new(body.as_str()) }),
            );
            let ask =
                Ask { live: Some(LiveArray { is_whole: true, messages }), ..Ask::new(budget, Dialect::Pi) };
            let own = timed(|| self.host.assemble(&key, Format::Pi, &ask));
            own.0.map_err(|error| failed(&error))?;
            let volatile = |body: &String| format!(r#"{{"message":{body},"volatile":true}}"#);
            let events: Vec<String> = events.iter().map(volatile).collect();
            let all = digests(durable).replace("]}", &format!(",{}]}}", events.join(",")));
            let fields = all.trim_start_matches('{').to_owned();
            let params = format!(
                r#"{{"lane":"live","budget":{budget},"dialect":"pi","live":{{"isWhole":true,{fields}}}"#
            );
            let (answer, us) = self.client.timed("assemble", &params)?;
            times.push((us, own.1));
            base = Some(array(&answer).to_string());
        }
        for round in ROUNDS..2 * ROUNDS {
            let Some(known) = &base else { break };
            let event = format!(r#"{{"message":{},"volatile":true}}"#, event(round, 0));
            let live = format!(r#"{{"isWhole":true,"base":{known},"messages":[{event}]}}"#);
            let params = format!(r#"{{"lane":"live","budget":{budget},"dialect":"pi","live":{live}}}"#);
            let (answer, us) = self.client.timed("assemble", &params)?;
            base = Some(array(&answer).to_string());
            bases.push(us);
        }
        Ok((Pair::of(&times), Times::of(&bases)))
    }
}

impl Said {
    fn delivered(&self) -> Delivered {
        Delivered::new(self.body.as_str()).with_id(&self.id)
    }
}

/// The messages of the next turn.
fn turn(session: &mut Session) -> Outcome<Vec<Said>> {
    #[derive(serde::Deserialize)]
    struct RpcLine<'a> {
        id: String,
        #[serde(borrow)]
        message: &'a RawValue,
    }
    let mut text = String::new();
    session.turn(&mut text);
    let said = |line: &str| {
        let line: RpcLine<'_> = serde_json::from_str(line)?;
        let body = line.message.get().to_owned();
        Ok(Said { id: line.id, face: body_digest(body.as_bytes()), body })
    };
    text.lines().map(said).collect()
}

fn event(round: usize, at: usize) -> String {
    format!(
        r#"{{"role":"user","content":"event {at} of round {round}: the job is done","timestamp":{}}}"#,
        1_800_000_000_000_u64 + (round * VOLATILE + at) as u64
    )
}

fn bodies(said: &[Said]) -> String {
    let each: Vec<String> =
        said.iter().map(|one| format!(r#"{{"id":"{}","message":{}}}"#, one.id, one.body)).collect();
    format!("[{}]", each.join(","))
}

fn digests(said: &[Said]) -> String {
    let hex = |face: BodyDigest| format!("{:032x}", u128::from_be_bytes(face.0));
    let each: Vec<String> = said.iter().map(|one| format!(r#"{{"digest":"{}"}}"#, hex(one.face))).collect();
    format!(r#"{{"messages":[{}]}}"#, each.join(","))
}

fn known(said: &[Said]) -> Vec<Delivered> {
    said.iter().map(|one| Delivered { digest: Some(one.face), ..Delivered::default() }).collect()
}

fn forget_peak() -> Option<u64> {
    memory::forget_peak();
    memory::peak()
}

/// Number of messages that a delivery stored as new.
fn added(answer: &Value) -> u64 {
    answer.get("added").and_then(Value::as_u64).unwrap_or(u64::MAX)
}

/// The base that the next call may name.
fn array(answer: &Value) -> Value {
    answer.get("array").cloned().unwrap_or_default()
}

fn is_known(added: u64) -> Outcome<()> {
    let message = format!("{added} messages of a replay were taken for new ones");
    if added == 0 {
        Ok(())
    } else {
        Err(Failure { kind: "bench", message, hint: String::new(), exit: Exit::Problems })
    }
}

fn failed(error: &HostError) -> Failure {
    Failure { kind: "bench", message: error.to_string(), hint: String::new(), exit: Exit::Problems }
}
