//! The required path of a lane after a delivery, written independently of the engine's rules.
//!
//! Messages are identified by [`Msg::uid`], which the engine never sees.

use std::collections::BTreeSet;

use crate::words::Msg;

/// Messages that an array may leave out: volatile input, and those of the open turn.
pub type Loose<'a> = &'a BTreeSet<u64>;

/// The path after a window of named messages. New messages go to the end. Late ones go behind their predecessor and
/// behind following entries that the window may leave out. A late message without a predecessor on the path is too late
/// to be shown, unless it is volatile input.
pub fn windowed(path: &[Msg], items: &[Msg], loose: Loose<'_>) -> Vec<Msg> {
    let mut path = path.to_vec();
    let place = |path: &[Msg], item: &Msg| path.iter().position(|one| one.uid == item.uid);
    // Messages found in this order; one out of order stays at its place.
    let (mut at, mut last) = (0, None);
    for (index, item) in items.iter().enumerate() {
        if let Some(found) = place(&path, item).filter(|found| *found >= at) {
            (at, last) = (found + 1, Some(index));
        }
    }
    let (mut at, mut has_before) = (0, false);
    for (index, item) in items.iter().enumerate() {
        if let Some(found) = place(&path, item) {
            at = at.max(found + 1);
            has_before = true;
        } else if last.is_none_or(|last| index > last) {
            path.push(item.clone());
        } else if has_before {
            let is_left_out =
                |one: &&Msg| loose.contains(&one.uid) && items.iter().all(|item| item.uid != one.uid);
            at += path.iter().skip(at).take_while(is_left_out).count();
            path.insert(at, item.clone());
            at += 1;
        }
    }
    path
}

/// The path after a turn: new messages go to the end.
pub fn turned(path: &[Msg], items: &[Msg]) -> Vec<Msg> {
    let mut path = path.to_vec();
    for item in items {
        if !path.iter().any(|one| one.uid == item.uid) {
            path.push(item.clone());
        }
    }
    path
}

/// The path after an array of the whole history, with named messages.
///
/// If the array cuts or edits the path and has a new message before that, it is right from its first new message on.
pub fn whole(path: &[Msg], items: &[Msg], loose: Loose<'_>) -> Vec<Msg> {
    let place = |item: &Msg| path.iter().position(|one| one.uid == item.uid);
    let Some(last) = items.iter().rposition(|item| place(item).is_some()) else {
        let keep = if firm(Some(path), loose) { 0 } else { path.len() };
        return path.iter().take(keep).chain(items).cloned().collect();
    };
    let mut path = path.to_vec();
    let path = &mut path;
    let (mut at, mut first_new) = (0, None);
    let branch = |path: &[Msg], new: Option<(usize, usize)>, at: usize, index: usize| {
        let (at, index) = new.unwrap_or((at, if at == 0 { 0 } else { index }));
        path.iter().take(at).chain(items.iter().skip(index)).cloned().collect()
    };
    for (index, item) in items.iter().enumerate() {
        let place = |item: &Msg| path.iter().position(|one| one.uid == item.uid);
        let is_later = |one: &Msg| items.iter().skip(index + 1).any(|other| other.uid == one.uid);
        let skips = |found: usize| path.iter().take(found).skip(at).any(is_later);
        if place(item).is_some_and(|found| found < at || skips(found)) {
            // The array has another order, and the array is right.
            return branch(path, first_new, at, index);
        }
        let Some(found) = place(item) else {
            if index < last {
                let next = items.iter().skip(index + 1).filter_map(place).find(|next| *next >= at);
                if firm(path.get(at..next.unwrap_or(at)), loose) {
                    // Another message stands where the path has others: an edit.
                    return branch(path, first_new, at, index);
                }
                if at > 0 {
                    first_new = first_new.or(Some((at, index)));
                    path.insert(at, item.clone());
                    at += 1;
                }
                continue;
            }
            if firm(path.get(at..), loose) {
                return branch(path, first_new, at, index);
            }
            return path.iter().chain(items.iter().skip(index)).cloned().collect();
        };
        if path.get(found).is_some_and(|one| one.marker != item.marker) {
            // A known message with other text: an edit.
            return branch(path, first_new, at, index);
        }
        at = found + 1;
    }
    if firm(path.get(at..), loose) { branch(path, first_new, at, items.len()) } else { path.clone() }
}

/// The path after a turn when the host hands over its messages: all of the history if they continue the path, otherwise
/// a window of it.
pub fn after(path: &[Msg], items: &[Msg], loose: Loose<'_>) -> Vec<Msg> {
    let whole = whole(path, items, loose);
    let is_same = |(a, b): (&Msg, &Msg)| a.uid == b.uid && a.marker == b.marker;
    let goes_on = whole.len() >= path.len() && path.iter().zip(&whole).all(is_same);
    if goes_on { whole } else { windowed(path, items, loose) }
}

/// The path after an array without names: the array, with volatile input, which it leaves out, at its old places.
pub fn whole_unnamed(path: &[Msg], items: &[Msg], loose: Loose<'_>) -> Vec<Msg> {
    let mut out = path.to_vec();
    let mut at = 0;
    for (index, item) in items.iter().enumerate() {
        let skipped =
            out.iter().skip(at).take_while(|one| loose.contains(&one.uid) && one.text != item.text).count();
        if out.get(at + skipped).is_some_and(|one| one.text == item.text) {
            at += skipped + 1;
        } else {
            // The following path entries occur later in the array, so the history was edited here.
            if is_edit(out.iter().skip(at).take(skipped), &items[index..]) || firm(out.get(at..), loose) {
                out.truncate(at);
            }
            out.extend(items.iter().skip(index).cloned());
            return out;
        }
    }
    if firm(out.get(at..), loose) {
        out.truncate(at);
    }
    out
}

/// Whether any skipped entry occurs later in the array.
fn is_edit<'a>(mut skipped: impl Iterator<Item = &'a Msg>, items: &[Msg]) -> bool {
    let is_later = |one: &Msg| items.iter().skip(1).any(|other| other.text == one.text);
    skipped.any(is_later)
}

fn firm(rest: Option<&[Msg]>, loose: Loose<'_>) -> bool {
    rest.unwrap_or_default().iter().any(|one| !loose.contains(&one.uid))
}
