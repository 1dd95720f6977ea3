//! Message arrays as deltas: digests replace bodies, and a remembered beginning replaces digests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use unforget_engine::host::{BodyDigest, Delivered, body_digest};

use super::protocol::{Base, Code, Failure, Message, Provenance};

/// Arrays remembered per lane: hosts alternate between their own array and the one from us.
const PER_LANE: usize = 4;

/// Our mark in a message. Marked messages are not stored, so their bodies are kept while their array is remembered.
const OWN: &str = "\"unforget\"";

/// Most bytes of a kept body.
const OWN_MAX: usize = 64 * 1024;

/// A message of an array, as far as needed to deliver it again.
#[derive(Clone, Debug)]
struct Known {
    face: BodyDigest,
    /// Digest of the array up to here.
    chain: BodyDigest,
    provenance: Option<Provenance>,
    is_volatile: bool,
    /// Its body, if it is our own output.
    own: Option<Arc<[u8]>>,
}

/// A complete array.
pub(super) struct Whole {
    known: Vec<Known>,
    /// The messages for the engine.
    pub(super) delivered: Vec<Delivered>,
    /// Number of messages that came from memory.
    pub(super) base: usize,
}

/// The remembered arrays, in bounded memory.
pub(super) struct Arrays {
    lanes: Mutex<ArrayLanes>,
    /// Most messages over all arrays.
    most: usize,
}

#[derive(Default)]
struct ArrayLanes {
    /// By lane, the newest array first.
    arrays: HashMap<Arc<str>, VecDeque<Arc<Vec<Known>>>>,
    /// Lanes, the most recently used at the end.
    order: VecDeque<Arc<str>>,
    total: usize,
}

impl Arrays {
    /// * `most` - most remembered messages, some 60 bytes each.
    pub(super) fn new(most: usize) -> Self {
        Self { lanes: Mutex::default(), most }
    }

