//! `syncfs`: flushes the file system that a set is on.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "syncfs",
    aliases: &[],
    on_device: |_| Err("a device is no file system; fsync flushes it"),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts::NOTHING,
    summary: "flushes the whole file system that the set is on, what others wrote too",
    attributes: &[attributes::SET],
    build: |build| Box::new(SyncFs { set: build.attributes.fileset("filesetname").unwrap_or(0) }),
};

struct SyncFs {
    set: usize,
}

impl Flowop for SyncFs {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let sets = thread.sets;
        thread.engine.execute(Request::SyncFs { directory: sets[self.set].directory() })?;
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("syncfs of the file system of {}", thread.sets[self.set].name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_takes_its_time_and_names_its_set() {
        let bench = Bench::with_script(1, 1, "syncfs=50us,fail=syncfs:2:EIO");
        let mut thread = bench.thread();
        let mut sync = bench.flowop("syncfs", "filesetname=other");
        assert_eq!(bench.step(&mut sync, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(thread.clock.now(), 50_000);
        let failed = End::Failed(Some(rustix::io::Errno::IO), "syncfs of the file system of other".into());
        assert_eq!(bench.step(&mut sync, &mut thread), Err(failed));
    }
}
