//! An [`Ast`] without its places, to tell whether two texts say the same.

use super::{Ast, Attribute, Block, Expression, Item, Statement};
use crate::source::{Span, Spanned};

impl Ast {
    /// The tree with every place set to nothing: equal for two texts that differ in layout and comments only.
    pub fn unplaced(mut self) -> Ast {
        self.statements.iter_mut().for_each(statement);
        self
    }
}

fn clear<T>(spanned: &mut Spanned<T>) -> &mut T {
    spanned.span = Span::default();
    &mut spanned.value
}

fn statement(spanned: &mut Spanned<Statement>) {
    match clear(spanned) {
        Statement::Set { variable, field, value } => {
            clear(variable);
            field.as_mut().map(clear);
            expression(value);
        }
        Statement::SetMode(words) => words.iter_mut().for_each(|word| _ = clear(word)),
        Statement::Define { what, attributes, block: inner } => {
            clear(what);
            attributes.iter_mut().for_each(attribute);
            inner.iter_mut().for_each(block);
        }
        Statement::Run(length) => length.iter_mut().for_each(expression),
        Statement::Command { word, arguments, attributes } => {
            clear(word);
            arguments.iter_mut().for_each(expression);
            attributes.iter_mut().for_each(attribute);
        }
    }
}

fn block(block: &mut Block) {
    block.span = Span::default();
    block.items.iter_mut().for_each(item);
}

fn item(spanned: &mut Spanned<Item>) {
    match clear(spanned) {
        Item::Thread { attributes, block: inner } => {
            attributes.iter_mut().for_each(attribute);
            block(inner);
        }
        Item::Flowop { kind, attributes } => {
            clear(kind);
            attributes.iter_mut().for_each(attribute);
        }
    }
}

fn attribute(attribute: &mut Attribute) {
    clear(&mut attribute.name);
    attribute.value.iter_mut().for_each(expression);
}

fn expression(spanned: &mut Spanned<Expression>) {
    match clear(spanned) {
        Expression::Literal(_) | Expression::Variable(_) | Expression::Environment(_) | Expression::Invalid => {}
        Expression::Join(parts) => parts.iter_mut().for_each(expression),
        Expression::Binary { operator: _, left, right } => {
            expression(left);
            expression(right);
        }
        Expression::Call { function, attributes } => {
            clear(function);
            attributes.iter_mut().for_each(attribute);
        }
        Expression::Table(rows) => rows.iter_mut().for_each(|row| clear(row).iter_mut().for_each(expression)),
    }
}
