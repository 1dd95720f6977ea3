//! Passwords that only the words around them tell: options of some programs, and sentences.

/// Programs whose options take passwords, by the name of the format.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("user-password", &["curl"]),
    ("attached-password", &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"]),
    ("option-password", &["sshpass"]),
];

/// Bytes before an option in which its program is looked for.
const COMMAND_BYTES: usize = 1024;

/// Whether the option behind `before` belongs to a program that takes a password there.
pub(super) fn takes(before: &str, format: &str) -> bool {
    let from = before.len().saturating_sub(COMMAND_BYTES);
    let before = (from..=before.len()).find_map(|at| before.get(at..)).unwrap_or_default();
    let programs =
        PROGRAMS.iter().find(|(name, _)| *name == format).map_or(&[][..], |(_, programs)| programs);
    let is_end = |(at, letter): &(usize, char)| match letter {
        ';' | '|' => true,
        '&' => before.get(*at..).is_some_and(|rest| rest.starts_with("&&")),
        '\n' => !before.get(..*at).is_some_and(|line| line.trim_end_matches('\r').ends_with('\\')),
        _ => false,
    };
    let begin = before.char_indices().rfind(is_end).map_or(0, |(at, letter)| at + letter.len_utf8());
    let command = before.get(begin..).unwrap_or_default();
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    command.split(|letter| !is_letter(letter)).any(|word| {
        // An escaped end of a line sticks to the word behind it.
        programs.iter().any(|program| word == *program || word.strip_prefix(['n', 't']) == Some(program))
    })
}

/// Names of encodings and digests, which are said of passwords and have digits.
const ENCODINGS: [&str; 8] = ["base64", "sha", "md5", "utf", "argon2", "pbkdf2", "oauth", "rot13"];

/// Whether what is said of a password is the password itself: it has digits or signs among its letters, as words have not.
pub(super) fn is_no_word(value: &str) -> bool {
    let value = value.trim_end_matches(|letter: char| ".,;:!?)".contains(letter));
    let has = |of: fn(&char) -> bool| value.chars().any(|letter| of(&letter));
    let is_mixed =
        has(char::is_ascii_digit) || value.contains(['@', '#', '$', '%', '^', '&', '*', '!', '+', '=']);
    let lower = value.to_ascii_lowercase();
    let is_plain = ENCODINGS.iter().any(|encoding| lower.starts_with(encoding))
        || value.starts_with(['$', '{', '<', '&', '*'])
        || value.contains(['(', '/']);
    value.len() >= 6 && is_mixed && !is_plain && value.chars().any(char::is_alphabetic)
}
