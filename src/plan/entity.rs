//! The attributes of everything that is not a flowop, each declared once.

use crate::attribute::{AttributeDef, Kind};

/// What a `define`, a thread or a function of a workload is.
#[derive(Debug)]
pub struct Entity {
    /// Its word.
    pub name: &'static str,
    /// Other words with the same meaning.
    pub aliases: &'static [&'static str],
    /// What it honours.
    pub attributes: &'static [AttributeDef],
    /// What it takes for old workloads' sake: name, and why it has no effect.
    pub idle: &'static [(&'static str, &'static str)],
    /// What filebench has and wlrun has not yet.
    pub planned: &'static [&'static str],
}

impl Entity {
    /// True where `word` means this.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word)
    }
}

/// All entities.
pub static ENTITIES: &[&Entity] = &[&FILE, &FILESET, &PROCESS, &THREAD, &RANDVAR, &CVAR, &POSSET, &EVENTGEN, &MIX];

const NAME: AttributeDef = AttributeDef::new("name", Kind::Text, "what the rest of the workload calls it").required();

const PATH: AttributeDef =
    AttributeDef::new("path", Kind::Text, "directory that holds the tree; relative to --dir").required();

const SIZE: AttributeDef =
    AttributeDef::new("size", Kind::Bytes(0), "nominal size of each file").aliases(&["filesize"]).random();

const PREALLOC: AttributeDef =
    AttributeDef::new("prealloc", Kind::Percent, "share of the files that are made before the run, exactly").or(0);

const PARALLOC: AttributeDef = AttributeDef::flag("paralloc", "makes files in parallel, which is the default");

const REUSE: AttributeDef = AttributeDef::flag("reuse", "keeps a tree of an earlier run, and repairs what differs");

const TRUSTTREE: AttributeDef =
    AttributeDef::flag("trusttree", "takes the tree as it is; only looks whether it is there");

const READONLY: AttributeDef = AttributeDef::flag("readonly", "workers open its files for reading only");

const WRITEONLY: AttributeDef = AttributeDef::flag("writeonly", "workers open its files for writing only");

const COMPRESS: AttributeDef = AttributeDef::new(
    "compress",
    Kind::Ratio(100),
    "how well the data compresses, in files that are made before the run and in what is written to them: 2 is 2 to 1",
);

const DEDUP: AttributeDef =
    AttributeDef::new("dedup", Kind::Ratio(1_000_000), "one in so many blocks of 4 KiB of that data is unique");

const CACHED: (&str, &str) = ("cached", "on Linux filebench's 'cached=false' drops nothing from the page cache either");

/// `define file`.
pub static FILE: Entity = Entity {
    name: "file",
    aliases: &["files"],
    attributes: &[NAME, PATH, SIZE, PREALLOC, PARALLOC, REUSE, TRUSTTREE, READONLY, WRITEONLY, COMPRESS, DEDUP],
    idle: &[CACHED],
    planned: &[],
};

/// `define fileset`.
pub static FILESET: Entity = Entity {
    name: "fileset",
    aliases: &["filesets"],
    attributes: &[
        NAME,
        PATH,
        AttributeDef::new("entries", Kind::Count(0, 4_000_000_000), "number of files").or(0).random(),
        SIZE,
        AttributeDef::new(
            "filesizegamma",
            Kind::Count(0, 1_000_000),
            "shape x 1000 of the gamma distribution of sizes around a constant size; 0 is the constant",
        ),
        AttributeDef::new(
            "leafdirs",
            Kind::Count(0, 1_000_000_000),
            "number of directories without files, for makedir and removedir",
        )
        .or(0)
        .random(),
        AttributeDef::new("dirwidth", Kind::Count(0, u64::MAX), "mean number of entries of a directory").random(),
        AttributeDef::new(
            "dirgamma",
            Kind::Count(0, 1_000_000),
            "shape x 1000 of the gamma distribution of directory widths and depths; 0 is constant",
        )
        .or(1500),
        AttributeDef::new("dirdepthrv", Kind::Variable, "random variable of the depth"),
        PREALLOC,
        PARALLOC,
        REUSE,
        TRUSTTREE,
        READONLY,
        WRITEONLY,
        COMPRESS,
        DEDUP,
    ],
    idle: &[
        CACHED,
        ("fstype", "filebench reserves the word and does nothing with it"),
        ("namelength", "filebench reserves the word and does nothing with it"),
    ],
    planned: &[],
};

/// `define process`.
pub static PROCESS: Entity = Entity {
    name: "process",
    aliases: &["processes"],
    attributes: &[
        NAME,
        AttributeDef::new("instances", Kind::Count(0, 1_000_000), "number of OS processes").or(1),
        AttributeDef::new("nice", Kind::Signed(-20, 19), "added to the nice value"),
    ],
    idle: &[],
    planned: &[],
};

