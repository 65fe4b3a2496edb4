//! Rust source as words, texts, marks and comments, each with its line.
//!
//! Enough to ask "is this word code or comment?" and "which braces belong together?", and no more: numbers are words,
//! operators are single marks, and what a macro makes of its input is not looked at.

/// One piece of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// Line of its first character, from 1.
    pub(crate) line: usize,
    /// Line of its last character.
    pub(crate) last_line: usize,
    pub(crate) kind: Kind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// Identifier, keyword or number.
    Word(&'a str),
    /// String literal of any sort, without quotes, escapes as written.
    Text(&'a str),
    /// Comment with its slashes; documentation is a comment too.
    Comment(&'a str),
    /// Any other character.
    Mark(char),
}

impl<'a> Token<'a> {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word(word)
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(crate) fn word(&self) -> Option<&'a str> {
        if let Kind::Word(word) = self.kind { Some(word) } else { None }
    }

    pub(crate) fn comment(&self) -> Option<&'a str> {
        if let Kind::Comment(comment) = self.kind { Some(comment) } else { None }
    }
}

/// Cuts `source` into tokens. Source that does not compile gives tokens too, though perhaps odd ones.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = source[at..].chars().next() {
        let (length, kind) = next(&source[at..], first);
        let piece = &source[at..at + length];
        let last_line = line + piece.matches('\n').count();
        if let Some(kind) = kind {
            found.push(Token { line, last_line, kind });
        }
        (at, line) = (at + length, last_line);
    }
    found
}

/// Length in bytes and kind of the piece that `rest` begins with; white space has no kind.
fn next(rest: &str, first: char) -> (usize, Option<Kind<'_>>) {
    if first.is_whitespace() {
        (first.len_utf8(), None)
    } else if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        (length, Some(Kind::Comment(&rest[..length])))
    } else if rest.starts_with("/*") {
        let length = block_comment(rest);
        (length, Some(Kind::Comment(&rest[..length])))
    } else if let Some(prefix) = string_prefix(rest) {
        let (length, content) = string(rest, prefix);
        (length, Some(Kind::Text(content)))
    } else if first == '\'' {
        (character(rest), Some(Kind::Mark('\'')))
    } else if is_word_character(first) {
        let length = rest.find(|c| !is_word_character(c)).unwrap_or(rest.len());
        (length, Some(Kind::Word(&rest[..length])))
    } else {
        (first.len_utf8(), Some(Kind::Mark(first)))
    }
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the block comment that `rest` begins with; they nest.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest[at..].starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// What stands before the opening quote of the string literal that `rest` begins with, as `br##`.
fn string_prefix(rest: &str) -> Option<&str> {
    let letters = rest.find(|c: char| !"bcr".contains(c)).unwrap_or(rest.len());
    let hashes = if rest[..letters].ends_with('r') { rest[letters..].find(|c| c != '#').unwrap_or(0) } else { 0 };
    (letters <= 2 && rest[letters + hashes..].starts_with('"')).then(|| &rest[..letters + hashes])
}

/// Length and content of the string literal that `rest` begins with.
fn string<'a>(rest: &'a str, prefix: &str) -> (usize, &'a str) {
    let start = prefix.len() + 1;
    let body = &rest[start..];
    let (content, quotes) = if prefix.contains('r') {
        let closing = format!("\"{}", "#".repeat(prefix.matches('#').count()));
        (body.find(&closing).unwrap_or(body.len()), closing.len())
    } else {
        let mut escaped = false;
        let closing = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        (closing.unwrap_or(body.len()), 1)
    };
    ((start + content + quotes).min(rest.len()), &body[..content])
}

/// Length of the character literal that `rest` begins with, or 1 if the quote begins a lifetime or a label.
fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((escaped, _))) => rest[escaped + 1..].find('\'').map_or(1, |end| escaped + end + 2),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// `source` as the compiler sees it: without comments, and with one space where there was white space or a comment.
pub(crate) fn without_comments(source: &str) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while let Some(first) = source[at..].chars().next() {
        let (length, kind) = next(&source[at..], first);
        match kind {
            Some(Kind::Comment(_)) | None if text.ends_with(' ') => {}
            Some(Kind::Comment(_)) | None => text.push(' '),
            Some(_) => text += &source[at..at + length],
        }
        at += length;
    }
    text
}

