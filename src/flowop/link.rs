//! `link`: gives a file a second name.

use super::pair::{self, Hold, OnPair, Pair};
use super::{Acts, Broken, DataUse, Effect, EntryUse, FlowopClass, FlowopDef, Kind, Moved, Thread, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "link",
    aliases: &[],
    on_device: |_| Err("a device gets no second name"),
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts::with_source(EntryUse::Takes(Kind::File), DataUse::None),
    summary: "makes a hard link to the next file of source, at the next entry of filesetname that does not exist",
    attributes: &[attributes::SET, attributes::FROM],
    build: |build| OnPair::build(build, Hold::Shared, Link),
};

struct Link;

impl pair::Call for Link {
    const WORD: &'static str = DEF.name;

    fn execute(&mut self, pair: &Pair, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let ((source, set), sets) = (pair.sets(), thread.sets);
        thread.engine.execute(Request::Link {
            from_directory: sets[source].directory(),
            from: pair.from.as_c_str(),
            directory: sets[set].directory(),
            path: pair.to.as_c_str(),
        })?;
        Ok(Moved::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn names_are_made_until_all_exist_even_of_a_file_that_is_open() {
        let bench = Bench::new(3, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut link = bench.flowop("link", "filesetname=fs");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut link, &mut thread), Ok((Turn::Go, Moved::NONE))));
        assert_eq!(bench.existing(), [0, 1, 2]);
        assert_eq!(bench.step(&mut link, &mut thread), Err(End::NoWork("all 3 files of fs exist".into())));
        // Nobody uses a name that was made.
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE))));
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Skip, Moved::NONE)));
    }

    #[test]
    fn both_claims_are_given_back_after_an_error_and_a_cancel_and_where_there_is_no_file() {
        let bench = Bench::with_script(2, 1, "fail=link:1:ENOSPC");
        let mut thread = bench.thread();
        let mut link = bench.flowop("link", "filesetname=fs");
        let said = "link of fs/00000001/00000001 to fs/00000001/00000002";
        let failed = Err(End::Failed(Some(Errno::NOSPC), said.into()));
        assert_eq!(bench.step(&mut link, &mut thread), failed);
        bench.cancel(&mut link, &mut thread);
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread).unwrap();
        let none = Err(End::NoWork("no file exists in fs".into()));
        (0..3).for_each(|_| assert_eq!(bench.step(&mut link, &mut thread), none));
        let mut create = bench.flowop("createfile", "filesetname=fs,opennext");
        (0..2).for_each(|_| assert!(bench.step(&mut create, &mut thread).is_ok()));
    }
}