/// `thread`.
pub static THREAD: Entity = Entity {
    name: "thread",
    aliases: &[],
    attributes: &[
        NAME,
        AttributeDef::new("instances", Kind::Count(1, 10_000_000), "number of threads in each process").or(1),
        AttributeDef::new(
            "memsize",
            Kind::Bytes(0),
            "bytes of the thread's buffer; 0 is as many as its largest request",
        )
        .or(0),
        AttributeDef::new("ioprio", Kind::Count(0, 7), "best-effort I/O priority, 0 is first"),
        AttributeDef::new(
            "rate",
            Kind::Count(0, 1_000_000_000),
            "rounds per second of each thread instance, begun on schedule; 0 is one after the other",
        )
        .or(0),
    ],
    idle: &[
        ("useism", "the buffer is plain memory; shared segments have no use here"),
        ("procname", "filebench 1.4 ignores it too"),
    ],
    planned: &[],
};

/// `randvar(...)` and `define randvar`.
pub static RANDVAR: Entity = Entity {
    name: "randvar",
    aliases: &[],
    attributes: &[
        AttributeDef::new("name", Kind::Text, "the variable, in 'define randvar'"),
        AttributeDef::new("type", Kind::Text, "uniform, gamma or tabular"),
        AttributeDef::new("mean", Kind::Text, "mean"),
        AttributeDef::new("gamma", Kind::Text, "shape x 1000 of a gamma distribution"),
        AttributeDef::new("min", Kind::Text, "least value"),
        AttributeDef::new("round", Kind::Text, "values are rounded to multiples of it"),
        AttributeDef::new("seed", Kind::Text, "makes this variable's sequence another one"),
        AttributeDef::new("randsrc", Kind::Text, "rand48 or urandom; both mean wlrun's seeded generator"),
        AttributeDef::new("randtable", Kind::Text, "rows of per cent, low, high of a tabular distribution"),
    ],
    idle: &[],
    planned: &[],
};

/// `cvar(...)`.
pub static CVAR: Entity = Entity {
    name: "cvar",
    aliases: &[],
    attributes: &[
        AttributeDef::new("type", Kind::Text, "cvar-gamma, cvar-normal, ...").required(),
        AttributeDef::new("parameters", Kind::Text, "of the distribution, key:value;key:value"),
        AttributeDef::new("min", Kind::Text, "least value"),
        AttributeDef::new("max", Kind::Text, "greatest value"),
        AttributeDef::new("round", Kind::Text, "values are rounded to multiples of it"),
    ],
    idle: &[],
    planned: &[],
};

/// `define posset`.
pub static POSSET: Entity = Entity {
    name: "posset",
    aliases: &["possets"],
    attributes: &[
        NAME,
        AttributeDef::new("type", Kind::Text, "rnd: the positions are drawn once, at random"),
        AttributeDef::new("entries", Kind::Count(1, 1 << 32), "number of positions").required(),
        AttributeDef::new("max", Kind::Bytes(0), "the greatest position; each is a multiple of 512").required(),
        AttributeDef::new("seed", Kind::Count(0, u64::MAX), "makes this set another one").or(0),
    ],
    idle: &[],
    planned: &[],
};

/// `eventgen`.
pub static EVENTGEN: Entity = Entity {
    name: "eventgen",
    aliases: &[],
    attributes: &[
        AttributeDef::new("rate", Kind::Count(0, 1_000_000_000), "events per second; 0 is no limit").required()
    ],
    idle: &[],
    planned: &[],
};

/// `mix`.
pub static MIX: Entity = Entity {
    name: "mix",
    aliases: &[],
    attributes: &[
        AttributeDef::new("name", Kind::Text, "what messages call it"),
        AttributeDef::new("iters", Kind::Count(0, u64::MAX), "how often one of its items is chosen each time")
            .or(1)
            .random(),
        WEIGHT,
    ],
    idle: &[],
    planned: &[],
};

/// Of each item of a mix.
pub(super) const WEIGHT: AttributeDef = AttributeDef::new(
    "weight",
    Kind::Weight,
    "of each item of a mix, flowops, composites and mixes: its share of the choices; 0 is never chosen",
)
.or(1_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entity_declares_an_attribute_twice() {
        for entity in ENTITIES {
            let mut names: Vec<&str> =
                entity.attributes.iter().flat_map(|a| std::iter::once(&a.name).chain(a.aliases)).copied().collect();
            names.extend(entity.idle.iter().map(|(name, _)| name));
            names.extend(entity.planned);
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{}", entity.name);
        }
    }
}
