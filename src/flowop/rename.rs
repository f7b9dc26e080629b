//! `rename`: gives a file a name that does not exist, of its own or another set.

use super::pair::{self, Hold, OnPair, Pair};
use super::{Acts, Broken, DataUse, Effect, EntryUse, FlowopClass, FlowopDef, Kind, Moved, Thread, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "rename",
    aliases: &[],
    on_device: |_| Err("a device keeps its name"),
    class: FlowopClass::Metadata,
    effect: Effect::Moves,
    acts: Acts::with_source(EntryUse::Removes(Kind::File), DataUse::None),
    summary: "gives the next file of source that nobody has open the name of the next entry of filesetname that does not exist",
    attributes: &[attributes::SET, attributes::FROM],
    build: |build| OnPair::build(build, Hold::Alone, Rename),
};

struct Rename;

impl pair::Call for Rename {
    const WORD: &'static str = DEF.name;

    fn execute(&mut self, pair: &Pair, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let ((source, set), sets) = (pair.sets(), thread.sets);
        thread.engine.execute(Request::Rename {
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
    use super::super::testing::{self, Bench, TestRun};
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn the_name_goes_on_through_the_set() {
        let bench = Bench::new(3, 1);
        let mut thread = bench.thread();
        let mut rename = bench.flowop("rename", "filesetname=fs");
        for (entry, from) in [(1, 1), (2, 2), (0, 3), (1, 1)] {
            assert_eq!(bench.step(&mut rename, &mut thread), Ok((Turn::Go, Moved::NONE)));
            assert_eq!(bench.existing(), [entry]);
            let said = format!("rename of fs/00000001/0000000{from} to fs/00000001/0000000{}", entry + 1);
            assert_eq!(rename.describe(&thread), said);
        }
    }

    #[test]
    fn a_name_goes_from_set_to_set_until_there_is_no_more_work() {
        let bench = Bench::new(3, 1);
        let mut thread = bench.thread();
        let mut rename = bench.flowop("rename", "filesetname=other,source=fs");
        assert_eq!(bench.step(&mut rename, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(bench.existing().is_empty());
        let none = Err(End::NoWork("no file exists in fs".into()));
        assert_eq!(bench.step(&mut rename, &mut thread), none);
        let mut back = bench.flowop("rename", "filesetname=fs,source=other");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut back, &mut thread), Ok((Turn::Go, Moved::NONE))));
        assert_eq!(bench.step(&mut back, &mut thread), Err(End::NoWork("no file exists in other".into())));
    }

    #[test]
    fn both_claims_are_given_back_after_an_error_a_cancel_and_a_second_claim_that_fails() {
        let bench = Bench::with_script(2, 1, "fail=rename:1:EIO,fail=rename:2:EXDEV");
        let mut thread = bench.thread();
        let mut rename = bench.flowop("rename", "filesetname=fs");
        assert!(matches!(bench.step(&mut rename, &mut thread), Err(End::Failed(Some(Errno::IO), _))));
        assert!(matches!(bench.step(&mut rename, &mut thread), Err(End::Failed(Some(Errno::XDEV), _))));
        assert!(rename.advice(Errno::XDEV, &thread).unwrap().contains("different file systems"));
        bench.cancel(&mut rename, &mut thread);
        // The only file is open, so there is none to rename: the entry is free again each time.
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        (0..3).for_each(|_| assert_eq!(bench.step(&mut rename, &mut thread), Ok((Turn::Skip, Moved::NONE))));
        bench.step(&mut bench.flowop("closefile", "fd=1"), &mut thread).unwrap();
        assert_eq!(bench.step(&mut rename, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.existing(), [1]);
    }

    #[test]
    fn eight_threads_leave_on_the_disk_what_the_pool_says() {
        let directory = tempfile::tempdir().unwrap();
        // Few free names, few files, and both between two sets.
        for (number, (existing, written)) in
            [(198, "filesetname=fs"), (2, "filesetname=fs"), (100, "filesetname=other,source=fs")]
                .into_iter()
                .enumerate()
        {
            let mut bench = Bench::new(200, existing);
            let sets = bench.on_disk(&directory.path().join(number.to_string()));
            let all = |set: usize| (0..200).filter(move |file| sets[set].pool.files().exists(*file)).count();
            assert_eq!(all(0) + all(1), 2 * existing);
            let renamed = std::sync::atomic::AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let (engine, clock) = (crate::engine::find("sync").unwrap().build)("").unwrap();
                        let (run, seed) = (TestRun::default(), crate::random::stream::Seed::root(1));
                        let mut thread = Thread::new(engine, clock, sets, &run, seed, 0, 0, 8).unwrap();
                        let mut there = testing::flowop(sets, &[], "rename", written, None);
                        let mut back = testing::flowop(sets, &[], "rename", "filesetname=fs,source=other", None);
                        for _ in 0..2000 {
                            let turn = match testing::step(&mut there, &mut thread) {
                                // The other set has them all.
                                Err(End::NoWork(_)) if written.contains("other") => {
                                    testing::step(&mut back, &mut thread)
                                }
                                other => other,
                            };
                            let went = turn == Ok((Turn::Go, Moved::NONE));
                            assert!(went || turn == Ok((Turn::Skip, Moved::NONE)), "{turn:?}");
                            renamed.fetch_add(usize::from(went), std::sync::atomic::Ordering::Relaxed);
                        }
                    });
                }
            });
            assert!(renamed.into_inner() > 0);
            assert_eq!(all(0) + all(1), 2 * existing, "{written}");
            let mut sizes = Vec::new();
            for set in sets {
                for file in 0..200 {
                    let found = testing::path_on_disk(set, file).metadata().ok().map(|m| m.len());
                    let expected = set.pool.files().exists(file).then(|| set.pool.size(file));
                    assert_eq!(found, expected, "{file} of {}", set.name);
                    sizes.extend(found);
                }
            }
            // Each of the first files of both sets is there once.
            sizes.sort_unstable();
            let expected: Vec<u64> = (0..existing as u64).flat_map(|i| [100 + i; 2]).collect();
            assert_eq!(sizes, expected);
        }
    }

    #[test]
    fn where_all_names_exist_there_is_no_work() {
        let bench = Bench::new(2, 2);
        let mut rename = bench.flowop("rename", "filesetname=fs");
        let none = Err(End::NoWork("all 2 files of fs exist".into()));
        assert_eq!(bench.step(&mut rename, &mut bench.thread()), none);
    }

    #[test]
    fn a_directory_that_was_removed_is_named_as_the_reason() {
        let bench = Bench::with_script(2, 1, "fail=rename:1:ENOENT");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("rmdir", "filesetname=other"), &mut thread).unwrap();
        let mut rename = bench.flowop("rename", "filesetname=other,source=fs");
        assert!(matches!(bench.step(&mut rename, &mut thread), Err(End::Failed(Some(Errno::NOENT), _))));
        assert!(rename.advice(Errno::NOENT, &thread).unwrap().contains("rmdir"));
    }
}
