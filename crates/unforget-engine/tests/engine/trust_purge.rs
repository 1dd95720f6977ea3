//! Whatever is purged, what is made afterwards stands for exactly what is left.

use crate::common::engine;
use unforget_core::id::Thread;
use unforget_engine::Engine;
use unforget_engine::prompt::{Session, Shape, ThreadRef, Until};
use unforget_store::{Conversation, SummaryRow, read_all};
use unforget_testkit::hostile::{Size, history};
use unforget_testkit::render;
use unforget_wire::Dialect;

/// Makes every summary that may be made now, for two windows.
fn compact(engine: &Engine, of: &Conversation) {
    for window in [2_048, 9_000] {
        let lane = ThreadRef { conversation: of.id, thread: Thread(0) };
        let shape = Shape::new(window, None, Dialect::Anthropic);
        let mut session = Session::open(engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
        session.compact().unwrap();
    }
}

fn summaries(engine: &Engine, of: &Conversation) -> Vec<SummaryRow> {
    read_all(|page| engine.store().summaries(of.id, page)).unwrap()
}

/// A summary that counts one of the purged entries is wrong, and a tolerant check would not say so.
#[test]
fn a_wrong_count_beside_a_purge_is_found() {
    let purged_within = |seed: u64| {
        let (engine, folder) = engine();
        let file = render::pi(&history(seed, Size::LARGE));
        let key = engine.import_reader(file.as_slice(), "s").unwrap().conversation;
        let of = engine.store().find(&key).unwrap().unwrap();
        compact(&engine, &of);
        let leaf = summaries(&engine, &of).into_iter().find(|row| row.key.level == 0 && row.count > 4)?;
        let purged = leaf.span.0.0 + 2;
        engine.purge(&of, purged..purged + 1).unwrap();
        compact(&engine, &of);
        let over = |row: &SummaryRow| row.key.level == 0 && row.span.0.0 < purged && row.span.1.0 > purged;
        let row = summaries(&engine, &of).into_iter().find(over)?;
        Some((engine, folder, of, row))
    };
    let (engine, _folder, of, mut wrong) =
        (0..20).find_map(purged_within).expect("a leaf stands for what is around a purged entry");
    wrong.key.grain += 1;
    engine.store().put_summaries(of.id, &[wrong.clone()], None).unwrap();
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, [], "a copy of a sound one");
    wrong.key.grain += 1;
    wrong.count += 1;
    engine.store().put_summaries(of.id, &[wrong], None).unwrap();
    let problems = engine.verify(&mut |_, _| ()).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.kind == "summary"), "{problems:?}");
}

#[test]
fn verify_holds_after_purges_between_summaries() {
    let mut merged = 0;
    for seed in 0..6 {
        let (engine, _folder) = engine();
        let file = render::pi(&history(seed, Size::LARGE));
        let key = engine.import_reader(file.as_slice(), "s").unwrap().conversation;
        let of = engine.store().find(&key).unwrap().unwrap();
        compact(&engine, &of);
        for round in 0..3 {
            let from = (seed * 7 + round * 31) % of.entries;
            let to = (from + 1 + (seed + round) % 12).min(of.entries);
            engine.purge(&of, from..to).unwrap();
            let problems = engine.verify(&mut |_, _| ()).unwrap().problems;
            assert_eq!(problems, [], "seed {seed}: purged {from}..{to}");
            compact(&engine, &of);
            let problems = engine.verify(&mut |_, _| ()).unwrap().problems;
            assert_eq!(problems, [], "seed {seed}: purged {from}..{to} and compacted");
            merged += summaries(&engine, &of).iter().filter(|row| row.key.level > 0).count();
        }
    }
    assert!(merged > 5, "merges were made: {merged}");
}
