//! `print`: says a line.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "print",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "says `value` on stderr, with the names of process and thread; not counted",
    attributes: &[attributes::TEXT],
    build: |build| Box::new(Print { text: build.attributes.text("value").unwrap_or_default().to_owned() }),
};

struct Print {
    text: String,
}

impl Flowop for Print {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        thread.run.say(&self.text);
        Ok(Turn::Quiet)
    }

    fn execute(&mut self, _: &mut Thread<'_>) -> Result<Moved, Broken> {
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "print".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_says_its_text_each_time_and_is_no_operation() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut print = bench.flowop("print", "value=halfway");
        assert_eq!(bench.step(&mut print, &mut thread), Ok((Turn::Quiet, Moved::NONE)));
        assert_eq!(bench.step(&mut print, &mut thread), Ok((Turn::Quiet, Moved::NONE)));
        assert_eq!(*bench.run.said.borrow(), ["halfway", "halfway"]);
    }
}
