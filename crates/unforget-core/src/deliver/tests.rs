#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::type_complexity,
    reason = "tests"
)]

use proptest::prelude::*;

use std::collections::BTreeSet;

use super::*;

/// Loads after which every array is planned.
const LOADS_MAX: usize = 4;

/// A store over one-letter words; a delivered message is a word, with a name if it has a digit behind it.
#[derive(Clone, Default)]
struct Toy {
    entries: Vec<(String, Option<String>)>,
    path: Vec<u64>,
    volatile: BTreeSet<Seq>,
    open: Vec<Seq>,
    committed: Option<Seq>,
}

/// `a` says a; `a1` says a and is named 1; `a1?` too, but may be another message; `(a)` takes no part; `ab1` says a, then b.
fn read(word: &str) -> (String, Option<String>, bool) {
    let is_excluded = word.starts_with('(');
    let word = word.trim_matches(['(', ')', '?']);
    let said: String = word.chars().filter(char::is_ascii_alphabetic).collect();
    let name: String = word.chars().filter(char::is_ascii_digit).collect();
    (said, (!name.is_empty()).then_some(name), is_excluded)
}

fn parts(said: &str) -> Vec<u64> {
    said.bytes().map(u64::from).collect()
}

impl Toy {
    fn items(&self, array: &[&str]) -> Vec<DeliveredItem> {
        let item = |word: &&str| {
            let (said, name, is_excluded) = read(word);
            let with = |is: &dyn Fn(&(String, Option<String>)) -> bool| -> Vec<Seq> {
                (0..).zip(&self.entries).filter(|(_, entry)| is(entry)).map(|(seq, _)| Seq(seq)).collect()
            };
            DeliveredItem {
                named: with(&|entry| name.is_some() && entry.1 == name),
                has_name: name.is_some(),
                is_dated: false,
                is_doubtful: word.ends_with('?'),
                alike: with(&|entry| entry.0 == said).into(),
                exact: with(&|entry| entry.0 == said && entry.1 == name).into(),
                parts: Some(parts(&said)),
                is_volatile: false,
                is_answer: said.bytes().all(|byte| byte.is_ascii_uppercase()),
                is_excluded,
            }
        };
        array.iter().map(item).collect()
    }

    fn plan(&self, how: How, array: &[&str]) -> DeliveryPlan {
        let runs: Vec<_> = self.path.iter().map(|seq| *seq..seq + 1).collect();
        let path =
            Path { runs: &runs, volatile: &self.volatile, open: &self.open, committed: self.committed };
        let items = self.items(array);
        let mut stored = StoredParts::new();
        let content = |seq: Seq| (seq, parts(&self.entries[seq.0 as usize].0));
        for _ in 0..=LOADS_MAX {
            match plan(how, path, &items, &stored) {
                Planning::Done(planned) => {
                    let all = (0..self.entries.len() as u64).map(|seq| content(Seq(seq))).collect();
                    assert_eq!(plan(how, path, &items, &all), Planning::Done(planned.clone()), "all at once");
                    return planned;
                }
                Planning::Wants(seqs) => {
                    assert!(!seqs.is_empty() && seqs.iter().all(|seq| !stored.contains_key(seq)), "{seqs:?}");
                    stored.extend(seqs.into_iter().map(content));
                }
            }
        }
        panic!("{how:?} of {array:?} is not planned after {LOADS_MAX} loads");
    }

    fn deliver(&mut self, how: How, array: &[&str]) -> DeliveryPlan {
        let plan = self.plan(how, array);
        match plan.base {
            Base::Head => {}
            Base::After(seq) => self.path.retain(|at| *at <= seq.0),
            Base::Root => self.path.clear(),
        }
        let mut last = None;
        for (word, fate) in array.iter().zip(&plan.fates) {
            let (said, name, _) = read(word);
            let seq = self.entries.len() as u64;
            match fate {
                Fate::Known(at) => {
                    last = self.path.iter().position(|seq| seq == &at.0);
                    continue;
                }
                Fate::Excluded => continue,
                Fate::Insert => {
                    last = last.map(|at| at + 1);
                    self.path.insert(last.unwrap(), seq);
                }
                Fate::Append => self.path.push(seq),
                Fate::Replay(_) | Fate::Copy(_) | Fate::Changed(_) | Fate::Misplaced => {}
            }
            self.entries.push((said, name));
        }
        plan
    }

