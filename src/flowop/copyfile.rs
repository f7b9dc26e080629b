//! `copyfile`: makes a file that does not exist out of one that does, within the kernel.

use super::{
    Amount, Broken, Effect, End, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// What one call is asked for where the workload says nothing: the most that the kernel does at once.
const MOST: u64 = 0x7fff_f000;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "copyfile",
    aliases: &[],
    class: FlowopClass::Write,
    effect: Effect::Writes,
    summary: "copies an existing file to the next one that does not exist by copy_file_range; one operation",
    attributes: &[attributes::SET, attributes::FROM, attributes::PIECE],
    build: |build| {
        let set = build.attributes.fileset("filesetname").unwrap_or(0);
        Box::new(CopyFile {
            set,
            source: build.attributes.fileset("source").unwrap_or(set),
            iosize: build.amount("iosize", 0),
            piece: 0,
            files: None,
            made: false,
        })
    },
};

struct CopyFile {
    set: usize,
    source: usize,
    iosize: Amount,
    piece: usize,
    /// From and to.
    files: Option<(FileRef, FileRef)>,
    /// The name of the new file is there.
    made: bool,
}

impl CopyFile {
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

impl Flowop for CopyFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.piece = match self.iosize.draw() {
            0 => MOST,
            iosize => iosize.min(MOST),
        } as usize;
        self.made = false;
        let from = thread.pick_existing(self.source, false, None)?;
        match thread.claim_absent(self.set, Kind::File, None) {
            Ok(to) => self.files = Some((from, to)),
            Err(end) => {
                thread.release(from);
                return Err(end);
            }
        }
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Some((source, new)) = self.files else { return Ok(Moved::NONE) };
        thread.set_path(source);
        let from = thread.request_open(source, OFlags::RDONLY | OFlags::CLOEXEC)?;
        thread.set_path(new);
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let (copied, result) = match thread.request_open(new, create) {
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

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        let Some((source, new)) = self.files else { return };
        if self.made {
            thread.sets[new.set].pool.files().created(new.entry);
            thread.release(new);
            thread.release(source);
        } else {
            self.cancel(thread);
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some((source, new)) = self.files {
            thread.sets[new.set].pool.files().abandon(new.entry);
            thread.release(source);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.files.map_or_else(String::new, |(source, new)| {
            format!("copy_file_range from {} to {}", thread.show(source), thread.show(new))
        })
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
    fn the_existing_file_may_be_of_another_set() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread).unwrap();
        let mut copy = bench.flowop("copyfile", "filesetname=fs,source=other");
        bench.step(&mut copy, &mut thread).unwrap();
        assert_eq!(copy.describe(&thread), "copy_file_range from other/00000001/00000001 to fs/00000001/00000001");
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
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        assert_eq!(thread.slot(1).fd, Some(0), "the lowest number is free");
    }
}