    /// Completes an array.
    ///
    /// # Errors
    /// [`Code::NeedWhole`] if the base is not remembered; [`Code::BadMessage`] for an unreadable message.
    pub(super) fn whole(
        &self,
        lane: &str,
        base: Option<&Base>,
        messages: &[Message<'_>],
    ) -> Result<Whole, Failure> {
        let mut known = base.map_or_else(|| Ok(Vec::new()), |base| self.base(lane, base))?;
        let mut delivered: Vec<Delivered> = known.iter().map(again).collect();
        let base = known.len();
        known.reserve(messages.len());
        for (index, message) in (base..).zip(messages) {
            let one = deliver(message, index)?;
            // The engine refuses a digest that does not match its body.
            let face =
                one.digest.or_else(|| one.body.as_deref().map(body_digest)).unwrap_or(BodyDigest([0; 16]));
            let last = known.last().map_or(BodyDigest([0; 16]), |last: &Known| last.chain);
            let own = one.body.as_deref().filter(|_| is_own(message)).map(Arc::from);
            known.push(Known {
                face,
                chain: chain(last, face),
                provenance: message.provenance,
                is_volatile: message.volatile,
                own,
            });
            delivered.push(Delivered { digest: Some(face), ..one });
        }
        Ok(Whole { known, delivered, base })
    }

    /// Remembers an accepted array. Returns the base that the next call may name.
    pub(super) fn remember(&self, lane: &Arc<str>, known: KeptArray) -> Base {
        let KeptArray(known) = known;
        let answer = Base {
            length: known.len() as u64,
            digest: hex(known.last().map_or(BodyDigest([0; 16]), |last| last.chain)),
        };
        if known.is_empty() || known.len() > self.most {
            return answer;
        }
        let mut lanes = self.lanes();
        lanes.order.retain(|other| other != lane);
        lanes.order.push_back(Arc::clone(lane));
        lanes.total += known.len();
        let kept = lanes.arrays.entry(Arc::clone(lane)).or_default();
        // The new array contains every array that it extends.
        let is_in = |old: &Arc<Vec<Known>>| {
            let at = old.len().checked_sub(1);
            at.and_then(|at| Some(old.get(at)?.chain == known.get(at)?.chain)).unwrap_or(false)
        };
        let mut gone = 0;
        kept.retain(|old| {
            let keep = !is_in(old);
            gone += if keep { 0 } else { old.len() };
            keep
        });
        kept.push_front(Arc::new(known));
        while kept.len() > PER_LANE {
            gone += kept.pop_back().map_or(0, |old| old.len());
        }
        lanes.total -= gone;
        while lanes.total > self.most {
            let Some(oldest) = lanes.order.pop_front() else { break };
            lanes.forget(&oldest);
        }
        answer
    }

    /// Forgets the arrays of a lane.
    pub(super) fn forget(&self, lane: &str) {
        let mut lanes = self.lanes();
        lanes.order.retain(|other| &**other != lane);
        lanes.forget(lane);
    }

    fn base(&self, lane: &str, base: &Base) -> Result<Vec<Known>, Failure> {
        let unknown = || {
            let what =
                format!("the server does not remember an array of {} messages with this digest", base.length);
            Failure::new(Code::NeedWhole, what, "send the array without a base; digests are enough")
        };
        let Some(last) = base.length.checked_sub(1) else { return Ok(Vec::new()) };
        let last = usize::try_from(last).map_err(|_| unknown())?;
        let digest = parse(&base.digest).ok_or_else(unknown)?;
        let found = {
            let lanes = self.lanes();
            let arrays = lanes.arrays.get(lane).into_iter().flatten();
            arrays
                .into_iter()
                .find(|array| array.get(last).is_some_and(|known| known.chain == digest))
                .cloned()
        };
        let found = found.ok_or_else(unknown)?;
        Ok(found.get(..=last).unwrap_or_default().to_vec())
    }

    fn lanes(&self) -> MutexGuard<'_, ArrayLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An array about to be remembered.
pub(super) struct KeptArray(Vec<Known>);

impl Whole {
    /// Splits it into the remembered part and the messages for the engine.
    pub(super) fn part(self) -> (KeptArray, Vec<Delivered>) {
        (KeptArray(self.known), self.delivered)
    }
}

impl ArrayLanes {
    fn forget(&mut self, lane: &str) {
        let arrays = self.arrays.remove(lane).unwrap_or_default();
        self.total -= arrays.iter().map(|array| array.len()).sum::<usize>();
    }
}

/// A message in the engine's form.
pub(super) fn deliver(message: &Message<'_>, index: usize) -> Result<Delivered, Failure> {
    let face = match message.digest {
        None => None,
        Some(digest) => {
            Some(parse(digest).ok_or_else(|| bad(index, "its digest is not 32 or 64 hex digits"))?)
        }
    };
    if face.is_none() && message.message.is_none() {
        return Err(bad(index, "neither message nor digest"));
    }
    Ok(Delivered {
        body: message.message.map(|message| message.get().as_bytes().to_vec()),
        digest: face,
        id: message.id.clone(),
        provenance: message.provenance.map(Into::into),
        is_volatile: message.volatile,
    })
}

fn bad(index: usize, what: &str) -> Failure {
    let mut failure =
        Failure::new(Code::BadMessage, format!("message {index}: {what}"), "see docs/protocol.md");
    failure.data.index = Some(index);
    failure
}

fn again(known: &Known) -> Delivered {
    Delivered {
        body: known.own.as_deref().map(<[u8]>::to_vec),
        digest: Some(known.face),
        id: None,
        provenance: known.provenance.map(Into::into),
        is_volatile: known.is_volatile,
    }
}

fn is_own(message: &Message<'_>) -> bool {
    message.message.is_some_and(|body| body.get().len() <= OWN_MAX && body.get().contains(OWN))
}

/// The digest of an array with one more message.
pub(super) fn chain(before: BodyDigest, face: BodyDigest) -> BodyDigest {
    let digest = Sha256::new().chain_update(before.0).chain_update(face.0).finalize();
    let mut chain = [0; 16];
    for (to, from) in chain.iter_mut().zip(digest) {
        *to = from;
    }
    BodyDigest(chain)
}

/// Parses the first 32 of 32 or 64 hex digits.
fn parse(text: &str) -> Option<BodyDigest> {
    if !matches!(text.len(), 32 | 64) {
        return None;
    }
    let mut face = [0_u8; 16];
    for (to, pair) in face.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    let rest = text.as_bytes().get(32..).unwrap_or_default();
    rest.iter().all(u8::is_ascii_hexdigit).then_some(BodyDigest(face))
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// 32 hex digits.
pub(super) fn hex(face: BodyDigest) -> String {
    face.0.iter().fold(String::with_capacity(32), |mut text, byte| {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;

    fn messages(texts: &[String]) -> Vec<Message<'_>> {
        let one = |text: &'_ String| -> Message<'_> {
            serde_json::from_str(Box::leak(text.clone().into_boxed_str())).unwrap()
        };
        texts.iter().map(one).collect()
    }

    fn said(text: &str) -> String {
        format!(r#"{{"message":{{"role":"user","content":"{text}"}}}}"#)
    }

    fn take(arrays: &Arrays, base: Option<&Base>, texts: &[&str]) -> Result<(Base, Vec<Delivered>), Failure> {
        let texts: Vec<_> = texts.iter().map(|text| said(text)).collect();
        let (known, delivered) = arrays.whole("a", base, &messages(&texts))?.part();
        Ok((arrays.remember(&"a".into(), known), delivered))
    }

    #[test]
    fn a_base_stands_for_what_it_stood_for() {
        let arrays = Arrays::new(100);
        let (first, whole) = take(&arrays, None, &["1", "2", "3"]).unwrap();
        let (second, again) = take(&arrays, Some(&first), &["4"]).unwrap();
        assert_eq!((first.length, second.length), (3, 4));
        let faces = |all: &[Delivered]| all.iter().map(|one| one.digest).collect::<Vec<_>>();
        assert_eq!(faces(&again)[..3], faces(&whole));
        assert!(again[..3].iter().all(|one| one.body.is_none()) && again[3].body.is_some());
        let (shorter, _) = take(&arrays, None, &["1", "2"]).unwrap();
        assert!(take(&arrays, Some(&shorter), &["x"]).is_ok(), "cut back");
        assert!(take(&arrays, Some(&second), &[]).is_ok(), "both are remembered");
        let other = Base { length: 3, ..shorter };
        assert_eq!(take(&arrays, Some(&other), &[]).unwrap_err().data.kind, "needWhole");
        arrays.forget("a");
        assert_eq!(take(&arrays, Some(&first), &[]).unwrap_err().data.kind, "needWhole");
        let nothing = Base { length: 0, digest: String::new() };
        assert!(take(&arrays, Some(&nothing), &["1"]).is_ok(), "no messages need no memory");
    }

    #[test]
    fn flags_and_our_own_output_are_remembered() {
        let arrays = Arrays::new(100);
        let texts = [
            r#"{"message":{"role":"user","content":"e"},"volatile":true,"provenance":"internal-event"}"#
                .to_owned(),
            r#"{"message":{"role":"custom","customType":"unforget","content":"s"}}"#.to_owned(),
        ];
        let (known, _) = arrays.whole("a", None, &messages(&texts)).unwrap().part();
        let base = arrays.remember(&"a".into(), known);
        let again = arrays.whole("a", Some(&base), &[]).unwrap().delivered;
        assert!(again[0].is_volatile && again[0].body.is_none());
        assert_eq!(again[0].provenance, Some(unforget_wire::journal::Provenance::InternalEvent));
        assert!(again[1].body.is_some(), "nobody else has it");
    }

    #[test]
    fn memory_is_bounded() {
        let arrays = Arrays::new(10);
        let texts: Vec<_> = (0..6).map(|at| said(&at.to_string())).collect();
        let remember = |lane: &str| {
            let (known, _) = arrays.whole(lane, None, &messages(&texts)).unwrap().part();
            arrays.remember(&lane.into(), known)
        };
        let a = remember("a");
        remember("b");
        assert!(arrays.whole("a", Some(&a), &[]).is_err() && arrays.whole("b", Some(&a), &[]).is_ok());
        assert_eq!(arrays.lanes().total, 6);
    }

    #[test]
    fn digests_table() {
        let digest = "00112233445566778899aabbccddeeFF";
        let table = [
            (digest.to_owned(), true, "32 digits"),
            (digest.repeat(2), true, "all of it"),
            (format!("{digest}{}", "g".repeat(32)), false, "no digits"),
            (digest[1..].to_owned(), false, "too short"),
            ("é".repeat(16), false, "as many bytes"),
        ];
        for (text, want, why) in table {
            assert_eq!(parse(&text).is_some(), want, "{why}");
            if let Some(face) = parse(&text) {
                assert_eq!(hex(face), digest.to_lowercase());
            }
        }
    }
}
