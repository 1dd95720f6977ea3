//! Calls and their results over a request.

use std::collections::BTreeSet;

use super::found::FoundViolations;

/// Calls and their results over a request.
#[derive(Default)]
pub(super) struct Pairs<'a> {
    /// Ids of all calls so far.
    pub(super) seen: BTreeSet<&'a str>,
    /// Ids of calls that wait for a result.
    pub(super) open: BTreeSet<&'a str>,
}

impl<'a> Pairs<'a> {
    /// Takes a call.
    pub(super) fn call(&mut self, id: &'a str, place: &str, found: &mut FoundViolations) {
        found.tools_used = true;
        found.want(self.seen.insert(id), "call-id-unique", place, "call id is used twice");
        self.open.insert(id);
    }

    /// Takes a result.
    pub(super) fn result(&mut self, id: &'a str, place: &str, found: &mut FoundViolations) {
        found.tools_used = true;
        if self.open.remove(id) {
            return;
        }
        if self.seen.contains(id) {
            found.add("result-once", place, "call is answered again, or too late");
        } else {
            found.add("result-orphan", place, "result has no call before it");
        }
    }

    /// Checks that no call stays open beyond this place.
    pub(super) fn close(&mut self, place: &str, found: &mut FoundViolations) {
        for id in std::mem::take(&mut self.open) {
            found.add("call-answered", place, format!("call {id} has no result where the provider wants it"));
        }
    }
}