    fn shown(&self) -> String {
        let word = |seq: &u64| {
            let (said, name) = &self.entries[*seq as usize];
            format!("{said}{}", name.as_deref().unwrap_or_default())
        };
        self.path.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn exact_table() {
    // Capital letters are answers.
    let table: &[(&str, &str, &str, &str, &str)] = &[
        // stored, delivered, why, path after, reason
        ("", "a", "append", "a", "first call"),
        ("a B", "a B c", "append", "a B c", "the next turn"),
        ("a B c", "a B c", "up-to-date", "a B c", "f042: the client tries again"),
        ("a B c D", "a B c", "rewind", "a B c", "the client wants another answer"),
        ("a B a B", "a B a B a", "append", "a B a B a", "f035: the same words again are new"),
        ("a B c D", "a B x", "branch", "a B x", "the newest question edited"),
        (
            "a B c D",
            "a B x D e",
            "branch",
            "a B x D e",
            "a question edited in place: the model reads the new words",
        ),
        ("a B c B", "a B d B e", "branch", "a B d B e", "equal answers do not make two questions one"),
        ("a B c D", "a X c", "branch", "a X c", "another answer, and the same words after it"),
        ("a B c D e F", "a X c D e F g", "branch", "a X c D e F g", "an old answer was cut by the client"),
        ("a B c D", "x", "unreconciled", "x", "a new history under the old name"),
        ("a B c D", "x B c D e", "branch", "x B c D e", "the first message with other words"),
        ("a B c D e F", "c D e F g", "append", "a B c D e F g", "a window of the client that slides"),
        ("a B c D e F", "s e F g", "unreconciled", "s e F g", "a summary of the client's own in front"),
        (
            "a B c D e F",
            "c D x",
            "unreconciled",
            "c D x",
            "a window that does not reach the end proves nothing",
        ),
        ("a B c D", "", "rewind", "", "nothing at all"),
    ];
    for (stored, delivered, why, after, reason) in table {
        let mut toy = Toy::default();
        toy.deliver(How::Exact, &stored.split_whitespace().collect::<Vec<_>>());
        let array: Vec<&str> = delivered.split_whitespace().collect();
        let plan = toy.deliver(How::Exact, &array);
        assert_eq!(
            (plan.why.name(), toy.shown().as_str()),
            (*why, *after),
            "{stored} <- {delivered}: {reason}"
        );
        let again = toy.deliver(How::Exact, &array);
        assert_eq!(again.why, DeliveryOutcome::UpToDate, "{stored} <- {delivered}, again: {reason}");
    }
}

/// The dry run decides whether the array is this history, not what the model is to read.
#[test]
fn alike_table() {
    let table = [
        ("a B c D", "a B x D e", "append", "words of an old message"),
        ("a B c D e F", "a X c D e F g", "append", "an old answer"),
        ("a B c D", "x B c D e", "append", "the first message"),
        ("a B c D", "a B x", "branch", "the newest question edited"),
        ("a B c D", "a X c", "branch", "another answer, and the same words after it"),
        ("a B c D", "x", "unreconciled", "a new history"),
    ];
    for (stored, delivered, why, reason) in table {
        let mut toy = Toy::default();
        toy.deliver(How::Exact, &stored.split_whitespace().collect::<Vec<_>>());
        let plan = toy.deliver(How::Alike, &delivered.split_whitespace().collect::<Vec<_>>());
        assert_eq!(plan.why.name(), why, "{stored} <- {delivered}: {reason}");
    }
}

#[test]
fn plan_table() {
    use How::{Turn, Whole, Window};
    let table: &[(&str, How, &str, &str, &str, &str)] = &[
        // stored, how, delivered, why, path after, reason
        ("", Whole, "a b", "append", "a b", "first sight"),
        ("a b a", Whole, "a b a", "up-to-date", "a b a", "f034: the whole history again, without names"),
        ("a1 b2 a3", Whole, "a1 b2 a3", "up-to-date", "a1 b2 a3", "f034: with names"),
        ("a b", Whole, "a b a b", "append", "a b a b", "f034: the history and more of the same"),
        ("a a a", Whole, "a a a a", "append", "a a a a", "f035: the same words again are new"),
        ("a b", Whole, "(s) a b c", "append", "a b c", "a summary of the host's own in front"),
        ("a b c", Whole, "a", "rewind", "a", "cut back"),
        ("a b c", Whole, "a x c", "branch", "a x c", "edited in the middle, without names"),
        ("a1 b2 c3", Whole, "a1 x2 c3", "branch", "a1 x2 c3", "edited in the middle, under its name"),
        ("a1 b2 c3", Whole, "a1 c3", "up-to-date", "a1 b2 c3", "a filtered message stays"),
        ("a1 b2 c3", Whole, "ab1 c3 d4", "append", "a1 b2 c3 d4", "f038: neighbours merged by the host"),
        (
            "a1 b2",
            Whole,
            "a1 z9 b2",
            "append",
            "a1 z9 b2",
            "f037: what was lost on the way is put where it belongs",
        ),
        ("a1 b2", Window, "a1 z9 b2 c3", "append", "a1 z9 b2 c3", "f037: in a window too"),
        ("a1 b2", Window, "z9 b2", "up-to-date", "a1 b2", "f036: a stranger in front is kept aside"),
        ("a1 b2 c3", Whole, "a1 c3 b2 d4", "branch", "a1 c3 b2 d4", "another order, and each of them once"),
        ("a1 b2", Whole, "a1 z9 x2", "branch", "a1 z9 x2", "late, and then an edit: both"),
        ("a1 b2 c3", Whole, "a1 z9 b2", "branch", "a1 z9 b2", "late, and cut back behind it"),
        (
            "a3 b4",
            Window,
            "a1 c2 a3 b4",
            "up-to-date",
            "a3 b4",
            "f035: the same words at another time, by another way",
        ),
        ("a b", Whole, "x y", "unreconciled", "x y", "f036: nothing in common opens a new beginning"),
        ("a b", Whole, "", "rewind", "", "f074: emptied by a reset"),
        ("a1 b2 c3", Window, "b2 c3 d4", "append", "a1 b2 c3 d4", "a window that goes on"),
        ("a1 b2 c3", Window, "b2 x3 d4", "append", "a1 b2 c3 d4", "f038: clipped words under a known name"),
        ("a1 b2 c3", Window, "c3 b2 c3", "up-to-date", "a1 b2 c3", "out of order and twice"),
        ("a1 b2 c3", Window, "a1 b2", "up-to-date", "a1 b2 c3", "an old window cuts nothing"),
        ("a1 b2", Window, "x7 y8", "append", "a1 b2 x7 y8", "f036: nothing in common, still stored"),
        (
            "a b c",
            Window,
            "b c d",
            "append",
            "a b c d",
            "f036: an unproven overlap is hidden, the rest is not",
        ),
        ("a a", Window, "a a a", "append", "a a a", "the longest overlap counts"),
        ("a b", Window, "c", "append", "a b c", "no overlap at all"),
        ("a b", Turn, "a", "append", "a b a", "f035: the first message again is new (lossless-claw 246)"),
        ("a b", Turn, "a b c", "append", "a b c", "f034: all that is stored, then more"),
        ("a1 b2", Turn, "b2 c3", "append", "a1 b2 c3", "f042: partly delivered before"),
        ("a1 b2", Turn, "a1 b2", "up-to-date", "a1 b2", "f042: delivered before"),
    ];
    for (stored, how, array, why, shown, reason) in table {
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut toy = Toy::default();
        let words = split(stored);
        toy.deliver(Turn, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(toy.shown(), *stored, "set up: {reason}");
        toy.committed = toy.path.last().map(|seq| Seq(*seq));
        let words = split(array);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        assert_eq!(toy.deliver(*how, &words).why.name(), *why, "{reason}");
        assert_eq!(toy.shown(), *shown, "{reason}");
    }
}

/// A window may show clipped text. A whole history with such text is an edit, whatever was seen before.
#[test]
fn f038_words_of_a_window_are_no_proof_for_all_of_it() {
    let mut toy = Toy::default();
    toy.deliver(How::Whole, &["a1", "b2", "c3"]);
    let table: &[(&[&str], usize, Fate, &str)] = &[
        (&["a1", "x2"], 1, Fate::Changed(Seq(1)), "other words under its name"),
        (&["a1", "bc2"], 1, Fate::Copy(Seq(1)), "the words of neighbours, merged"),
        (&["c3", "x2"], 1, Fate::Changed(Seq(1)), "out of order too"),
        (&["a1", "b2"], 1, Fate::Known(Seq(1)), "its own words"),
    ];
    for (array, at, fate, why) in table {
        assert_eq!(toy.deliver(How::Window, array).fates[*at], *fate, "{why}");
        assert_eq!(toy.shown(), "a1 b2 c3", "{why}");
    }
    assert_eq!(toy.deliver(How::Whole, &["a1", "x2"]).why, DeliveryOutcome::Branch);
    assert_eq!(toy.shown(), "a1 x2");
}

#[test]
fn f040_volatile_input_may_be_missing_from_later_arrays() {
    let mut toy = Toy::default();
    toy.deliver(How::Turn, &["a", "b", "v", "c"]);
    toy.volatile.insert(Seq(2));
    assert_eq!(toy.deliver(How::Whole, &["a", "b", "c", "d"]).why, DeliveryOutcome::Append, "left out");
    assert_eq!(toy.shown(), "a b v c d");
    assert_eq!(toy.deliver(How::Whole, &["a", "b", "v", "c", "d"]).why, DeliveryOutcome::UpToDate, "or not");
    let plan = toy.deliver(How::Window, &["b", "v", "c", "d"]);
    assert_eq!(
        (plan.why, plan.fates[1]),
        (DeliveryOutcome::UpToDate, Fate::Replay(Seq(2))),
        "nor in a window"
    );
}

#[test]
fn f035_one_message_beside_live_input_is_no_restart() {
    let mut toy = Toy::default();
    toy.deliver(How::Turn, &["v", "a"]);
    toy.volatile.insert(Seq(0));
    toy.committed = Some(Seq(1));
    assert_eq!(toy.deliver(How::Turn, &["a"]).fates, [Fate::Append]);
    assert_eq!(toy.shown(), "v a a");
}

#[test]
fn f040_volatile_input_stays_where_it_stood() {
    let mut toy = Toy::default();
    toy.deliver(How::Turn, &["u", "v", "y"]);
    toy.volatile.insert(Seq(1));
    toy.open.push(Seq(2));
    assert_eq!(toy.deliver(How::Whole, &["u", "a", "y"]).base, Base::After(Seq(1)));
    assert_eq!(toy.shown(), "u v a y");
}

#[test]
fn f038_a_turn_may_have_come_by_an_array_before() {
    let mut toy = Toy::default();
    toy.deliver(How::Whole, &["u", "a"]);
    toy.committed = Some(Seq(1));
    toy.deliver(How::Whole, &["u", "a", "v", "b"]);
    assert_eq!(
        toy.deliver(How::Turn, &["v", "b", "c"]).fates[..2],
        [Fate::Known(Seq(2)), Fate::Known(Seq(3))]
    );
    assert_eq!(toy.shown(), "u a v b c");
    toy.committed = Some(Seq(4));
    toy.deliver(How::Turn, &["v", "b", "c"]);
    assert_eq!(toy.shown(), "u a v b c v b c", "and once it is committed, the same words are another turn");
}

proptest! {
    /// Whole arrays in any order: the path equals the array, and delivering it again changes nothing.
    #[test]
    fn f035_whole_arrays_keep_order_and_multiset(arrays in prop::collection::vec("[abc]{0,9}", 1..8)) {
        let mut toy = Toy::default();
        for array in &arrays {
            let words: Vec<&str> = array.split("").filter(|word| !word.is_empty()).collect();
            toy.deliver(How::Whole, &words);
            prop_assert_eq!(toy.shown(), words.join(" "));
            let stored = toy.entries.len();
            prop_assert_eq!(toy.deliver(How::Whole, &words).why, DeliveryOutcome::UpToDate);
            prop_assert_eq!(toy.entries.len(), stored);
        }
    }

    /// One history with names, delivered in windows, turns and whole, again and again: exactly once, in order.
    #[test]
    fn f034_named_messages_are_stored_once(
        words in "[abc]{1,20}",
        cuts in prop::collection::vec((0_usize..20, 1_usize..9, 0_u8..3), 1..20),
    ) {
        let history: Vec<String> = words.chars().zip(1..).map(|(word, name)| format!("{word}{name}")).collect();
        let history: Vec<&str> = history.iter().map(String::as_str).collect();
        let mut toy = Toy::default();
        let mut seen = 0;
        for (from, length, how) in cuts {
            let end = (seen + length).min(history.len());
            let how = [How::Whole, How::Window, How::Turn][usize::from(how)];
            let from = if how == How::Whole { 0 } else { from.min(seen) };
            toy.deliver(how, &history[from..end]);
            seen = end;
            prop_assert_eq!(toy.shown(), history[..seen].join(" "));
            prop_assert_eq!(toy.entries.len(), seen);
        }
    }

    /// Names given anew, merged and edited neighbours, live input: contents that are asked for in steps give the plan
    /// that all contents give. [`Toy::plan`] checks it.
    #[test]
    fn contents_are_asked_for_in_few_steps(
        stored in prop::collection::vec("[abc]{1,2}[1-6]?", 1..12),
        volatile in prop::collection::btree_set(0_u64..12, 0..4),
        arrays in prop::collection::vec(prop::collection::vec("[abc]{1,3}[1-6]?[?]?", 1..12), 1..6),
        how in prop::sample::select(vec![How::Whole, How::Window, How::Turn, How::Exact, How::Alike]),
    ) {
        let mut toy = Toy::default();
        let words: Vec<&str> = stored.iter().map(String::as_str).collect();
        for word in &words {
            // Each word for itself, so that names repeat.
            toy.entries.push((read(word).0, read(word).1));
        }
        toy.path = (0..toy.entries.len() as u64).collect();
        toy.volatile = volatile.into_iter().filter(|seq| *seq < toy.entries.len() as u64).map(Seq).collect();
        toy.committed = toy.path.last().map(|seq| Seq(*seq / 2));
        for array in &arrays {
            toy.plan(how, &array.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// Windows without names: nothing is dropped, and the shown history ends with the window.
    #[test]
    fn f036_windows_without_names_lose_nothing(arrays in prop::collection::vec("[abc]{1,6}", 1..8)) {
        let mut toy = Toy::default();
        let mut delivered = 0;
        for array in &arrays {
            let words: Vec<&str> = array.split("").filter(|word| !word.is_empty()).collect();
            toy.deliver(How::Window, &words);
            delivered += words.len();
            prop_assert_eq!(toy.entries.len(), delivered, "everything is stored");
            prop_assert!(toy.shown().ends_with(&words.join(" ")));
        }
    }
}
