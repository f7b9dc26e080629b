//! Data with `compress` and `dedup`: measured by other means than made it. A compressor says how it compresses, and
//! the test counts the blocks of 4 KiB that differ.

use crate::support::{Bench, have};
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// All data below `--dir`, file by file.
fn data(bench: &Bench) -> Vec<Vec<u8>> {
    bench.files().iter().map(|path| std::fs::read(bench.dir.join(path)).unwrap()).collect()
}

/// Blocks, and those that differ.
fn blocks(files: &[Vec<u8>]) -> (usize, usize) {
    let all = || files.iter().flat_map(|file| file.chunks(4096));
    (all().count(), all().collect::<HashSet<_>>().len())
}

/// How many bytes `program -c` makes of the data.
fn compressed(program: &str, data: &[u8]) -> usize {
    let mut child =
        Command::new(program).args(["-3", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(data).unwrap());
        child.wait_with_output().unwrap().stdout.len()
    })
}

/// Fails where the data has other ratios than these.
#[track_caller]
fn has(files: &[Vec<u8>], compress: f64, dedup: f64) {
    let (all, distinct) = blocks(files);
    let found = all as f64 / distinct as f64;
    assert!((found / dedup - 1.0).abs() < 0.02, "dedup {found}, not {dedup}");
    let together = files.concat();
    // zstd looks 2 MiB back: in less data than this it finds the duplicates too.
    let zstd = if distinct * 4096 > 2 << 20 { &["gzip", "zstd"][..] } else { &["gzip"] };
    for program in zstd.iter().filter(|program| have(program)) {
        let found = together.len() as f64 / compressed(program, &together) as f64;
        assert!((found / compress - 1.0).abs() < 0.1, "{program}: compress {found}, not {compress}");
    }
}

/// Files that are made before the run.
fn preallocated(attributes: &str) -> Bench {
    Bench::new(&format!(
        "define fileset name=f,path=$dir,dirwidth=1000,prealloc,{attributes}
         define process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=f }} }}
         run 50ms"
    ))
}

/// Threads that make files and write them by `flowop` until all are there.
fn written(attributes: &str, threads: u32, flowop: &str) -> Bench {
    Bench::new(&format!(
        "set mode quit alldone
         define fileset name=f,path=$dir,dirwidth=1000,{attributes}
         define process name=p {{ thread name=t,instances={threads} {{
           flowop createfile name=c,filesetname=f,fd=1
           flowop {flowop}
           flowop closefile name=x,fd=1
         }} }}
         run"
    ))
}

#[test]
fn files_that_are_made_before_the_run_have_the_ratios() {
    for (compress, dedup) in [(1.0, 1.0), (2.0, 3.0), (4.0, 1.5)] {
        // Small files too, each of a size of its own: the ratios are those of the set.
        let bench = preallocated(&format!(
            "entries=300,size=randvar(type=uniform,mean=16k,min=4k,round=4k),compress={compress},dedup={dedup}"
        ));
        bench.run().exits(0);
        has(&data(&bench), compress, dedup);
        let bench = preallocated(&format!("entries=2,size=9m,compress={compress},dedup={dedup}"));
        bench.run().exits(0);
        has(&data(&bench), compress, dedup);
    }
}

#[test]
fn what_is_written_has_the_ratios() {
    // Each thread writes whole cycles: of 12 MiB at a dedup of 3, of 6 MiB at 1.5. Two threads have a file each.
    for (attributes, threads, flowop, compress, dedup) in [
        ("entries=2,size=12m", 2, "write name=w,fd=1,iosize=64k,iters=192", 2.0, 3.0),
        ("entries=2,size=12m", 2, "appendfile name=w,fd=1,iosize=128k,iters=96", 4.0, 1.5),
        ("entries=96,size=256k", 1, "writewholefile name=w,fd=1,iosize=64k", 1.0, 3.0),
        ("entries=2,size=4m", 2, "write name=w,fd=1,iosize=4k,iters=1024", 1.0, 1.0),
        // Of these each has memory of its own, and many are under way at once.
        ("entries=2,size=12m", 2, "aiowrite name=w,fd=1,iosize=64k,iters=192,outstanding=8", 2.0, 3.0),
        (
            "entries=2,size=6m",
            2,
            "fallocate name=g,fd=1,iosize=6m flowop mmapwrite name=w,fd=1,iosize=128k,iters=48",
            4.0,
            1.5,
        ),
    ] {
        let bench = written(&format!("{attributes},compress={compress},dedup={dedup}"), threads, flowop);
        let outcome = bench.run().exits(0);
        let files = data(&bench);
        assert_eq!(outcome.bytes("w"), files.iter().map(|file| file.len() as u64).sum::<u64>());
        has(&files, compress, dedup);
        if files.len() == 2 {
            // Of two threads no block is the other's: the counts add up.
            let each = files.iter().map(|file| blocks(std::slice::from_ref(file)).1).sum::<usize>();
            assert_eq!(blocks(&files).1, each);
        }
    }
}

#[test]
fn the_seed_says_what_the_data_is() {
    let made = |seed: &str| {
        let bench = Bench::new(
            "set mode quit firstdone
             define fileset name=f,path=$dir,entries=20,dirwidth=1000,size=64k,prealloc=50,compress=2
             define process name=p { thread name=t {
               flowop createfile name=c,filesetname=f,fd=1
               flowop writewholefile name=w,fd=1
               flowop closefile name=x,fd=1
               flowop finishoncount name=enough,target=x,value=10
             } }
             run",
        )
        .args(["--seed", seed]);
        bench.run().exits(0);
        data(&bench)
    };
    let (one, two) = (made("1"), made("2"));
    assert_eq!(one, made("1"));
    let (all, distinct) = blocks(&[one, two].concat());
    assert_eq!((all, distinct), (2 * 20 * 16, 2 * 20 * 16));
}

#[test]
fn a_tree_that_is_used_again_has_the_content_that_is_asked_for_now() {
    let of = |compress: u32| preallocated(&format!("entries=40,size=64k,reuse,compress={compress}"));
    let first = of(1);
    first.run().exits(0);
    let before = data(&first);
    let again = of(1).at(&first.dir);
    again.run().exits(0);
    assert_eq!(data(&again), before);
    let other = of(4).at(&first.dir);
    other.run().exits(0);
    has(&data(&other), 4.0, 1.0);
}
