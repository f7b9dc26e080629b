//! Moves the places of a tree to where its text lies among the texts of a workload.
//!
//! Each node is taken apart by name, so that a new one with a place cannot be forgotten here.

use super::{Attribute, Block, Expression, Item, Statement};
use crate::source::{Span, Spanned};

pub(super) fn statement(statement: &mut Spanned<Statement>, by: usize) {
    span(&mut statement.span, by);
    match &mut statement.value {
        Statement::Set { variable, field, value, help: _ } => {
            span(&mut variable.span, by);
            if let Some(field) = field {
                span(&mut field.span, by);
            }
            expression(value, by);
        }
        Statement::SetMode(words) => words.iter_mut().for_each(|word| span(&mut word.span, by)),
        Statement::Define { what, attributes, block } => {
            span(&mut what.span, by);
            list(attributes, by);
            if let Some(block) = block {
                self::block(block, by);
            }
        }
        Statement::Run(length) => {
            if let Some(length) = length {
                expression(length, by);
            }
        }
        Statement::Foreach { variable, values, body } => {
            span(&mut variable.span, by);
            values.iter_mut().for_each(|value| expression(value, by));
            body.iter_mut().for_each(|inner| self::statement(inner, by));
        }
        Statement::Assert { subject, relation: _, limit } => {
            expression(subject, by);
            expression(limit, by);
        }
        Statement::Command { word, arguments, attributes } => {
            span(&mut word.span, by);
            arguments.iter_mut().for_each(|argument| expression(argument, by));
            list(attributes, by);
        }
    }
}

fn block(block: &mut Block, by: usize) {
    let Block { span: place, items } = block;
    span(place, by);
    for item in items {
        span(&mut item.span, by);
        match &mut item.value {
            Item::Thread { attributes, block } | Item::Mix { attributes, block } => {
                list(attributes, by);
                self::block(block, by);
            }
            Item::Flowop { kind, attributes } => {
                span(&mut kind.span, by);
                list(attributes, by);
            }
        }
    }
}

fn list(attributes: &mut [Attribute], by: usize) {
    for Attribute { name, value } in attributes {
        span(&mut name.span, by);
        if let Some(value) = value {
            expression(value, by);
        }
    }
}

fn expression(written: &mut Spanned<Expression>, by: usize) {
    span(&mut written.span, by);
    match &mut written.value {
        Expression::Literal(_) | Expression::Variable(_) | Expression::Environment(_) | Expression::Invalid => {}
        Expression::Join(parts) => parts.iter_mut().for_each(|part| expression(part, by)),
        Expression::Binary { operator: _, left, right } => {
            expression(left, by);
            expression(right, by);
        }
        Expression::Call { function, attributes } => {
            span(&mut function.span, by);
            list(attributes, by);
        }
        Expression::Table(rows) => {
            for row in rows {
                span(&mut row.span, by);
                row.value.iter_mut().for_each(|cell| expression(cell, by));
            }
        }
    }
}

fn span(span: &mut Span, by: usize) {
    *span = span.moved(by);
}
