//! Calls under keys of their clients, where several processes serve them: one process carries a call out, and the others give
//! its answer.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use unforget_engine::EngineError;
use unforget_engine::peers::{CallStanding, KeptAnswer, KeyedCall, Peers};
use unforget_wire::exchange::Fault;

use super::broadcast::{BodyEnd, Broadcast, ResponseHead};
use super::fault;
use super::spool::{self, RepeatLabel};

/// How long other processes wait for a call of a process that says nothing any more.
const TIME: Duration = Duration::from_secs(30);

/// Interval at which a process says that it still carries a call out.
const KEEP: Duration = Duration::from_secs(10);

/// Interval between looks at a call of another process.
const LOOK: Duration = Duration::from_millis(200);

/// Most bytes of an answer that other processes can give. A longer one is asked for again.
const BODY_MAX: u64 = 8 << 20;

/// A keyed call that this process carries out, for all processes.
pub(super) struct SharedCall {
    peers: Arc<dyn Peers>,
    call: KeyedCall,
}

impl SharedCall {
    /// Begins a call. `None` if another process has answered it: then its readers have the answer.
    pub(super) async fn begin(
        peers: &Arc<dyn Peers>,
        call: KeyedCall,
        broadcast: &Broadcast,
    ) -> Result<Option<Self>, Fault> {
        loop {
            match apart(peers, move |peers| peers.begin_call(&call, TIME)).await? {
                CallStanding::Ours => return Ok(Some(Self { peers: Arc::clone(peers), call })),
                CallStanding::Conflict => {
                    let what = "this idempotency key was used with another request".to_owned();
                    return Err(Fault::Conflict { what });
                }
                CallStanding::Answered(answer) => {
                    return give(broadcast, &answer).map(|()| None);
                }
                CallStanding::Elsewhere => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Tells the other processes for ever that the call is being carried out.
    pub(super) async fn keep(&self) -> Infallible {
        loop {
            tokio::time::sleep(KEEP).await;
            let call = self.call;
            if apart(&self.peers, move |peers| peers.keep_call(&call, TIME)).await.is_err() {
                tracing::warn!(
                    "other processes may carry a call out once more, since this one could not say that it does"
                );
            }
        }
    }

    /// Ends the call. Without an answer that is kept, it is as if it had not begun.
    pub(super) async fn end(&self) {
        let call = self.call;
        // A row that stays means nothing after a while.
        apart(&self.peers, move |peers| peers.end_call(&call, None, TIME)).await.ok();
    }
}

/// Keeps a stored answer for the other processes.
///
/// * `path` - its file in the spool.
/// * `window` - how long its client may ask for it again.
pub(super) fn keep_answer(peers: &dyn Peers, path: &Path, window: Duration) -> Result<(), SharedAnswerError> {
    let Some((label, body)) = spool::repeat_of(path, BODY_MAX)? else { return Ok(()) };
    let Some(call) = label.call() else { return Ok(()) };
    let head = serde_json::to_vec(&label).map_err(std::io::Error::from)?;
    Ok(peers.end_call(&call, Some(&KeptAnswer { head, body }), window).map_err(EngineError::from)?)
}

/// Why an answer is not kept for the other processes.
#[derive(Debug, thiserror::Error)]
pub(super) enum SharedAnswerError {
    /// Its file cannot be read.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// The store does not take it.
    #[error(transparent)]
    Store(#[from] EngineError),
}

/// Gives the readers an answer of another process.
fn give(broadcast: &Broadcast, answer: &KeptAnswer) -> Result<(), Fault> {
    let label = serde_json::from_slice::<RepeatLabel>(&answer.head).ok();
    let head = label.and_then(|label| ResponseHead::of(&label));
    let head =
        head.ok_or_else(|| fault::internal("an answer of another process", &"its head cannot be read"))?;
    broadcast.begin(head);
    broadcast.push(&answer.body, None);
    broadcast.is_whole();
    broadcast.end(BodyEnd::Whole);
    Ok(())
}

/// Asks the store on a thread that may wait.
async fn apart<T, E>(
    peers: &Arc<dyn Peers>,
    work: impl FnOnce(&dyn Peers) -> Result<T, E> + Send + 'static,
) -> Result<T, Fault>
where
    T: Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let peers = Arc::clone(peers);
    let done = spawn_blocking(move || work(peers.as_ref())).await;
    let done = done.map_err(|error| fault::internal("a defect of ours", &error))?;
    done.map_err(|error| fault::not_stored("a call is not entered", &error))
}
