//! `removedir`: removes a leaf directory.

use super::file::Selection;
use super::{
    Acts, Broken, Build, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn,
    attributes,
};
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "removedir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Removes,
    acts: Acts { entry: EntryUse::Removes(Kind::Leafdir), ..Acts::NOTHING },
    summary: "removes the next leaf directory of the set that exists",
    attributes: &[attributes::SET, attributes::LEAFDIR_INDEX],
    build: |build| RemoveDir::build(build, Kind::Leafdir),
};

/// Removes directories of one kind.
pub(super) struct RemoveDir {
    kind: Kind,
    set: usize,
    selection: Selection,
    at: Option<FileRef>,
}

impl RemoveDir {
    pub(super) fn build(build: &Build<'_>, kind: Kind) -> Box<dyn Flowop> {
        let (set, selection) = (build.attributes.fileset("filesetname").unwrap_or(0), Selection::new(build));
        Box::new(RemoveDir { kind, set, selection, at: None })
    }
}

impl Flowop for RemoveDir {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = thread.claim_delete(self.set, self.kind, self.selection.by())?;
        let Some(directory) = self.at else { return Ok(Turn::Skip) };
        thread.set_directory_path(self.kind, directory);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.request_remove_directory(self.set)?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let Some(FileRef { set, entry }) = self.at else { return };
        let directories = self.kind.entries(&thread.sets[set].pool);
        if result.is_ok() { directories.deleted(entry) } else { directories.restore(entry) }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some(FileRef { set, entry }) = self.at {
            self.kind.entries(&thread.sets[set].pool).restore(entry);
        }
    }

    fn advice(&self, errno: Errno, _: &Thread<'_>) -> Option<&'static str> {
        let of_files = self.kind == Kind::Home && matches!(errno, Errno::NOTEMPTY | Errno::EXIST);
        of_files.then_some("its files must be deleted first, and its leaf directories removed")
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
