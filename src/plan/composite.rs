//! Composite flowops: a use of one is replaced by the flowops of its definition, with the local variables of that use.

use super::Node;
use super::resolve::Resolver;
use crate::attribute::{Attributes, Value};
use crate::diagnostic::Diagnostic;
use crate::flowop;
use crate::source::Spanned;
use crate::syntax::{Attribute, Block, Item};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How deep composite flowops may stand in one another.
const DEEPEST: usize = 16;
/// How many flowops one thread may come to by its composites.
const MOST: usize = 100_000;

/// `define flowop`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Composite<'a> {
    pub(super) attributes: &'a [Attribute],
    pub(super) block: &'a Block,
}

/// Variables that hold within one use of a composite flowop.
pub(super) type Locals = Rc<BTreeMap<String, Value>>;

/// A flowop as it stands in a thread after its composites are taken apart.
pub(super) struct Expanded<'a> {
    /// `use.` of each composite around it.
    pub(super) prefix: String,
    pub(super) kind: &'a Spanned<String>,
    pub(super) attributes: &'a [Attribute],
    pub(super) locals: Locals,
}

impl<'a> Resolver<'a, '_> {
    /// The flowops of a block, and the order in which they run.
    pub(super) fn expand(&mut self, block: &'a Block) -> (Vec<Expanded<'a>>, Vec<Node>) {
        let mut flowops = Vec::new();
        let nodes = self.expand_into(block, "", &Locals::default(), 0, &mut flowops);
        // Without composites the order is that of the text.
        let plain = nodes.iter().all(|node| matches!(node, Node::Flowop(_)));
        (flowops, if plain { Vec::new() } else { nodes })
    }

    fn expand_into(
        &mut self,
        block: &'a Block,
        prefix: &str,
        locals: &Locals,
        depth: usize,
        flowops: &mut Vec<Expanded<'a>>,
    ) -> Vec<Node> {
        let mut nodes = Vec::new();
        for item in &block.items {
            let Item::Flowop { kind, attributes } = &item.value else {
                self.push(Diagnostic::error(item.span, "a thread within flowops", "expected flowop TYPE ..."));
                continue;
            };
            let composite = self.composites.get(&kind.value).copied().filter(|_| flowop::find(&kind.value).is_none());
            let Some(composite) = composite else {
                nodes.push(Node::Flowop(flowops.len() as u32));
                flowops.push(Expanded { prefix: prefix.to_owned(), kind, attributes, locals: locals.clone() });
                continue;
            };
            if depth == DEEPEST || flowops.len() > MOST {
                let message = format!("the composite flowop '{}' leads to too many others", kind.value);
                self.push(Diagnostic::error(kind.span, message, "does it use itself?"));
                continue;
            }
            let before = self.scope.enter(locals);
            let used = self.composite_use(kind, attributes, composite);
            self.scope.leave(before);
            let Some((name, iters, inner)) = used else { continue };
            let inner_prefix = format!("{prefix}{name}.");
            let inner = self.expand_into(composite.block, &inner_prefix, &inner, depth + 1, flowops);
            nodes.push(Node::Composite { attributes: iters, nodes: inner });
        }
        nodes
    }

    /// Name, `iters` and local variables of a use.
    fn composite_use(
        &mut self,
        kind: &Spanned<String>,
        written: &[Attribute],
        composite: Composite<'_>,
    ) -> Option<(String, Attributes, Locals)> {
        let common = flowop::attributes::COMMON;
        let mut attributes = Attributes::default();
        let mut locals: BTreeMap<String, Value> = BTreeMap::new();
        let is_local = |attribute: &&Attribute| attribute.name.value.starts_with('$');
        let declared: Vec<&str> = composite.attributes.iter().filter(is_local).map(|a| a.name.value.as_str()).collect();
        // The definition's values first, then those of the use.
        for attribute in composite.attributes.iter().chain(written) {
            let name = attribute.name.value.as_str();
            if let Some(local) = name.strip_prefix('$') {
                if !declared.contains(&name) {
                    let message = format!("the composite flowop '{}' has no local variable {name}", kind.value);
                    let diagnostic = Diagnostic::error(attribute.name.span, message, "not declared in its definition");
                    self.push(diagnostic.near(name, declared.iter().copied()));
                } else if let Some(value) = attribute.value.as_ref().and_then(|value| self.scope.evaluate(value)) {
                    locals.insert(local.to_owned(), value);
                }
                continue;
            }
            match crate::attribute::find(common, name) {
                // The definition's name is that of the type.
                Some(def) if def.name == "name" && std::ptr::eq(attribute, self.name_in(composite.attributes)?) => {}
                Some(def) => {
                    let value = self.scope.attribute(def, attribute)?;
                    attributes.insert(def.name, value);
                }
                None if flowop::attributes::known(name).is_some() => {
                    let message = format!("'{name}' has no effect on a composite flowop");
                    self.push(Diagnostic::warning(attribute.name.span, message, "no effect"));
                }
                None => {
                    let of = "a composite flowop";
                    self.unknown_attribute(&attribute.name, of, common.iter().map(|def| def.name));
                }
            }
        }
        self.fill(&mut attributes, common.iter(), &format!("flowop {}", kind.value), kind.span);
        let name = attributes.text("name")?.to_owned();
        Some((name, attributes, Rc::new(locals)))
    }

    fn name_in<'n>(&self, attributes: &'n [Attribute]) -> Option<&'n Attribute> {
        attributes.iter().find(|attribute| attribute.name.value == "name")
    }
}
