//! Entries that a person puts back.

use unforget_bench::Random;
use unforget_core::id::Seq;
use unforget_engine::NewRaised;
use unforget_engine::host::{Host, LaneKey};
use unforget_wire::Format;

use super::World;
use super::call::Came;

/// Spans that stand at the same time.
const MOST: usize = 3;

impl World {
    /// Puts a span back, or takes one away again. Any span may be asked for: one without entries is refused.
    pub(crate) fn raise(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        // Of a lane without words nothing can be put back.
        if self.lanes[lane].path.is_empty() {
            return Ok(());
        }
        self.lanes[lane].before = None;
        // A call that changes nothing would leave the fault to a later look at the lane.
        self.store().disarm();
        let first = random.below(self.lanes[lane].path.len() * 2 + 2) as u64;
        let span = (Seq(first), Seq(first + random.below(12) as u64));
        let (takes, which) = (random.chance(0.4), random.below(MOST));
        self.story.push(format!("  puts {} to {} back, or takes a span away: {takes}", span.0, span.1));
        // In one call, so that it can be done again after a fault.
        let act = move |host: &Host, key: &LaneKey, form: Format| {
            let rows = host.raised(key, form)?;
            let standing: Vec<u64> =
                rows.iter().filter(|(row, _)| row.is_standing()).map(|(row, _)| row.number).collect();
            match standing.get(which % standing.len().max(1)) {
                Some(number) if takes || standing.len() >= MOST => host.lower(key, form, *number),
                _ => {
                    let new = NewRaised { first: span.0, last: span.1, author: "sim" };
                    host.raise(key, form, &new).map(|_| ())
                }
            }
        };
        match self.look(lane, &act)? {
            Came::No(error) if !error.to_string().contains("no entry that a model could see") => {
                Err(format!("raise: {error}"))
            }
            _ => Ok(()),
        }
    }
}
