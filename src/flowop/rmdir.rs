//! `rmdir`: removes a directory of files.

use super::removedir::RemoveDir;
use super::{Acts, Effect, EntryUse, FlowopClass, FlowopDef, Kind, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "rmdir",
    aliases: &[],
    on_device: |_| Err("a device has no directories"),
    class: FlowopClass::Metadata,
    effect: Effect::Removes,
    acts: Acts { entry: EntryUse::Removes(Kind::Home), ..Acts::NOTHING },
    summary: "removes the next directory of files of the set that exists; its files have to be deleted before",
    attributes: &[attributes::SET, attributes::HOME_INDEX],
    build: |build| RemoveDir::build(build, Kind::Home),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn a_directory_with_files_in_it_stays_and_the_message_says_what_to_do() {
        let bench = Bench::with_script(3, 3, "fail=rmdir:1:ENOTEMPTY");
        let mut thread = bench.thread();
        let mut remove = bench.flowop("rmdir", "filesetname=fs");
        let failed = Err(End::Failed(Some(Errno::NOTEMPTY), "rmdir of fs/00000001".into()));
        assert_eq!(bench.step(&mut remove, &mut thread), failed);
        assert!(remove.advice(Errno::NOTEMPTY, &thread).unwrap().contains("deleted first"));
        assert_eq!(remove.advice(Errno::IO, &thread), None);
        bench.cancel(&mut remove, &mut thread);
        assert_eq!(bench.step(&mut remove, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let none = Err(End::NoWork("no directory of files exists in fs".into()));
        assert_eq!(bench.step(&mut remove, &mut thread), none);
    }
}
