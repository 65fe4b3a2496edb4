//! Rust source as words, texts, marks and comments, each with its line.
//!
//! Enough to ask "is this word code or comment?" and "which braces belong together?", and no more: numbers are words,
//! operators are single marks, and what a macro makes of its input is not looked at.

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

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
    /// Any other character; of characters in quotes and lifetimes only the quote.
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
    let mut line = 1;
    let mut rest = source;
    for token in tokenize(source, FrontmatterAllowed::No) {
        let (piece, behind) = rest.split_at(token.len as usize);
        let last_line = line + piece.matches('\n').count();
        found.extend(kind(token.kind, piece).map(|kind| Token { line, last_line, kind }));
        (line, rest) = (last_line, behind);
    }
    found
}

fn kind(kind: TokenKind, piece: &str) -> Option<Kind<'_>> {
    use LiteralKind::{Byte, Char, Float, Int};
    Some(match kind {
        TokenKind::Whitespace => return None,
        TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => Kind::Comment(piece),
        TokenKind::Ident | TokenKind::RawIdent => Kind::Word(piece),
        TokenKind::Literal { kind: Int { .. } | Float { .. }, .. } => Kind::Word(piece),
        TokenKind::Literal { kind: Char { .. } | Byte { .. }, .. } => Kind::Mark('\''),
        TokenKind::Literal { .. } => {
            let (_, text) = piece.split_once('"').unwrap_or(("", piece));
            Kind::Text(text.rsplit_once('"').map_or(text, |(content, _)| content))
        }
        _ => Kind::Mark(piece.chars().next()?),
    })
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
    fn strings_hide_comments_and_comments_hide_strings() {
        assert_eq!(kinds(r#""a // b" // c "d""#), [Kind::Text("a // b"), Kind::Comment("// c \"d\"")]);
        assert_eq!(kinds(r##"r#"a"b"# c"##), [Kind::Text("a\"b"), Kind::Word("c")]);
        assert_eq!(kinds(r#""a\"b\\" c"#), [Kind::Text(r#"a\"b\\"#), Kind::Word("c")]);
        assert_eq!(kinds("/* a /* b */ c */ d"), [Kind::Comment("/* a /* b */ c */"), Kind::Word("d")]);
    }

    #[test]
    fn characters_and_lifetimes_are_no_code() {
        let quote = Kind::Mark('\'');
        assert_eq!(kinds(r"'\'' '{' 'a b b'{'"), [quote, quote, quote, Kind::Word("b"), quote]);
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
