//! What one operation of a flowop does to its slot, to entries of its file set and to data. A definition says it once;
//! a forecast of a run reads it and carries nothing out.

use super::Kind;

/// What one operation does, as far as it shows before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acts {
    /// To the descriptor slot that `fd` names.
    pub slot: SlotUse,
    /// To the entries of the file set.
    pub entry: EntryUse,
    /// To the entries of the file set `source`.
    pub source: EntryUse,
    /// How many bytes it moves; the class says whether it reads or writes them.
    pub data: DataUse,
    /// To the thread itself.
    pub pace: Pace,
}

impl Acts {
    /// Opens nothing, takes no entry, moves no data.
    pub const NOTHING: Acts = Acts {
        slot: SlotUse::None,
        entry: EntryUse::None,
        source: EntryUse::None,
        data: DataUse::None,
        pace: Pace::None,
    };

    /// Works on the open file of its slot; opens one there where none is.
    pub(super) const fn on_a_file(data: DataUse) -> Acts {
        Acts { slot: SlotUse::Fills, entry: EntryUse::Takes(Kind::File), data, ..Acts::NOTHING }
    }

    /// Makes a file that does not exist from one of `source`.
    pub(super) const fn with_source(source: EntryUse, data: DataUse) -> Acts {
        Acts { entry: EntryUse::Makes(Kind::File), source, data, ..Acts::NOTHING }
    }
}

/// What an operation does to its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotUse {
    /// It has none, or does without.
    None,
    /// The slot must be closed, and is open afterwards.
    Opens,
    /// A file is opened there where none is open.
    Fills,
    /// Works on the file that is open there, and on one by its name where none is.
    Prefers,
    /// A file must be open there.
    Needs,
    /// A file must be open there, and is closed.
    Closes,
}

/// What an operation does to the entries of its file set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryUse {
    /// It chooses none.
    None,
    /// Takes an entry that exists, where the slot has none.
    Takes(Kind),
    /// Takes an entry that does not exist, and makes it.
    Makes(Kind),
    /// Takes an entry that exists, and removes it.
    Removes(Kind),
}

/// How many bytes an operation moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUse {
    /// None.
    None,
    /// iosize.
    Request,
    /// 1 to iosize, each number as likely; with directio whole blocks.
    UpToRequest,
    /// A file from start to end, by requests of iosize.
    WholeFile,
    /// A file of `source` from start to end: as much is read as is written.
    Copy,
}

/// What an operation does to its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nothing.
    None,
    /// Holds it back until the event generator has paid.
    Limits(Paid),
    /// Ends it when the operations that it watches are `value`.
    EndsOnCount,
    /// Ends it when the bytes that it watches are `value`.
    EndsOnBytes,
}

impl Pace {
    /// True where it may end the thread.
    pub fn ends(self) -> bool {
        matches!(self, Pace::EndsOnCount | Pace::EndsOnBytes)
    }
}

/// What an event of the event generator pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paid {
    /// One turn of the limiter itself.
    Turn,
    /// One I/O operation.
    Operation,
    /// One read or write.
    DataOperation,
    /// 1 MiB of data.
    Mebibyte,
}
