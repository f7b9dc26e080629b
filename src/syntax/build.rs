//! Pairs of the grammar to the tree, and the mistakes in words.
//!
//! The grammar takes any text: what fits no shape is in a pair of its own, and this file turns each of those into
//! one finding. So there are three kinds of functions. Those named after a shape (`define`, `block`, `value`) presume
//! what the grammar promised about the pairs inside; a pair that is not there is our mistake and leaves a hole, never
//! a panic. [`Builder::mistake`] is the user's mistake. It takes a closure, for beyond [`LIMIT`] findings are only
//! counted, and a text of a million mistakes must not cost a million line counts. `unexpected` and `head` name what a
//! reader sees at a place; no name of a grammar rule reaches a message.
//!
//! What could not be read stays in the tree as [`Expression::Invalid`], or is left out where nothing can stand for it
//! (a statement without its word, a flowop without its type).

use super::grammar::Rule;
use super::{Ast, Attribute, Block, COMMANDS, Expression, Item, Statement};
use crate::attribute::{Relation, Value};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SourceFile, Span, Spanned};
use crate::units;
use pest::iterators::{Pair, Pairs};
use std::borrow::Cow;

/// So many findings are shown of one text; the rest is counted.
const LIMIT: usize = 50;

/// An expression may have so many operators. The tree leans to the left, and those who walk it recurse.
const OPERATORS: usize = 100;

/// The tree of a text that the grammar took.
pub(super) fn ast(file: &SourceFile, pairs: Pairs<'_, Rule>, diagnostics: &mut Diagnostics) -> Ast {
    let mut builder = Builder { file, diagnostics, mistakes: 0, long_text: None, too_deep: None, behind: 0 };
    let statements = builder.statements(pairs.flat_map(Pair::into_inner));
    builder.rest();
    Ast { statements }
}

/// What is carried along while a tree is made.
struct Builder<'a> {
    file: &'a SourceFile,
    diagnostics: &'a mut Diagnostics,
    mistakes: usize,
    /// The first quoted text that goes over a line's end: where a later one has no end, this is the likely culprit.
    long_text: Option<Span>,
    /// What was passed over because it stands too deep; the brackets around it look unclosed for that.
    too_deep: Option<Span>,
    /// End of what was read last, behind which the comments of the next statement stand.
    behind: usize,
}

