//! The stored form of a context.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unforget_core::compact::{Context, Root, Tree, end_of};
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::left::BreakReach;

/// Results that a later result supersedes: entry and call of the result, and the entry of the later result.
pub(super) type Superseded = BTreeMap<(Seq, String), Seq>;

/// Version of the encoding. Other versions are not read; the context is then made again from the log.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct ContextDto {
    version: u32,
    epoch: u32,
    /// Level, first, last, count, end.
    roots: Vec<(u8, u64, u64, u64, String)>,
    covered: u64,
    carried: Option<u64>,
    stub_below: u64,
    settled_below: u64,
    zone: u64,
    as_of: u64,
    end: String,
    /// Indexes of the roots shown as a model wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rewritten: Vec<usize>,
    /// Entry with a result, its call's id, entry with the later result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<(u64, String, u64)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    ledger: String,
    /// Index of a root that is not of the own tree, and the grain of its tree; 0 for a coarse summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    provisional: Vec<(usize, u32)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    coarse: String,
}

/// The decisions of a break, from which the prompts after it are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredContext {
    /// The composition of the prompt.
    pub(super) context: Context,
    /// The newest entry at the break.
    pub(super) as_of: Seq,
    /// Roots shown as a model wrote them.
    pub(super) rewritten: Vec<Root>,
    /// Results that later results supersede.
    pub(super) superseded: Superseded,
    /// The ledger as it is shown; empty if none is.
    pub(super) ledger: String,
    /// The coarse summary of the context, in its stored form; empty if it has none.
    pub(super) coarse: String,
}

/// The number of the break that a stored context is of, and the first and last entry of its summaries; `None` without
/// summaries.
pub(crate) fn covered_span(state: &[u8]) -> Option<(u32, (Seq, Seq))> {
    let context = decode(state)?.context;
    let (first, last) = (context.roots.first()?.span.0, end_of(&context)?);
    Some((context.epoch, (first, last)))
}

/// How far the breaks of stored contexts reach, by number, ascending; of two contexts of one break, the later one counts.
///
/// * `states` - in the order of their prompts.
pub(crate) fn break_reaches<'a>(states: impl Iterator<Item = &'a [u8]>) -> Vec<BreakReach> {
    let contexts = states.filter_map(|state| Some(decode(state)?.context));
    let reaches = contexts.filter(|context| context.epoch > 0).map(|context| {
        let covered = if context.roots.is_empty() { None } else { end_of(&context) };
        BreakReach { number: context.epoch, covered, stub_below: context.stub_below }
    });
    reaches.map(|reach| (reach.number, reach)).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Encodes the decisions of a break.
pub(super) fn encode(kept: &StoredContext) -> Vec<u8> {
    let StoredContext { context, as_of, rewritten, superseded, ledger, coarse } = kept;
    let root = |root: &Root| (root.level, root.span.0.0, root.span.1.0, root.count, root.end.hex());
    let dto = ContextDto {
        version: VERSION,
        epoch: context.epoch,
        roots: context.roots.iter().map(root).collect(),
        covered: context.covered,
        carried: context.carried.map(|seq| seq.0),
        stub_below: context.stub_below.0,
        settled_below: context.settled_below.0,
        zone: context.zone,
        as_of: as_of.0,
        end: context.end.hex(),
        rewritten: (0..)
            .zip(&context.roots)
            .filter(|(_, root)| rewritten.contains(root))
            .map(|(at, _)| at)
            .collect(),
        superseded: superseded.iter().map(|((answer, call), by)| (answer.0, call.clone(), by.0)).collect(),
        ledger: ledger.clone(),
        provisional: (0..)
            .zip(&context.roots)
            .filter_map(|(at, root)| Some((at, grain_of(root.tree)?)))
            .collect(),
        coarse: coarse.clone(),
    };
    // A struct of numbers and strings always serialises.
    serde_json::to_vec(&dto).unwrap_or_default()
}

/// Decodes the output of [`encode`]; `None` for all other bytes.
pub(super) fn decode(bytes: &[u8]) -> Option<StoredContext> {
    let dto: ContextDto =
        serde_json::from_slice(bytes).ok().filter(|dto: &ContextDto| dto.version == VERSION)?;
    let root = |(level, first, last, count, end): (u8, u64, u64, u64, String)| {
        Some(Root { tree: Tree::Own, level, span: (Seq(first), Seq(last)), count, end: digest(&end)? })
    };
    let mut context = Context {
        epoch: dto.epoch,
        roots: dto.roots.into_iter().map(root).collect::<Option<_>>()?,
        covered: dto.covered,
        carried: dto.carried.map(Seq),
        stub_below: Seq(dto.stub_below),
        settled_below: Seq(dto.settled_below),
        zone: dto.zone,
        end: digest(&dto.end)?,
    };
    for (at, grain) in dto.provisional {
        context.roots.get_mut(at)?.tree = if grain == 0 { Tree::Coarse } else { Tree::Other { grain } };
    }
    let rewritten = dto.rewritten.iter().map(|at| context.roots.get(*at).copied()).collect::<Option<_>>()?;
    let superseded = dto.superseded.into_iter().map(|(answer, call, by)| ((Seq(answer), call), Seq(by)));
    Some(StoredContext {
        context,
        as_of: Seq(dto.as_of),
        rewritten,
        superseded: superseded.collect(),
        ledger: dto.ledger,
        coarse: dto.coarse,
    })
}

/// The stored number of a tree; `None` for the own one.
const fn grain_of(tree: Tree) -> Option<u32> {
    match tree {
        Tree::Own => None,
        Tree::Other { grain } => Some(grain),
        Tree::Coarse => Some(0),
    }
}

fn digest(hex: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(Digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusal() {
        let root =
            Root { tree: Tree::Own, level: 2, span: (Seq(3), Seq(9)), count: 7, end: Digest::of(b"x") };
        let context =
            Context { epoch: 4, roots: vec![root], covered: 7, carried: Some(Seq(5)), ..Context::default() };
        let plain = StoredContext {
            context,
            as_of: Seq(11),
            rewritten: vec![],
            superseded: Superseded::new(),
            ledger: String::new(),
            coarse: String::new(),
        };
        let bytes = encode(&plain);
        assert_eq!(decode(&bytes), Some(plain.clone()));
        let full = StoredContext {
            rewritten: vec![root],
            superseded: [((Seq(10), "call \"1\"".to_owned()), Seq(11))].into(),
            ledger: "Files read:\n- a".to_owned(),
            ..plain.clone()
        };
        assert_eq!(decode(&encode(&full)), Some(full));
        let coarse = Root { tree: Tree::Coarse, span: (Seq(0), Seq(1)), ..root };
        let other = Root { tree: Tree::Other { grain: 512 }, span: (Seq(2), Seq(2)), ..root };
        let context = Context { roots: vec![coarse, other, root], ..plain.context.clone() };
        let begun = StoredContext { context, coarse: "title\tx\n".to_owned(), ..plain };
        assert_eq!(decode(&encode(&begun)), Some(begun));
        assert_eq!(decode(b"{}"), None);
        assert_eq!(decode(&bytes[..bytes.len() / 2]), None);
    }
}
