//! The tree of a file set, computed: which directories, which files in them, of what size. Touches no disk.
//!
//! The algorithm is filebench's, with the same arithmetic, so that the same attributes give the same shape:
//!
//! - the mean depth is `ln(entries + leafdirs) / ln(width)`, in doubles and cut, not rounded: 1000 entries of width 10
//!   come to 2.9999999999999996, that is 2;
//! - each directory draws its own depth and width; one that lies at its depth or below holds files, any other holds
//!   directories;
//! - the root takes as many directories as are needed, whatever the width, and never a file.
//!
//! Two things differ. The gamma samples come from our own stream, so another seed gives another tree. And where a set
//! has both files and leaf directories, the serial numbers go on instead of beginning anew, for two objects cannot
//! have one name.

use super::path::PathBuffer;
use super::spec::{Draw, Spec, count_of};
use crate::attribute::VariableId;
use crate::random::stream::{Generator, Seed};
use rand::Rng;
use rand_distr::Distribution;

/// Directories below one another at most. A path of more levels than this does not fit into the 4096 bytes that
/// Linux takes, with room for the path of the tree itself.
pub const MAX_DEPTH: u32 = 400;

/// Files, directories and leaf directories of one set together at most.
pub const MAX_OBJECTS: u64 = 1 << 30;

/// The random variables that a file set refers to; the layout knows no distribution but gamma.
pub trait Variables {
    /// The mean of a variable.
    fn mean(&self, id: VariableId) -> f64;
    /// A sample, with randomness from `stream`.
    fn sample(&mut self, id: VariableId, stream: &mut Generator) -> f64;
    /// A sample of the same distribution with its mean moved to `mean`.
    fn sample_about(&mut self, id: VariableId, mean: f64, stream: &mut Generator) -> f64;
}

/// For file sets without random variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoVariables;

impl Variables for NoVariables {
    fn mean(&self, _: VariableId) -> f64 {
        0.0
    }
    fn sample(&mut self, _: VariableId, _: &mut Generator) -> f64 {
        0.0
    }
    fn sample_about(&mut self, _: VariableId, mean: f64, _: &mut Generator) -> f64 {
        mean
    }
}

/// Why there is no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Directories below one another.
    #[error("the tree would be more than {MAX_DEPTH} directories deep: paths in it would be too long")]
    TooDeep,
    /// Files, directories and leaf directories together.
    #[error("the file set would have more than {MAX_OBJECTS} files and directories")]
    TooMany,
}

/// One directory of the tree; number 0 is the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directory {
    /// The directory above; that of the root is the root.
    pub parent: u32,
    /// Its number in the directory above, from 1; its name. 0 for the root.
    pub serial: u32,
    /// Index of its first file. All files of a directory have consecutive indices.
    pub first_file: u32,
    /// Number of its files.
    pub files: u32,
}

/// One directory without files, for makedir and removedir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafDirectory {
    /// The directory above.
    pub parent: u32,
    /// Its number in the directory above.
    pub serial: u32,
}

/// Which files and leaf directories exist, by index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Presence {
    /// One for each file.
    pub files: Vec<bool>,
    /// One for each leaf directory.
    pub leafdirs: Vec<bool>,
}

/// What a person wants to know of a layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Files.
    pub files: u64,
    /// Directories, the root included.
    pub directories: u64,
    /// Leaf directories.
    pub leafdirs: u64,
    /// Mean number of entries of a directory, as asked for and as filebench prints it.
    pub mean_width: i64,
    /// Mean depth as filebench computes and prints it: `ln(entries + leafdirs) / ln(width)`.
    pub mean_depth: f64,
    /// Sum of the sizes of all files, in bytes.
    pub bytes: u64,
}

/// The tree of a file set.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// All directories; a directory stands after the one above it.
    pub directories: Vec<Directory>,
    /// For each file its directory.
    pub parents: Vec<u32>,
    /// For each file its size in bytes.
    pub sizes: Vec<u64>,
    /// All leaf directories.
    pub leafdirs: Vec<LeafDirectory>,
    mean_width: i64,
    mean_depth: f64,
}

