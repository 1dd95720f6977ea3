//! Failures that a later command of the line hides from the host, by plain search.

use super::truth::{Event, command_of, is_shell};

/// Whether a line runs a check whose exit code a later command hides.
pub(crate) fn hides_check(event: &Event) -> bool {
    const CHECKS: [&str; 12] = [
        "go build ",
        "go vet ",
        "go test ",
        "mise run ",
        "npm run ",
        "npm test",
        "npx ts",
        "mix ",
        "cargo ",
        "make ",
        "golangci-lint ",
        "eslint ",
    ];
    let line = command_of(&event.input);
    let at = CHECKS.iter().filter_map(|check| line.find(check)).min();
    let behind = at.and_then(|at| line.get(at..)).unwrap_or_default();
    is_shell(&event.tool) && [" | ", "; ", " || "].iter().any(|mark| behind.contains(mark))
}

/// Whether an output reports a failure, by plain search in its lines.
pub(crate) fn reports_failure(event: &Event) -> bool {
    let text = event.extra["stdout"].as_str().filter(|text| !text.is_empty()).unwrap_or(&event.text);
    let line = command_of(&event.input);
    let counts_errors = (line.contains("wc -l") || line.contains("grep -c")) && line.contains("error");
    let number = |word: &str| word.parse::<u64>().is_ok_and(|number| number > 0);
    let is_place = |line: &str| {
        let mut steps = line.split(':');
        let file = steps.next().is_some_and(|file| {
            !file.contains(' ') && file.rsplit_once('.').is_some_and(|(_, end)| (1..5).contains(&end.len()))
        });
        file && steps.next().is_some_and(number)
            && steps.next().is_some_and(number)
            && steps.next().is_some_and(|words| words.starts_with(' ') && !words.contains("warning"))
    };
    let is_report = |line: &str| {
        let plain = line.rsplit("] ").next().unwrap();
        line.contains("ERROR task failed")
            || line.contains(": error TS")
            || line.starts_with("FAIL")
            || line.starts_with("npm error")
            || line.starts_with("npm ERR!")
            || line.starts_with("** (Mix)")
            || line.starts_with("error[E")
            || line.strip_prefix("Total errors: ").is_some_and(|rest| number(rest.split(',').next().unwrap()))
            || is_place(plain)
    };
    (counts_errors && number(text.trim())) || text.lines().any(is_report)
}
