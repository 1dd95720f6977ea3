//! The allowed paths of a lane after a call.
//!
//! Messages of the host's transcript have one right order, given by [`crate::oracle`]. Volatile input is in no
//! transcript: arrays contain it once and omit it later. Only this is promised for it: each stands exactly once, at its
//! array's place, until the surrounding history is cut back.

use std::collections::BTreeMap;

use crate::hold;
use crate::words::{Kind, Msg};

/// Most messages that the engine moves to insert one between them. Input followed by more of them goes to the end.
const MOVED: usize = 64;

/// The allowed paths.
pub enum Want {
    /// Exactly this path.
    Exactly(Vec<Msg>),
    /// The paths that follow from a delivery.
    Delivered {
        /// The messages of the host's transcript, in order.
        firm: Vec<Msg>,
        /// The array.
        items: Vec<Msg>,
        /// Whether messages have names: then an insertion moves nothing.
        has_names: bool,
    },
}

impl Want {
    /// The path, if the stored texts are an allowed one.
    ///
    /// # Errors
    /// The deviation.
    pub fn read(&self, before: &[Msg], stored: &[String]) -> Result<Vec<Msg>, String> {
        match self {
            Self::Exactly(path) => {
                same(stored, path)?;
                Ok(path.clone())
            }
            Self::Delivered { firm, items, has_names } => {
                let path = joined(firm, before.iter().chain(items), stored)?;
                each_once(&path, items)?;
                kept(before, &path, items, *has_names)?;
                in_order(before, &path, items)?;
                Ok(path)
            }
        }
    }

    /// The expected path, if nobody reads the stored one.
    pub fn path(&self) -> &[Msg] {
        match self {
            Self::Exactly(path) => path,
            Self::Delivered { firm, .. } => firm,
        }
    }
}

fn same(stored: &[String], want: &[Msg]) -> Result<(), String> {
    let same = stored.iter().zip(want).take_while(|(is, want)| **is == *want.text).count();
    hold!(
        same == want.len() && same == stored.len(),
        "I2 I3 path: from {same} on it is {:#?}, not {:#?}",
        stored[same..].iter().map(|text| short(text)).collect::<Vec<_>>(),
        want[same..].iter().map(|one| short(&one.text)).collect::<Vec<_>>()
    );
    Ok(())
}

/// Stored texts as messages, after a check that the transcript's messages are right.
fn joined<'a>(
    firm: &[Msg],
    pool: impl Iterator<Item = &'a Msg>,
    stored: &[String],
) -> Result<Vec<Msg>, String> {
    let volatile: BTreeMap<&str, &Msg> =
        pool.filter(|one| is_volatile(one)).map(|one| (one.text.as_ref(), one)).collect();
    let rest: Vec<String> =
        stored.iter().filter(|text| !volatile.contains_key(text.as_str())).cloned().collect();
    same(&rest, firm)?;
    let mut firm = firm.iter();
    let one = |text: &String| volatile.get(text.as_str()).copied().or_else(|| firm.next()).cloned();
    Ok(stored.iter().filter_map(one).collect())
}

/// Checks that the array's input is there, without duplicates.
fn each_once(path: &[Msg], items: &[Msg]) -> Result<(), String> {
    for one in path.iter().chain(items).filter(|one| is_volatile(one)) {
        let count = path.iter().filter(|other| other.uid == one.uid).count();
        hold!(count == 1, "I3 volatile: {count} times {}", short(&one.text));
    }
    Ok(())
}

/// Checks that old input remains, except input in a part that was cut back.
fn kept(before: &[Msg], path: &[Msg], items: &[Msg], has_names: bool) -> Result<(), String> {
    let firm = |path: &[Msg]| -> Vec<(u64, Option<String>)> {
        path.iter().filter(|one| !is_volatile(one)).map(face).collect()
    };
    let (old, new) = (firm(before), firm(path));
    let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let mut rest = new.iter();
    let is_whole = common == old.len() || (has_names && old.iter().all(|one| rest.any(|other| other == one)));
    let mut seen = 0;
    for one in before {
        if !is_volatile(one) {
            seen += 1;
        } else if is_whole || seen < common {
            let at = path.iter().position(|other| other.uid == one.uid);
            hold!(at.is_some(), "I3 volatile: lost is {}", short(&one.text));
            let is_again = items.iter().any(|other| other.uid == one.uid);
            let place = at.map_or(0, |at| path[..at].iter().filter(|one| !is_volatile(one)).count());
            hold!(
                is_again || seen > common || place == seen,
                "I2 volatile: behind {place} messages, not {seen}: {}",
                short(&one.text)
            );
        }
    }
    Ok(())
}

/// Checks that new input stands between its neighbours of the array, if these stand in that order.
fn in_order(before: &[Msg], path: &[Msg], items: &[Msg]) -> Result<(), String> {
    let place = |one: &Msg| path.iter().position(|other| face(other) == face(one));
    let firm = |one: &&Msg| !is_volatile(one) && place(one).is_some();
    for (index, one) in items.iter().enumerate().filter(|(_, one)| is_volatile(one)) {
        let is_new = !before.iter().any(|other| other.uid == one.uid);
        let at = place(one).unwrap_or_default();
        let prev = items[..index].iter().rev().find(firm).and_then(place);
        let next = items[index + 1..].iter().find(firm).and_then(place);
        let is_near = path.len() - prev.unwrap_or_default() <= MOVED;
        let is_sorted = next.is_none_or(|next| prev.is_none_or(|prev| prev < next));
        if is_new && is_near && is_sorted {
            hold!(
                prev.is_none_or(|prev| prev < at) && next.is_none_or(|next| at < next),
                "I2 volatile: at {at}, not between {prev:?} and {next:?}: {}",
                short(&one.text)
            );
        }
    }
    Ok(())
}

fn face(one: &Msg) -> (u64, Option<String>) {
    (one.uid, one.marker.as_deref().map(str::to_owned))
}

fn is_volatile(one: &Msg) -> bool {
    one.kind == Kind::Volatile
}

fn short(text: &str) -> String {
    text.chars().take(100).collect()
}
