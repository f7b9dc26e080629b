//! `openfile`: opens an existing file into a slot.

use super::file::Choice;
use super::{
    Acts, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Slot, SlotUse, Thread,
    Turn, attributes,
};
use rustix::fs::OFlags;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "openfile",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { slot: SlotUse::Opens, entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "opens the next existing file of the set into a slot",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::OPEN],
    build: |build| Box::new(OpenFile { choice: Choice::new(build), at: None, fd: -1 }),
};

struct OpenFile {
    choice: Choice,
    /// The slot and the file of the operation at hand.
    at: Option<(usize, FileRef)>,
    fd: i32,
}

impl Flowop for OpenFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let slot = self.choice.closed_slot(thread)?;
        self.at = Some((slot, self.choice.pick(thread)?));
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if let Some((_, file)) = self.at {
            self.fd = self.choice.open(thread, file, OFlags::empty())?;
        }
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        match (self.at, result) {
            (Some((slot, file)), Ok(_)) => thread.set_slot(slot, Slot { fd: Some(self.fd), file: Some(file) }),
            (Some((_, file)), Err(_)) => thread.release(file),
            (None, _) => {}
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some((_, file)) = self.at {
            thread.release(file);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.at.map_or_else(String::new, |(_, file)| format!("open of {}{}", thread.show(file), self.choice.how()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn files_are_opened_in_rotation_and_stay_in_their_slot() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,fd=1");
        let mut close = bench.flowop("closefile", "fd=1");
        let mut seen = Vec::new();
        for _ in 0..6 {
            bench.step(&mut open, &mut thread).unwrap();
            seen.push(thread.slot(1).file.unwrap().entry);
            bench.step(&mut close, &mut thread).unwrap();
        }
        assert_eq!(seen, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_slot_that_is_open_is_refused_by_name() {
        let bench = Bench::new(2, 2);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,fd=1");
        bench.step(&mut open, &mut thread).unwrap();
        let Err(End::Failed(None, message)) = bench.step(&mut open, &mut thread) else { panic!("it was opened") };
        assert!(message.contains("slot 1") && message.contains("fs/00000001/00000001"), "{message}");
    }

    #[test]
    fn an_empty_set_has_no_work() {
        let bench = Bench::new(2, 0);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs");
        assert!(matches!(bench.step(&mut open, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn opennext_rotates_through_slots_and_files() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,opennext");
        for _ in 0..3 {
            bench.step(&mut open, &mut thread).unwrap();
        }
        let entries: Vec<_> = [127, 126, 125].iter().map(|s| thread.slot(*s).file.unwrap().entry).collect();
        assert_eq!(entries, [0, 1, 2]);
    }

    /// As in filebench: each operation moves the rotation on, whatever its flowop.
    #[test]
    fn a_closefile_in_rotation_meets_the_slots_of_as_many_opens_before() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,opennext");
        let mut close = bench.flowop("closefile", "opennext");
        bench.step(&mut open, &mut thread).unwrap();
        let Err(End::Failed(_, why)) = bench.step(&mut close, &mut thread) else { panic!("slot 126 was closed") };
        assert!(why.contains("slot 126") && why.contains("fd="), "{why}");
        for _ in 0..126 {
            bench.step(&mut open, &mut thread).unwrap();
        }
        assert_eq!(bench.step(&mut close, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }

    #[test]
    fn a_failed_open_leaves_the_file_free() {
        let bench = Bench::with_script(1, 1, "fail=open:1:EMFILE");
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,fd=1");
        assert!(matches!(bench.step(&mut open, &mut thread), Err(End::Failed(Some(rustix::io::Errno::MFILE), _))));
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
