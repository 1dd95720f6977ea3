//! Edits JSON as text: everything that is not edited keeps its bytes.
//!
//! The text must be valid JSON with an object at its top, which [`check`] proves. Other functions scan the structure without recursion.

use std::ops::Range;

use serde_json::Value;

/// Proves that a text is JSON with an object at its top.
///
/// # Errors
/// What is wrong, with its line and column.
pub(super) fn check(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err("there is no object at its top".to_owned()) }
}

/// The value at a path of keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Puts a member into the object at a path. Missing objects on the way are made. The member must not be there yet.
///
/// # Errors
/// If something on the way is no object.
pub(super) fn put_member(text: &str, path: &[&str], key: &str, value: &Value) -> Result<String, String> {
    let (found, missing) = descend(text, path)?;
    let Some((first, rest)) = missing.split_first() else { return Ok(insert(text, found, Some(key), value)) };
    let mut inner = serde_json::json!({ key: value });
    for name in rest.iter().rev() {
        inner = serde_json::json!({ *name: inner });
    }
    Ok(insert(text, found, Some(first), &inner))
}

/// Puts an element at the end of the array at a path. Missing objects and a missing array are made.
///
/// # Errors
/// If something on the way is no object, or the last one no array.
pub(super) fn put_element(text: &str, path: &[&str], element: &Value) -> Result<String, String> {
    let Some((last, before)) = path.split_last() else {
        return Err("there is no array at its top".to_owned());
    };
    let (found, missing) = descend(text, before)?;
    let list =
        members(text, &found).into_iter().rfind(|member| member.key == *last).filter(|_| missing.is_empty());
    let Some(list) = list else {
        return put_member(text, before, last, &Value::Array(vec![element.clone()]));
    };
    if byte(text, list.value.start) != Some(b'[') {
        return Err(format!("{last} is no array"));
    }
    Ok(insert(text, list.value, None, element))
}

/// Takes the member at a path out. The text itself if there is none.
pub(super) fn take_member(text: &str, path: &[&str], key: &str) -> String {
    let Some(object) = walk(text, path) else { return text.to_owned() };
    let all = members(text, &object);
    let place = all.iter().position(|member| member.key == key);
    let spans: Vec<Range<usize>> = all.iter().map(|member| member.start..member.value.end).collect();
    place.map_or_else(|| text.to_owned(), |place| without(text, &object, &spans, place))
}

/// Takes an element of the array at a path out. The text itself if there is none.
pub(super) fn take_element(text: &str, path: &[&str], element: &Value) -> String {
    let Some(list) = walk(text, path).filter(|list| byte(text, list.start) == Some(b'[')) else {
        return text.to_owned();
    };
    let spans = elements(text, &list);
    let is_it = |span: &Range<usize>| {
        let read: Option<Value> = text.get(span.clone()).and_then(|text| serde_json::from_str(text).ok());
        read.as_ref() == Some(element)
    };
    let place = spans.iter().position(is_it);
    place.map_or_else(|| text.to_owned(), |place| without(text, &list, &spans, place))
}

/// A member of an object.
struct JsonMember {
    key: String,
    /// Where its key begins.
    start: usize,
    value: Range<usize>,
}

/// The value of the text without the space around it.
fn top(text: &str) -> Range<usize> {
    let start = skip_space(text, 0);
    start..value_end(text, start)
}

/// The innermost object on a path that exists, and the keys behind it.
fn descend<'p, 'k>(text: &str, path: &'p [&'k str]) -> Result<(Range<usize>, &'p [&'k str]), String> {
    let mut found = top(text);
    for (depth, key) in path.iter().enumerate() {
        let inner = members(text, &found).into_iter().rfind(|member| member.key == *key);
        match inner {
            Some(inner) if byte(text, inner.value.start) == Some(b'{') => found = inner.value,
            Some(_) => return Err(format!("{key} is no object")),
            None => return Ok((found, path.get(depth..).unwrap_or_default())),
        }
    }
    Ok((found, &[]))
}

/// The value at a path.
fn walk(text: &str, path: &[&str]) -> Option<Range<usize>> {
    path.iter().try_fold(top(text), |found, key| {
        members(text, &found).into_iter().rfind(|member| member.key == *key).map(|member| member.value)
    })
}

/// Inserts a member or an element behind the last one of an object or array, laid out like the ones before.
fn insert(text: &str, list: Range<usize>, key: Option<&str>, value: &Value) -> String {
    let is_object = byte(text, list.start) == Some(b'{');
    let spans: Vec<Range<usize>> = if is_object {
        members(text, &list).into_iter().map(|member| member.start..member.value.end).collect()
    } else {
        elements(text, &list)
    };
    let (from, to, lead, tail) = match spans.as_slice() {
        [] => {
            let outer = indent_before(text, list.start);
            let step = step_of(text);
            (list.start + 1, list.end - 1, format!("\n{outer}{step}"), format!("\n{outer}"))
        }
        [first, ..] => {
            let end = spans.last().map_or(first.end, |last| last.end);
            let space = text.get(list.start + 1..first.start).unwrap_or_default();
            let lead = if spans.len() > 1 || space.contains('\n') { space } else { " " };
            (end, end, format!(",{lead}"), String::new())
        }
    };
    let is_wide = lead.contains('\n');
    let indent = lead.rsplit('\n').next().filter(|_| is_wide).unwrap_or_default();
    let value = if is_wide { laid_out(value, indent, step_of(text)) } else { value.to_string() };
    let key = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
    let (before, behind) = (text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default());
    format!("{before}{lead}{key}{value}{tail}{behind}")
}

