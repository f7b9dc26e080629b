//! File sets: what a tree looks like, how it comes onto the disk, and who uses which of its files.
//!
//! ```text
//! Spec ──► Layout (pure) ──► prepare (directories and files) ──► Pool (shared by all workers)
//! ```
//!
//! A tree that wlrun made carries a marker ([`owner`]). Only such a tree is ever emptied, cut or removed.

pub mod cache;
pub mod content;
pub mod create;
pub mod device;
mod disk;
pub mod find;
pub mod layout;
pub mod owner;
mod path;
pub mod pool;
mod spec;

pub use cache::{Cached, Files};
pub use content::{Content, Stream};
pub use create::{CreateError, Found, Options, Prepared, Progress, clean, lock_again, prepare, remove};
pub use device::Device;
pub use find::trees;
pub use layout::{Layout, LayoutError, Presence, Variables};
pub use path::{LinkPath, PathBuffer};
pub use pool::{Entries, Pick, Pool, Rotor, Shape};
pub use spec::{Draw, Spec};
