//! Splits a command line into words and operators, like a shell.

/// A word, or an operator between words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word, and whether all of it is plain.
    Word(String, bool),
    /// `|`
    Pipe,
    /// `(` and `)` around a group of commands.
    Open,
    /// The end of a group.
    Close,
    /// `&&`; or, if true, `;`, `||`, `&`, a line end, which continue after a failure too.
    Next(bool),
    /// `>` or `&>`, and whether it appends.
    Into(bool),
    /// `<`, `2>` and others whose file is not the subject of the command.
    Aside,
}

/// Splits a command line like a shell, as far as it is plain. Bodies of here-documents are left out.
pub(super) fn tokens(line: &str) -> Vec<Token> {
    let mut reader = Reader {
        rest: line,
        tokens: Vec::new(),
        word: String::new(),
        plain: true,
        open: false,
        ends: Vec::new(),
    };
    while let Some(c) = reader.rest.chars().next() {
        reader.step(c);
    }
    reader.close();
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
    word: String,
    plain: bool,
    open: bool,
    /// Ends of here-documents that begin behind this line.
    ends: Vec<String>,
}

impl Reader<'_> {
    fn step(&mut self, c: char) {
        let two = |start: &str| self.rest.starts_with(start);
        match c {
            '\\' => {
                let next = self.rest.chars().nth(1);
                self.push(next.filter(|next| *next != '\n'), 1 + next.map_or(0, char::len_utf8));
            }
            '\'' => self.quoted('\''),
            '"' => self.quoted('"'),
            '#' if !self.open => self.skip_to_line_end(),
            '\n' => {
                self.mark(Token::Next(true), 1);
                self.skip_documents();
            }
            ' ' | '\t' | '\r' => {
                self.close();
                self.advance(1);
            }
            '&' if two("&>>") => self.mark(Token::Into(true), 3),
            '&' if two("&>") => self.mark(Token::Into(false), 2),
            '&' | '|' if two("&&") || two("||") => self.mark(Token::Next(c == '|'), 2),
            '|' => self.mark(Token::Pipe, 1),
            ';' | '&' => self.mark(Token::Next(true), 1),
            '(' => self.mark(Token::Open, 1),
            ')' => self.mark(Token::Close, 1),
            '$' if two("$(") => {
                self.plain = false;
                self.substitution();
            }
            '<' if two("<<") => self.document(),
            '<' => self.mark(Token::Aside, 1),
            '>' => self.redirect(),
            _ => {
                self.plain &=
                    !matches!(c, '$' | '`' | '*' | '?' | '{' | '}' | '~') || (c == '~' && !self.open);
                self.push(Some(c), c.len_utf8());
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn push(&mut self, c: Option<char>, bytes: usize) {
        self.word.extend(c);
        self.open = true;
        self.advance(bytes);
    }

    fn close(&mut self) {
        if self.open {
            self.tokens.push(Token::Word(std::mem::take(&mut self.word), self.plain));
        }
        (self.open, self.plain) = (false, true);
    }

    fn mark(&mut self, token: Token, bytes: usize) {
        self.close();
        self.tokens.push(token);
        self.advance(bytes);
    }

    fn quoted(&mut self, quote: char) {
        self.push(None, 1);
        while let Some(c) = self.rest.chars().next() {
            if c == quote {
                return self.advance(1);
            }
            if quote == '"' && self.rest.starts_with("$(") {
                self.plain = false;
                self.substitution();
                continue;
            }
            let escaped = self.rest.chars().nth(1).filter(|_| quote == '"' && c == '\\');
            self.plain &= quote == '\'' || !matches!(c, '$' | '`');
            self.push(Some(escaped.unwrap_or(c)), c.len_utf8() + escaped.map_or(0, char::len_utf8));
        }
    }

    /// `$(…)`: a part of the word, with all quotations, brackets and here-documents inside it.
    fn substitution(&mut self) {
        let length = substitution(self.rest);
        let (inside, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.word.push_str(inside);
        self.open = true;
        self.rest = rest;
    }

    fn skip_to_line_end(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.advance(end);
    }

    /// `>`, `>>`, `2>`, `>&1`: a number before it is a stream, and only the first stream matters.
    fn redirect(&mut self) {
        let aside = self.open && self.word != "1" && self.word.bytes().all(|byte| byte.is_ascii_digit());
        if self.open && self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word.clear();
            self.open = false;
        }
        let append = self.rest.starts_with(">>");
        let copies = self.rest.get(if append { 2 } else { 1 }..).is_some_and(|rest| rest.starts_with('&'));
        let token = if aside || copies { Token::Aside } else { Token::Into(append) };
        self.mark(token, usize::from(append) + usize::from(copies) + 1);
    }

    /// `<<EOF`: keeps the word that ends the document. `<<<` is one word of input.
    fn document(&mut self) {
        if self.rest.starts_with("<<<") {
            return self.mark(Token::Aside, 3);
        }
        self.close();
        self.advance(2);
        let rest = self.rest.trim_start_matches(['-', ' ']);
        let end: String = rest
            .chars()
            .take_while(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | '>' | ')'))
            .collect();
        self.rest = rest.get(end.len()..).unwrap_or_default();
        self.ends.push(end.trim_matches(['\'', '"', '\\']).to_owned());
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.ends) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if line.trim() == end {
                    break;
                }
            }
        }
    }
}

/// The length of the substitution `$(…)` that begins a text, in bytes; all of the text if it does not end.
fn substitution(text: &str) -> usize {
    let mut inner = Reader {
        rest: text.get(1..).unwrap_or_default(),
        tokens: Vec::new(),
        word: String::new(),
        plain: true,
        open: false,
        ends: Vec::new(),
    };
    let mut depth = 0_usize;
    while let Some(c) = inner.rest.chars().next() {
        // An escaped or quoted bracket is read with its word.
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ')' && depth == 0 {
            return text.len() - inner.rest.len() + 1;
        }
        inner.step(c);
    }
    text.len()
}
