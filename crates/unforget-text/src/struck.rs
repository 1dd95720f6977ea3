//! Statements that a reader rejected, and summaries without them.

use unforget_core::id::Seq;

use crate::sections::{Item, SectionKind, State, Summary};

/// A reader's verdict, as far as it says which statements are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike<'a> {
    /// Number of the verdict, which the text names.
    pub number: u64,
    /// The entry.
    pub seq: Seq,
    /// The words that are meant; `None` for the whole entry.
    pub line: Option<&'a str>,
}

/// Sections whose items are statements. The others list names, which nobody can refute.
const STATEMENTS: [SectionKind; 7] = [
    SectionKind::Outcomes,
    SectionKind::Constraints,
    SectionKind::Decisions,
    SectionKind::Errors,
    SectionKind::OpenAsks,
    SectionKind::Remarks,
    SectionKind::Excerpts,
];

/// Whether words of an entry mean a statement of it: one holds the other, up to white space.
pub fn is_meant(line: &str, statement: &str) -> bool {
    let (line, statement) = (squeezed(line), squeezed(statement));
    statement.contains(&line) || line.contains(&statement)
}

impl Summary {
    /// This summary with a note in the place of each rejected statement: the number of the verdict, and the entries of the
    /// statement as before. `None` if nothing in it is rejected.
    ///
    /// Of the host's own summary only the very words are replaced. Cost: O(items × strikes).
    pub fn struck(&self, strikes: &[Strike<'_>]) -> Option<Self> {
        let mut struck = self.clone();
        let mut is_struck = false;
        for section in &mut struck.sections {
            for item in &mut section.items {
                let by = strikes.iter().find(|strike| strike.is_on(section.kind, item));
                let Some(by) = by else { continue };
                is_struck = true;
                let note = format!("[rejected by a reader: verdict {}]", by.number);
                item.text = match (section.kind, by.line) {
                    (SectionKind::HostSummary, Some(line)) => item.text.replace(line.trim(), &note),
                    _ => note,
                };
                item.state = State::Fact;
            }
        }
        is_struck.then_some(struck)
    }

    /// The statement that words of this summary mean, as it stands in it.
    ///
    /// * `line` - as a prompt or `expand` shows it: a mark before it and entries behind it do no harm.
    pub fn statement(&self, line: &str) -> Option<&Item> {
        let words = squeezed(line);
        let items = STATEMENTS.iter().flat_map(|kind| self.items(*kind));
        let fits = |item: &&Item| {
            let text = squeezed(&item.text);
            text.contains(&words) || words.contains(&text)
        };
        // The longest: a short statement may be a part of another one.
        items.filter(fits).max_by_key(|item| item.text.len())
    }
}

impl Strike<'_> {
    fn is_on(&self, kind: SectionKind, item: &Item) -> bool {
        match self.line {
            Some(line) if kind == SectionKind::HostSummary => {
                item.seqs.contains(&self.seq) && item.text.contains(line.trim())
            }
            Some(line) => {
                STATEMENTS.contains(&kind) && item.seqs.contains(&self.seq) && is_meant(line, &item.text)
            }
            // A statement that other entries say too still stands.
            None => {
                STATEMENTS.contains(&kind)
                    && item.seqs.iter().all(|seq| *seq == self.seq)
                    && !item.seqs.is_empty()
            }
        }
    }
}

/// A text with single blanks for all white space.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::Section;

    fn summary() -> Summary {
        let section = |kind, items: &[(&str, &[u64])]| Section {
            kind,
            items: items
                .iter()
                .map(|(text, seqs)| Item {
                    seqs: seqs.iter().map(|seq| Seq(*seq)).collect(),
                    ..Item::new(*text, Seq(0))
                })
                .collect(),
        };
        Summary {
            sections: vec![
                section(
                    SectionKind::Decisions,
                    &[("The port is 8080.", &[4]), ("The log rotates daily.", &[4, 9])],
                ),
                section(SectionKind::FilesWritten, &[("port.rs", &[4])]),
                section(SectionKind::HostSummary, &[("The port is 8080. All is well.", &[7])]),
            ],
            ..Summary::default()
        }
    }

    fn texts(summary: &Summary) -> Vec<&str> {
        summary.sections.iter().flat_map(|section| &section.items).map(|item| item.text.as_str()).collect()
    }

    #[test]
    fn struck_table() {
        let strike = |seq, line| Strike { number: 3, seq: Seq(seq), line };
        let note = "[rejected by a reader: verdict 3]";
        let (port, log, file, host) =
            ("The port is 8080.", "The log rotates daily.", "port.rs", "The port is 8080. All is well.");
        let in_host = format!("{note} All is well.");
        let table = [
            (strike(4, Some("port  is 8080")), Some([note, log, file, host]), "words of a statement"),
            (strike(4, None), Some([note, log, file, host]), "the entry: what another one says too stands"),
            (strike(7, Some("The port is 8080.")), Some([port, log, file, &in_host]), "in the host's words"),
            (strike(4, Some("port.rs")), None, "a name in a list is no statement"),
            (strike(5, Some("The port is 8080.")), None, "another entry"),
            (strike(4, Some("The port is 9090.")), None, "other words"),
        ];
        for (strike, want, why) in table {
            let struck = summary().struck(&[strike]);
            assert_eq!(struck.as_ref().map(texts), want.map(Vec::from), "{why}");
        }
    }

    #[test]
    fn a_statement_is_found_as_it_was_shown() {
        let summary = summary();
        let table = [
            ("- The port is 8080. (4)", Some("The port is 8080."), "with its mark and its entry"),
            ("rotates daily", Some("The log rotates daily."), "words of it"),
            ("port.rs", None, "a name"),
            ("nothing of this", None, "other words"),
        ];
        for (line, want, why) in table {
            assert_eq!(summary.statement(line).map(|item| item.text.as_str()), want, "{why}");
        }
    }
}
