//! The tree of summaries, breaks, and the needs of a loop's end.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn sizes(seq: u64, tokens: u64, human: bool) -> Sizes {
    Sizes {
        full: Tokens::exact(tokens),
        settled: Tokens::exact(tokens),
        stubbed: Tokens::exact(tokens.min(200)),
        source: tokens,
        span: (Seq(seq), Seq(seq)),
        count: 1,
        human: human.then_some(Seq(seq)),
        open: false,
        end: Digest::of(&seq.to_le_bytes()),
    }
}

/// Plays a history through breaks as the engine does. Returns the state and the groups behind it.
fn play(history: &[(u64, bool)], policy: &Policy) -> (Context, Vec<Sizes>) {
    let (mut context, mut groups) = (Context::default(), Vec::new());
    for (seq, (tokens, human)) in history.iter().enumerate() {
        groups.push(sizes(seq as u64, *tokens, *human));
        let now = planned(&context, Tokens::default(), &groups, policy);
        if pressure(now, policy) == Pressure::Hard
            && let Some(plan) = plan_break(&context, Pressure::Hard, Tokens::default(), &groups, policy)
        {
            let after = planned(&plan.context, Tokens::default(), &groups[plan.groups..], policy);
            assert!(after.expected <= now.expected, "a break never makes the prompt larger");
            groups.drain(..plan.groups);
            context = plan.context;
        }
        prove_cover(&context, &groups, seq as u64 + 1).unwrap();
    }
    (context, groups)
}

#[test]
fn leaves_merge_when_there_is_no_room() {
    let policy = Policy::for_window(32_768);
    let mut context = Context::default();
    let groups: Vec<_> = (0..5_000).map(|seq| sizes(seq, 10, false)).collect();
    let mut depth = 0;
    for leaf in 0..5_000 {
        let mut jobs = Vec::new();
        let before = wanted(&context.roots, &policy);
        push_leaf(&mut context, &groups, leaf..leaf + 1, &policy, &mut jobs);
        let is_tight = before + policy.leaf_tokens > policy.zone;
        assert!(jobs.len() == 1 || is_tight, "summaries merge if they have to, and not before");
        let can_merge = context.roots.chunk_by(|a, b| a.level == b.level).any(|run| run.len() >= FAN_IN);
        assert!(wanted(&context.roots, &policy) <= policy.zone || !can_merge, "until they fit");
        assert!(context.roots.is_sorted_by(|older, newer| older.level >= newer.level));
        let mut start = 0;
        for root in &context.roots {
            let leaves = (FAN_IN as u64).pow(u32::from(root.level));
            assert_eq!((root.span.0.0, root.count), (start, leaves), "where the tree has it");
            assert_eq!(start % leaves, 0, "where the tree has it");
            start += leaves;
        }
        depth = depth.max(context.roots.first().map_or(0, |root| root.level));
    }
    assert!(4_u32.pow(u32::from(depth)) <= 5_000, "no entry is recompressed more than log4 n times");
    let used: u64 = allotments(&context.roots, policy.zone, &policy).iter().sum();
    assert!(used * 10 > policy.zone * 7, "the zone is used: {used}");
}

#[test]
fn f022_the_newest_human_message_is_carried_out_of_a_summary() {
    let policy = Policy::for_window(8_192);
    let mut history = vec![(50, true)];
    history.extend(std::iter::repeat_n((300, false), 60));
    let (context, groups) = play(&history, &policy);
    assert!(context.covered > 1, "a long tool loop is compacted inside the turn");
    assert_eq!(context.carried, Some(Seq(0)));
    assert!(groups.iter().all(|group| group.human.is_none()));
}

#[test]
fn f010_nothing_to_gain_is_no_break() {
    let policy = Policy::for_window(8_192);
    let mut groups = vec![sizes(0, 100_000, true)];
    groups[0].stubbed = groups[0].full;
    let first = plan_break(&Context::default(), Pressure::Hard, Tokens::default(), &groups, &policy);
    let context = first.map_or_else(Context::default, |plan| plan.context);
    assert_eq!(plan_break(&context, Pressure::Hard, Tokens::default(), &groups, &policy), None);
}

