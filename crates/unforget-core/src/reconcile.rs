//! Finds the new records in a delivered transcript.
//!
//! The generations of a conversation form a tree of raw chains, in which the chain up to an entry names the entry. A
//! delivered transcript therefore shares exactly its longest prefix with a known chain. The length of that prefix, and
//! where it ends, decide everything; equal content elsewhere in the history proves nothing and is not considered.

use crate::id::{Generation, Position};

/// The stored state, as far as the plan needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The current generation and the active length of its path; `None` for an empty conversation.
    pub head: Option<(Generation, u64)>,
    /// Whether the previously read transcript had equal bytes behind its last record.
    pub same_trailer: bool,
}

/// The delivered transcript, as far as the plan needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Number of records.
    pub length: u64,
    /// Length of its longest stored prefix, in any generation.
    pub shared: u64,
    /// Where that prefix ends: the generation that owns its last entry and the length of that generation's path; `None`
    /// if nothing is shared.
    pub end: Option<(Generation, u64)>,
}

/// What to write. Planning again after carrying a plan out gives [`ImportPlan::UpToDate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportPlan {
    /// Nothing is new.
    UpToDate,
    /// Only the bytes behind the last record changed, such as a final newline or a half-written line.
    Trailer,
    /// The first transcript of this conversation.
    FirstSight,
    /// Records from `from` on continue a known generation.
    Append {
        /// The generation.
        generation: Generation,
        /// Number of records already stored.
        from: u64,
    },
    /// All records are known, but the end is missing: the transcript was cut back.
    Rewind {
        /// The generation.
        generation: Generation,
        /// Number of entries that remain active.
        keep: u64,
    },
    /// All records are known, but in another generation than the current one: an older save came back.
    Switch {
        /// The generation.
        generation: Generation,
        /// Number of its entries.
        length: u64,
    },
    /// The transcript was rewritten or forked after `keep` records.
    Branch {
        /// The generation that owns the last shared record.
        parent: Generation,
        /// Number of shared records.
        keep: u64,
    },
    /// Nothing is shared under this name: the transcript was rotated or started anew.
    Rotation,
}

impl ImportPlan {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Trailer => "trailer",
            Self::FirstSight => "first-sight",
            Self::Append { .. } => "append",
            Self::Rewind { .. } => "rewind",
            Self::Switch { .. } => "switch",
            Self::Branch { .. } => "branch",
            Self::Rotation => "rotation",
        }
    }

    /// Position in the delivered transcript of the first record to write.
    pub fn write_from(self, delivered: Delivered) -> Position {
        Position(match self {
            Self::FirstSight | Self::Rotation => 0,
            Self::Append { from, .. } => from,
            Self::Branch { keep, .. } => keep,
            Self::UpToDate | Self::Trailer | Self::Rewind { .. } | Self::Switch { .. } => delivered.length,
        })
    }
}

