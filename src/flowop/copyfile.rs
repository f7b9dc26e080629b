//! `copyfile`: makes a file that does not exist out of one that does, within the kernel.

use super::pair::{self, Hold, OnPair, Pair};
use super::{
    Acts, Amount, Broken, DataUse, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// What one call is asked for where the workload says nothing: the most that the kernel does at once.
const MOST: u64 = 0x7fff_f000;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "copyfile",
    aliases: &[],
    on_device: |_| Err("the kernel copies between files only"),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::with_source(EntryUse::Takes(Kind::File), DataUse::Copy),
    summary: "copies the next file of source to the next entry of filesetname that does not exist, by copy_file_range; one operation",
    attributes: &[attributes::SET, attributes::FROM, attributes::PIECE],
    build: |build| {
        let call = CopyFile { iosize: build.amount("iosize", 0), piece: 0, made: false };
        OnPair::build(build, Hold::Shared, call)
    },
};

struct CopyFile {
    iosize: Amount,
    piece: usize,
    /// The name of the new file is there.
    made: bool,
}

impl CopyFile {
    fn open_source(pair: &Pair, thread: &mut Thread<'_>) -> Result<i32, Errno> {
        let ((source, _), sets, expected) = (pair.sets(), thread.sets, pair.size(thread));
        let (directory, path) = (sets[source].directory(), pair.from.as_c_str());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        thread.engine.execute(Request::Open { directory, path, flags, expected }).map(|fd| fd as i32)
    }

    fn create(pair: &Pair, thread: &mut Thread<'_>) -> Result<i32, Errno> {
        let ((_, set), sets) = (pair.sets(), thread.sets);
        let (directory, path) = (sets[set].directory(), pair.to.as_c_str());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        thread.engine.execute(Request::Open { directory, path, flags, expected: 0 }).map(|fd| fd as i32)
    }

    /// Copies an open file into another; the bytes, and the error that ended it.
    fn copy(&self, thread: &mut Thread<'_>, from: i32, to: i32) -> (u64, Result<(), Errno>) {
        let mut copied = 0;
        loop {
            match thread.engine.execute(Request::Copy { from, to, len: self.piece }) {
                Ok(0) => return (copied, Ok(())),
                Ok(bytes) => copied += bytes,
                Err(errno) => return (copied, Err(errno)),
            }
        }
    }
}

impl pair::Call for CopyFile {
    const WORD: &'static str = DEF.name;

    fn prepare(&mut self, pair: &mut Pair, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.piece = match self.iosize.draw() {
            0 => MOST,
            iosize => iosize.min(MOST),
        } as usize;
        self.made = false;
        pair.claim(thread)
    }

    fn execute(&mut self, pair: &Pair, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let from = Self::open_source(pair, thread)?;
        let (copied, result) = match Self::create(pair, thread) {
            Ok(to) => {
                self.made = true;
                let (copied, result) = self.copy(thread, from, to);
                // An error of a delayed write shows there.
                (copied, result.and(thread.engine.execute(Request::Close { fd: to }).map(|_| ())))
            }
            Err(errno) => (0, Err(errno)),
        };
        let result = result.and(thread.engine.execute(Request::Close { fd: from }).map(|_| ()));
        let moved = Moved { read: copied, written: copied };
        result.map(|()| moved).map_err(|errno| Broken { errno: Some(errno), moved })
    }

    fn is_made(&self, _: &Result<Moved, Broken>) -> bool {
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn a_copy_is_a_file_like_others_and_both_are_free_afterwards() {
        let bench = Bench::sized(3, 1, 10_000);
        let mut thread = bench.thread();
        let mut copy = bench.flowop("copyfile", "filesetname=fs,iosize=4k");
        for _ in 0..2 {
            let moved = Moved { read: 10_000, written: 10_000 };
            assert_eq!(bench.step(&mut copy, &mut thread), Ok((Turn::Go, moved)));
        }
        let Err(End::NoWork(why)) = bench.step(&mut copy, &mut thread) else { panic!("a fourth file") };
        assert_eq!(why, "all 3 files of fs exist");
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        for _ in 0..3 {
            assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        }
    }

    #[test]
    fn a_copy_has_the_size_of_its_file_from_then_on() {
        let bench = Bench::sized(2, 1, 10_000);
        let mut thread = bench.thread();
        thread.sets[0].pool.set_size(0, 5_000);
        let moved = Moved { read: 5_000, written: 5_000 };
        assert_eq!(bench.step(&mut bench.flowop("copyfile", "filesetname=fs"), &mut thread), Ok((Turn::Go, moved)));
        assert_eq!((bench.existing(), thread.sets[0].pool.size(1)), (vec![0, 1], 5_000));
    }

    #[test]
    fn the_existing_file_may_be_of_another_set() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread).unwrap();
        let mut copy = bench.flowop("copyfile", "filesetname=fs,source=other");
        bench.step(&mut copy, &mut thread).unwrap();
        assert_eq!(copy.describe(&thread), "copyfile of other/00000001/00000001 to fs/00000001/00000001");
    }

    #[test]
    fn what_was_copied_before_an_error_counts_and_no_descriptor_is_left() {
        let bench = Bench::with_script(2, 1, "fail=copy:2:ENOSPC,fail=open:4:EMFILE");
        let mut thread = bench.thread();
        let mut copy = bench.flowop("copyfile", "filesetname=fs,iosize=3k");
        copy.prepare(&mut thread).unwrap();
        let result = copy.execute(&mut thread);
        let moved = Moved { read: 3072, written: 3072 };
        assert_eq!(result, Err(Broken { errno: Some(Errno::NOSPC), moved }));
        copy.finish(&mut thread, &result);
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread).unwrap();
        // The next one cannot open its second file: the first is closed all the same.
        let Err(End::Failed(Some(Errno::MFILE), _)) = bench.step(&mut copy, &mut thread) else { panic!("copied") };
        assert_eq!(bench.existing().len(), 1);
        bench.cancel(&mut copy, &mut thread);
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        assert_eq!(thread.slot(1).fd, Some(0), "the lowest number is free");
        bench.step(&mut bench.flowop("closefile", "fd=1"), &mut thread).unwrap();
        // Both claims were given back each time.
        assert!(bench.step(&mut copy, &mut thread).is_ok());
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE))));
    }
}
