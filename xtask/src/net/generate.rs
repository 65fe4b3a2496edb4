//! What can be broken in a file: every ordering weakened by one step, every decision changed, found in the syntax tree.
//!
//! A mutant is a range of the text and what stands there instead, so that all of them can live in one program
//! (`schemata.rs`). What is found where is the same each time, and a mutant is named by what it changes, not by a line, so
//! that a list of names survives other changes of the file.

use crate::lexer;
use proc_macro2::Span;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprIf, ExprMethodCall, ExprUnary, ExprWhile, ImplItemFn, ItemFn, Stmt, UnOp};

/// What kind of change a mutant is, and so which tests may notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A memory ordering, one step weaker: only a world with weak memory can tell
    #[value(name = "orderings")]
    Ordering,
    /// A decision, changed
    #[value(name = "decisions")]
    Decision,
}

/// How the other text comes into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// An expression, instead of that one.
    Instead(String),
    /// A statement, left out.
    LeftOut,
    /// At the beginning of the function's body.
    First(String),
}

#[derive(Clone, Debug)]
pub(super) struct Mutant {
    /// File and function, the text that is there, and what it becomes.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    pub(super) change: Change,
    /// A hash of the function that it is in, without comments: what became of it is believed while that is as it was.
    pub(super) function: String,
}

/// What can be broken in one file, and the places of `const` in the functions where that is: a mutant asks at run time.
pub(super) struct Found {
    pub(super) mutants: Vec<Mutant>,
    pub(super) consts: Vec<Range<usize>>,
}

/// Reads the file called `name`, whose content is `text`. Constant functions are left alone if they have to stay constant.
pub(super) fn find(name: &str, text: &str, keeps_const: bool) -> Result<Found, String> {
    let file = syn::parse_file(text).map_err(|error| format!("{name}: {error}"))?;
    let (mutants, consts) = (Vec::new(), Vec::new());
    let mut finder = Finder { text, file: name, function: String::new(), keeps_const, mutants, consts };
    finder.visit_file(&file);
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for mutant in &mut finder.mutants {
        let n = times.entry(mutant.name.clone()).or_default();
        *n += 1;
        if *n > 1 {
            mutant.name = format!("{} ({n})", mutant.name);
        }
    }
    Ok(Found { mutants: finder.mutants, consts: finder.consts })
}

struct Finder<'a> {
    text: &'a str,
    file: &'a str,
    function: String,
    keeps_const: bool,
    mutants: Vec<Mutant>,
    consts: Vec<Range<usize>>,
}