/// Plans what a delivered transcript changes.
///
/// Cost: O(1). Source: design §4 Reconcile; failures F034, F035, F036, F095.
pub fn plan(stored: Stored, delivered: Delivered) -> ImportPlan {
    let Some((current, length)) = stored.head else {
        return ImportPlan::FirstSight;
    };
    let Some((generation, end)) = delivered.end else {
        return match (delivered.length, length) {
            (0, 0) if stored.same_trailer => ImportPlan::UpToDate,
            (0, 0) => ImportPlan::Trailer,
            _ => ImportPlan::Rotation,
        };
    };
    if delivered.shared < delivered.length {
        return if delivered.shared == end {
            ImportPlan::Append { generation, from: delivered.shared }
        } else {
            ImportPlan::Branch { parent: generation, keep: delivered.shared }
        };
    }
    if generation != current {
        return ImportPlan::Switch { generation, length: delivered.length };
    }
    if delivered.length != length {
        return ImportPlan::Rewind { generation, keep: delivered.length };
    }
    if stored.same_trailer { ImportPlan::UpToDate } else { ImportPlan::Trailer }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A store of generations over one-letter records: the smallest model on which a plan can be carried out.
    #[derive(Default, Clone)]
    struct Toy {
        paths: Vec<String>,
        owner: BTreeMap<String, u64>,
        head: Option<(Generation, u64)>,
    }

    impl Toy {
        fn facts(&self, file: &str) -> (Stored, Delivered) {
            let shared =
                (0..=file.len()).rev().find(|n| *n == 0 || self.owner.contains_key(&file[..*n])).unwrap();
            let end = (shared > 0).then(|| {
                let owner = self.owner[&file[..shared]];
                (Generation(owner), self.paths[owner as usize].len() as u64)
            });
            (
                Stored { head: self.head, same_trailer: true },
                Delivered { length: file.len() as u64, shared: shared as u64, end },
            )
        }

        fn import(&mut self, file: &str) -> ImportPlan {
            let (stored, delivered) = self.facts(file);
            let plan = plan(stored, delivered);
            let generation = match plan {
                ImportPlan::UpToDate | ImportPlan::Trailer => return plan,
                ImportPlan::Rewind { generation, .. }
                | ImportPlan::Switch { generation, .. }
                | ImportPlan::Append { generation, .. } => generation.0 as usize,
                ImportPlan::FirstSight | ImportPlan::Rotation | ImportPlan::Branch { .. } => {
                    self.paths.push(String::new());
                    self.paths.len() - 1
                }
            };
            let from = plan.write_from(delivered).0 as usize;
            if from < file.len() || self.paths[generation].is_empty() {
                self.paths[generation] = file.into();
            }
            for end in from..file.len() {
                self.owner.insert(file[..=end].into(), generation as u64);
            }
            self.head = Some((Generation(generation as u64), file.len() as u64));
            plan
        }
    }

    #[test]
    fn plan_table() {
        let g = Generation;
        let table: &[(&[&str], &str, ImportPlan, &str)] = &[
            (&[], "ab", ImportPlan::FirstSight, "first import"),
            (&["ab"], "ab", ImportPlan::UpToDate, "imported again"),
            (&["ab"], "abcd", ImportPlan::Append { generation: g(0), from: 2 }, "the file grew"),
            (&["abcd"], "ab", ImportPlan::Rewind { generation: g(0), keep: 2 }, "rewritten shorter"),
            (&["abcd", "ab"], "abcd", ImportPlan::Rewind { generation: g(0), keep: 4 }, "and long again"),
            (&["abcd", "ab"], "abx", ImportPlan::Branch { parent: g(0), keep: 2 }, "went on differently"),
            (&["abc"], "abx", ImportPlan::Branch { parent: g(0), keep: 2 }, "last message edited"),
            (
                &["abc", "abx"],
                "abc",
                ImportPlan::Switch { generation: g(0), length: 3 },
                "the older save came back",
            ),
            (&["abc", "abx"], "abxy", ImportPlan::Append { generation: g(1), from: 3 }, "the fork goes on"),
            (&["ab"], "1ab", ImportPlan::Rotation, "same words, another start: position decides"),
            (
                &["aaaa"],
                "aaaaa",
                ImportPlan::Append { generation: g(0), from: 4 },
                "repeats are not duplicates",
            ),
        ];
        for (before, file, want, why) in table {
            let mut toy = Toy::default();
            for earlier in *before {
                toy.import(earlier);
            }
            assert_eq!(toy.import(file), *want, "{why}");
            assert_eq!(toy.import(file), ImportPlan::UpToDate, "again: {why}");
        }
    }

    proptest! {
        /// For any files in any order, each is stored whole, nothing is stored twice, and the set of stored nodes does
        /// not depend on the order.
        #[test]
        fn f034_f035_any_order_gives_the_same_nodes(files in prop::collection::vec("[ab]{1,8}", 1..8)) {
            let (mut forward, mut backward) = (Toy::default(), Toy::default());
            for file in &files {
                forward.import(file);
                prop_assert_eq!(forward.import(file), ImportPlan::UpToDate);
                let (generation, length) = forward.head.unwrap();
                prop_assert_eq!(&forward.paths[generation.0 as usize][..length as usize], file.as_str());
            }
            for file in files.iter().rev() {
                backward.import(file);
            }
            let nodes = |toy: &Toy| toy.owner.keys().cloned().collect::<Vec<_>>();
            prop_assert_eq!(nodes(&forward), nodes(&backward));
        }
    }
}
