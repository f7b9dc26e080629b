//! `listdir`: reads a directory from start to end.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "listdir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts::NOTHING,
    summary: "opens the next directory of the set (the root is one), reads all its entries, closes it; counts no bytes",
    attributes: &[attributes::SET],
    build: |build| Box::new(ListDir { set: build.attributes.fileset("filesetname").unwrap_or(0) }),
};

struct ListDir {
    set: usize,
}

impl Flowop for ListDir {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        thread.next_directory(self.set);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.request_list(self.set)?;
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("listing of {}", thread.show_path(self.set))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;

    #[test]
    fn directories_are_listed_in_rotation_from_the_root_on() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        let mut list = bench.flowop("listdir", "filesetname=fs");
        let mut seen = Vec::new();
        for _ in 0..3 {
            bench.step(&mut list, &mut thread).unwrap();
            seen.push(list.describe(&thread));
        }
        assert_eq!(seen, ["listing of fs/.", "listing of fs/00000001", "listing of fs/."]);
    }
}