/// Leaves out what only tests see: every item under `#[cfg(test)]`.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    const MARKER: [Kind<'static>; 7] = [
        Kind::Mark('#'),
        Kind::Mark('['),
        Kind::Word("cfg"),
        Kind::Mark('('),
        Kind::Word("test"),
        Kind::Mark(')'),
        Kind::Mark(']'),
    ];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().map(|token| token.kind).take(MARKER.len()).eq(MARKER) {
            at = end_of_item(tokens, at + MARKER.len());
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// Index after the item that begins at `from`: after its first `;` or after the block that its first `{` opens.
pub(crate) fn end_of_item(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(from) {
        match token.kind {
            Kind::Mark('{' | '(' | '[') => depth += 1,
            Kind::Mark('}' | ')' | ']') => {
                depth -= 1;
                if depth == 0 && token.is_mark('}') {
                    return index + 1;
                }
            }
            Kind::Mark(';') if depth == 0 => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// A function, as indices of tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// Its `fn`.
    pub(crate) start: usize,
    /// The opening brace of its body, or the end if it has none.
    pub(crate) body: usize,
    /// Behind its closing brace or semicolon.
    pub(crate) end: usize,
}

impl Function<'_> {
    pub(crate) fn contains(&self, at: usize) -> bool {
        (self.start..self.end).contains(&at)
    }
}

/// Every function in order of its beginning, so that of those around a token the last is the innermost.
pub(crate) fn functions<'a>(tokens: &[Token<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for (start, pair) in tokens.windows(2).enumerate() {
        // A function pointer's `fn` is followed by a parenthesis.
        let (true, Some(name)) = (pair[0].is_word("fn"), pair[1].word()) else { continue };
        let end = end_of_item(tokens, start + 2);
        let body = (start..end).find(|&at| tokens[at].is_mark('{')).unwrap_or(end);
        found.push(Function { name, start, body, end });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind<'_>> {
        tokens(source).into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn comments_and_forms_are_left_out_and_nothing_else() {
        let plain = without_comments("fn f() -> u32 {\n    1 + 2\n}\n");
        let commented = "/// What\n/// it does.\nfn f() -> u32 {\n    /* one */ 1 // and\n    + 2\n}\n";
        assert_eq!(without_comments(commented).trim_start(), plain);
        for other in ["fn f() -> u32 { 1 + 3 }", "fn f() -> u32 { 1+ 2 }", "fn f() -> &str { \"// no comment\" }"] {
            assert_ne!(without_comments(other).trim(), plain.trim(), "{other}");
        }
        assert_eq!(without_comments("let text = \"// no  comment\";"), "let text = \"// no  comment\";");
    }

    #[test]
    fn strings_hide_comments_and_comments_hide_strings() {
        assert_eq!(kinds(r#""a // b" // c "d""#), [Kind::Text("a // b"), Kind::Comment("// c \"d\"")]);
        assert_eq!(kinds(r##"r#"a"b"# c"##), [Kind::Text("a\"b"), Kind::Word("c")]);
        assert_eq!(kinds(r#""a\"b\\" c"#), [Kind::Text(r#"a\"b\\"#), Kind::Word("c")]);
        assert_eq!(kinds("/* a /* b */ c */ d"), [Kind::Comment("/* a /* b */ c */"), Kind::Word("d")]);
    }

    #[test]
    fn quotes_of_characters_and_lifetimes_are_told_apart() {
        assert_eq!(
            kinds(r"'\'' '{' 'a b"),
            [Kind::Mark('\''), Kind::Mark('\''), Kind::Mark('\''), Kind::Word("a"), Kind::Word("b")]
        );
    }

    #[test]
    fn lines_count_through_literals() {
        let lines: Vec<usize> = tokens("a\n\"x\ny\" b\n/*\n*/ c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn functions_nest_and_end_with_their_braces() {
        let source = tokens("fn a(x: [u8; 2]) { fn b(f: fn()) {} } fn c();");
        let found: Vec<_> = functions(&source).iter().map(|f| (f.name, f.end - f.body)).collect();
        assert_eq!(found, [("a", 13), ("b", 2), ("c", 0)]);
    }

    #[test]
    fn tests_are_left_out() {
        let source = "a #[cfg(test)] mod tests { fn b() { c } } d #[cfg(test)] use e; f";
        let words: Vec<_> = without_tests(&tokens(source)).iter().filter_map(Token::word).collect();
        assert_eq!(words, ["a", "d", "f"]);
    }
}