/// The text without one of the spans of an object or array, and without the comma and the space that belong to it.
fn without(text: &str, list: &Range<usize>, spans: &[Range<usize>], place: usize) -> String {
    let Some(span) = spans.get(place) else { return text.to_owned() };
    let before = place.checked_sub(1).and_then(|place| spans.get(place));
    let (from, to) = match (before, spans.get(place + 1)) {
        (Some(before), _) => (before.end, span.end),
        (None, Some(next)) => (span.start, next.start),
        (None, None) => (list.start + 1, list.end - 1),
    };
    format!("{}{}", text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default())
}

/// A value on lines of their own.
fn laid_out(value: &Value, indent: &str, step: &str) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    let line = |line: &str| {
        let body = line.trim_start_matches(' ');
        format!("{}{body}", step.repeat((line.len() - body.len()) / 2))
    };
    let lines: Vec<String> = pretty.lines().map(line).collect();
    lines.join(&format!("\n{indent}"))
}

/// The indent of a step: that of the first indented line.
fn step_of(text: &str) -> &str {
    let indents =
        text.lines().skip(1).map(|line| line.get(..line.len() - line.trim_start().len()).unwrap_or_default());
    indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or("  ")
}

/// The indent of the line in which a place is.
fn indent_before(text: &str, place: usize) -> &str {
    let line = text.get(..place).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn members(text: &str, object: &Range<usize>) -> Vec<JsonMember> {
    let mut found = Vec::new();
    let mut at = skip_space(text, object.start + 1);
    while byte(text, at) == Some(b'"') {
        let start = at;
        let key_end = value_end(text, at);
        let key = text.get(start..key_end).and_then(|key| serde_json::from_str(key).ok()).unwrap_or_default();
        let value = skip_space(text, skip_space(text, key_end) + 1);
        let end = value_end(text, value);
        found.push(JsonMember { key, start, value: value..end });
        at = next_item(text, end);
    }
    found
}

fn elements(text: &str, list: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = skip_space(text, list.start + 1);
    while at < list.end && byte(text, at) != Some(b']') {
        let end = value_end(text, at);
        found.push(at..end);
        at = next_item(text, end);
    }
    found
}

/// Where the next item begins, behind a comma; or the end of the list.
fn next_item(text: &str, end: usize) -> usize {
    let at = skip_space(text, end);
    if byte(text, at) == Some(b',') { skip_space(text, at + 1) } else { at }
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

fn skip_space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the value that begins at a place.
fn value_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b',' | b':' | b'}' | b']' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// The end of the string that begins at a place.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_put_in_and_taken_out_again() {
        let value = json!({"command": "unforget", "args": ["mcp"]});
        let table = [
            ("{}", "an empty object"),
            ("{ }\n", "an empty object with space"),
            ("{\n  \"a\": 1\n}\n", "another member"),
            (
                "{\n\t\"a\": [1,\t2],\n\t\"servers\": {\n\t\t\"x\": {}\n\t}\n}",
                "tabs, and the object is there",
            ),
            ("{\"a\":1e400,\"a\":-0,\"servers\":{}}", "odd numbers, a key twice, one line"),
            ("{\"a\": \"}{\\\"[\", \"servers\": {\"x\": 1, \"y\": 2}}", "braces in strings"),
            ("\n{\"servers\" : { \"x\":1 } , \"z\":null}\n\n", "space everywhere"),
        ];
        for (text, why) in table {
            let put = put_member(text, &["servers"], "unforget", &value).unwrap();
            if let Ok(read) = check(&put) {
                assert_eq!(at(&read, &["servers", "unforget"]), Some(&value), "{why}: {put}");
            }
            let taken = take_member(&put, &["servers"], "unforget");
            assert!(!taken.contains("unforget"), "{why}: {taken}");
            if text.contains("servers\"") && !text.contains("{}") {
                assert_eq!(taken, text, "{why}");
            }
            let kept: String = text.chars().filter(|one| !one.is_whitespace()).collect();
            let tokens: String = put.chars().filter(|one| !one.is_whitespace()).collect();
            assert!(
                tokens.starts_with(kept.get(..kept.len() / 2).unwrap()),
                "{why}: nothing else is touched: {put}"
            );
        }
    }

    #[test]
    fn elements_stand_behind_those_of_others() {
        let ours = json!({"hooks": [{"type": "command", "command": "x"}]});
        let text = "{\n  \"hooks\": {\n    \"End\": [\n      {\"a\": 1}\n    ]\n  }\n}\n";
        let put = put_element(text, &["hooks", "End"], &ours).unwrap();
        assert_eq!(at(&check(&put).unwrap(), &["hooks", "End"]).unwrap()[1], ours);
        assert!(
            put.starts_with(
                "{\n  \"hooks\": {\n    \"End\": [\n      {\"a\": 1},\n      {\n        \"hooks\""
            ),
            "{put}"
        );
        assert_eq!(take_element(&put, &["hooks", "End"], &ours), text);
        assert_eq!(take_element(text, &["hooks", "End"], &ours), text, "nothing of ours");
        assert_eq!(take_element(text, &["hooks", "Start"], &ours), text, "no array");
        let made = put_element("{}", &["hooks", "End"], &ours).unwrap();
        assert_eq!(check(&made).unwrap(), json!({"hooks": {"End": [ours]}}));
    }

    #[test]
    fn what_is_of_another_kind_is_refused() {
        assert!(put_member("{\"a\": 1}", &["a"], "b", &json!(1)).is_err());
        assert!(put_element("{\"a\": {}}", &["a"], &json!(1)).is_err());
        assert!(check("[]").is_err() && check("{\"a\": 1,}").unwrap_err().contains("line 1"));
        assert!(check("// a comment\n{}").is_err(), "JSON with comments has other parsers");
    }
}
