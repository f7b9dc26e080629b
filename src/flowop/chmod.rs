//! `chmod`: sets the permissions of a file.

use super::subject::{self, Name, OnSubject, Subject};
use super::{Acts, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, Thread, Turn, attributes};
use crate::attribute::Typed;
use crate::engine::Request;
use rustix::fs::Mode;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "chmod",
    aliases: &[],
    on_device: |_| Err("it would change the permissions of the device for everybody"),
    class: FlowopClass::Metadata,
    effect: Effect::Attributes,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "sets the permissions of the file open in a slot, or of the next existing file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::MODE],
    build: |build| {
        let modes = match build.attributes.get("mode") {
            Some(Typed::Number(mode)) => [*mode as u32; 2],
            _ => [0o644, 0o600],
        };
        OnSubject::build(build, Name::Relative, Chmod { modes: modes.map(Mode::from_raw_mode) })
    },
};

struct Chmod {
    /// That of the next operation, and that of the one at hand.
    modes: [Mode; 2],
}

impl subject::Call for Chmod {
    fn prepare(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let turn = subject.choose(thread)?;
        self.modes.reverse();
        Ok(turn)
    }

    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let object = subject.object(thread);
        thread.engine.execute(Request::SetMode { object, mode: self.modes[1] }).map(|_| ())
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        format!("chmod of {}", subject.show(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn the_file_is_free_again_after_it_after_an_error_and_after_a_cancel() {
        let bench = Bench::with_script(1, 1, "fail=chmod:2:EIO");
        let mut thread = bench.thread();
        let mut flowop = bench.flowop("chmod", "filesetname=fs");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let failed = Err(End::Failed(Some(Errno::IO), "chmod of fs/00000001/00000001".into()));
        assert_eq!(bench.step(&mut flowop, &mut thread), failed);
        bench.cancel(&mut flowop, &mut thread);
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn an_open_slot_comes_before_the_set() {
        let bench = Bench::with_script(1, 1, "fail=chmod:2:EIO");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut flowop = bench.flowop("chmod", "fd=1");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::Failed(Some(Errno::IO), _))));
    }
}
