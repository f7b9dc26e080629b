//! The files of a plan that are block devices. The planner opens nothing, so they are found here, before the start.

use super::filesets::{changes, reaching};
use crate::diagnostic::Diagnostic;
use crate::fileset::device::Leave;
use crate::fileset::{Device, Draw};
use crate::plan::Plan;
use crate::sys::describe;
use std::collections::BTreeSet;

/// Finds the files of a plan that are block devices, and gives each the size that it has where the workload says none.
/// What a device cannot do and the workload asks of it is returned, each at its place.
///
/// # Errors
///
/// In words: a device that cannot be opened, or a fileset that would be one.
pub fn bind(plan: &mut Plan) -> Result<Vec<Diagnostic>, String> {
    for spec in &mut plan.filesets {
        let root = spec.root();
        let found = Device::find(&root);
        spec.device = found.map_err(|error| format!("the device {}: {}", root.display(), describe(&error)))?;
        let Some(device) = &spec.device else { continue };
        if !spec.single {
            let (name, path) = (&spec.name, device.path.display());
            return Err(format!(
                "the fileset '{name}' would be the device {path}; only a 'define file' can be a device"
            ));
        }
        if spec.sizeless {
            spec.size = Draw::Fixed(device.bytes as f64);
        }
    }
    let mut found = Vec::new();
    let mut said = BTreeSet::new();
    for (set, spec) in plan.filesets.iter().enumerate() {
        let Some(device) = &spec.device else { continue };
        for (flowop, _) in reaching(plan, set) {
            let Err(why) = (flowop.def().on_device)(&flowop.attributes) else { continue };
            let span = flowop.attributes.span("name").unwrap_or_default();
            // Each run of the workload has it again.
            if said.insert((span.start, set)) {
                let path = device.path.display();
                let message = format!("{} {} cannot work on the device {path}", flowop.kind, flowop.name);
                found.push(Diagnostic::error(span, message, why).help(format!("the file '{}' is it", spec.name)));
            }
        }
    }
    Ok(found)
}

/// Why the devices of a plan are not written to; empty where they may be, or are not.
///
/// # Errors
///
/// In words, where one cannot be read.
pub fn refusals(plan: &Plan, leave: &Leave) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut said = BTreeSet::new();
    for (set, spec) in plan.filesets.iter().enumerate() {
        let Some(device) = &spec.device else { continue };
        let Some((flowop, _)) = reaching(plan, set).find(|(flowop, reach)| changes(flowop, *reach)) else { continue };
        if !said.insert(device.number) {
            continue;
        }
        let refusals =
            device.refusals(leave).map_err(|e| format!("the device {}: {}", device.path.display(), describe(&e)))?;
        if let [first, rest @ ..] = refusals.as_slice() {
            found.push(format!("{first} ({} {} writes to it)", flowop.kind, flowop.name));
            found.extend(rest.iter().cloned());
        }
    }
    Ok(found)
}