#[test]
fn f054_over_table() {
    // A letter is a group with reasoning, in lower case without; `!` is a person's message.
    let table = [
        // groups  settled_below  as_of  settled below from then on  why
        ("!ABC!", 0, 2, Some(4), "the loop that the break fell into is over"),
        ("!ABC", 0, 2, None, "it is open"),
        ("!ABC!D!", 0, 2, Some(6), "and what came before the open loop goes with it"),
        ("!ABC!D", 0, 2, Some(5), "the open loop keeps its own"),
        ("!abc!", 0, 2, None, "nothing was signed"),
        ("!ABC!", 4, 4, None, "the break was between loops"),
        ("!ABC!D", 4, 4, None, "what is signed behind it holds"),
        ("!ABC!", 0, 4, None, "nobody spoke since"),
    ];
    for (text, settled_below, as_of, want, why) in table {
        let group = |(seq, letter): (usize, char)| {
            let mut sizes = sizes(seq as u64, 100, letter == '!');
            sizes.full = Tokens::exact(if letter.is_ascii_uppercase() { 150 } else { 100 });
            sizes
        };
        let groups: Vec<Sizes> = text.chars().enumerate().map(group).collect();
        let context = Context { epoch: 1, settled_below: Seq(settled_below), ..Context::default() };
        let plan = plan_over(&context, Seq(as_of), &groups);
        assert_eq!(plan.as_ref().map(|plan| plan.context.settled_below.0), want, "{why}: {text}");
        if let Some(plan) = plan {
            assert_eq!((plan.jobs.len(), plan.groups), (0, 0), "{why}");
            assert_eq!(plan_over(&plan.context, Seq(text.len() as u64), &groups), None, "{why}: once");
        }
        let unbroken = Context { epoch: 0, ..context };
        assert_eq!(plan_over(&unbroken, Seq(as_of), &groups), None, "no break, nothing moved");
    }
}

#[test]
fn allotment_table() {
    const DEEP: [u8; 21] = [6, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0];
    let policy =
        Policy { leaf_tokens: 100, condensed_tokens: 800, zone: 4_000, ..Policy::for_window(32_768) };
    let root =
        |level| Root { tree: Tree::Own, level, span: (Seq(0), Seq(0)), count: 1, end: Digest([0; 32]) };
    let table: [(&[u8], &[u64], &str); 6] = [
        (&[], &[], "none"),
        (&[2, 1, 0, 0], &[400, 200, 100, 100], "twice the room for four times the entries"),
        (&[9, 3], &[800, 800], "up to the largest"),
        (&[3, 3, 3, 3, 3, 0], &[775, 775, 775, 775, 775, 100], "the largest give way, by quarters of a leaf"),
        (&[0; 50], &[75; 50], "many leaves share the zone"),
        (&DEEP, &[[200; 18].as_slice(), &[100; 3]].concat(), "a deep tree keeps its leaves"),
    ];
    for (levels, want, why) in table {
        let roots: Vec<Root> = levels.iter().map(|level| root(*level)).collect();
        let found = allotments(&roots, policy.zone, &policy);
        assert_eq!(found, want, "{why}");
        assert!(found.iter().sum::<u64>() <= policy.zone, "{why}");
    }
}

#[test]
fn nears_table() {
    let policy = Policy::for_window(32_768);
    let table = [
        (560, false, "what a break leaves is far from the next"),
        (690, false, "not yet half way"),
        (700, true, "more than half way to where a cold cache breaks"),
        (760, true, "it may break with the next prompt"),
        (900, true, "it does"),
    ];
    for (permille, want, why) in table {
        assert_eq!(nears(Tokens::exact(policy.share(permille)), &policy), want, "{why}");
    }
}

#[test]
fn target_table() {
    let policy = Policy::for_window(200_000);
    let permille = |tokens: u64| (tokens * 1_000).div_ceil(policy.budget());
    // A letter is a call of so many hundred tokens, `!` a person's message of ten.
    let table = [
        ("", 650, "nothing is known of its growth"),
        ("!5555!5555", 650, "a slow history keeps as much as it may"),
        ("!99999999", 650, "at 200k, 900 tokens a call are slow"),
        ("!zzzzzzzz", 495, "a faster one makes room for eighteen calls"),
        ("!ZZZZZZZZ", 300, "the fastest one leaves what it has to"),
    ];
    for (text, want, why) in table {
        let size = |letter: char| match letter {
            '!' => 10,
            'z' => 5_000,
            'Z' => 20_000,
            digit => u64::from(digit.to_digit(10).unwrap()) * 100,
        };
        let groups: Vec<Sizes> =
            (0..).zip(text.chars()).map(|(seq, letter)| sizes(seq, size(letter), letter == '!')).collect();
        assert_eq!(permille(target(Pressure::Hard, &groups, &policy)), want, "{why}");
    }
}

