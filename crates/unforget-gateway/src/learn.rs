//! Stores an answer and learns from it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use tokio::task::spawn_blocking;

use unforget_core::counts::{Counts, SuspectedTruncation};
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{Answered, Array, Counted, Haste, LaneKey};
use unforget_wire::exchange::{self, Ended};
use unforget_wire::{Dialect, Format};

use super::Gateway;
use super::caches::AnsweredCall;
use super::fault::CallProblem;
use super::figures;
use super::prepared::{PreparedCall, SentAs};
use super::reading::{AnswerReader, interrupted};
use super::relay::is_referred_to;

use super::spool::{self, SpoolLabel};

/// Number of lanes whose provider counts are remembered.
const LANES: usize = 4_096;

/// Longest pause before another attempt to store failed answers.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Files of answers still to be stored after a failure.
#[derive(Default)]
pub(super) struct RetryList(Mutex<WaitingFiles>);

#[derive(Default)]
struct WaitingFiles {
    paths: Vec<PathBuf>,
    /// Whether a task is working on them.
    is_tried: bool,
}

/// A provider's count of a call that was sent unchanged.
pub(super) struct MeasuredCall {
    /// Its messages: their number, and the digest of their bytes.
    of: (usize, Digest),
    /// Its instructions and tools, by our ruler.
    fixed: Tokens,
    /// The provider's count of its whole input.
    input: u64,
}

impl MeasuredCall {
    /// Tokens of an array of this lane, without its call's instructions and tools: the provider's count for the common
    /// beginning, our estimate for the rest. With equal instructions and tools the common beginning is exact; the
    /// excess charged for them is subtracted.
    pub(super) fn of(&self, array: &Array, fixed: Tokens) -> Tokens {
        let (count, digest) = self.of;
        if array.beginning(count) != Some(digest) {
            return array.tokens();
        }
        let rest = array.tokens_from(count);
        let expected = self.input.saturating_sub(self.fixed.expected.min(self.input / 2));
        let upper = if fixed == self.fixed { self.input.saturating_sub(fixed.upper) } else { expected };
        let whole = Tokens { expected: expected + rest.expected, upper: upper + rest.upper };
        // Our estimate is an upper bound too: use the lower one.
        if whole.upper < array.tokens().upper { whole } else { array.tokens() }
    }
}

/// A provider's count of input tokens.
#[derive(Clone, Copy, Debug)]
struct CountedInput {
    tokens: u64,
    /// Whether it counts a single prompt. Over several rounds it is a sum.
    is_of_one_round: bool,
}

