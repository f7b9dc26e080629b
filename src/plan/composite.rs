//! Composite flowops: a use of one is replaced by the flowops of its definition, with the local variables of that use.
//! And mixes, of which one flowop is chosen each time.

use super::resolve::Resolver;
use super::{Choice, Node, entity};
use crate::attribute::{Attributes, Typed, Value};
use crate::diagnostic::Diagnostic;
use crate::flowop;
use crate::source::{Span, Spanned};
use crate::syntax::{Attribute, Block, Item};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How deep composite flowops and mixes may stand in one another.
const DEEPEST: usize = 16;

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
    /// True for an item of a mix, which may have a weight.
    pub(super) weighted: bool,
}

/// Where an item stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    prefix: &'p str,
    locals: &'p Locals,
    depth: usize,
    /// In a mix.
    weighted: bool,
}

impl<'a> Resolver<'a, '_> {
    /// The flowops of a block, and the order in which they run.
    pub(super) fn expand(&mut self, block: &'a Block) -> (Vec<Expanded<'a>>, Vec<Node>) {
        let mut flowops = Vec::new();
        let nodes = self.expand_into(block, "", &Locals::default(), 0, &mut flowops);
        // Without composites and mixes the order is that of the text.
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
        let place = Place { prefix, locals, depth, weighted: false };
        block.items.iter().filter_map(|item| self.expand_item(item, place, flowops)).collect()
    }

    /// One item; None where it is wrong (and was reported).
    fn expand_item(
        &mut self,
        item: &'a Spanned<Item>,
        place: Place<'_>,
        flowops: &mut Vec<Expanded<'a>>,
    ) -> Option<Node> {
        let Place { prefix, locals, depth, weighted } = place;
        let (kind, attributes) = match &item.value {
            Item::Flowop { kind, attributes } => (kind, attributes),
            Item::Mix { attributes, block } => return self.expand_mix(item.span, attributes, block, place, flowops),
            Item::Thread { .. } => {
                self.push(Diagnostic::error(item.span, "a thread within flowops", "expected flowop TYPE ..."));
                return None;
            }
        };
        let composite = self.composites.get(&kind.value).copied().filter(|_| flowop::find(&kind.value).is_none());
        let Some(composite) = composite else {
            if depth > 0 && !self.copy(locals, item.span) {
                return None;
            }
            let node = Node::Flowop(flowops.len() as u32);
            flowops.push(Expanded { prefix: prefix.to_owned(), kind, attributes, locals: locals.clone(), weighted });
            return Some(node);
        };
        if let Some(first) = self.unfolding.iter().position(|outer| *outer == kind.value) {
            let message = format!("the composite flowop '{}' uses itself", kind.value);
            let way = self.unfolding[first..].iter().chain([&kind.value.as_str()]).copied().collect::<Vec<_>>();
            self.push(Diagnostic::error(kind.span, message, format!("here: {}", way.join(" -> "))));
            return None;
        }
        if depth >= DEEPEST {
            let message = format!("the composite flowop '{}' leads to too many others", kind.value);
            self.push(Diagnostic::error(kind.span, message, "this one is too many"));
            return None;
        }
        if !self.copy(locals, kind.span) {
            return None;
        }
        let before = self.scope.enter(locals);
        let used = self.composite_use(kind, attributes, composite, weighted);
        self.scope.leave(before);
        let (name, iters, inner) = used?;
        let inner_prefix = format!("{prefix}{name}.");
        self.unfolding.push(&kind.value);
        let nodes = self.expand_into(composite.block, &inner_prefix, &inner, depth + 1, flowops);
        self.unfolding.pop();
        Some(Node::Composite { attributes: iters, nodes })
    }

    /// Counts what stands in a composite, or is one: its uses multiply it, and each binds the local variables anew. False
    /// where that is too much.
    fn copy(&mut self, locals: &Locals, span: Span) -> bool {
        self.scope.spend_all(locals);
        self.count(1, span) && !self.is_full(span)
    }

    fn expand_mix(
        &mut self,
        span: Span,
        written: &'a [Attribute],
        block: &'a Block,
        place: Place<'_>,
        flowops: &mut Vec<Expanded<'a>>,
    ) -> Option<Node> {
        // The span of the item covers the whole block; a message points at its word.
        let word = Span::new(span.start, span.start + "mix".len());
        if place.depth >= DEEPEST {
            let message = format!("mixes and composite flowops stand more than {DEEPEST} deep in each other");
            self.push(Diagnostic::error(word, message, "this one is too many"));
            return None;
        }
        let before = self.scope.enter(place.locals);
        let attributes = self.attributes(&entity::MIX, word, written);
        self.scope.leave(before);
        if !place.weighted {
            self.refuse_weight(written);
        }
        let inner = Place { depth: place.depth + 1, weighted: true, ..place };
        let mut choices = Vec::new();
        for item in &block.items {
            let weight = self.weight(&item.value, place.locals);
            let node = self.expand_item(item, inner, flowops);
            choices.extend(node.zip(weight).map(|(node, weight)| Choice { weight, node }));
        }
        let name = attributes.text("name").map(|name| format!(" '{name}'")).unwrap_or_default();
        // One without braces was reported where it was read.
        if block.items.is_empty() && block.span.start < block.span.end {
            let message = format!("the mix{name} has no flowops");
            self.push(Diagnostic::error(block.span, message, "expected flowop TYPE ..."));
        } else if !choices.is_empty()
            && choices.len() == block.items.len()
            && choices.iter().all(|choice| choice.weight == 0)
        {
            let message = format!("the weights of the mix{name} add up to 0, so nothing can be chosen");
            self.push(Diagnostic::error(word, message, "expected a weight above 0"));
        }
        Some(Node::Mix { attributes, choices })
    }

    /// The weight of an item of a mix, in millionths. None where it is wrong (and was reported).
    fn weight(&mut self, item: &Item, locals: &Locals) -> Option<u64> {
        let (Item::Flowop { attributes, .. } | Item::Mix { attributes, .. } | Item::Thread { attributes, .. }) = item;
        let def = &entity::WEIGHT;
        let before = self.scope.enter(locals);
        let mut read = Attributes::default();
        let mut sound = true;
        for attribute in attributes.iter().filter(|attribute| attribute.name.value == def.name) {
            match self.scope.attribute(def, attribute) {
                Some(value) => read.insert(def.name, value),
                None => sound = false,
            }
        }
        self.scope.leave(before);
        read.fill(def, Span::default());
        match read.get(def.name) {
            Some(Typed::Number(weight)) if sound => Some(*weight),
            _ => None,
        }
    }

    /// A weight where nothing is chosen.
    pub(super) fn refuse_weight(&mut self, written: &[Attribute]) {
        for attribute in written.iter().filter(|attribute| attribute.name.value == entity::WEIGHT.name) {
            let label = "this is no item of a mix";
            self.push(Diagnostic::error(attribute.name.span, "weight counts in a mix only", label));
        }
    }

    /// Name, `iters` and local variables of a use.
    fn composite_use(
        &mut self,
        kind: &Spanned<String>,
        written: &[Attribute],
        composite: Composite<'_>,
        weighted: bool,
    ) -> Option<(String, Attributes, Locals)> {
        self.refuse_weight(composite.attributes);
        if !weighted {
            self.refuse_weight(written);
        }
        let common = flowop::attributes::COMMON;
        let mut attributes = Attributes::default();
        let mut locals: BTreeMap<String, Value> = BTreeMap::new();
        let is_local = |attribute: &&Attribute| attribute.name.value.starts_with('$');
        let declared: BTreeSet<&str> =
            composite.attributes.iter().filter(is_local).map(|a| a.name.value.as_str()).collect();
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
            // Of the mix that it is used in, or refused above.
            if name == entity::WEIGHT.name {
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