impl Finder<'_> {
    fn source(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    fn add(&mut self, kind: Kind, span: Span, change: Change) {
        let after = match &change {
            Change::Instead(text) => squeeze(text),
            Change::LeftOut => "nothing".to_owned(),
            Change::First(text) => {
                return self.add_named(kind, span, change.clone(), format!("at once `{}`", squeeze(text)));
            }
        };
        let what = format!("`{}` -> `{after}`", squeeze(self.source(span)));
        self.add_named(kind, span, change, what);
    }

    fn add_named(&mut self, kind: Kind, span: Span, change: Change, what: String) {
        let name = format!("{} {}: {what}", self.file, self.function);
        self.mutants.push(Mutant { name, kind, range: span.byte_range(), change, function: String::new() });
    }

    fn instead(&mut self, span: Span, text: impl Into<String>) {
        self.add(Kind::Decision, span, Change::Instead(text.into()));
    }

    /// A condition that is true, or false, whatever it asks. Chains with `let` bind names and stay.
    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.instead(condition.span(), "true");
            self.instead(condition.span(), "false");
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block, body: impl FnOnce(&mut Self)) {
        if self.keeps_const && signature.constness.is_some() {
            return;
        }
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        let before = self.mutants.len();
        let first = |text: &str| Change::First(text.to_owned());
        match &signature.output {
            syn::ReturnType::Default => self.add(Kind::Decision, block.span(), first("return")),
            syn::ReturnType::Type(_, kind) if self.source(kind.span()) == "bool" => {
                self.add(Kind::Decision, block.span(), first("return true"));
                self.add(Kind::Decision, block.span(), first("return false"));
            }
            syn::ReturnType::Type(..) => {}
        }
        body(self);
        if let (Some(word), true) = (signature.constness, self.mutants.len() > before) {
            self.consts.push(word.span().byte_range());
        }
        let whole = signature.span().byte_range().start..block.span().byte_range().end;
        let hash = hash(&self.text[whole]);
        for mutant in self.mutants[before..].iter_mut().filter(|mutant| mutant.function.is_empty()) {
            mutant.function.clone_from(&hash);
        }
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_test = module.attrs.iter().any(|attribute| self.source(attribute.span()).contains("cfg(test)"));
        if !is_test {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_show = item.trait_.as_ref().is_some_and(|(.., path, _)| {
            path.segments
                .last()
                .is_some_and(|last| ["Debug", "Display", "Default", "Clone"].iter().any(|name| last.ident == name))
        });
        if !is_show {
            visit::visit_item_impl(self, item);
        }
    }

    // Constants are computed before a mutant could be asked for.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, array: &'ast syn::ExprRepeat) {
        self.visit_expr(&array.expr);
    }

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let weaker: &[&str] = match self.source(path.span()) {
            "Acquire" | "Release" => &["Relaxed"],
            "AcqRel" => &["Acquire", "Release"],
            _ => &[],
        };
        for ordering in weaker {
            let text = format!("core::sync::atomic::Ordering::{ordering}");
            let call = statement_around(self.text, path.span().byte_range());
            let what = format!("`{call}` with {ordering}");
            self.add_named(Kind::Ordering, path.span(), Change::Instead(text), what);
        }
    }

    fn visit_expr_if(&mut self, item: &'ast ExprIf) {
        self.condition(&item.cond);
        visit::visit_expr_if(self, item);
    }

    fn visit_expr_while(&mut self, item: &'ast ExprWhile) {
        self.condition(&item.cond);
        visit::visit_expr_while(self, item);
    }

    fn visit_expr_binary(&mut self, item: &'ast ExprBinary) {
        let (left, right) = (self.source(item.left.span()).to_owned(), self.source(item.right.span()).to_owned());
        let span = item.span();
        let mut operators: &[&str] = &[];
        match item.op {
            BinOp::And(_) | BinOp::Or(_) if !has_let(&item.left) && !has_let(&item.right) => {
                self.instead(span, left.clone());
                self.instead(span, right.clone());
            }
            BinOp::BitOr(_) if is_flag(&item.right) => {
                self.instead(span, left.clone());
                if is_flag(&item.left) {
                    self.instead(span, right.clone());
                }
            }
            BinOp::Eq(_) => operators = &["!="],
            BinOp::Ne(_) => operators = &["=="],
            BinOp::Lt(_) => operators = &["<=", ">="],
            BinOp::Le(_) => operators = &["<", ">"],
            BinOp::Gt(_) => operators = &[">=", "<="],
            BinOp::Ge(_) => operators = &[">", "<"],
            BinOp::Add(_) => operators = &["-"],
            BinOp::Sub(_) => operators = &["+"],
            BinOp::Mul(_) => operators = &["/"],
            BinOp::Div(_) | BinOp::Rem(_) => operators = &["*"],
            _ => {}
        }
        for operator in operators {
            self.instead(span, format!("({left}) {operator} ({right})"));
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast ExprUnary) {
        if matches!(item.op, UnOp::Not(_)) {
            let plain = self.source(item.expr.span()).to_owned();
            self.instead(item.span(), plain);
        }
        visit::visit_expr_unary(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        const CHANGES_OF_STATE: [&str; 10] =
            ["with", "without", "settled", "ceded", "wanted", "released", "passed", "saturating_sub", "min", "max"];
        // With a closure, or without an argument, these are functions of something else.
        let changes = matches!(call.args.first(), Some(argument) if !matches!(argument, Expr::Closure(_)))
            || !["with", "min", "max"].iter().any(|name| call.method == name);
        if changes && CHANGES_OF_STATE.iter().any(|name| call.method == name) {
            let receiver = self.source(call.receiver.span()).to_owned();
            self.instead(call.span(), receiver);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && is_call(expression)
            && !self.source(expression.span()).starts_with("P::step")
        {
            self.add(Kind::Decision, statement.span(), Change::LeftOut);
        }
        visit::visit_stmt(self, statement);
    }
}

fn hash(text: &str) -> String {
    let text = lexer::without_comments(text);
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// A call, perhaps in an `unsafe` block of its own, or an assignment.
fn is_call(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
        Expr::Unsafe(block) => matches!(block.block.stmts.as_slice(), [Stmt::Expr(only, _)] if is_call(only)),
        Expr::Binary(binary) => matches!(binary.op, BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_)),
        _ => false,
    }
}

/// A constant by its spelling, as all flags are.
fn is_flag(expression: &Expr) -> bool {
    let Expr::Path(path) = expression else { return false };
    path.path.segments.iter().all(|part| part.ident.to_string().chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

fn has_let(expression: &Expr) -> bool {
    struct Search(bool);
    impl Visit<'_> for Search {
        fn visit_expr_let(&mut self, _: &syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_expr(expression);
    search.0
}

/// The line around a place, which names it better than the word that is changed.
fn statement_around(text: &str, range: Range<usize>) -> String {
    let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    let line = text[begin..end].split("//").next().unwrap_or_default();
    squeeze(line.trim())
}

/// One line, without white space that only lays it out.
fn squeeze(text: &str) -> String {
    const MOST: usize = 90;
    let line =
        text.lines().map(|line| line.split("// ").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ");
    let line = line.split_whitespace().collect::<Vec<&str>>().join(" ").replace('`', "'");
    if line.chars().count() <= MOST { line } else { line.chars().take(MOST - 3).chain("...".chars()).collect() }
}