/// A directory whose entries are being planned.
struct Frame {
    directory: u32,
    /// 1 for the root.
    depth: u32,
    /// Entries it may have; the root has no limit.
    width: f64,
    /// Holds files, not directories.
    leaf: bool,
    /// Planning leaf directories; the files of this directory are planned.
    second: bool,
    /// The next entry's number in the current one of the two rounds.
    number: u64,
    /// The last serial number given out.
    serial: u32,
}

impl Frame {
    fn has_room(&self) -> bool {
        self.directory == 0 || (self.number as f64) < self.width + 1.0
    }

    /// How many more entries fit, for a directory that is not the root.
    fn room(&self) -> u64 {
        (self.width.ceil() as u64).saturating_sub(self.number - 1)
    }
}

/// Draws depths and widths as filebench does.
struct Shapes<'a> {
    spec: &'a Spec,
    variables: &'a mut dyn Variables,
    stream: Generator,
    mean_width: i64,
    mean_depth: f64,
}

impl Shapes<'_> {
    fn frame(&mut self, directory: u32, depth: u32) -> Frame {
        let wanted_depth = match self.spec.depth {
            Some(Draw::Random(id)) => self.variables.sample_about(id, self.mean_depth, &mut self.stream),
            Some(Draw::Gamma { shape, .. }) => gamma(self.mean_depth, shape, &mut self.stream),
            Some(Draw::Fixed(_)) => self.mean_depth,
            None => gamma(self.mean_depth, self.spec.dir_gamma, &mut self.stream),
        };
        let wanted_depth = match int(wanted_depth) {
            0 => 1,
            depth => depth,
        };
        let mean_width = self.mean_width as f64;
        let width = match self.spec.width {
            Draw::Random(id) => self.variables.sample(id, &mut self.stream),
            Draw::Gamma { mean, shape } => gamma(mean, shape, &mut self.stream),
            Draw::Fixed(_) => gamma(mean_width, self.spec.dir_gamma, &mut self.stream),
        };
        // Below 0 and not-a-number would make directories without end and never a file.
        let width = if width > 0.0 { width } else { 1.0 };
        Frame {
            directory,
            depth,
            width,
            leaf: i64::from(depth) >= i64::from(wanted_depth),
            second: false,
            number: 1,
            serial: 0,
        }
    }
}

impl Layout {
    /// Plans the tree of `spec`. The same specification, variables and seed give the same layout.
    ///
    /// # Errors
    ///
    /// Where the tree would be deeper or larger than anything a file system takes.
    pub fn plan(spec: &Spec, seed: Seed, variables: &mut dyn Variables) -> Result<Layout, LayoutError> {
        let total = spec.entries.checked_add(spec.leafdirs).filter(|n| *n < MAX_OBJECTS).ok_or(LayoutError::TooMany)?;
        let mean_width = match spec.width {
            Draw::Fixed(w) => w,
            Draw::Gamma { mean, .. } => mean,
            Draw::Random(id) => variables.mean(id),
        } as i64;
        let mean_depth = (total as f64).ln() / (mean_width as f64).ln();
        let stream = seed.child("shape").generator();
        let mut layout = Layout {
            directories: Vec::new(),
            parents: Vec::with_capacity(spec.entries as usize),
            sizes: Vec::new(),
            leafdirs: Vec::with_capacity(spec.leafdirs as usize),
            mean_width,
            mean_depth,
        };
        layout.plan_tree(Shapes { spec, variables, stream, mean_width, mean_depth })?;
        layout.sizes = sizes(spec, seed, variables);
        Ok(layout)
    }

