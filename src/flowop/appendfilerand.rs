//! `appendfilerand`: a random number of bytes at the end of a file.

use super::appendfile::{Append, Sizes};
use super::{Acts, DataUse, Effect, FlowopClass, FlowopDef, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "appendfilerand",
    aliases: &[],
    on_device: |_| Err("the size of a device is fixed, and nothing can be appended"),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::UpToRequest),
    summary: "writes 1 to iosize bytes, each number as likely, at the end of a file; with directio whole blocks of 4096",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::OPEN, attributes::IOSIZE],
    build: |build| Box::new(Append::new(build, Sizes::UpTo)),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;

    #[test]
    fn sizes_are_uniform_from_one_byte_to_iosize() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut append = bench.flowop("appendfilerand", "filename=fs,iosize=8");
        let mut counts = [0u32; 8];
        for _ in 0..8_000 {
            counts[bench.step(&mut append, &mut thread).unwrap().1.written as usize - 1] += 1;
        }
        // Chi-square with 7 degrees of freedom: 24.3 is passed by one seed in a thousand.
        let chi: f64 = counts.iter().map(|c| (f64::from(*c) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 24.3, "{counts:?}");
    }

    #[test]
    fn direct_appends_are_whole_blocks() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut append = bench.flowop("appendfilerand", "filename=fs,iosize=16k,directio");
        let sizes: std::collections::BTreeSet<u64> =
            (0..100).map(|_| bench.step(&mut append, &mut thread).unwrap().1.written).collect();
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [4096, 8192, 12_288, 16_384]);
    }
}
