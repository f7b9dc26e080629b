//! Data that compresses and repeats as it is asked to, from a seed.
//!
//! Data is a stream of blocks, each a function of the seed and of its number. Of a block the first part is random and the
//! rest one repeated byte, so it compresses to about the share that is random (as fio's and vdbench's data does). Which
//! blocks are repeated is a schedule, not chance: a *cycle* is a run of unique blocks, then the same ones again in the
//! same order until each has come as often as the ratio says. So the ratio is exact over a cycle, and a block and its
//! duplicate lie a cycle's unique blocks apart, 4 MiB where there is as much: beyond the window of the usual
//! compressors, which see no duplicates then, and the compression is that of the single block.

use crate::random::stream::Seed;
use serde::{Deserialize, Serialize};

/// Bytes of a block: what storage that stores equal blocks once compares, at least.
pub const BLOCK: usize = 4096;

/// Unique blocks of a cycle.
const UNIQUE: u64 = 1024;

/// Random bytes that each block has at least, so that no two are alike by chance.
const LEAST_RANDOM: usize = 16;

/// How data compresses and repeats. Both ratios are 1 or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Bytes of data for one of its compressed form.
    pub compress: f64,
    /// Blocks of data for one that is unique.
    pub dedup: f64,
}

impl Content {
    /// What the two attributes ask for; none where neither is given.
    pub fn of(compress: Option<f64>, dedup: Option<f64>) -> Option<Self> {
        match (compress, dedup) {
            (None, None) => None,
            _ => Some(Content { compress: compress.unwrap_or(1.0), dedup: dedup.unwrap_or(1.0) }),
        }
    }

    /// The data of a writer that goes on for any time.
    pub fn endless(self, seed: Seed) -> Stream {
        let period = (UNIQUE as f64 * self.dedup).round() as u64;
        Stream { content: self, seed, unique: UNIQUE, period, next: 0 }
    }

    /// Data of so many blocks, in cycles of equal length: the ratio is right for the whole, however little it is.
    pub fn whole(self, seed: Seed, blocks: u64) -> Stream {
        let cycles = (blocks as f64 / (UNIQUE as f64 * self.dedup)).ceil().max(1.0) as u64;
        let period = blocks.div_ceil(cycles).max(1);
        let unique = ((period as f64 / self.dedup).round() as u64).max(1);
        Stream { content: self, seed, unique, period, next: 0 }
    }
}

/// A place in a stream of blocks.
#[derive(Debug, Clone)]
pub struct Stream {
    content: Content,
    seed: Seed,
    /// Unique blocks of a cycle.
    unique: u64,
    /// Blocks of a cycle.
    period: u64,
    /// Number of the next block.
    next: u64,
}

impl Stream {
    /// Goes to a block.
    pub fn seek(&mut self, block: u64) {
        self.next = block;
    }

    /// Fills `out` with the next blocks. Where it ends within a block, the last one is as long as there is room: it
    /// compresses as the others do, and the next call goes on with the next block. Does not allocate.
    pub fn fill(&mut self, out: &mut [u8]) {
        for piece in out.chunks_mut(BLOCK) {
            // The number of the cycle, and the place among its unique blocks.
            let (cycle, at) = (self.next / self.period, self.next % self.period % self.unique);
            self.block(cycle * self.unique + at, piece);
            self.next = self.next.wrapping_add(1);
        }
    }

    fn block(&self, number: u64, out: &mut [u8]) {
        let mut generator = self.seed.index(number).generator();
        let random = (out.len() as f64 / self.content.compress).round() as usize;
        let (head, tail) = out.split_at_mut(random.max(LEAST_RANDOM).min(out.len()));
        rand::Rng::fill_bytes(&mut generator, head);
        // Not always 0: holes and blocks of zeros are more than compressed by some.
        tail.fill((number % 255) as u8 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn content(compress: f64, dedup: f64) -> Content {
        Content { compress, dedup }
    }

    fn distinct(data: &[u8]) -> usize {
        data.chunks(BLOCK).collect::<HashSet<_>>().len()
    }

    fn data(mut stream: Stream, blocks: usize) -> Vec<u8> {
        let mut out = vec![0; blocks * BLOCK];
        // In requests of three blocks, which fit no cycle.
        out.chunks_mut(3 * BLOCK).for_each(|request| stream.fill(request));
        out
    }

    #[test]
    fn one_in_so_many_blocks_is_unique() {
        for dedup in [1.0, 1.5, 2.0, 3.0, 10.0] {
            let blocks = 6 * 1024 * 5;
            let found = distinct(&data(content(50.0, dedup).endless(Seed::root(1)), blocks)) as f64;
            let asked = blocks as f64 / dedup;
            assert!((found / asked - 1.0).abs() < 0.02, "{dedup}: {found}, not {asked}");
            // Data of a known length has the ratio however short it is.
            for blocks in [1, 7, 100, 1500, 5000] {
                let found = distinct(&data(content(50.0, dedup).whole(Seed::root(1), blocks as u64), blocks)) as f64;
                let asked = (blocks as f64 / dedup).max(1.0);
                assert!((found - asked).abs() <= (asked * 0.02).max(0.5), "{dedup} {blocks}: {found}, not {asked}");
            }
        }
    }

    #[test]
    fn a_duplicate_lies_a_whole_cycle_of_unique_blocks_away() {
        let data = data(content(100.0, 3.0).endless(Seed::root(1)), 4096);
        let block = |at: usize| &data[at * BLOCK..][..BLOCK];
        assert_eq!(block(5), block(5 + 1024));
        assert_eq!(block(5), block(5 + 2048));
        assert_ne!(block(5), block(5 + 3072));
        assert_eq!(distinct(&data[..1024 * BLOCK]), 1024);
    }

    #[test]
    fn of_each_piece_the_share_is_random_that_the_ratio_says() {
        for (compress, len, random) in [(1.0, 4096, 4096), (2.0, 4096, 2048), (1.6, 4096, 2560), (4.0, 1000, 250)] {
            let mut out = vec![0; len];
            content(compress, 1.0).endless(Seed::root(3)).fill(&mut out);
            let tail = out.iter().rev().take_while(|byte| **byte == out[len - 1]).count();
            if compress > 1.0 {
                // The random part may end in the same byte by chance.
                assert!((len - tail).abs_diff(random) <= 2, "{compress}: {}", len - tail);
                assert_ne!(out[len - 1], 0);
            }
        }
        // Even a short piece tells the blocks apart.
        let mut stream = content(100.0, 1.0).endless(Seed::root(3));
        let (mut one, mut two) = ([0; 20], [0; 20]);
        stream.fill(&mut one);
        stream.fill(&mut two);
        assert_ne!(one, two);
    }

    #[test]
    fn the_seed_and_the_place_say_what_the_data_is() {
        let of = |seed| data(content(2.0, 2.0).endless(Seed::root(seed)), 9);
        assert_eq!(of(1), of(1));
        let (one, two) = (of(1), of(2));
        assert_eq!(distinct(&[one.clone(), two].concat()), 18);
        let mut stream = content(2.0, 2.0).endless(Seed::root(1));
        stream.seek(4);
        let mut out = vec![0; BLOCK];
        stream.fill(&mut out);
        assert_eq!(out, one[4 * BLOCK..5 * BLOCK]);
    }

    #[test]
    fn either_attribute_asks_for_both() {
        assert_eq!(Content::of(None, None), None);
        assert_eq!(Content::of(Some(2.0), None), Some(content(2.0, 1.0)));
        assert_eq!(Content::of(None, Some(3.0)), Some(content(1.0, 3.0)));
    }
}
