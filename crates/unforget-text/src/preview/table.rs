//! Tables and lists of paths.

use std::collections::BTreeMap;

use super::{Kind, some};
use crate::clip::{clip, grouped, head, one_line};

/// Number of rows read to detect the kind of a text.
const SAMPLE: usize = 40;

/// Values with one separator and an equal number of columns per row.
pub(super) fn describe(text: &str) -> Option<(Kind, String)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = lines.next()?;
    let (separator, name) = [('\t', "TSV"), (',', "CSV"), (';', "CSV"), ('|', "table")]
        .into_iter()
        .find(|(separator, _)| header.contains(*separator))?;
    let columns = columns(header, separator);
    let mut rows = 0;
    let mut even = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()).skip(1).take(SAMPLE) {
        rows += 1;
        even += usize::from(self::columns(line, separator) == columns);
    }
    let prose = header.split(separator).any(|cell| cell.split_whitespace().count() > 6);
    if columns < 2 || rows < 2 || even * 10 < rows * 9 || (prose && separator == ',') {
        return None;
    }
    let rows = lines.count();
    let names: Vec<String> = header
        .split(separator)
        .map(|cell| one_line(head(cell.trim().trim_matches('"'), 80)))
        .filter(|cell| !cell.is_empty())
        .collect();
    Some((Kind::Table, format!("{name}: {} rows, {columns} columns: {}", grouped(rows), some(&names, 12))))
}

/// Columns of a row; separators inside double quotes do not count.
fn columns(line: &str, separator: char) -> usize {
    let mut quoted = false;
    let mut columns = 1;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => columns += 1,
            _ => {}
        }
    }
    columns
}

/// Paths one per line, `ls -l` rows, or search hits by path.
pub(super) fn listing(text: &str) -> Option<(Kind, String)> {
    let lines = || text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let sampled = lines().take(SAMPLE).count();
    let hits = lines().take(SAMPLE).filter(|line| hit(line).is_some()).count();
    let paths = lines().take(SAMPLE).filter(|line| path(line).is_some()).count();
    if sampled >= 2 && hits * 10 >= sampled * 7 {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        let mut total = 0;
        for file in lines().filter_map(hit) {
            *files.entry(file).or_default() += 1;
            total += 1;
        }
        let mut top: Vec<(&str, usize)> = files.into_iter().collect();
        top.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
        let names: Vec<String> =
            top.iter().map(|(file, count)| format!("{} ({count})", clip(file, 50))).collect();
        return Some((
            Kind::Listing,
            format!("{} hits in {} files: {}", grouped(total), names.len(), some(&names, 5)),
        ));
    }
    if sampled >= 3 && paths * 10 >= sampled * 8 {
        let names: Vec<&str> = lines().filter_map(path).collect();
        return Some((Kind::Listing, format!("listing of {}: {}", grouped(names.len()), some(&names, 8))));
    }
    None
}

/// The file of a search hit, `path:12:text`.
fn hit(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once([':', '-']).unwrap_or((rest, ""));
    let numbered = !number.is_empty() && number.len() < 9 && number.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && is_name(file) && file.contains(['/', '.'])).then_some(file)
}

/// The name in a line of a listing: a bare path, or the last column of `ls -l`.
fn path(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['├', '─', '└', '│', ' ', '-']).trim();
    let long = line.len() > 10
        && line.as_bytes().get(1..10).is_some_and(|mode| mode.iter().all(|byte| b"rwxsStT-".contains(byte)));
    if long {
        return line.split_whitespace().nth(8);
    }
    let named = line.contains('/')
        || line
            .rsplit_once('.')
            .is_some_and(|(stem, extension)| !stem.is_empty() && matches!(extension.len(), 1..=6));
    (is_name(line) && named).then_some(line)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() < 260
        && !text.contains(|c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '(' | ')' | '{' | '}' | ';' | ',' | '=' | '"' | '<' | '>')
        })
}
