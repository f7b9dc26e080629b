//! What was written: the tree of a workload's text. Every node has its place.

use crate::attribute::{Relation, Value};
use crate::source::{Span, Spanned};

/// A whole workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ast {
    /// In the order of the text.
    pub statements: Vec<Spanned<Statement>>,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `set $variable = value`, or a field of a random variable: `set $variable.field = value`.
    Set {
        /// Without its `$` and brackets.
        variable: Spanned<String>,
        /// `mean` in `set $size.mean=4k`.
        field: Option<Spanned<String>>,
        /// What it becomes.
        value: Spanned<Expression>,
        /// What the `##` comments directly above it say.
        help: Option<String>,
    },
    /// `set mode WORD…`, such as `set mode quit alldone`.
    SetMode(Vec<Spanned<String>>),
    /// `define WHAT attributes`, and for a process or a composite flowop a block.
    Define {
        /// `file`, `fileset`, `process`, `flowop`, `randvar`, `posset`; plural forms and aliases as written.
        what: Spanned<String>,
        /// In the order written, repetitions included.
        attributes: Vec<Attribute>,
        /// Of a process or composite flowop.
        block: Option<Block>,
    },
    /// `run [length]`.
    Run(Option<Spanned<Expression>>),
    /// `foreach $variable in values { statements }`.
    Foreach {
        /// Without its `$` and brackets.
        variable: Spanned<String>,
        /// What it becomes, one after the other.
        values: Vec<Spanned<Expression>>,
        /// What is carried out for each of them.
        body: Vec<Spanned<Statement>>,
    },
    /// `assert FLOWOP.METRIC < LIMIT`.
    Assert {
        /// The flowop and its metric, `readfile1.p99`.
        subject: Spanned<Expression>,
        /// None where it could not be read, and was reported.
        relation: Option<Relation>,
        /// What the metric is compared with.
        limit: Spanned<Expression>,
    },
    /// Any other command: its word and its arguments (`echo`, `usage`, `create`, `psrun`, `eventgen`, `sleep`, …).
    Command {
        /// `echo`.
        word: Spanned<String>,
        /// Words, numbers, strings, variables.
        arguments: Vec<Spanned<Expression>>,
        /// `rate=50` of `eventgen rate=50`.
        attributes: Vec<Attribute>,
    },
}

/// What stands between braces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// From the opening to the closing brace.
    pub span: Span,
    /// Threads of a process, flowops and mixes of a thread.
    pub items: Vec<Spanned<Item>>,
}

/// A thread, a flowop or a mix.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `thread attributes { flowops }`.
    Thread {
        /// In the order written.
        attributes: Vec<Attribute>,
        /// Its flowops.
        block: Block,
    },
    /// `flowop TYPE attributes`.
    Flowop {
        /// The type's word.
        kind: Spanned<String>,
        /// In the order written.
        attributes: Vec<Attribute>,
    },
    /// `mix attributes { flowops and mixes }`.
    Mix {
        /// In the order written.
        attributes: Vec<Attribute>,
        /// What one is chosen of.
        block: Block,
    },
}

/// `name`, or `name=value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// As written (a composite flowop's local variable keeps its `$`).
    pub name: Spanned<String>,
    /// None for a bare attribute.
    pub value: Option<Spanned<Expression>>,
}

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number, `true` or `false`, a bare word, or quoted text without variables.
    Literal(Value),
    /// `$name`, `${name}`.
    Variable(String),
    /// `$(NAME)`: of the environment.
    Environment(String),
    /// Parts that stand together without a space, `$dir/sub`, or quoted text with variables in it.
    Join(Vec<Spanned<Expression>>),
    /// `left op right`, op one of `+ - * / %`.
    Binary {
        /// The operator.
        operator: char,
        /// Left of it.
        left: Box<Spanned<Expression>>,
        /// Right of it.
        right: Box<Spanned<Expression>>,
    },
    /// `randvar(attributes)` or `cvar(attributes)`.
    Call {
        /// The word before the bracket.
        function: Spanned<String>,
        /// In the order written.
        attributes: Vec<Attribute>,
    },
    /// Could not be read, and was reported. It stands for a value of any kind, so that one mistake is one message.
    Invalid,
    /// `{{50,1k,2k},{50,4k,8k}}`.
    Table(Vec<Spanned<Vec<Spanned<Expression>>>>),
}