    /// Depth first, with a stack of its own: the depth is the workload's, and must not be able to exhaust ours.
    fn plan_tree(&mut self, mut shapes: Shapes<'_>) -> Result<(), LayoutError> {
        let (entries, leafdirs) = (shapes.spec.entries as usize, shapes.spec.leafdirs as usize);
        self.directories.push(Directory { parent: 0, serial: 0, first_file: 0, files: 0 });
        let mut stack = vec![shapes.frame(0, 1)];
        while let Some(top) = stack.last_mut() {
            let missing = if top.second { leafdirs - self.leafdirs.len() } else { entries - self.parents.len() };
            if missing == 0 || !top.has_room() {
                if top.second {
                    stack.pop();
                } else {
                    top.second = true;
                    top.number = 1;
                }
                continue;
            }
            if top.leaf && top.directory != 0 {
                let count = top.room().min(missing as u64) as usize;
                if top.second {
                    self.leafdirs.extend(
                        (1..=count as u32).map(|i| LeafDirectory { parent: top.directory, serial: top.serial + i }),
                    );
                } else {
                    self.directories[top.directory as usize].files = count as u32;
                    self.parents.resize(self.parents.len() + count, top.directory);
                }
                top.serial += count as u32;
                top.number += count as u64;
                continue;
            }
            top.number += 1;
            top.serial += 1;
            let (parent, serial, depth) = (top.directory, top.serial, top.depth + 1);
            if depth > MAX_DEPTH {
                return Err(LayoutError::TooDeep);
            }
            if (self.directories.len() + entries + leafdirs) as u64 >= MAX_OBJECTS {
                return Err(LayoutError::TooMany);
            }
            let directory = self.directories.len() as u32;
            let first_file = self.parents.len() as u32;
            self.directories.push(Directory { parent, serial, first_file, files: 0 });
            stack.push(shapes.frame(directory, depth));
        }
        Ok(())
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.parents.len()
    }

    /// The directories that hold files, by number and in order.
    pub fn homes(&self) -> impl Iterator<Item = u32> + '_ {
        self.directories.iter().enumerate().filter(|(_, directory)| directory.files > 0).map(|(i, _)| i as u32)
    }

    /// The number of a file in its directory, from 1; its name.
    pub fn serial_of_file(&self, file: usize) -> u32 {
        file as u32 - self.directories[self.parents[file] as usize].first_file + 1
    }

    /// Writes the path of a file.
    pub fn path_of_file(&self, file: usize, out: &mut PathBuffer) {
        out.set(self.parents[file], self.serial_of_file(file), |d| self.above(d));
    }

    /// Writes the path of a directory.
    pub fn path_of_directory(&self, directory: usize, out: &mut PathBuffer) {
        match directory {
            0 => out.set_root(),
            _ => {
                let Directory { parent, serial, .. } = self.directories[directory];
                out.set(parent, serial, |d| self.above(d));
            }
        }
    }

    /// Writes the path of a leaf directory.
    pub fn path_of_leafdir(&self, leafdir: usize, out: &mut PathBuffer) {
        let LeafDirectory { parent, serial } = self.leafdirs[leafdir];
        out.set(parent, serial, |d| self.above(d));
    }

    fn above(&self, directory: u32) -> (u32, u32) {
        let d = &self.directories[directory as usize];
        (d.parent, d.serial)
    }

    /// What a person wants to know of it.
    pub fn figures(&self) -> Figures {
        Figures {
            files: self.parents.len() as u64,
            directories: self.directories.len() as u64,
            leafdirs: self.leafdirs.len() as u64,
            mean_width: self.mean_width,
            mean_depth: self.mean_depth,
            bytes: self.sizes.iter().fold(0, |sum, size| sum.saturating_add(*size)),
        }
    }

    /// Chooses the files and leaf directories that exist at the start: exactly `percent` of each (rounded), each
    /// choice of so many as likely as any other.
    pub fn prealloc(&self, percent: u64, seed: Seed) -> Presence {
        Presence {
            files: choose(self.files(), percent, &mut seed.child("files").generator()),
            leafdirs: choose(self.leafdirs.len(), percent, &mut seed.child("leafdirs").generator()),
        }
    }

    /// A number that names this layout: two of the same number have the same paths and sizes (FNV-1a over all of
    /// them, by words of 64 bits). It is taken of the result and not of the attributes, for a random variable may
    /// change under the same name.
    pub fn fingerprint(&self) -> u64 {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29);
        for d in &self.directories {
            add(u64::from(d.parent) << 32 | u64::from(d.serial));
            add(u64::from(d.files));
        }
        for l in &self.leafdirs {
            add(u64::from(l.parent) << 32 | u64::from(l.serial));
        }
        self.sizes.iter().for_each(|size| add(*size));
        hash
    }
}

