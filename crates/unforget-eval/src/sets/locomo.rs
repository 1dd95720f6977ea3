//! LoCoMo: long talks between two people, and questions with the turns that answer them.

use serde_json::Value;
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;
use unforget_recall::calendar::{Day, month_named};

use super::text_of;
use crate::case::{Case, Question, Turn};

/// Highest session number tried; real files skip some.
const SESSIONS_MAX: usize = 200;

/// The conversations of a file: one, or an array of them; `None` for other JSON.
pub(super) fn cases(value: &Value) -> Option<Vec<Case>> {
    let samples = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let cases: Vec<Case> = samples.iter().filter_map(case_of).collect();
    (!cases.is_empty()).then_some(cases)
}

fn case_of(sample: &Value) -> Option<Case> {
    let talk = sample.get("conversation")?;
    let (mut turns, mut ids) = (Vec::new(), Vec::new());
    for session in 1..=SESSIONS_MAX {
        let Some(said) = talk.get(format!("session_{session}")).and_then(Value::as_array) else { continue };
        let time = spoken_time(&text_of(talk, &format!("session_{session}_date_time")));
        for turn in said {
            ids.push(numbers(&text_of(turn, "dia_id")));
            let text = format!("{}\n{}", text_of(turn, "text"), text_of(turn, "blip_caption"));
            turns.push(Turn {
                author: text_of(turn, "speaker"),
                role: Role::None,
                time,
                session,
                text: text.trim_end().to_owned(),
            });
        }
    }
    let asked = sample.get("qa").and_then(Value::as_array);
    let questions = asked.into_iter().flatten().map(|question| {
        let named = question.get("evidence").and_then(Value::as_array);
        let named: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
        let number = question.get("category").map(ToString::to_string).unwrap_or_default();
        Question {
            text: text_of(question, "question"),
            category: category(&number).to_owned(),
            evidence: evidence(&named, &ids),
            any: false,
        }
    });
    let questions = questions.collect();
    (!turns.is_empty()).then_some(Case { turns, questions })
}

fn category(number: &str) -> &str {
    match number {
        "1" => "multi-hop",
        "2" => "temporal",
        "3" => "open-domain",
        "4" => "single-hop",
        "5" => "adversarial",
        other => other,
    }
}

/// The turns named by the evidence, ascending, without duplicates.
///
/// Reads LoCoMo's strings, malformed ones included: several ids in one string (`D8:6; D9:17`), a stray colon
/// (`D:11:26`), leading zeros (`D30:05`). Text that names no turn is left out.
fn evidence(named: &[&str], ids: &[Option<(u32, u32)>]) -> Vec<usize> {
    let names = named.iter().flat_map(|one| one.split(|c: char| c == ';' || c == ',' || c.is_whitespace()));
    let mut found: Vec<usize> =
        names.filter_map(numbers).filter_map(|name| ids.iter().position(|id| *id == Some(name))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `D3:7` as (3, 7).
fn numbers(id: &str) -> Option<(u32, u32)> {
    let (session, turn) = id.trim().strip_prefix('D')?.trim_start_matches(':').split_once(':')?;
    Some((session.parse().ok()?, turn.parse().ok()?))
}

/// Parses a time in LoCoMo's notation, `1:56 pm on 8 May, 2023`, as UTC.
fn spoken_time(text: &str) -> Option<Timestamp> {
    let (clock, date) = text.split_once(" on ")?;
    let (time, half) = clock.trim().split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = hour % 12 + if half.eq_ignore_ascii_case("pm") { 12 } else { 0 };
    let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
    let day = parts.next()?.parse().ok()?;
    let month = month_named(&parts.next()?.to_lowercase())?;
    let year = parts.next()?.parse().ok()?;
    let start = Day { year, month, day }.start();
    Some(Timestamp(start.0 + (hour * 60 + minute) * 60_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_table() {
        let ids = ["D8:6", "D9:17", "D11:26", "D30:5"].map(numbers);
        let table: [(&[&str], &[usize], &str); 6] = [
            (&["D8:6; D9:17"], &[0, 1], "two in one string"),
            (&["D9:17 D8:6 D8:6"], &[0, 1], "spaces, and one twice"),
            (&["D:11:26"], &[2], "stray colon"),
            (&["D30:05"], &[3], "leading zero"),
            (&["D", "D10:19", ""], &[], "names no turn"),
            (&[], &[], "none at all"),
        ];
        for (named, want, why) in table {
            assert_eq!(evidence(named, &ids), want, "{why}");
        }
    }

    #[test]
    fn time_table() {
        let table = [
            ("1:56 pm on 8 May, 2023", Some(1_683_554_160_000), "afternoon"),
            ("12:09 am on 13 September, 2023", Some(1_694_563_740_000), "midnight"),
            ("12:30 pm on 1 January, 1970", Some(45_000_000), "noon"),
            ("8 May 2023", None, "no time"),
        ];
        for (text, want, why) in table {
            assert_eq!(spoken_time(text), want.map(Timestamp), "{why}");
        }
    }
}
