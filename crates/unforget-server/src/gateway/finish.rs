//! What is stored of an answer, and learnt from it.

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
use super::ask::{Begun, Sending};
use super::cache::Done;
use super::fault::Problem;
use super::figures;
use super::pump::is_referred_to;
use super::reading::{Reading, interrupted};

use super::spool::{self, Label};

/// Lanes of which it is remembered what their provider counted.
const LANES: usize = 4_096;

/// Longest pause before answers that could not be stored are tried again.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Files of answers that could not be stored, to be tried again.
#[derive(Default)]
pub(super) struct Unstored(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    paths: Vec<PathBuf>,
    /// A task is at it.
    is_tried: bool,
}

/// What a provider counted of a call that was sent as it was.
pub(super) struct Measured {
    /// Its messages: how many, and the digest of their bytes.
    of: (usize, Digest),
    /// Its instructions and tools, by our ruler.
    fixed: Tokens,
    /// Of all that it made the model read.
    input: u64,
}

impl Measured {
    /// Tokens of an array of the same lane beside its call's instructions and tools: measured as far as it is the same, ours
    /// for the rest. Beside the same ones it is exact that far; what they are charged too much is taken off.
    pub(super) fn of(&self, array: &Array, fixed: Tokens) -> Tokens {
        let (count, digest) = self.of;
        if array.beginning(count) != Some(digest) {
            return array.tokens();
        }
        let rest = array.tokens_from(count);
        let expected = self.input.saturating_sub(self.fixed.expected.min(self.input / 2));
        let upper = if fixed == self.fixed { self.input.saturating_sub(fixed.upper) } else { expected };
        let whole = Tokens { expected: expected + rest.expected, upper: upper + rest.upper };
        // Ours is a bound too: the lower one holds.
        if whole.upper < array.tokens().upper { whole } else { array.tokens() }
    }
}

/// Tokens of input that a provider counted.
#[derive(Clone, Copy, Debug)]
struct Input {
    tokens: u64,
    /// Whether they are of one prompt. Of several rounds they are the sum.
    is_of_one_round: bool,
}

impl Gateway {
    /// Stores an answer and what it taught.
    ///
    /// * `rounds` - what the model looked up by itself, as JSON.
    pub(super) fn finish(
        &self,
        begun: &Begun,
        told: &exchange::Answered,
        rounds: Option<&str>,
    ) -> Result<(), Problem> {
        let who = &begun.who;
        let haste = if is_referred_to(begun.dialect) { Haste::Now } else { Haste::Soon };
        let answered = Answered {
            asked_at: begun.asked_at,
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(told),
            haste,
        };
        self.host.take_answer(&who.lane.lane, who.caller.form, &answered)?;
        if let Some(recalled) = &begun.recalled {
            self.host.note_recalled(&who.lane.lane, who.caller.form, recalled)?;
        }
        if let Some(rounds) = rounds {
            self.host.note_rounds(&who.lane.lane, who.caller.form, rounds)?;
        }
        let (said, digest) = begun.seen();
        self.host.remember(&who.caller.asking(), &who.lane, &said, (told.id.as_deref(), haste))?;
        // Of several rounds it is counted together what was read apart.
        if rounds.is_none() {
            self.caches.take(
                &who.lane.lane,
                &Done {
                    dialect: begun.dialect,
                    was: begun.was.as_ref(),
                    before: &begun.before,
                    of: digest.filter(|_| begun.rung.is_empty()),
                    broken: begun.broken,
                    rung: begun.rung,
                    ours: begun.tokens,
                    budget: begun.room(),
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
        // An error within the answer may be of a prompt that was too large.
        if let Some(name) = begun.limits.as_ref().filter(|_| told.ended == Ended::Complete) {
            self.limits.fitted(name, begun.tokens);
        }
        if let Some(usage) = told.usage.filter(|usage| usage.input > 0) {
            if let Some(name) = begun.limits.as_ref().filter(|_| rounds.is_none()) {
                self.limits.took(name, usage.input, usage.output);
            }
            let input = Input { tokens: usage.input, is_of_one_round: rounds.is_none() };
            self.count(begun, digest, input)?;
        }
        Ok(())
    }

    /// Takes a provider's count.
    ///
    /// * `of` - the messages that were sent.
    fn count(&self, begun: &Begun, of: Option<(usize, Digest)>, counted: Input) -> Result<(), Problem> {
        let input = counted.tokens;
        let (lane, form) = (&begun.who.lane.lane, begun.who.caller.form);
        let is_as_sent = begun.sending == Sending::AsIs;
        let counted = Counted {
            head: begun.asked_at,
            model: begun.model.as_deref(),
            as_sent: begun.weight.filter(|_| is_as_sent),
            input,
            weighed: begun.weighed.filter(|_| counted.is_of_one_round),
        };
        let cut = self.host.counted(lane, form, &counted)?;
        if begun.who.caller.is_kept {
            self.note_all(lane, input <= begun.tokens.upper);
        }
        if let Some(cut) = cut {
            let SuspectedTruncation { expected, reported } = cut;
            tracing::warn!(lane = lane.0, expected, reported, "the provider seems to have cut the prompt");
        }
        let Some(of) =
            of.filter(|_| cut.is_none() && is_as_sent && Counts::is_plausible(begun.tokens, input))
        else {
            return Ok(());
        };
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.len() >= LANES {
            measured.clear();
        }
        measured.insert(lane.clone(), Measured { of, fixed: begun.fixed(), input });
        Ok(())
    }

    /// Whether a conversation that the provider keeps is here from its beginning, by what was counted of its last call.
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

    /// Stores what an earlier process left. One answer must not keep all others from being served: what cannot be stored is
    /// tried again later.
    pub(super) fn recover(self: &Arc<Self>) -> io::Result<()> {
        let mut paths = self.spool.left()?;
        paths.retain(|path| !self.recovered(path));
        figures::spooled(paths.len() as f64);
        if !paths.is_empty() {
            self.store_later(paths);
        }
        Ok(())
    }

    /// Tries again to store what is in these files, until it is done or the gateway ends.
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

    /// Stores the answer in a file. Gives whether there is nothing more to try.
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

    fn recover_one(&self, label: &Label, bytes: &[u8], path: &Path) -> io::Result<()> {
        let form = Format::by_name(&label.form).filter(|known| dialect(*known).is_some());
        let Some((form, dialect)) = form.and_then(|form| Some((form, dialect(form)?))) else {
            tracing::warn!(path = %path.display(), "an answer of a form that this version does not know; it stays");
            return Ok(());
        };
        let mut answer = Reading::new(dialect, label.is_streamed, label.encoding.as_deref());
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

impl Unstored {
    /// All of them; `None` if there are none, and then nobody is at it any more.
    fn next(&self) -> Option<Vec<PathBuf>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_tried = !waiting.paths.is_empty();
        waiting.is_tried.then(|| std::mem::take(&mut waiting.paths))
    }

    fn back(&self, path: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.push(path);
    }
}

/// The dialect whose messages have a form.
fn dialect(known: Format) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.form() == Some(known))
}
