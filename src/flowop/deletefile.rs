//! `deletefile`: removes a file that nobody else has open.

use super::file::Choice;
use super::{
    Acts, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Kind, Moved, Slot, Thread, Turn,
    attributes,
};
use crate::fileset::pool::Pick;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "deletefile",
    aliases: &[],
    on_device: |_| Err("a device is not removed"),
    class: FlowopClass::Metadata,
    effect: Effect::Removes,
    acts: Acts { entry: EntryUse::Removes(Kind::File), ..Acts::NOTHING },
    summary: "removes the file that a slot has or had open, or the next existing file that nobody has open",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX],
    build: |build| Box::new(DeleteFile { choice: Choice::new(build), file: None }),
};

struct DeleteFile {
    choice: Choice,
    file: Option<FileRef>,
}

impl Flowop for DeleteFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.file = if self.choice.has_fd() {
            let at = self.choice.slot(thread);
            match thread.slot(at) {
                Slot { fd, file: Some(file) } => {
                    thread.set_slot(at, Slot { fd, file: None });
                    match thread.sets[file.set].pool.files().claim_delete_at(file.entry, u32::from(fd.is_some())) {
                        Pick::Entry(_) => Some(file),
                        Pick::Busy | Pick::Nothing => {
                            // Another thread has it open or has removed it: the slot's own use ends all the same.
                            if fd.is_some() {
                                thread.release(file);
                            }
                            None
                        }
                    }
                }
                Slot { file: None, .. } => self.choice.pick_delete(thread)?,
            }
        } else {
            self.choice.pick_delete(thread)?
        };
        let Some(file) = self.file else { return Ok(Turn::Skip) };
        thread.set_path(file);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if let Some(file) = self.file {
            thread.request_unlink(file)?;
        }
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let Some(file) = self.file else { return };
        let files = thread.sets[file.set].pool.files();
        if result.is_ok() { files.deleted(file.entry) } else { files.restore(file.entry) }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some(file) = self.file {
            thread.sets[file.set].pool.files().restore(file.entry);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.file.map_or_else(String::new, |file| format!("unlink of {}", thread.show(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn files_go_in_rotation_until_none_is_left() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        for _ in 0..3 {
            assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        }
        assert!(matches!(bench.step(&mut delete, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn a_file_that_is_open_is_passed_over_and_where_all_are_it_skips() {
        let bench = Bench::new(2, 2);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Skip, Moved::NONE)));
    }

    #[test]
    fn the_file_of_a_slot_is_removed_open_or_closed() {
        let bench = Bench::new(2, 2);
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", "filesetname=fs,fd=1");
        let mut close = bench.flowop("closefile", "fd=1");
        let mut delete = bench.flowop("deletefile", "filesetname=fs,fd=1");
        bench.step(&mut open, &mut thread).unwrap();
        bench.step(&mut delete, &mut thread).unwrap();
        bench.step(&mut close, &mut thread).unwrap();
        bench.step(&mut open, &mut thread).unwrap();
        bench.step(&mut close, &mut thread).unwrap();
        bench.step(&mut delete, &mut thread).unwrap();
        assert!(matches!(bench.step(&mut open, &mut thread), Err(End::NoWork(_))));
    }
}
