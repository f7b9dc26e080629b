//! `statfile`: reads the attributes of a file.

use super::file::Choice;
use super::{
    Acts, Broken, Effect, End, EntryUse, FileRef, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "statfile",
    aliases: &[],
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes, ..Acts::NOTHING },
    summary: "reads the attributes of the file open in a slot, or of the next existing file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX],
    build: |build| Box::new(StatFile { choice: Choice::new(build), at: At::Nothing }),
};

struct StatFile {
    choice: Choice,
    at: At,
}

#[derive(Clone, Copy)]
enum At {
    Nothing,
    Slot(usize),
    File(FileRef),
}

impl Flowop for StatFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = At::Nothing;
        if self.choice.has_fd() {
            let slot = self.choice.slot(thread);
            if thread.slot(slot).fd.is_some() {
                self.at = At::Slot(slot);
                return Ok(Turn::Go);
            }
        }
        self.at = At::File(self.choice.pick(thread)?);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        match self.at {
            At::Slot(slot) => {
                let fd = thread.fd(slot);
                thread.engine.execute(Request::Fstat { fd })?;
            }
            At::File(file) => {
                thread.request_stat(file)?;
            }
            At::Nothing => {}
        }
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        if let At::File(file) = self.at {
            thread.release(file);
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let At::File(file) = self.at {
            thread.release(file);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        match self.at {
            At::Slot(slot) => format!("fstat of {}", thread.show_slot(slot)),
            At::File(file) => format!("stat of {}", thread.show(file)),
            At::Nothing => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_file_is_free_again_after_the_stat() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("statfile", "filesetname=fs"), &mut thread).unwrap();
        assert_eq!(
            bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread),
            Ok((Turn::Go, Moved::NONE))
        );
    }

    #[test]
    fn an_open_slot_is_asked_instead_of_the_set() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        assert!(bench.step(&mut bench.flowop("statfile", "fd=1"), &mut thread).is_ok());
    }
}
