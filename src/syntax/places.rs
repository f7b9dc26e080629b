//! The places of a tree: moved to where its text lies among the texts of a workload, or taken away.
//!
//! Each node is taken apart by name, so that a new one with a place cannot be forgotten here.

use super::{Ast, Attribute, Block, Expression, Item, Statement};
use crate::source::{Span, Spanned};

impl Ast {
    /// The tree with every place moved `by` bytes further on.
    pub(super) fn moved(mut self, by: usize) -> Ast {
        self.statements.iter_mut().for_each(|inner| statement(inner, &|place| *place = place.moved(by)));
        self
    }

    /// The tree with every place set to nothing: equal for two texts that differ in layout, and in comments that are
    /// no help.
    pub fn unplaced(mut self) -> Ast {
        self.statements.iter_mut().for_each(|inner| statement(inner, &|place| *place = Span::default()));
        self
    }
}

fn statement(statement: &mut Spanned<Statement>, change: &dyn Fn(&mut Span)) {
    change(&mut statement.span);
    match &mut statement.value {
        Statement::Set { variable, field, value, help: _ } => {
            change(&mut variable.span);
            if let Some(field) = field {
                change(&mut field.span);
            }
            expression(value, change);
        }
        Statement::SetMode(words) => words.iter_mut().for_each(|word| change(&mut word.span)),
        Statement::Define { what, attributes, block } => {
            change(&mut what.span);
            list(attributes, change);
            if let Some(block) = block {
                self::block(block, change);
            }
        }
        Statement::Run(length) => {
            if let Some(length) = length {
                expression(length, change);
            }
        }
        Statement::Foreach { variable, values, body } => {
            change(&mut variable.span);
            values.iter_mut().for_each(|value| expression(value, change));
            body.iter_mut().for_each(|inner| self::statement(inner, change));
        }
        Statement::Assert { subject, relation: _, limit } => {
            expression(subject, change);
            expression(limit, change);
        }
        Statement::Command { word, arguments, attributes } => {
            change(&mut word.span);
            arguments.iter_mut().for_each(|argument| expression(argument, change));
            list(attributes, change);
        }
    }
}

fn block(block: &mut Block, change: &dyn Fn(&mut Span)) {
    let Block { span: place, items } = block;
    change(place);
    for item in items {
        change(&mut item.span);
        match &mut item.value {
            Item::Thread { attributes, block } | Item::Mix { attributes, block } => {
                list(attributes, change);
                self::block(block, change);
            }
            Item::Flowop { kind, attributes } => {
                change(&mut kind.span);
                list(attributes, change);
            }
        }
    }
}

fn list(attributes: &mut [Attribute], change: &dyn Fn(&mut Span)) {
    for Attribute { name, value } in attributes {
        change(&mut name.span);
        if let Some(value) = value {
            expression(value, change);
        }
    }
}

fn expression(written: &mut Spanned<Expression>, change: &dyn Fn(&mut Span)) {
    change(&mut written.span);
    match &mut written.value {
        Expression::Literal(_) | Expression::Variable(_) | Expression::Environment(_) | Expression::Invalid => {}
        Expression::Join(parts) => parts.iter_mut().for_each(|part| expression(part, change)),
        Expression::Binary { operator: _, left, right } => {
            expression(left, change);
            expression(right, change);
        }
        Expression::Call { function, attributes } => {
            change(&mut function.span);
            list(attributes, change);
        }
        Expression::Table(rows) => {
            for row in rows {
                change(&mut row.span);
                row.value.iter_mut().for_each(|cell| expression(cell, change));
            }
        }
    }
}
