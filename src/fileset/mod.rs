//! File sets: what a tree looks like, how it comes onto the disk, and who uses which of its files.

pub mod layout;
mod path;
pub mod pool;
mod spec;

pub use layout::{Layout, LayoutError, Presence, Variables};
pub use path::PathBuffer;
pub use pool::{Entries, Pick, Pool, Rotor, Shape};
pub use spec::{Draw, Spec};