impl Builder<'_> {
    /// Notes a mistake of the user.
    fn mistake(&mut self, finding: impl FnOnce(&SourceFile) -> Diagnostic) {
        self.mistakes += 1;
        if self.mistakes <= LIMIT {
            self.diagnostics.push(finding(self.file));
        }
    }

    /// Says how many mistakes are not shown.
    fn rest(&mut self) {
        if self.mistakes > LIMIT {
            let end = Span::new(self.file.text.len(), self.file.text.len());
            let more = self.mistakes - LIMIT;
            self.diagnostics.push(Diagnostic::error(
                end,
                format!("{more} more mistakes are not shown"),
                format!("the first {LIMIT} are above"),
            ));
        }
    }

    fn statements<'i>(&mut self, pairs: impl Iterator<Item = Pair<'i, Rule>>) -> Vec<Spanned<Statement>> {
        let mut statements = Vec::new();
        for pair in pairs {
            let span = span(&pair);
            statements.extend(self.statement(pair).map(|statement| Spanned::new(statement, span)));
            self.behind = span.end;
        }
        statements
    }

    fn statement(&mut self, pair: Pair<'_, Rule>) -> Option<Statement> {
        match pair.as_rule() {
            Rule::set => self.set(pair),
            Rule::define => self.define(pair),
            Rule::run => Some(Statement::Run(self.value(pair.into_inner()))),
            Rule::command => Some(self.command(pair)),
            Rule::foreach => self.foreach(pair),
            Rule::assert => self.assert(pair),
            Rule::stray_brace => {
                let at = span(&pair);
                self.mistake(|_| Diagnostic::error(at, "this '}' closes nothing", "no block is open here"));
                None
            }
            Rule::junk | Rule::body_junk => {
                self.junk(pair);
                None
            }
            _ => None,
        }
    }

    fn foreach(&mut self, pair: Pair<'_, Rule>) -> Option<Statement> {
        let whole = span(&pair);
        let word = Span::new(whole.start, whole.start + "foreach".len());
        let before = self.mistakes;
        let (mut variable, mut values, mut body) = (None, Vec::new(), None);
        for pair in pair.into_inner() {
            let (at, text) = (span(&pair), pair.as_str());
            match pair.as_rule() {
                Rule::variable => variable = Some(Spanned::new(variable_name(text).to_owned(), at)),
                Rule::loop_value => values.extend(self.value(pair.into_inner())),
                Rule::no_value => self.mistake(|_| {
                    Diagnostic::error(
                        word,
                        "this foreach lacks a value",
                        "values are expected after 'in' and each comma",
                    )
                    .help("such as: foreach $n in 1, 2, 4 { ... }")
                }),
                Rule::bad_loop => {
                    self.misfit(whole, &pair, "foreach", "a variable such as $nthreads", |word| {
                        is_word(word).then(|| format!("a variable begins with a '$': foreach ${word} in ..."))
                    });
                }
                Rule::bad_values if self.mistakes == before => self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(at.start, at.start + head(text)),
                        unexpected(text),
                        "a comma or '{' is expected before this",
                    )
                }),
                Rule::no_in => self.mistake(|_| {
                    let shown = if head(text) == 0 { word } else { Span::new(at.start, at.start + head(text)) };
                    Diagnostic::error(
                        shown,
                        "this foreach has no 'in'",
                        "'in' and values are expected after the variable",
                    )
                    .help("such as: foreach $n in 1, 2, 4 { ... }")
                }),
                Rule::body => body = Some(self.body(pair)),
                // What was said already may be why the body was not found.
                _ if self.mistakes > before => {}
                _ => self.mistake(|_| {
                    Diagnostic::error(
                        word,
                        "this foreach has no body",
                        "'{', commands and '}' are expected after its values",
                    )
                }),
            }
        }
        Some(Statement::Foreach { variable: variable?, values, body: body? })
    }

    /// The statements between the braces of a loop.
    fn body(&mut self, pair: Pair<'_, Rule>) -> Vec<Spanned<Statement>> {
        let whole = span(&pair);
        let open = Span::new(whole.start, whole.start + 1);
        self.behind = open.end;
        let mut inner: Vec<_> = pair.into_inner().collect();
        match inner.pop_if(|pair| matches!(pair.as_rule(), Rule::deep_body | Rule::unclosed)) {
            Some(pair) if pair.as_rule() == Rule::deep_body => {
                self.mistake(|_| {
                    Diagnostic::error(open, "loops stand more than 16 deep in each other", "this one is too many")
                });
            }
            Some(_) => self.mistake(|file| {
                let (line, _) = file.line_column(open.start);
                Diagnostic::error(open, format!("the body opened at line {line} is not closed"), "this '{' has no '}'")
            }),
            None => {}
        }
        self.statements(inner.into_iter())
    }

    /// What the `##` comments say that stand directly above a statement.
    fn help(&self, start: usize) -> Option<String> {
        let between = self.file.text.get(self.behind..start)?;
        // A comment ends at either, as in the grammar.
        let between = between.replace("\r\n", "\n").replace('\r', "\n");
        // The rest of the statement's own line is not above it.
        let (above, own) = between.rsplit_once('\n')?;
        if !own.trim().is_empty() {
            return None;
        }
        let help = |line: &'_ str| {
            Some(line.trim().strip_prefix("##").filter(|rest| !rest.starts_with('#'))?.trim().to_owned())
        };
        let mut lines: Vec<String> = above.split('\n').rev().map_while(help).collect();
        // The first line behind another statement is the rest of that one's.
        if lines.len() == above.split('\n').count() && self.behind > 0 {
            lines.pop();
        }
        lines.reverse();
        lines.retain(|line| !line.is_empty());
        if lines.is_empty() { None } else { Some(lines.join(" ")) }
    }

    /// What stands where a command should.
    fn junk(&mut self, pair: Pair<'_, Rule>) {
        let (text, start) = (pair.as_str(), span(&pair).start);
        let at = Span::new(start, start + head(text));
        let word = &text[..head(text)];
        self.mistake(|_| {
            let label = "a command is expected here";
            if ["thread", "flowop", "mix"].contains(&word) {
                return Diagnostic::error(at, format!("this {word} stands outside of a block"), label)
                    .help("threads stand in the braces of a process, flowops and mixes in those of a thread");
            }
            if !is_word(word) {
                let found = Diagnostic::error(at, unexpected(text), label);
                let rest = text[word.len()..].trim_start();
                return match word.strip_prefix('$') {
                    Some(name) if !name.is_empty() && rest.starts_with('=') => {
                        found.help(format!("to give a variable its value, write: set {word}=..."))
                    }
                    _ => found,
                };
            }
            let word = clip(word);
            Diagnostic::error(at, format!("unknown command '{word}'"), label).near(&word, COMMANDS)
        });
    }

    fn set(&mut self, pair: Pair<'_, Rule>) -> Option<Statement> {
        let whole = span(&pair);
        let help = self.help(whole.start);
        let mut inner = pair.into_inner().peekable();
        let first = inner.next()?;
        match first.as_rule() {
            Rule::mode => {
                let at = span(&first);
                let words: Vec<_> = first.into_inner().map(|word| name(&word)).collect();
                if words.is_empty() {
                    self.mistake(|_| {
                        Diagnostic::error(at, "'set mode' names no mode", "a mode is expected after this")
                            .help("such as: set mode quit alldone")
                    });
                    return None;
                }
                Some(Statement::SetMode(words))
            }
            Rule::variable => {
                let variable = Spanned::new(variable_name(first.as_str()).to_owned(), span(&first));
                let field = inner.next_if(|pair| pair.as_rule() == Rule::field).map(|pair| name(&pair));
                let target = Span::new(variable.span.start, field.as_ref().unwrap_or(&variable).span.end);
                if inner.next_if(|pair| pair.as_rule() == Rule::no_equals).is_some() {
                    let written = self.file.slice(target).to_owned();
                    self.mistake(|_| {
                        Diagnostic::error(
                            target,
                            format!("a '=' is expected after {}", clip(&written)),
                            "'=' and a value are expected after this",
                        )
                    });
                    // Whatever stands there instead, it is no second mistake.
                    let value = if inner.peek().is_some() { self.value(inner) } else { None };
                    let value = value.unwrap_or(Spanned::new(Expression::Invalid, target));
                    return Some(Statement::Set { variable, field, value, help });
                }
                let value = self.given(whole, inner);
                Some(Statement::Set { variable, field, value, help })
            }
            _ => {
                self.misfit(whole, &first, "set", "a variable such as $nfiles or 'mode'", |word| {
                    is_word(word).then(|| format!("a variable begins with a '$': set ${word}=..."))
                });
                None
            }
        }
    }

    /// `keyword` is followed by something that cannot follow it.
    fn misfit(
        &mut self,
        whole: Span,
        pair: &Pair<'_, Rule>,
        keyword: &str,
        wanted: &str,
        advice: impl FnOnce(&str) -> Option<String>,
    ) {
        let (text, start) = (pair.as_str(), span(pair).start);
        self.mistake(|_| {
            if text.is_empty() {
                let at = Span::new(whole.start, whole.start + keyword.len());
                return Diagnostic::error(
                    at,
                    format!("nothing follows '{keyword}'"),
                    format!("{wanted} is expected after this"),
                );
            }
            let at = Span::new(start, start + head(text));
            let found = Diagnostic::error(at, unexpected(text), format!("{wanted} is expected here"));
            match advice(&text[..head(text)]) {
                Some(advice) => found.help(advice),
                None => found,
            }
        });
    }

    fn define(&mut self, pair: Pair<'_, Rule>) -> Option<Statement> {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let first = inner.next()?;
        if first.as_rule() != Rule::what {
            self.misfit(whole, &first, "define", "a file, fileset, process, flowop or randvar", |_| None);
            return None;
        }
        let what = name(&first);
        let attributes = self.attributes(&mut inner);
        let block = inner.next().map(|pair| self.block(pair, &what.value));
        Some(Statement::Define { what, attributes, block })
    }

    fn assert(&mut self, pair: Pair<'_, Rule>) -> Option<Statement> {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let first = inner.next()?;
        if first.as_rule() != Rule::argument {
            self.misfit(whole, &first, "assert", "a flowop and its metric, such as read1.p99,", |_| None);
            return None;
        }
        let at = span(&first);
        let subject = self.value(first.into_inner()).unwrap_or(Spanned::new(Expression::Invalid, at));
        let invalid = Spanned::new(Expression::Invalid, at);
        let sign = inner.next()?;
        let wanted = "expected <, <=, >, >=, == or !=";
        if sign.as_rule() != Rule::relation {
            self.mistake(|file| {
                let message = format!("a comparison is expected after {}", clip(file.slice(at)));
                Diagnostic::error(at, message, format!("{wanted} after this")).help("such as: assert read1.p99 < 5ms")
            });
            // Whatever stands there instead, it is no second mistake.
            self.value(inner);
            return Some(Statement::Assert { subject, relation: None, limit: invalid });
        }
        let place = span(&sign);
        let relation =
            Relation::ALL.iter().find(|(written, _)| *written == sign.as_str()).map(|(_, relation)| *relation);
        if relation.is_none() {
            let sign = sign.as_str();
            self.mistake(|_| {
                let found = Diagnostic::error(place, format!("'{}' compares nothing", clip(sign)), wanted);
                match sign {
                    "=" => found.help("to compare for equality, write =="),
                    "=<" => found.help("did you mean '<='?"),
                    "=>" => found.help("did you mean '>='?"),
                    "<>" => found.help("did you mean '!='?"),
                    _ => found,
                }
            });
        }
        if inner.peek().is_none_or(|pair| pair.as_rule() == Rule::no_value) {
            let sign = sign.as_str();
            self.mistake(|_| {
                let message = format!("a value is expected after '{}'", clip(sign));
                Diagnostic::error(place, message, "a value is expected after this")
            });
            return Some(Statement::Assert { subject, relation, limit: invalid });
        }
        let limit = self.value(inner).unwrap_or(invalid);
        Some(Statement::Assert { subject, relation, limit })
    }

    fn command(&mut self, pair: Pair<'_, Rule>) -> Statement {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let word = inner.next().map_or_else(|| Spanned::new(String::new(), whole), |pair| name(&pair));
        let mut arguments = Vec::new();
        while let Some(argument) = inner.next_if(|pair| pair.as_rule() == Rule::argument) {
            arguments.extend(self.value(argument.into_inner()));
        }
        let attributes = self.attributes(&mut inner);
        Statement::Command { word, arguments, attributes }
    }

    /// The items of a block; `owner` is what the block belongs to, in a word.
    fn block(&mut self, pair: Pair<'_, Rule>, owner: &str) -> Block {
        let whole = span(&pair);
        if matches!(pair.as_rule(), Rule::bare_block | Rule::bare_flowops) {
            let at = Span::new(whole.start, whole.start + head(pair.as_str()));
            self.mistake(|_| {
                Diagnostic::error(
                    at,
                    format!("the block of this {owner} is not opened"),
                    "a '{' is expected before this",
                )
            });
        }
        let mut items = Vec::new();
        for pair in pair.into_inner() {
            let (at, text) = (span(&pair), pair.as_str());
            match pair.as_rule() {
                Rule::thread if owner == "mix" => self.mistake(|_| {
                    let word = Span::new(at.start, at.start + "thread".len());
                    Diagnostic::error(word, "a thread cannot stand in a mix", "a flowop, a mix or '}' is expected here")
                }),
                Rule::thread => items.push(Spanned::new(self.thread(pair), at)),
                Rule::flowop => items.extend(self.flowop(pair).map(|item| Spanned::new(item, at))),
                Rule::mix => items.push(Spanned::new(self.mix(pair), at)),
                Rule::mixes_too_deep => {
                    self.too_deep = Some(at);
                    let open = Span::new(whole.start, whole.start + 1);
                    self.mistake(|_| {
                        Diagnostic::error(open, "mixes stand more than 16 deep in each other", "this one is too many")
                    });
                }
                Rule::unclosed
                    if self.too_deep.is_some_and(|deep| whole.start < deep.start && deep.end <= at.start) => {}
                Rule::unclosed => self.mistake(|file| {
                    let (line, _) = file.line_column(whole.start);
                    let open = Span::new(whole.start, whole.start + 1);
                    let found = Diagnostic::error(
                        open,
                        format!("the block opened at line {line} is not closed"),
                        "this '{' has no '}'",
                    );
                    before_next(file, found, at.start, "a '}' is expected before this")
                }),
                Rule::misplaced => self.mistake(|_| {
                    let word = &text[..head(text)];
                    Diagnostic::error(
                        Span::new(at.start, at.start + word.len()),
                        format!("the command '{word}' cannot stand in a block"),
                        "a thread, a flowop or '}' is expected here",
                    )
                }),
                _ => self.mistake(|_| {
                    let word = &text[..head(text)];
                    Diagnostic::error(
                        Span::new(at.start, at.start + word.len()),
                        unexpected(text),
                        "a thread, a flowop or '}' is expected here",
                    )
                    .near(&clip(word), ["thread", "flowop", "mix"])
                }),
            }
        }
        Block { span: whole, items }
    }

    fn thread(&mut self, pair: Pair<'_, Rule>) -> Item {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let attributes = self.attributes(&mut inner);
        match inner.next() {
            Some(pair) if pair.as_rule() != Rule::no_block => {
                Item::Thread { attributes, block: self.block(pair, "thread") }
            }
            _ => {
                self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(whole.start, whole.start + "thread".len()),
                        "this thread has no block",
                        "'{', flowops and '}' are expected after its attributes",
                    )
                });
                Item::Thread { attributes, block: Block { span: Span::new(whole.end, whole.end), items: Vec::new() } }
            }
        }
    }

    fn mix(&mut self, pair: Pair<'_, Rule>) -> Item {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let attributes = self.attributes(&mut inner);
        match inner.next() {
            Some(pair) if pair.as_rule() != Rule::no_block => Item::Mix { attributes, block: self.block(pair, "mix") },
            _ => {
                self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(whole.start, whole.start + "mix".len()),
                        "this mix has no block",
                        "'{', flowops and '}' are expected after its attributes",
                    )
                });
                Item::Mix { attributes, block: Block { span: Span::new(whole.end, whole.end), items: Vec::new() } }
            }
        }
    }

    fn flowop(&mut self, pair: Pair<'_, Rule>) -> Option<Item> {
        let whole = span(&pair);
        let mut inner = pair.into_inner().peekable();
        let kind = inner.next()?;
        let attributes = self.attributes(&mut inner);
        if kind.as_rule() == Rule::no_kind {
            self.mistake(|_| {
                Diagnostic::error(
                    Span::new(whole.start, whole.start + "flowop".len()),
                    "this flowop has no type",
                    "a type, such as read or statfile, is expected after this",
                )
            });
            return None;
        }
        Some(Item::Flowop { kind: name(&kind), attributes })
    }

    /// The attributes at the front of `pairs`.
    fn attributes<'i>(&mut self, pairs: &mut std::iter::Peekable<Pairs<'i, Rule>>) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        // Set where the place before was a mistake already, so that a comma missing after it is not another one.
        let mut reported = false;
        while let Some(pair) = pairs.next_if(|pair| {
            use Rule::{attribute, bad_attribute, nameless, no_comma, trailing_comma};
            matches!(pair.as_rule(), attribute | nameless | no_comma | trailing_comma | bad_attribute)
        }) {
            let (at, text) = (span(&pair), pair.as_str());
            match pair.as_rule() {
                Rule::no_comma => {
                    if let (false, Some(next)) = (reported, pairs.peek()) {
                        let found = Span::new(at.start, at.start + head(next.as_str()));
                        let word = &next.as_str()[..head(next.as_str())];
                        self.mistake(|_| {
                            Diagnostic::error(
                                found,
                                format!("a comma is expected before '{}'", clip(word)),
                                "a comma is expected before this",
                            )
                        });
                    }
                    continue;
                }
                Rule::attribute => {
                    let before = self.mistakes;
                    let mut inner = pair.into_inner();
                    if let Some(first) = inner.next() {
                        let bare = at.end == span(&first).end;
                        let value = if bare { None } else { Some(self.given(at, inner.peekable())) };
                        attributes.push(Attribute { name: name(&first), value });
                    }
                    reported = self.mistakes > before;
                    continue;
                }
                Rule::nameless => self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(at.start, at.start + 1),
                        "a '=' without a name before it",
                        "the name of an attribute is expected before this",
                    )
                }),
                Rule::trailing_comma => {
                    self.mistake(|_| {
                        Diagnostic::error(at, "no attribute follows this comma", "an attribute is expected after this")
                    });
                }
                _ => {
                    // A quote that nothing closes, or what a value left over; the value's own mistake says it already.
                    if !reported {
                        self.mistake(|_| {
                            Diagnostic::error(
                                Span::new(at.start, at.start + head(text)),
                                unexpected(text),
                                "a comma, an attribute or the end of the list is expected here",
                            )
                        });
                    }
                }
            }
            reported = true;
        }
        attributes
    }

    /// The value after a "="; `owner` is all of `name=value`.
    fn given<'i>(
        &mut self,
        owner: Span,
        mut pairs: std::iter::Peekable<impl Iterator<Item = Pair<'i, Rule>>>,
    ) -> Spanned<Expression> {
        let invalid = Spanned::new(Expression::Invalid, owner);
        match pairs.peek().map(|pair| (pair.as_rule(), span(pair), pair.as_str())) {
            Some((Rule::no_value, ..)) | None => {
                let written = self.file.slice(owner).trim_end_matches(['=', ' ', '\t', '\r', '\n']).to_owned();
                self.mistake(|_| {
                    Diagnostic::error(
                        owner,
                        format!("'{}' has no value", clip(&written)),
                        "a value is expected after the '='",
                    )
                });
                invalid
            }
            Some((Rule::bad_value, at, text)) => {
                self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(at.start, at.start + head(text)),
                        unexpected(text),
                        "a value is expected here",
                    )
                });
                invalid
            }
            _ => self.value(pairs).unwrap_or(invalid),
        }
    }

    /// An expression out of operands, their parts, and operators. None only where there are no pairs.
    fn value<'i>(&mut self, pairs: impl Iterator<Item = Pair<'i, Rule>>) -> Option<Spanned<Expression>> {
        let mut operands: Vec<Spanned<Expression>> = Vec::new();
        let mut operators: Vec<char> = Vec::new();
        let mut parts: Vec<Part<'i>> = Vec::new();
        let mut last_operator = Span::default();
        for pair in pairs {
            let at = span(&pair);
            match pair.as_rule() {
                Rule::operator | Rule::spaced_operator => {
                    operands.extend(self.operand(&mut parts));
                    operators.extend(pair.as_str().chars().next());
                    last_operator = at;
                    if operators.len() == OPERATORS + 1 {
                        self.mistake(|_| {
                            Diagnostic::error(
                                at,
                                format!("more than {OPERATORS} operators in one value"),
                                "this one is too many",
                            )
                        });
                    }
                }
                Rule::no_value => {
                    let operator = self.file.slice(last_operator).to_owned();
                    self.mistake(|_| {
                        if operator.is_empty() {
                            let at = Span::new(at.start.saturating_sub(1), at.start);
                            Diagnostic::error(at, "nothing stands in these brackets", "a value is expected here")
                        } else {
                            Diagnostic::error(
                                last_operator,
                                format!("a value is expected after '{operator}'"),
                                "a value is expected after this",
                            )
                        }
                    });
                    parts.push(Part::Done(Spanned::new(Expression::Invalid, at)));
                }
                Rule::arguments => {
                    let function = match parts.pop() {
                        Some(Part::Plain(word)) => word.map(str::to_owned),
                        _ => Spanned::new(String::new(), at),
                    };
                    let whole = function.span.merge(at);
                    let mut inner = pair.into_inner().peekable();
                    let attributes = self.attributes(&mut inner);
                    let sound = self.brackets(at, inner.next());
                    let call = if sound { Expression::Call { function, attributes } } else { Expression::Invalid };
                    parts.push(Part::Done(Spanned::new(call, whole)));
                }
                _ => parts.push(self.part(pair)),
            }
        }
        operands.extend(self.operand(&mut parts));
        if operators.len() > OPERATORS {
            let whole = operands.first()?.span.merge(operands.last()?.span);
            return Some(Spanned::new(Expression::Invalid, whole));
        }
        climb(operands, &operators)
    }

    /// True unless `pair` says that the bracket at the start of `whole` is not closed, or that it is one too many.
    fn brackets(&mut self, whole: Span, pair: Option<Pair<'_, Rule>>) -> bool {
        let Some(pair) = pair else { return true };
        let open = Span::new(whole.start, whole.start + 1);
        let at = span(&pair);
        if pair.as_rule() == Rule::too_deep {
            self.too_deep = Some(at);
            self.mistake(|_| {
                Diagnostic::error(open, "brackets stand more than 99 deep in each other", "this one is too many")
            });
        } else if !self.too_deep.is_some_and(|deep| open.start < deep.start && deep.end <= at.start) {
            self.mistake(|file| {
                let found = Diagnostic::error(open, "this '(' is not closed", "this '(' has no ')'");
                before_next(file, found, at.start, "a ')' is expected before this")
            });
        }
        false
    }

    /// One part of an operand.
    fn part<'i>(&mut self, pair: Pair<'i, Rule>) -> Part<'i> {
        let (at, text) = (span(&pair), pair.as_str());
        let done = |expression| Part::Done(Spanned::new(expression, at));
        match pair.as_rule() {
            Rule::word | Rule::text => Part::Plain(Spanned::new(text, at)),
            Rule::number => Part::Number(Spanned::new(text, at)),
            Rule::variable => done(Expression::Variable(variable_name(text).to_owned())),
            Rule::environment => done(Expression::Environment(variable_name(text).to_owned())),
            Rule::string => self.string(pair),
            Rule::odd_string => {
                let quote = text.chars().next().unwrap_or('"');
                self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(at.start, at.start + quote.len_utf8()),
                        format!("{quote} does not quote a text here"),
                        "plain quotes (\") are expected here",
                    )
                });
                done(Expression::Invalid)
            }
            Rule::paren => {
                let mut inner: Vec<_> = pair.into_inner().collect();
                let flaw = inner.pop_if(|pair| matches!(pair.as_rule(), Rule::unclosed | Rule::too_deep));
                let value = self.value(inner.into_iter());
                let sound = self.brackets(at, flaw);
                done(value.filter(|_| sound).map_or(Expression::Invalid, |value| value.value))
            }
            Rule::table => {
                let mut rows = Vec::new();
                for row in pair.into_inner() {
                    let place = span(&row);
                    let cells = row.into_inner().filter_map(|cell| self.value(cell.into_inner())).collect();
                    rows.push(Spanned::new(cells, place));
                }
                done(Expression::Table(rows))
            }
            _ => {
                self.mistake(|_| {
                    Diagnostic::error(
                        Span::new(at.start, at.start + 1),
                        "this is no table",
                        "rows of numbers are expected here",
                    )
                    .help("a table is written {{50,1k,2k},{50,4k,8k}}")
                });
                done(Expression::Invalid)
            }
        }
    }

    fn string<'i>(&mut self, pair: Pair<'i, Rule>) -> Part<'i> {
        let whole = span(&pair);
        if self.long_text.is_none() && pair.as_str().contains('\n') {
            self.long_text = Some(whole);
        }
        let mut parts = Vec::new();
        for pair in pair.into_inner() {
            let at = span(&pair);
            let text = match pair.as_rule() {
                Rule::string_text => unescape(pair.as_str()),
                Rule::dollar => "$".to_owned(),
                Rule::variable => {
                    let variable = Expression::Variable(variable_name(pair.as_str()).to_owned());
                    parts.push(Spanned::new(variable, at));
                    continue;
                }
                Rule::environment => {
                    let variable = Expression::Environment(variable_name(pair.as_str()).to_owned());
                    parts.push(Spanned::new(variable, at));
                    continue;
                }
                _ => {
                    let long = self.long_text.filter(|long| long.start < whole.start);
                    self.mistake(|_| {
                        let open = Span::new(whole.start, whole.start + 1);
                        let found = Diagnostic::error(
                            open,
                            "the text that begins here has no closing quote",
                            "a second '\"' is expected after this",
                        );
                        match long {
                            Some(long) => found.also(
                                Span::new(long.start, long.start + 1),
                                "this text goes over several lines: is its closing quote missing?",
                            ),
                            None => found,
                        }
                    });
                    return Part::Done(Spanned::new(Expression::Invalid, whole));
                }
            };
            match parts.last_mut() {
                Some(Spanned { value: Expression::Literal(Value::Text(before)), span }) => {
                    before.push_str(&text);
                    *span = span.merge(at);
                }
                _ => parts.push(Spanned::new(Expression::Literal(Value::Text(text)), at)),
            }
        }
        Part::Quoted(Spanned::new(parts, whole))
    }

    /// The parts that stand without a space between them, as one operand. None where there are none.
    fn operand(&mut self, parts: &mut Vec<Part<'_>>) -> Option<Spanned<Expression>> {
        if parts.len() <= 1 {
            let part = parts.pop()?;
            return Some(match part {
                Part::Done(expression) => expression,
                Part::Plain(word) => word.map(|word| {
                    Expression::Literal(match word {
                        "true" => Value::Flag(true),
                        "false" => Value::Flag(false),
                        other => Value::Text(other.to_owned()),
                    })
                }),
                Part::Number(text) => match units::number(text.value) {
                    Ok(number) => Spanned::new(Expression::Literal(number.into()), text.span),
                    Err(message) => {
                        self.mistake(|_| {
                            let message =
                                if text.value.len() > 80 { "this number is too long".into() } else { message };
                            let wanted = if message.contains("too large") { "a smaller number" } else { "a number" };
                            let found = Diagnostic::error(text.span, message, format!("{wanted} is expected here"));
                            if text.value[1..].contains(['-', '/']) {
                                found.help("to subtract or divide, put a space on both sides of the sign")
                            } else if text.value.chars().filter(|c| c.is_alphabetic()).count() > 2 {
                                found.help("a text that begins with a digit stands in quotes")
                            } else {
                                found
                            }
                        });
                        Spanned::new(Expression::Invalid, text.span)
                    }
                },
                Part::Quoted(Spanned { value: mut parts, span }) => {
                    let literal = matches!(parts[..], [] | [Spanned { value: Expression::Literal(_), .. }]);
                    if literal {
                        let text = parts.pop().map_or_else(|| text_of(String::new()), |part| part.value);
                        Spanned::new(text, span)
                    } else {
                        Spanned::new(Expression::Join(parts), span)
                    }
                }
            });
        }
        let mut joined = Vec::new();
        let mut whole: Option<Span> = None;
        for part in parts.drain(..) {
            let place = match part {
                Part::Done(expression) => {
                    let place = expression.span;
                    joined.push(expression);
                    place
                }
                Part::Plain(text) | Part::Number(text) => {
                    joined.push(Spanned::new(text_of(text.value.to_owned()), text.span));
                    text.span
                }
                Part::Quoted(inner) => {
                    joined.extend(inner.value);
                    inner.span
                }
            };
            whole = Some(whole.map_or(place, |before| before.merge(place)));
        }
        let whole = whole?;
        // One part that was not read spoils the whole.
        if joined.iter().any(|part| part.value == Expression::Invalid) {
            return Some(Spanned::new(Expression::Invalid, whole));
        }
        Some(Spanned::new(Expression::Join(joined), whole))
    }
}