/// One draw for each file in planning order, from a stream of its own; a fixed size takes none.
fn sizes(spec: &Spec, seed: Seed, variables: &mut dyn Variables) -> Vec<u64> {
    // As C's conversion to a 64-bit integer, but below 0 is 0, and no file is longer than an offset can say.
    let bytes = |size: f64| (size as i64).max(0) as u64;
    let count = spec.entries as usize;
    let mut stream = seed.child("sizes").generator();
    match spec.size {
        Draw::Fixed(size) => vec![bytes(size); count],
        Draw::Gamma { mean, shape } => match gamma_of(mean, shape) {
            Some(gamma) => (0..count).map(|_| bytes(gamma.sample(&mut stream))).collect(),
            None => vec![bytes(mean); count],
        },
        Draw::Random(id) => (0..count).map(|_| bytes(variables.sample(id, &mut stream))).collect(),
    }
}

/// Selection sampling (Knuth, The Art of Computer Programming, vol. 2, 3.4.2, algorithm S): an item is taken with the
/// probability that makes the count come out exactly.
fn choose(count: usize, percent: u64, stream: &mut Generator) -> Vec<bool> {
    let mut wanted = count_of(count as u64, percent);
    if wanted == count as u64 || wanted == 0 {
        return vec![wanted > 0; count];
    }
    (0..count as u64)
        .map(|i| {
            let left = count as u64 - i;
            let uniform = (u128::from(stream.next_u64()) * u128::from(left)) >> 64;
            let take = (uniform as u64) < wanted;
            wanted -= u64::from(take);
            take
        })
        .collect()
}

fn gamma_of(mean: f64, shape: f64) -> Option<rand_distr::Gamma<f64>> {
    // Infinite and negative means occur (a width of 1, of 0): there is nothing to scatter then.
    (shape > 0.0 && mean > 0.0 && mean.is_finite()).then(|| rand_distr::Gamma::new(shape, mean / shape).ok())?
}

fn gamma(mean: f64, shape: f64, stream: &mut Generator) -> f64 {
    gamma_of(mean, shape).map_or(mean, |gamma| gamma.sample(stream))
}

