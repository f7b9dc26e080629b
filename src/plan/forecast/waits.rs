//! Threads that wait for each other: waits that nobody ends, and posts that nobody takes.

use super::findings::{Finding, FindingKind, Weight};
use super::round::{Round, iters, nodes};
use crate::attribute::Quantity;
use crate::plan::Node;
use std::collections::BTreeSet;

/// A flowop of a round: thread among the rounds, place among its flowops.
type Place = [u32; 3];

/// The flowops of a round in order, each with whether the thread comes to it for certain.
fn sequence(nodes: &[Node], round: &Round<'_>, certain: bool, found: &mut Vec<(usize, bool)>) {
    let often = |times: Option<Quantity>| match times {
        Some(Quantity::Fixed(0)) => None,
        Some(Quantity::Random(_)) => Some(false),
        _ => Some(certain),
    };
    for node in nodes {
        match node {
            Node::Flowop(at) => {
                if let Some(certain) = often(round.facts[*at as usize].iters) {
                    found.push((*at as usize, certain));
                }
            }
            Node::Composite { attributes, nodes } => {
                if let Some(certain) = often(iters(attributes)) {
                    sequence(nodes, round, certain, found);
                }
            }
            Node::Mix { attributes, choices } => {
                let chosen = choices.iter().filter(|choice| choice.weight > 0);
                let alone = chosen.clone().count() == 1;
                if let Some(certain) = often(iters(attributes)) {
                    chosen.for_each(|c| sequence(std::slice::from_ref(&c.node), round, certain && alone, found));
                }
            }
        }
    }
}

pub(super) fn findings(rounds: &[Round<'_>], findings: &mut Vec<Finding>) {
    let sequences: Vec<Vec<(usize, bool)>> = rounds
        .iter()
        .map(|round| {
            let mut found = Vec::new();
            sequence(&nodes(round.thread), round, true, &mut found);
            found
        })
        .collect();
    let place = |round: &Round<'_>, at: usize| -> Place { [round.place[0], round.place[1], at as u32] };
    let done: BTreeSet<Place> = rounds
        .iter()
        .zip(&sequences)
        .flat_map(|(round, sequence)| sequence.iter().map(move |(at, _)| place(round, *at)))
        .collect();
    // How far each thread comes; posts that are done before somebody is stuck let others go on.
    let mut reached: Vec<usize> = vec![0; rounds.len()];
    let mut posted: BTreeSet<Place> = BTreeSet::new();
    loop {
        let mut moved = false;
        for ((round, sequence), reached) in rounds.iter().zip(&sequences).zip(&mut reached) {
            while let Some((at, certain)) = sequence.get(*reached) {
                let flowop = &round.thread.flowops[*at];
                if *certain && round.waits[*at] && !posted.contains(&place(round, *at)) {
                    break;
                }
                posted.extend(&flowop.acts_on);
                *reached += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for ((round, sequence), reached) in rounds.iter().zip(&sequences).zip(&reached) {
        if let Some((at, _)) = sequence.get(*reached) {
            findings.push(stuck(rounds, &done, round, *at, place(round, *at)));
        }
        for (at, _) in sequence {
            let flowop = &round.thread.flowops[*at];
            if flowop.acts_on.is_empty() || flowop.acts_on.iter().any(|target| done.contains(target)) {
                continue;
            }
            let message = format!("nobody waits for {}: no thread comes to its target", flowop.name);
            let help = "look at iters of the target, and at the instances of its process".into();
            findings.push(Finding::new(FindingKind::NobodyWaits, Weight::Certain, round, *at, "target", message, help));
        }
    }
}

fn stuck(rounds: &[Round<'_>], done: &BTreeSet<Place>, round: &Round<'_>, at: usize, place: Place) -> Finding {
    let flowop = &round.thread.flowops[at];
    let posters: Vec<String> = rounds
        .iter()
        .flat_map(|other| other.thread.flowops.iter().enumerate().map(move |(f, flowop)| (other, f, flowop)))
        .filter(|(other, f, flowop)| {
            flowop.acts_on.contains(&place) && done.contains(&[other.place[0], other.place[1], *f as u32])
        })
        .map(|(other, _, flowop)| format!("{} of thread {}", flowop.name, other.thread.name))
        .collect();
    let (message, help) = if posters.is_empty() {
        let message = format!("{} waits for ever: no flowop of any thread ends its wait", flowop.name);
        (message, format!("a flowop with target={} is missing", flowop.name.rsplit('.').next().unwrap_or_default()))
    } else {
        let message = format!(
            "{} waits for ever: {} would end its wait, and stands behind a wait that does not end",
            flowop.name,
            posters.join(" and ")
        );
        (message, "let one thread post before it waits".into())
    };
    Finding::new(FindingKind::WaitsForEver, Weight::Certain, round, at, "name", message, help)
}
