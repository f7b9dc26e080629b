//! `aioread`: begins a read of iosize bytes, and does not wait for it.

use super::aiowrite::Submit;
use super::{Acts, DataUse, Effect, FlowopClass, FlowopDef, attributes};
use crate::engine::Way;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "aioread",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Read,
    effect: Effect::Reads,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "begins a read of iosize bytes and goes on; it counts when it is complete",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::SUBMITTED,
        attributes::SUBMITTED_AT,
        attributes::RANGE,
    ],
    build: |build| Box::new(Submit::new(build, Way::Read)),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn bytes_are_those_that_came() {
        let bench = Bench::sized(1, 1, 6_000);
        let mut thread = bench.thread();
        let mut read = bench.flowop("aioread", "filename=fs,iosize=4k,workingset=8k");
        for _ in 0..2 {
            bench.step(&mut read, &mut thread).unwrap();
        }
        assert_eq!(thread.drain(), None);
        let moved: Vec<_> = bench.run.completed.borrow().iter().map(|(.., result)| result.unwrap()).collect();
        assert_eq!(moved, [Moved::read(4096), Moved::read(6_000 - 4096)]);
    }
}
