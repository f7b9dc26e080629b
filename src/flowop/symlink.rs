//! `symlink`: makes a symbolic link to a file.

use super::pair::{self, Hold, OnPair, Pair};
use super::{
    Acts, Broken, DataUse, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;
use crate::fileset::LinkPath;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "symlink",
    aliases: &[],
    on_device: |_| Err("no links to a device are made"),
    class: FlowopClass::Metadata,
    effect: Effect::Names,
    acts: Acts::with_source(EntryUse::Takes(Kind::File), DataUse::None),
    summary: "makes a symbolic link to the next file of source, by a relative path, at the next entry of filesetname that does not exist",
    attributes: &[attributes::SET, attributes::FROM],
    build: |build| OnPair::build(build, Hold::Shared, SymLink { target: None }),
};

struct SymLink {
    /// What the link holds; made with the first, since only the thread knows where the sets are.
    target: Option<LinkPath>,
}

impl pair::Call for SymLink {
    const WORD: &'static str = DEF.name;

    fn prepare(&mut self, pair: &mut Pair, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let turn = pair.claim(thread)?;
        if turn == Turn::Go {
            let (source, set) = pair.sets();
            let path = |set: usize| thread.sets[set].path.as_path();
            let target = self.target.get_or_insert_with(|| LinkPath::new(path(set), path(source)));
            target.set(&pair.to, &pair.from);
        }
        Ok(turn)
    }

    fn execute(&mut self, pair: &Pair, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let ((_, set), sets) = (pair.sets(), thread.sets);
        if let Some(target) = &self.target {
            let (directory, path) = (sets[set].directory(), pair.to.as_c_str());
            thread.engine.execute(Request::SymbolicLink { target: target.as_c_str(), directory, path })?;
        }
        Ok(Moved::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn links_are_made_until_all_names_exist() {
        let bench = Bench::with_script(2, 1, "fail=symlink:1:ENOSPC");
        let mut thread = bench.thread();
        let mut link = bench.flowop("symlink", "filesetname=fs");
        let said = "symlink of fs/00000001/00000001 to fs/00000001/00000002";
        assert_eq!(bench.step(&mut link, &mut thread), Err(End::Failed(Some(Errno::NOSPC), said.into())));
        bench.cancel(&mut link, &mut thread);
        assert_eq!(bench.step(&mut link, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.existing(), [0, 1]);
        assert!(matches!(bench.step(&mut link, &mut thread), Err(End::NoWork(_))));
        // Nobody uses either.
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        (0..2).for_each(|_| assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE))));
    }
}
