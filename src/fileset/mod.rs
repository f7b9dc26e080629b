//! File sets: what a tree looks like, how it comes onto the disk, and who uses which of its files.

pub mod layout;
mod path;
mod spec;

pub use layout::{Layout, LayoutError, Presence, Variables};
pub use path::PathBuffer;
pub use spec::{Draw, Spec};
