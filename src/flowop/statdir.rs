//! `statdir`: reads the attributes of a leaf directory.

use super::file::Selection;
use super::{
    Acts, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn, attributes,
};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "statdir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes(Kind::Leafdir), ..Acts::NOTHING },
    summary: "reads the attributes of the next leaf directory of the set that exists",
    attributes: &[attributes::SET, attributes::LEAFDIR_INDEX],
    build: |build| {
        let (set, selection) = (build.attributes.fileset("filesetname").unwrap_or(0), Selection::new(build));
        Box::new(StatDir { set, selection, at: None })
    },
};

struct StatDir {
    set: usize,
    selection: Selection,
    at: Option<FileRef>,
}

impl StatDir {
    fn release(&self, thread: &Thread<'_>) {
        if let Some(FileRef { set, entry }) = self.at {
            thread.sets[set].pool.leafdirs().release(entry);
        }
    }
}

impl Flowop for StatDir {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = thread.use_existing(self.set, Kind::Leafdir, self.selection.by())?;
        let Some(leafdir) = self.at else { return Ok(Turn::Skip) };
        thread.set_directory_path(Kind::Leafdir, leafdir);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.request_stat(self.set)?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        self.release(thread);
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        self.release(thread);
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("stat of {}", thread.show_path(self.set))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn leaf_directories_are_looked_at_in_rotation_and_are_free_again() {
        let bench = Bench::with_leafdirs(2, "fail=stat:3:EIO");
        let mut thread = bench.thread();
        let mut stat = bench.flowop("statdir", "filesetname=fs");
        let none = Err(End::NoWork("no leaf directory exists in fs".into()));
        assert_eq!(bench.step(&mut stat, &mut thread), none);
        let mut make = bench.flowop("makedir", "filesetname=fs");
        (0..2).for_each(|_| assert!(bench.step(&mut make, &mut thread).is_ok()));
        let mut seen = Vec::new();
        for _ in 0..2 {
            bench.step(&mut stat, &mut thread).unwrap();
            seen.push(stat.describe(&thread));
        }
        seen.sort();
        assert_eq!(seen, ["stat of fs/00000001/00000001", "stat of fs/00000001/00000002"]);
        assert!(bench.step(&mut stat, &mut thread).is_err());
        bench.cancel(&mut stat, &mut thread);
        let mut remove = bench.flowop("removedir", "filesetname=fs");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut remove, &mut thread), Ok((Turn::Go, Moved::NONE))));
    }
}
