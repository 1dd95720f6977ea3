//! Three machines in any order: they end with the same histories.

use proptest::prelude::*;
use unforget_sync::SyncFolder;

use crate::machine::{Machine, session, words};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A machine goes on with a session by some messages.
    Say {
        machine: usize,
        session: usize,
        more: usize,
    },
    /// A machine's host rewrites a session from the middle on.
    Rewrite {
        machine: usize,
        session: usize,
    },
    Sync {
        machine: usize,
    },
    /// A machine only takes, as if its disk were full.
    Take {
        machine: usize,
    },
    /// A machine only puts.
    Put {
        machine: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_usize, 0..2_usize, 1..4_usize).prop_map(|(machine, session, more)| Step::Say { machine, session, more }),
        1 => (0..3_usize, 0..2_usize).prop_map(|(machine, session)| Step::Rewrite { machine, session }),
        3 => (0..3_usize).prop_map(|machine| Step::Sync { machine }),
        1 => (0..3_usize).prop_map(|machine| Step::Take { machine }),
        1 => (0..3_usize).prop_map(|machine| Step::Put { machine }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn machines_end_with_the_same_histories(steps in prop::collection::vec(step(), 1..24), is_encrypted in prop::bool::weighted(0.1)) {
        let folder = tempfile::tempdir().unwrap();
        let passphrase = is_encrypted.then_some("nine blue herons");
        let mut shared = SyncFolder::open(folder.path(), passphrase, false).unwrap();
        let machines = [Machine::new(), Machine::new(), Machine::new()];
        // What each machine's host has written of each session.
        let mut said = vec![vec![Vec::<String>::new(); 2]; 3];
        let mut number = 0;
        for step in steps {
            match step {
                Step::Say { machine, session: at, more } => {
                    for _ in 0..more {
                        number += 1;
                        said[machine][at].push(format!("of machine {machine}, {number}"));
                    }
                    machines[machine].has(&session(&format!("s{at}"), &said[machine][at]));
                }
                Step::Rewrite { machine, session: at } => {
                    number += 1;
                    let half = said[machine][at].len() / 2;
                    said[machine][at].truncate(half);
                    said[machine][at].extend(words(1, &format!("rewritten {number}")));
                    machines[machine].has(&session(&format!("s{at}"), &said[machine][at]));
                }
                Step::Sync { machine } => {
                    machines[machine].sync(&mut shared);
                }
                Step::Take { machine } => {
                    prop_assert_eq!(machines[machine].take(&mut shared, false).0.left, 0);
                }
                Step::Put { machine } => {
                    prop_assert_eq!(machines[machine].put(&mut shared).0.left, 0);
                }
            }
        }
        for _ in 0..2 {
            for machine in &machines {
                machine.sync(&mut shared);
            }
        }
        for machine in &machines {
            machine.is_sound();
            prop_assert_eq!(machine.sync(&mut shared).entries, 0);
            let held: std::collections::BTreeSet<_> = machine.entries().into_iter().collect();
            let other: std::collections::BTreeSet<_> = machines[0].entries().into_iter().collect();
            prop_assert_eq!(held, other, "every entry that any machine has");
        }
    }
}
