//! `mkdir`: makes a directory of files.

use super::makedir::MakeDir;
use super::{Acts, Effect, EntryUse, FlowopClass, FlowopDef, Kind, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "mkdir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts { entry: EntryUse::Makes(Kind::Home), ..Acts::NOTHING },
    summary: "makes the next directory of files of the set that does not exist: rmdir removed it",
    attributes: &[attributes::SET, attributes::HOME_INDEX],
    build: |build| MakeDir::build(build, Kind::Home),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn directories_of_files_exist_at_the_start_and_can_be_made_again() {
        let bench = Bench::with_script(3, 0, "fail=mkdir:1:ENOSPC");
        let mut thread = bench.thread();
        let mut make = bench.flowop("mkdir", "filesetname=fs");
        assert_eq!(
            bench.step(&mut make, &mut thread),
            Err(End::NoWork("all 1 directories of files of fs exist".into()))
        );
        bench.step(&mut bench.flowop("rmdir", "filesetname=fs"), &mut thread).unwrap();
        bench.cancel(&mut make, &mut thread);
        let failed = Err(End::Failed(Some(rustix::io::Errno::NOSPC), "mkdir of fs/00000001".into()));
        assert_eq!(bench.step(&mut make, &mut thread), failed);
        assert_eq!(bench.step(&mut make, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut make, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn a_file_in_a_directory_that_was_removed_needs_it_first() {
        let bench = Bench::with_script(2, 0, "fail=open:1:ENOENT,fail=open:2:ENOENT");
        let mut thread = bench.thread();
        let mut create = bench.flowop("createfile", "filesetname=fs");
        let enoent = rustix::io::Errno::NOENT;
        assert!(matches!(bench.step(&mut create, &mut thread), Err(End::Failed(Some(_), _))));
        assert_eq!(create.advice(enoent, &thread), None, "the directory is there");
        bench.step(&mut bench.flowop("rmdir", "filesetname=fs"), &mut thread).unwrap();
        assert!(matches!(bench.step(&mut create, &mut thread), Err(End::Failed(Some(_), _))));
        assert!(create.advice(enoent, &thread).unwrap().contains("mkdir"));
    }
}