/// A part of an operand. What words and digits mean depends on whether they stand alone.
enum Part<'i> {
    /// A bare word, or what follows a variable.
    Plain(Spanned<&'i str>),
    /// A number if it stands alone, else text.
    Number(Spanned<&'i str>),
    /// What stands between quotes.
    Quoted(Spanned<Vec<Spanned<Expression>>>),
    /// Anything else.
    Done(Spanned<Expression>),
}

/// Operands and the operators between them as a tree: `*`, `/` and `%` bind closer, equals lean to the left.
fn climb(operands: Vec<Spanned<Expression>>, operators: &[char]) -> Option<Spanned<Expression>> {
    let closer = |operator: char| matches!(operator, '*' | '/' | '%');
    let join = |operator: char, left: Spanned<Expression>, right: Spanned<Expression>| {
        let span = left.span.merge(right.span);
        Spanned::new(Expression::Binary { operator, left: Box::new(left), right: Box::new(right) }, span)
    };
    let mut operands = operands.into_iter();
    let mut product = operands.next()?;
    let mut sum: Option<(Spanned<Expression>, char)> = None;
    for (operator, right) in operators.iter().zip(operands) {
        if closer(*operator) {
            product = join(*operator, product, right);
            continue;
        }
        let left = match sum.take() {
            Some((left, before)) => join(before, left, product),
            None => product,
        };
        sum = Some((left, *operator));
        product = right;
    }
    Some(match sum {
        Some((left, before)) => join(before, left, product),
        None => product,
    })
}

/// Adds what stands at `offset` as a second place, unless the text ends there.
fn before_next(file: &SourceFile, found: Diagnostic, offset: usize, label: &str) -> Diagnostic {
    let rest = file.text.get(offset..).unwrap_or("");
    let space = rest.len() - rest.trim_start().len();
    match head(&rest[space..]) {
        0 => found,
        length => found.also(Span::new(offset + space, offset + space + length), label),
    }
}

fn span(pair: &Pair<'_, Rule>) -> Span {
    let span = pair.as_span();
    Span::new(span.start(), span.end())
}

fn name(pair: &Pair<'_, Rule>) -> Spanned<String> {
    Spanned::new(pair.as_str().to_owned(), span(pair))
}

fn text_of(text: String) -> Expression {
    Expression::Literal(Value::Text(text))
}

/// `dir` of `$dir`, `${dir}`, `$(dir)`.
fn variable_name(written: &str) -> &str {
    written.trim_start_matches(['$', '{', '(']).trim_end_matches(['}', ')'])
}

/// Text between quotes without its backslashes: `\"`, `\\`, `\$`, `\n`, `\t`; any other backslash stays.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut following = rest[at + 1..].chars();
        match following.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(c @ ('"' | '\\' | '$')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
        rest = following.as_str();
    }
    out.push_str(rest);
    out
}

