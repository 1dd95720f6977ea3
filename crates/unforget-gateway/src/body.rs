//! Request bodies: limited in size and time, and decompressed.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, HeaderMap};
use futures_util::{Stream, StreamExt};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};
use unforget_wire::exchange::{self, Fault};

use super::byte_budget::{BudgetShare, ByteBudget};
use super::headers::text;

/// Time limit for receiving a call's whole body.
const WHOLE: Duration = Duration::from_mins(5);

/// A body as a stream that fails when its client falls silent.
///
/// * `silence` - longest accepted silence.
fn patient(
    body: Body,
    silence: Duration,
) -> impl Stream<Item = Result<Bytes, axum::BoxError>> + Send + 'static {
    futures_util::stream::unfold(Some(body.into_data_stream()), move |stream| async move {
        let mut stream = stream?;
        match timeout(silence, stream.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(stream))),
            Ok(Some(Err(error))) => Some((Err(error.into()), None)),
            Ok(None) => None,
            Err(_) => Some((Err("it fell silent".into()), None)),
        }
    })
}

/// Number of bytes decompressed at once.
const STEP: u64 = 1 << 20;

/// Memory of an object or list while its call is handled, in bytes: measured with messages that say nothing.
const PIECE_BYTES: usize = 2_048;

/// Number of objects and lists that a call may have without a charge.
pub(super) const PIECES_FREE: usize = 1_000;

/// Seconds after which a client may retry if there is no room.
pub(super) const AGAIN: u64 = 5;

/// The limits of request bodies, and the memory budget for them.
#[derive(Clone, Debug)]
pub(super) struct BodyIntake {
    /// Largest body in bytes, decompressed.
    pub(super) limit: usize,
    /// Most objects and lists of a body.
    pub(super) pieces_max: usize,
    /// Longest silence of a client inside a request.
    pub(super) silence: Duration,
    pub(super) budget: ByteBudget,
}

impl BodyIntake {
    /// A body as a stream that fails when its client falls silent.
    pub(super) fn patient(
        &self,
        body: Body,
    ) -> impl Stream<Item = Result<Bytes, axum::BoxError>> + Send + use<> + 'static {
        patient(body, self.silence)
    }

    /// A whole body, and its share of the memory budget.
    pub(super) async fn whole(&self, body: Body) -> Result<(Bytes, Option<BudgetShare>), Fault> {
        let mut held = None;
        let until = Instant::now() + WHOLE;
        let mut stream = Box::pin(self.patient(body));
        let mut read = Vec::new();
        loop {
            let next = timeout_at(until, stream.next()).await;
            let next = next.map_err(|_| bad(format!("the request took more than {} s", WHOLE.as_secs())))?;
            let Some(bytes) = next else { return Ok((read.into(), held)) };
            let bytes = bytes.map_err(|error| bad(format!("the request broke off: {error}")))?;
            if read.len() + bytes.len() > self.limit {
                return Err(too_large(self.limit));
            }
            hold(&mut held, self.budget.take(bytes.len()).await)?;
            read.extend_from_slice(&bytes);
        }
    }

    /// The share of the memory budget that a body takes beside its bytes, for what is made of its pieces.
    ///
    /// * `runtime` - waits for memory budget; the calling thread may block.
    pub(super) fn charged(
        &self,
        body: &[u8],
        held: &mut Option<BudgetShare>,
        runtime: &Handle,
    ) -> Result<(), Fault> {
        let (found, max) = (exchange::pieces(body), self.pieces_max);
        if found > max {
            return Err(Fault::TooManyPieces { found, max });
        }
        match found.checked_sub(PIECES_FREE) {
            None => Ok(()),
            Some(more) => hold(held, runtime.block_on(self.budget.take(more.saturating_mul(PIECE_BYTES)))),
        }
    }

    /// The decompressed body, and its share of the memory budget; `None` if the body is not compressed. A body that
    /// exceeds the limit is refused while it is being decompressed.
    ///
    /// * `runtime` - waits for memory budget; the calling thread may block.
    pub(super) fn unpacked(
        &self,
        headers: &HeaderMap,
        raw: &[u8],
        runtime: &Handle,
    ) -> Result<Option<(Bytes, Option<BudgetShare>)>, Fault> {
        let coding = text(headers, &CONTENT_ENCODING).map(str::to_ascii_lowercase);
        let mut packed: Box<dyn Read> = match coding.as_deref() {
            None | Some("identity") => return Ok(None),
            Some("zstd") => Box::new(zstd::Decoder::new(raw).map_err(|error| bad(error.to_string()))?),
            Some("gzip" | "x-gzip") => Box::new(flate2::read::MultiGzDecoder::new(raw)),
            Some(other) => {
                return Err(bad(format!("content-encoding {other:?} is not read: use gzip, zstd or none")));
            }
        };
        let (mut body, mut held) = (Vec::new(), None);
        loop {
            let read: io::Result<usize> = packed.by_ref().take(STEP).read_to_end(&mut body);
            let read = read.map_err(|error| bad(format!("the body cannot be unpacked: {error}")))?;
            if body.len() > self.limit {
                return Err(too_large(self.limit));
            }
            if read == 0 {
                return Ok(Some((body.into(), held)));
            }
            hold(&mut held, runtime.block_on(self.budget.take(read)))?;
        }
    }
}

/// Adds to a share of the memory budget.
fn hold(held: &mut Option<BudgetShare>, more: Option<BudgetShare>) -> Result<(), Fault> {
    let more = more.ok_or(Fault::Overloaded { retry_after: AGAIN })?;
    match held {
        Some(held) => held.join(more),
        None => *held = Some(more),
    }
    Ok(())
}

pub(super) const fn bad(what: String) -> Fault {
    Fault::BadRequest { what }
}

const fn too_large(limit: usize) -> Fault {
    Fault::TooLarge { max: limit as u64 }
}
