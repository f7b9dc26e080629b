//! The attributes of flowops, each declared once. Flowops name groups of them.

use crate::attribute::{AttributeDef, Kind, Picked};

/// Of every flowop.
pub static COMMON: &[AttributeDef] = &[
    AttributeDef::new("name", Kind::Text, "label in the report, and what `target` refers to").required(),
    AttributeDef::new("iters", Kind::Count(0, u64::MAX), "how often it is repeated each time; 0 skips it")
        .or(1)
        .random(),
];

/// Of flowops that work on a slot.
pub static SLOT: &[AttributeDef] = &[
    AttributeDef::new("fd", Kind::Count(0, 65_535), "descriptor slot of the thread").or(0),
    AttributeDef::flag("opennext", "rotates through 128 slots, and through the files in this thread's own order"),
];

/// Of flowops that work on a file.
pub static FILE: &[AttributeDef] =
    &[AttributeDef::new("filesetname", Kind::Fileset, "the fileset or file it works on").aliases(&["filename"])];

/// Of flowops that cannot do without a set.
pub static SET: &[AttributeDef] =
    &[AttributeDef::new("filesetname", Kind::Fileset, "the fileset it works on").aliases(&["filename"]).required()];

const INDEXED: AttributeDef = AttributeDef::new(
    "indexed",
    Kind::Count(0, u64::MAX),
    "chooses the entry with this index, or the next there is, instead of the rotation's",
)
.random();

/// Of flowops that choose a file.
pub static INDEX: &[AttributeDef] = &[
    INDEXED,
    AttributeDef::new(
        "pick",
        Kind::Pick(Picked::Files),
        "how the file is chosen: the next in rotation (as without it), any that there is with the same chance, or by an \
         index that is drawn",
    ),
];

/// Of flowops that choose a leaf directory.
pub static LEAFDIR_INDEX: &[AttributeDef] = &[
    INDEXED,
    AttributeDef::new(
        "pick",
        Kind::Pick(Picked::Leafdirs),
        "how the leaf directory is chosen, in the same ways as a file",
    ),
];

/// Of flowops that choose a directory of files.
pub static HOME_INDEX: &[AttributeDef] = &[
    INDEXED,
    AttributeDef::new("pick", Kind::Pick(Picked::Homes), "how the directory is chosen, in the same ways as a file"),
];

/// Of flowops that open a file.
pub static OPEN: &[AttributeDef] = &[
    AttributeDef::flag("dsync", "opens the file with O_SYNC"),
    AttributeDef::flag("directio", "opens the file with O_DIRECT and aligns the buffer"),
    AttributeDef::flag("noreadahead", "tells the kernel not to read ahead in the file"),
];

/// Of flowops that cannot do without a size.
pub static IOSIZE: &[AttributeDef] =
    &[AttributeDef::new("iosize", Kind::Bytes(1), "bytes of one request").required().random().in_memory()];

/// Of flowops that take a whole file where no size is given.
pub static IOSIZE_OR_ALL: &[AttributeDef] =
    &[AttributeDef::new("iosize", Kind::Bytes(0), "bytes of one request; 0 is all in one request")
        .or(0)
        .random()
        .in_memory()];

/// Of flowops that choose an offset.
pub static OFFSET: &[AttributeDef] =
    &[AttributeDef::flag("random", "at a random multiple of iosize instead of the current position")];

/// Of flowops that would make a file grow without end.
pub static WRAP: &[AttributeDef] = &[AttributeDef::flag(
    "wrap",
    "a sequential write starts over at the end of workingset, or of the file's nominal size",
)];

/// Of flowops that may choose it from a position set.
pub static POSITIONS: &[AttributeDef] =
    &[AttributeDef::new("possetname", Kind::Posset, "with random, one of the offsets of this position set")];

/// Of flowops whose range may be set.
pub static RANGE: &[AttributeDef] = &[AttributeDef::new(
    "workingset",
    Kind::Bytes(0),
    "bytes from the start of the file that are used; 0 is the file's nominal size",
)
.aliases(&["wss"])
.or(0)
.random()];

/// Of flowops that copy a size from another slot's file.
pub static SOURCE: &[AttributeDef] =
    &[AttributeDef::new("srcfd", Kind::Count(0, 65_535), "slot whose file gives the size to write").or(0)];

/// Of flowops that watch another.
pub static TARGET: &[AttributeDef] =
    &[AttributeDef::new("target", Kind::Target, "the flowop of this thread that is counted; without it all are")];

/// Of `finishoncount`.
pub static COUNT: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Count(0, u64::MAX), "number of operations").required().random()];

/// Of `finishonbytes`.
pub static BYTES: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Bytes(0), "number of bytes").required().random()];

/// Of `delay`.
pub static TIME: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Duration, "how long; a plain number is seconds").required().random()];

/// Of `wakeup`.
pub static BLOCKS: &[AttributeDef] = &[AttributeDef::new(
    "target",
    Kind::Instances("block"),
    "the flowops block that are woken: all instances in all processes",
)
.required()];

/// Of `sempost`.
pub static SEMBLOCKS: &[AttributeDef] = &[
    AttributeDef::new(
        "target",
        Kind::Instances("semblock"),
        "the flowops semblock that are posted to: all instances in all processes",
    )
    .required(),
    AttributeDef::flag("blocking", "waits while more than the target's highwater would be outstanding"),
];