/// Length of what a reader sees as one thing at the start of `text`: a word, a number, a variable, or one character.
fn head(text: &str) -> usize {
    let in_word = |c: char| c.is_alphanumeric() || "_.-/~".contains(c);
    let word = |text: &str| text.find(|c| !in_word(c)).unwrap_or(text.len());
    let name = |text: &str| text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    match text.chars().next() {
        None => 0,
        Some('$') => 1 + name(&text[1..]),
        Some(c) if in_word(c) => word(text),
        Some(c) => c.len_utf8(),
    }
}

/// A name as a message shows it: whole, unless it is far longer than a line.
fn clip(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", &name[..at]).into(),
        None => name.into(),
    }
}

/// True where `head` is a word and no number or sign.
fn is_word(head: &str) -> bool {
    head.starts_with(|c: char| c.is_alphabetic() || "_./~".contains(c)) || head.starts_with('-') && head.len() > 1
}

/// Says what stands at the start of `text`, where it should not.
fn unexpected(text: &str) -> String {
    let head = &*clip(&text[..head(text)]);
    match head.chars().next() {
        None => "the text ends here".into(),
        Some('$') if head.len() > 1 => format!("unexpected variable {head}"),
        Some('$') if text.starts_with("${") => "'${' begins no variable: that is written ${name}".into(),
        Some('$') => "unexpected '$' without a name after it".into(),
        Some('"') => "unexpected text in quotes".into(),
        Some('0'..='9') => format!("unexpected number '{head}'"),
        Some('{' | '}' | '(' | ')' | ',' | '=' | '+' | '*' | '%' | '-' | '/') if head.len() == 1 => {
            format!("unexpected '{head}'")
        }
        Some(_) if is_word(head) => format!("unexpected word '{head}'"),
        Some(c) if c.is_control() || c.is_whitespace() => format!("unexpected character U+{:04X}", u32::from(c)),
        Some(c) if c.is_ascii() => format!("unexpected character '{c}'"),
        Some(c) => format!("unexpected character '{c}' (U+{:04X})", u32::from(c)),
    }
}