proptest! {
    /// For any history, an entry is compressed at most log₄ of the number of leaves times: once into its leaf, then
    /// once per level.
    #[test]
    fn no_entry_is_recompressed_more_than_log4_n_times(
        history in prop::collection::vec((1_u64..3_000, any::<bool>()), 1..400),
        window in 1_024_u64..16_000,
    ) {
        let policy = Policy::for_window(window);
        let (context, _) = play(&history, &policy);
        let leaves: u64 = context.roots.iter().map(|root| 4_u64.pow(u32::from(root.level))).sum();
        for root in &context.roots {
            prop_assert!(4_u64.pow(u32::from(root.level)) <= leaves && leaves <= context.covered);
            prop_assert!(u32::from(root.level) <= (history.len() as u64).ilog(4));
        }
    }

    /// Allotments never exceed the zone.
    #[test]
    fn allotments_stay_in_their_zone(levels in prop::collection::vec(0_u8..12, 0..60), window in 1_024_u64..2_000_000) {
        let policy = Policy::for_window(window);
        let root = |level: &u8| Root { tree: Tree::Own, level: *level, span: (Seq(0), Seq(0)), count: 1, end: Digest([0; 32]) };
        let roots: Vec<Root> = levels.iter().map(root).collect();
        prop_assert!(allotments(&roots, policy.zone, &policy).iter().sum::<u64>() <= policy.zone);
    }

    /// The cover is exact after every step, and the summaries for k leaves depend on k and the policy alone.
    #[test]
    fn cover_is_exact_and_independent_of_when_breaks_happen(
        history in prop::collection::vec((1_u64..3_000, any::<bool>()), 1..120),
        window in 4_096_u64..40_000,
    ) {
        let policy = Policy::for_window(window);
        let (context, groups) = play(&history, &policy);
        let all: Vec<_> = history.iter().enumerate().map(|(seq, (t, h))| sizes(seq as u64, *t, *h)).collect();
        let mut direct = Context::default();
        let mut taken = 0;
        while direct.covered < context.covered {
            let leaf = next_leaf(&all, taken..all.len(), policy.grain).unwrap();
            taken = push_leaf(&mut direct, &all, leaf, &policy, &mut Vec::new());
        }
        prop_assert_eq!(direct.roots, context.roots);
        prop_assert!(groups.last().is_some(), "the newest group is never summarised");
    }

    /// After a break the prompt equals the one before, with summaries in place of its beginning up to the cut.
    #[test]
    fn f021_a_break_takes_the_beginning_and_nothing_else(
        history in prop::collection::vec((1_u64..3_000, any::<bool>()), 1..120),
        window in 4_096_u64..40_000,
        is_all in any::<bool>(),
    ) {
        let policy = Policy::for_window(window);
        let (before, groups) = play(&history, &policy);
        let none = Tokens::default();
        let plan = if is_all {
            plan_all(&before, &groups, &policy)
        } else {
            plan_break(&before, Pressure::Hard, none, &groups, &policy)
        };
        let Some(plan) = plan else { return Ok(()) };
        let (taken, kept) = groups.split_at(plan.groups);
        prop_assert!(!kept.is_empty(), "the newest group stays");
        let tail: u64 = kept.iter().map(|group| group.settled.expected).sum();
        let next = taken.last().map_or(0, |group| group.settled.expected);
        prop_assert!(taken.is_empty() || tail + next > policy.fresh_tail, "no more than up to the tail");
        let counted = |roots: &[Root]| roots.iter().map(|root| root.count).sum::<u64>();
        prop_assert_eq!(counted(&plan.context.roots), counted(&before.roots) + taken.len() as u64);
        let last = |roots: &[Root]| roots.last().map(|root| root.span.1);
        let cut = taken.last().map(|group| group.span.1).or(last(&before.roots));
        prop_assert_eq!(last(&plan.context.roots), cut, "the summaries end at the cut");
        prop_assert!(kept.first().is_none_or(|group| cut.is_none_or(|cut| group.span.0 > cut)));
    }

    /// f012: after a break the prompt is at the depth for its growth, or nothing more is old enough. So many calls fit
    /// between two breaks.
    #[test]
    fn f012_a_break_leaves_room_or_nothing_to_take(
        history in prop::collection::vec((1_u64..3_000, any::<bool>()), 1..160),
        window in 4_096_u64..400_000,
    ) {
        let policy = Policy::for_window(window);
        let (mut context, mut groups) = (Context::default(), Vec::new());
        for (seq, (tokens, human)) in history.iter().enumerate() {
            groups.push(sizes(seq as u64, *tokens, *human));
            let now = planned(&context, Tokens::default(), &groups, &policy);
            let pressure = pressure(now, &policy);
            if pressure == Pressure::Calm {
                continue;
            }
            let target = target(pressure, &groups, &policy);
            let plan = plan_break(&context, pressure, Tokens::default(), &groups, &policy);
            let Some(plan) = plan else { continue };
            groups.drain(..plan.groups);
            context = plan.context;
            let after = planned(&context, Tokens::default(), &groups, &policy);
            let tail = fresh_tail(&groups, &policy);
            prop_assert!(
                after.upper <= target || next_leaf(&groups, 0..tail, policy.grain).is_none()
            );
        }
    }

    /// f012: breaks come at most once per fixed amount of growth, never on every call.
    #[test]
    fn f012_breaks_are_rare(n in 50_usize..400) {
        let policy = Policy::for_window(32_768);
        let history: Vec<_> = (0..n).map(|i| (250, i % 6 == 0)).collect();
        let (context, _) = play(&history, &policy);
        let grown = 250 * n as u64;
        prop_assert!(u64::from(context.epoch) <= grown / policy.share(200) + 1);
    }
}
