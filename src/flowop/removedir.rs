//! `removedir`: removes a leaf directory.

use super::{
    Acts, Amount, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn,
    attributes,
};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "removedir",
    aliases: &[],
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts { entry: EntryUse::Removes(Kind::Leafdir), ..Acts::NOTHING },
    summary: "removes the next leaf directory of the set that exists",
    attributes: &[attributes::SET, attributes::INDEX],
    build: |build| {
        let index = build.attributes.get("indexed").map(|_| build.amount("indexed", 0));
        Box::new(RemoveDir { set: build.attributes.fileset("filesetname").unwrap_or(0), index, at: None })
    },
};

struct RemoveDir {
    set: usize,
    index: Option<Amount>,
    at: Option<FileRef>,
}

impl Flowop for RemoveDir {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let index = self.index.as_mut().map(Amount::draw);
        self.at = thread.claim_delete(self.set, Kind::Leafdir, index)?;
        let Some(leafdir) = self.at else { return Ok(Turn::Skip) };
        thread.set_leafdir_path(leafdir);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.request_remove_directory(self.set)?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let Some(FileRef { set, entry }) = self.at else { return };
        let leafdirs = thread.sets[set].pool.leafdirs();
        if result.is_ok() { leafdirs.deleted(entry) } else { leafdirs.restore(entry) }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some(FileRef { set, entry }) = self.at {
            thread.sets[set].pool.leafdirs().restore(entry);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("rmdir of {}", thread.show_path(self.set))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn where_no_leaf_directory_exists_there_is_no_work() {
        let bench = Bench::with_leafdirs(2, "");
        let mut thread = bench.thread();
        let mut remove = bench.flowop("removedir", "filesetname=fs");
        assert_eq!(bench.step(&mut remove, &mut thread), Err(End::NoWork("no leaf directory exists in fs".into())));
    }

    #[test]
    fn a_directory_that_could_not_be_removed_is_still_there() {
        let bench = Bench::with_leafdirs(1, "fail=rmdir:1:EIO");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("makedir", "filesetname=fs"), &mut thread).unwrap();
        let mut remove = bench.flowop("removedir", "filesetname=fs");
        assert!(bench.step(&mut remove, &mut thread).is_err());
        assert_eq!(bench.step(&mut remove, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
