//! `makedir`: makes a leaf directory.

use super::file::Selection;
use super::{
    Acts, Broken, Build, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn,
    attributes,
};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "makedir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts { entry: EntryUse::Makes(Kind::Leafdir), ..Acts::NOTHING },
    summary: "makes the next leaf directory of the set that does not exist",
    attributes: &[attributes::SET, attributes::LEAFDIR_INDEX],
    build: |build| MakeDir::build(build, Kind::Leafdir),
};

/// Makes directories of one kind.
pub(super) struct MakeDir {
    kind: Kind,
    set: usize,
    selection: Selection,
    at: Option<FileRef>,
}

impl MakeDir {
    pub(super) fn build(build: &Build<'_>, kind: Kind) -> Box<dyn Flowop> {
        let (set, selection) = (build.attributes.fileset("filesetname").unwrap_or(0), Selection::new(build));
        Box::new(MakeDir { kind, set, selection, at: None })
    }
}

impl Flowop for MakeDir {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let directory = thread.claim_absent(self.set, self.kind, self.selection.by())?;
        thread.set_directory_path(self.kind, directory);
        self.at = Some(directory);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.request_make_directory(self.set)?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let Some(FileRef { set, entry }) = self.at else { return };
        let directories = self.kind.entries(&thread.sets[set].pool);
        if result.is_ok() {
            directories.created(entry);
            directories.release(entry);
        } else {
            directories.abandon(entry);
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some(FileRef { set, entry }) = self.at {
            self.kind.entries(&thread.sets[set].pool).abandon(entry);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("mkdir of {}", thread.show_path(self.set))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn each_leaf_directory_is_made_once_and_can_be_removed_and_made_again() {
        let bench = Bench::with_leafdirs(3, "");
        let mut thread = bench.thread();
        let mut make = bench.flowop("makedir", "filesetname=fs");
        for _ in 0..3 {
            assert_eq!(bench.step(&mut make, &mut thread), Ok((Turn::Go, Moved::NONE)));
        }
        assert_eq!(bench.step(&mut make, &mut thread), Err(End::NoWork("all 3 leaf directories of fs exist".into())));
        let mut remove = bench.flowop("removedir", "filesetname=fs");
        assert_eq!(bench.step(&mut remove, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.step(&mut make, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }

    #[test]
    fn a_directory_that_could_not_be_made_is_still_to_be_made() {
        let bench = Bench::with_leafdirs(1, "fail=mkdir:1:ENOSPC");
        let mut thread = bench.thread();
        let mut make = bench.flowop("makedir", "filesetname=fs");
        let Err(End::Failed(Some(rustix::io::Errno::NOSPC), what)) = bench.step(&mut make, &mut thread) else {
            panic!()
        };
        assert_eq!(what, "mkdir of fs/00000001/00000001");
        assert_eq!(bench.step(&mut make, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