impl Gateway {
    /// Stores an answer, and learns from it.
    ///
    /// * `rounds` - the model's own recall, as JSON.
    pub(super) fn finish(
        &self,
        prepared: &PreparedCall,
        told: &exchange::Answered,
        rounds: Option<&str>,
    ) -> Result<(), CallProblem> {
        let who = &prepared.who;
        let haste = if is_referred_to(prepared.dialect) { Haste::Now } else { Haste::Soon };
        let answered = Answered {
            asked_at: prepared.asked_at,
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(told),
            haste,
        };
        self.host.take_answer(&who.lane.lane, who.caller.form, &answered)?;
        if let Some(recalled) = &prepared.recalled {
            self.host.note_recalled(&who.lane.lane, who.caller.form, recalled)?;
        }
        if let Some(rounds) = rounds {
            self.host.note_rounds(&who.lane.lane, who.caller.form, rounds)?;
        }
        let (said, digest) = prepared.seen();
        self.host.remember(&who.caller.asking(), &who.lane, &said, (told.id.as_deref(), haste))?;
        // Usage is a sum over rounds; it measures no single prompt.
        if rounds.is_none() {
            self.caches.take(
                &who.lane.lane,
                &AnsweredCall {
                    dialect: prepared.dialect,
                    was: prepared.was.as_ref(),
                    before: &prepared.before,
                    of: digest.filter(|_| prepared.rung.is_empty()),
                    broken: prepared.broken,
                    rung: prepared.rung,
                    ours: prepared.tokens,
                    bound: prepared.bound,
                    standing_left_out: prepared.standing.left_out_by_kind(),
                    budget: prepared.room(),
                    usage: told.usage,
                },
            );
        }
        if let Some(usage) = told.usage {
            for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)]
            {
                figures::tokens(kind, count);
            }
        }
        // An error inside the answer may mean that the prompt was too large.
        if let Some(name) = prepared.limits.as_ref().filter(|_| told.ended == Ended::Complete) {
            self.limits.fitted(name, prepared.tokens);
        }
        if let Some(usage) = told.usage.filter(|usage| usage.input > 0) {
            if let Some(name) = prepared.limits.as_ref().filter(|_| rounds.is_none()) {
                self.limits.took(name, usage.input, usage.output);
            }
            let input = CountedInput { tokens: usage.input, is_of_one_round: rounds.is_none() };
            self.count(prepared, digest, input)?;
        }
        Ok(())
    }

    /// Takes a provider's count.
    ///
    /// * `of` - the sent messages.
    fn count(
        &self,
        prepared: &PreparedCall,
        of: Option<(usize, Digest)>,
        counted: CountedInput,
    ) -> Result<(), CallProblem> {
        let input = counted.tokens;
        let (lane, form) = (&prepared.who.lane.lane, prepared.who.caller.form);
        let is_as_sent = prepared.sending == SentAs::AsIs;
        let counted = Counted {
            head: prepared.asked_at,
            model: prepared.model.as_deref(),
            as_sent: prepared.weight.filter(|_| is_as_sent),
            input,
            weighed: prepared.weighed.filter(|_| counted.is_of_one_round),
        };
        let cut = self.host.counted(lane, form, &counted)?;
        if prepared.who.caller.is_kept {
            self.note_all(lane, input <= prepared.tokens.upper);
        }
        if let Some(cut) = cut {
            let SuspectedTruncation { expected, reported } = cut;
            tracing::warn!(lane = lane.0, expected, reported, "the provider seems to have cut the prompt");
        }
        let Some(of) =
            of.filter(|_| cut.is_none() && is_as_sent && Counts::is_plausible(prepared.tokens, input))
        else {
            return Ok(());
        };
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.len() >= LANES {
            measured.clear();
        }
        measured.insert(lane.clone(), MeasuredCall { of, fixed: prepared.fixed(), input });
        Ok(())
    }

    /// Whether all of a conversation kept by the provider is stored here, judged by the count of its last call.
    pub(super) fn has_all(&self, lane: &LaneKey) -> bool {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).contains(lane)
    }

    fn note_all(&self, lane: &LaneKey, has_all: bool) {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_all {
            whole.remove(lane);
        } else if whole.len() < LANES || whole.contains(lane) {
            whole.insert(lane.clone());
        }
    }

    /// Stores the answers left by an earlier process. One answer must not keep the others from being served, so
    /// failures are retried later.
    pub(super) fn recover(self: &Arc<Self>) -> io::Result<()> {
        let mut paths = self.spool.left()?;
        paths.retain(|path| !self.recovered(path));
        figures::spooled(paths.len() as f64);
        if !paths.is_empty() {
            self.store_later(paths);
        }
        Ok(())
    }

    /// Retries to store these files, until done or the gateway ends.
    pub(super) fn store_later(self: &Arc<Self>, paths: impl IntoIterator<Item = PathBuf>) {
        let mut waiting = self.unstored.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(paths);
        if !std::mem::replace(&mut waiting.is_tried, true) {
            tokio::spawn(Arc::clone(self).store_again());
        }
    }

    async fn store_again(self: Arc<Self>) {
        let mut pause = self.settings.store_again;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = (pause * 2).min(PAUSE_MAX);
            let Some(paths) = self.unstored.next() else { return };
            for path in paths {
                let (gateway, file) = (Arc::clone(&self), path.clone());
                let is_done = spawn_blocking(move || gateway.recovered(&file)).await.unwrap_or(false);
                if is_done {
                    figures::spooled(-1.0);
                } else {
                    self.unstored.back(path);
                }
            }
        }
    }

    /// Stores the answer in a file. Returns whether the file is settled.
    fn recovered(&self, path: &Path) -> bool {
        let done = match spool::read(path) {
            Ok(Some((label, bytes))) => self.recover_one(&label, &bytes, path),
            Ok(None) => {
                tracing::warn!(path = %path.display(), "this is no answer of ours; it stays");
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
            Err(error) => Err(error),
        };
        if let Err(error) = &done {
            tracing::error!(path = %path.display(), %error, "an answer cannot be stored; it is tried again");
        }
        done.is_ok()
    }

    fn recover_one(&self, label: &SpoolLabel, bytes: &[u8], path: &Path) -> io::Result<()> {
        let form = Format::by_name(&label.form).filter(|known| dialect(*known).is_some());
        let Some((form, dialect)) = form.and_then(|form| Some((form, dialect(form)?))) else {
            tracing::warn!(path = %path.display(), "an answer of a form that this version does not know; it stays");
            return Ok(());
        };
        let mut answer = AnswerReader::new(dialect, label.is_streamed, label.encoding.as_deref());
        answer.push(bytes);
        let (told, is_read) = answer.finish();
        let answered = Answered {
            asked_at: label.asked_at.map(Seq),
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(&told),
            haste: Haste::Now,
        };
        self.host.take_answer(&LaneKey(label.lane.clone()), form, &answered).map_err(io::Error::other)?;
        if let (Some(line), Some(id)) = (label.line, &told.id) {
            self.host.remember_answer(&label.tenant, Seq(line), id).map_err(io::Error::other)?;
        }
        if is_read { fs::remove_file(path) } else { spool::keep(path) }
    }
}

impl RetryList {
    /// All waiting files; `None` if there are none, which also ends the task.
    fn next(&self) -> Option<Vec<PathBuf>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_tried = !waiting.paths.is_empty();
        waiting.is_tried.then(|| std::mem::take(&mut waiting.paths))
    }

    fn back(&self, path: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.push(path);
    }
}

/// The dialect with this message form.
fn dialect(known: Format) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.form() == Some(known))
}