/// C's `(int)` of a double on x86: cut towards 0, and the least integer for whatever does not fit.
fn int(x: f64) -> i32 {
    if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    pub(crate) fn spec(entries: u64, width: f64, dir_gamma: f64) -> Spec {
        Spec {
            name: "set".into(),
            path: PathBuf::from("/nowhere"),
            entries,
            leafdirs: 0,
            width: Draw::Fixed(width),
            dir_gamma,
            depth: None,
            size: Draw::Fixed(1024.0),
            prealloc_percent: 100,
            single: false,
            reuse: false,
            trusttree: false,
            readonly: false,
            writeonly: false,
            sizeless: false,
            device: None,
            content: None,
        }
    }

    pub(crate) fn plan(spec: &Spec, seed: u64) -> Layout {
        Layout::plan(spec, Seed::root(seed), &mut NoVariables).unwrap()
    }

    /// Files of each directory that has some.
    fn counts(layout: &Layout) -> Vec<u32> {
        layout.directories.iter().map(|d| d.files).filter(|n| *n > 0).collect()
    }

    #[test]
    fn the_shapes_that_filebench_was_seen_to_make() {
        assert_eq!(counts(&plan(&spec(100, 10.0, 0.0), 1)), [10; 10]);
        let thousand = plan(&spec(1000, 10.0, 0.0), 1);
        assert_eq!(counts(&thousand), [10; 100]);
        assert!(thousand.directories.iter().all(|d| d.parent == 0), "ln(1000) / ln(10) is cut to 2");
        assert_eq!(counts(&plan(&spec(7, 3.0, 0.0), 1)), [3, 3, 1]);
        for (width, dir_gamma) in [(1.0, 0.0), (0.0, 0.0), (0.0, 1.5)] {
            let layout = plan(&spec(20, width, dir_gamma), 1);
            assert_eq!(layout.directories.len(), 21);
            assert!(layout.directories.iter().skip(1).all(|d| d.parent == 0));
        }
        assert_eq!(counts(&plan(&spec(1000, 1_000_000.0, 1.5), 1)), [1000]);
        assert_eq!(counts(&plan(&spec(10, 1024.0, 1.5), 1)), [10]);
        // `define file`.
        let mut path = PathBuffer::new();
        plan(&spec(1, 10.0, 0.0), 1).path_of_file(0, &mut path);
        assert_eq!(path.as_c_str(), c"00000001/00000001");
    }

    #[test]
    fn absurd_trees_are_planned_or_refused_but_never_exhaust_the_stack() {
        assert_eq!(plan(&spec(2_000_000, 1.0, 0.0), 1).directories.len(), 2_000_001);
        struct Deep(f64);
        impl Variables for Deep {
            fn mean(&self, _: VariableId) -> f64 {
                1.0
            }
            fn sample(&mut self, _: VariableId, _: &mut Generator) -> f64 {
                -1.0
            }
            fn sample_about(&mut self, _: VariableId, _: f64, _: &mut Generator) -> f64 {
                self.0
            }
        }
        let mut deep = spec(100, 1.0, 0.0);
        deep.depth = Some(Draw::Random(VariableId(0)));
        deep.width = Draw::Random(VariableId(0));
        assert_eq!(Layout::plan(&deep, Seed::root(1), &mut Deep(1e9)), Err(LayoutError::TooDeep));
        assert_eq!(Layout::plan(&deep, Seed::root(1), &mut Deep(300.0)).unwrap().directories.len(), 1 + 100 * 299);
        assert_eq!(Layout::plan(&spec(u64::MAX, 9.0, 1.0), Seed::root(1), &mut NoVariables), Err(LayoutError::TooMany));
    }

    #[test]
    fn nothing_gives_a_root_alone() {
        let layout = plan(&spec(0, 10.0, 1.5), 1);
        assert_eq!((layout.directories.len(), layout.files()), (1, 0));
    }

    #[test]
    fn the_figures_are_filebenchs() {
        let mut s = spec(10_000, 20.0, 1.5);
        s.size = Draw::Fixed(131_072.0);
        let f = plan(&s, 1).figures();
        assert_eq!((f.mean_width, format!("{:.1}", f.mean_depth)), (20, "3.1".to_owned()));
        assert_eq!(f.bytes, 10_000 * 131_072);
    }

    #[test]
    fn gamma_sizes_have_their_mean_and_vary_with_the_seed_alone() {
        let mut s = spec(20_000, 20.0, 1.5);
        s.size = Draw::Gamma { mean: 131_072.0, shape: 1.5 };
        let (one, again, two) = (plan(&s, 1), plan(&s, 1), plan(&s, 2));
        let mean = one.figures().bytes as f64 / 20_000.0;
        // Standard deviation of the mean: 131072 / sqrt(1.5 * 20000), about 757.
        assert!((mean - 131_072.0).abs() < 5.0 * 757.0, "{mean}");
        assert_eq!(one, again);
        assert_ne!(one.sizes, two.sizes);
        assert_eq!(one.fingerprint(), again.fingerprint());
        assert_ne!(one.fingerprint(), two.fingerprint());
    }

    #[test]
    fn prealloc_is_exact_and_repeats_with_the_seed() {
        let layout = plan(&spec(1000, 20.0, 0.0), 1);
        let count = |percent, seed| layout.prealloc(percent, Seed::root(seed)).files.iter().filter(|w| **w).count();
        for percent in [0, 1, 33, 50, 80, 100, 900] {
            assert_eq!(count(percent, 1), 10 * percent.min(100) as usize);
        }
        assert_eq!(layout.prealloc(50, Seed::root(1)), layout.prealloc(50, Seed::root(1)));
        assert_ne!(layout.prealloc(50, Seed::root(1)), layout.prealloc(50, Seed::root(2)));
        // 3 of 7 files: rounded from 2.8, and 1 % of 10 rounds to none.
        assert_eq!(choose(7, 40, &mut Seed::root(1).generator()).iter().filter(|w| **w).count(), 3);
        assert_eq!(choose(10, 1, &mut Seed::root(1).generator()).iter().filter(|w| **w).count(), 0);
    }

    fn check(layout: &Layout, spec: &Spec) {
        assert_eq!(layout.parents.len() as u64, spec.entries);
        assert_eq!(layout.sizes.len() as u64, spec.entries);
        assert_eq!(layout.leafdirs.len() as u64, spec.leafdirs);
        let mut path = PathBuffer::new();
        let mut paths = BTreeSet::new();
        let mut next = vec![0u32; layout.directories.len()];
        for (i, d) in layout.directories.iter().enumerate().skip(1) {
            assert!((d.parent as usize) < i);
            next[d.parent as usize] += 1;
            assert_eq!(d.serial, next[d.parent as usize], "serials of directories are contiguous");
            layout.path_of_directory(i, &mut path);
            assert!(paths.insert(path.as_bytes().to_vec()));
        }
        let mut files = vec![0u32; layout.directories.len()];
        for i in 0..layout.files() {
            let parent = layout.parents[i] as usize;
            assert_ne!(parent, 0, "the root has no files");
            files[parent] += 1;
            assert_eq!(layout.serial_of_file(i), files[parent]);
            layout.path_of_file(i, &mut path);
            assert!(paths.insert(path.as_bytes().to_vec()));
        }
        for (d, files) in layout.directories.iter().zip(&files) {
            assert_eq!(d.files, *files);
        }
        let mut next: Vec<u32> = next.iter().zip(&files).map(|(d, f)| d + f).collect();
        for (i, l) in layout.leafdirs.iter().enumerate() {
            next[l.parent as usize] += 1;
            assert_eq!(l.serial, next[l.parent as usize]);
            layout.path_of_leafdir(i, &mut path);
            assert!(paths.insert(path.as_bytes().to_vec()));
        }
        let all = layout.files() + layout.directories.len() - 1 + layout.leafdirs.len();
        assert_eq!(paths.len(), all, "every name once");
    }

    proptest! {
        #[test]
        fn every_layout_is_a_tree(entries in 0u64..1500, leafdirs in 0u64..300, width in 0u64..60, shape in 0u64..4,
                                  seed: u64, deep: bool) {
            let mut s = spec(entries, width as f64, shape as f64 * 0.5);
            s.leafdirs = leafdirs;
            s.size = Draw::Gamma { mean: 5000.0, shape: 1.5 };
            s.depth = deep.then_some(Draw::Gamma { mean: 1.0, shape: 2.0 });
            let layout = plan(&s, seed);
            check(&layout, &s);
            prop_assert_eq!(&layout, &plan(&s, seed));
            if entries > 5 {
                prop_assert_ne!(layout.sizes, plan(&s, seed.wrapping_add(1)).sizes);
            }
        }
    }
}