/// Of flowops that post, and those that take posts.
pub static POSTS: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Count(1, u32::MAX as u64), "number of posts").required().random()];

/// Of `semblock`.
pub static HIGHWATER: &[AttributeDef] = &[AttributeDef::new(
    "highwater",
    Kind::Count(0, u32::MAX as u64),
    "how many blocking posts may be outstanding beyond what it waits for",
)
.or(1)];

/// Of `print`.
pub static TEXT: &[AttributeDef] = &[AttributeDef::new("value", Kind::Text, "what is said").required()];

/// Of `testrandvar`.
pub static SAMPLED: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Count(0, u64::MAX), "the random variable that is tried").required().random()];

/// Of flowops that make a name for a file that is there, or for its copy.
pub static FROM: &[AttributeDef] = &[AttributeDef::new(
    "source",
    Kind::Fileset,
    "the fileset whose existing files are taken; without it that of filesetname",
)];

/// Of `chmod`.
pub static MODE: &[AttributeDef] =
    &[AttributeDef::new("mode", Kind::Mode, "the permissions that are set; without it 0644 and 0600 in turn")];

/// Of flowops on one extended attribute.
pub static XATTR: &[AttributeDef] =
    &[AttributeDef::new("attr", Kind::ExtendedAttribute, "the extended attribute; without it user.wlrun.test")];

/// Of flowops on extended attributes.
pub static XATTR_SIZE: &[AttributeDef] =
    &[AttributeDef::new("iosize", Kind::Count(1, 65_536), "bytes of the value that is set, or room for what is read")
        .or(256)
        .random()
        .in_memory()];

/// Of flowops that submit, each operation with memory of its own. What a flowop with `outstanding` submits is carried
/// out beside its thread.
pub static SUBMITTED: &[AttributeDef] = &[
    AttributeDef::new("iosize", Kind::Bytes(1), "bytes of one request, in memory of its own").required().random(),
    AttributeDef::new(
        "outstanding",
        Kind::Count(1, 65_536),
        "operations of the thread that may be under way; it waits for one where there are as many",
    )
    .or(1024),
];

/// Of flowops that submit at an offset.
pub static SUBMITTED_AT: &[AttributeDef] =
    &[AttributeDef::flag("random", "at a random multiple of iosize instead of one after the other from the start")];

/// Of `aiowait`.
pub static WAITED_FOR: &[AttributeDef] = &[
    AttributeDef::new(
        "target",
        Kind::TargetOf(&["aioread", "aiowrite"]),
        "the flowop of this thread whose operations are waited for; without it all are",
    ),
    AttributeDef::new(
        "value",
        Kind::Count(0, u64::MAX),
        "how many are waited for; 0 is all there are; without it half of them, at least one",
    )
    .random(),
];

/// Of `truncate`.
pub static LENGTH: &[AttributeDef] =
    &[AttributeDef::new("value", Kind::Bytes(0), "the size that the file gets").required().random()];

/// Of `fallocate`.
pub static ALLOCATED: &[AttributeDef] = &[
    AttributeDef::new("iosize", Kind::Bytes(1), "bytes of the range").required().random(),
    AttributeDef::flag("random", "at a random multiple of iosize instead of the end of the file"),
    AttributeDef::flag("punch", "takes the range's space away: a hole at a random multiple of iosize"),
    AttributeDef::flag("keepsize", "gives space past the end and leaves the size as it is"),
];

/// Of `flock`.
pub static LOCK: &[AttributeDef] = &[
    AttributeDef::flag("shared", "a lock that others may have too"),
    AttributeDef::flag("unlock", "releases the lock, of either kind, instead of taking it"),
];

/// Of `lseek`.
pub static WHENCE: &[AttributeDef] = &[
    AttributeDef::new("whence", Kind::Word(&["data", "hole"]), "what is looked for").required(),
    AttributeDef::flag("random", "from a random byte instead of the current position"),
];

/// Of `copyfile`.
pub static PIECE: &[AttributeDef] =
    &[AttributeDef::new("iosize", Kind::Bytes(0), "bytes of one call; 0 leaves it to the kernel").or(0).random()];

/// All groups, for the reference and for names that a flowop does not honour.
pub static ALL: &[&[AttributeDef]] = &[
    COMMON,
    SLOT,
    FILE,
    INDEX,
    LEAFDIR_INDEX,
    OPEN,
    IOSIZE,
    OFFSET,
    RANGE,
    WRAP,
    SOURCE,
    TARGET,
    COUNT,
    BYTES,
    TIME,
    BLOCKS,
    SEMBLOCKS,
    POSTS,
    HIGHWATER,
    TEXT,
    SAMPLED,
    FROM,
    MODE,
    XATTR,
    HOME_INDEX,
    POSITIONS,
    SUBMITTED,
    SUBMITTED_AT,
    WAITED_FOR,
    LENGTH,
    ALLOCATED,
    LOCK,
    WHENCE,
    PIECE,
];

/// Attributes of filebench's flowops that no flowop here has yet.
pub const PLANNED: &[&str] = &[];

/// A flowop attribute of any flowop.
pub fn known(name: &str) -> Option<&'static AttributeDef> {
    crate::attribute::find(ALL.iter().copied().flatten(), name)
}
