//! `createfile`: makes a file that does not exist, and leaves it open in a slot.

use super::file::Choice;
use super::{
    Acts, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Slot, SlotUse, Thread,
    Turn, attributes,
};
use rustix::fs::OFlags;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "createfile",
    aliases: &[],
    on_device: |_| Err("a device is there already, and no file is made beside it"),
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts { slot: SlotUse::Opens, entry: EntryUse::Makes(Kind::File), ..Acts::NOTHING },
    summary: "creates the next file of the set that does not exist, empty, and leaves it open in a slot",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::OPEN],
    build: |build| Box::new(CreateFile { choice: Choice::new(build), at: None, fd: -1 }),
};

struct CreateFile {
    choice: Choice,
    /// The slot and the file of the operation at hand.
    at: Option<(usize, FileRef)>,
    fd: i32,
}

impl Flowop for CreateFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let slot = self.choice.closed_slot(thread)?;
        self.at = Some((slot, self.choice.pick_absent(thread)?));
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if let Some((_, file)) = self.at {
            // O_TRUNC: a file that something else left at this name must not count as a new one with old content.
            self.fd = self.choice.open(thread, file, OFlags::CREATE | OFlags::TRUNC)?;
        }
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let Some((slot, file)) = self.at else { return };
        let files = thread.sets[file.set].pool.files();
        if result.is_ok() {
            files.created(file.entry);
            thread.set_slot(slot, Slot { fd: Some(self.fd), file: Some(file) });
        } else {
            files.abandon(file.entry);
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some((_, file)) = self.at {
            thread.sets[file.set].pool.files().abandon(file.entry);
        }
    }

    fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        self.at.and_then(|(_, file)| thread.advice_on_home(file, errno))
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.at.map_or_else(String::new, |(_, file)| format!("create of {}{}", thread.show(file), self.choice.how()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn each_absent_file_is_made_once_and_then_there_is_no_work() {
        let bench = Bench::new(4, 1);
        let mut thread = bench.thread();
        let mut create = bench.flowop("createfile", "filesetname=fs,fd=1");
        let mut close = bench.flowop("closefile", "fd=1");
        for entry in [1, 2, 3] {
            bench.step(&mut create, &mut thread).unwrap();
            assert_eq!(thread.slot(1).file.unwrap().entry, entry);
            bench.step(&mut close, &mut thread).unwrap();
        }
        let Err(End::NoWork(why)) = bench.step(&mut create, &mut thread) else { panic!("a fifth file") };
        assert_eq!(why, "all 4 files of fs exist");
    }

    #[test]
    fn a_failed_create_leaves_the_file_absent() {
        let bench = Bench::with_script(1, 0, "fail=open:1:ENOSPC");
        let mut thread = bench.thread();
        let mut create = bench.flowop("createfile", "filesetname=fs");
        assert!(bench.step(&mut create, &mut thread).is_err());
        assert_eq!(bench.step(&mut create, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
