//! `hog`: uses the processor.

use super::{Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "hog",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "writes `value` times to the thread's memory: work for the processor, none for the file system",
    attributes: &[attributes::COUNT],
    build: |build| Box::new(Hog { value: build.amount("value", 0), times: 0 }),
};

struct Hog {
    value: Amount,
    times: u64,
}

impl Flowop for Hog {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.times = self.value.draw();
        thread.data(1, false)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        for _ in 0..self.times {
            // Each store is made: the compiler must not see that only the last one matters.
            std::hint::black_box(&mut thread.memory)[0] = 1;
        }
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "hog".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_writes_to_the_threads_memory_and_moves_no_bytes() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        assert_eq!(bench.step(&mut bench.flowop("hog", "value=1000"), &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(thread.memory[0], 1);
    }
}
