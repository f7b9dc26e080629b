//! Text to [`Ast`].
mod ast;
pub use ast::{Ast, Attribute, Block, Expression, Item, Statement};
