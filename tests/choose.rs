//! Which file a flowop takes, and values of a file: through the binary, counted on the disk.

use crate::support::Bench;
use std::path::Path;

/// A thread appends one byte to a file of 50 at each turn, so that a file's size says how often it was taken.
fn appends(pick: &str) -> Vec<u64> {
    let bench = Bench::new(&format!(
        "set mode quit firstdone
         define fileset name=f,path=$dir,entries=50,dirwidth=1000,size=0,prealloc
         define process name=p {{ thread name=t {{
           flowop appendfile name=a,filesetname=f,iosize=1,{pick}
           flowop closefile name=c
           flowop finishoncount name=enough,target=a,value=10000
         }} }}
         run"
    ));
    let outcome = bench.run().exits(0);
    let sizes = bench.sizes();
    assert_eq!(sizes.len(), 50);
    assert_eq!((sizes.iter().sum::<u64>(), outcome.bytes("a")), (10_000, 10_000));
    sizes
}

#[track_caller]
fn follows(counts: &[u64], weights: &[f64]) {
    let n = counts.iter().sum::<u64>() as f64;
    let chi: f64 = counts.iter().zip(weights).map(|(c, w)| (*c as f64 - n * w).powi(2) / (n * w)).sum();
    let freedom = counts.len() as f64 - 1.0;
    assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} at {freedom} degrees: {counts:?}");
}

#[test]
fn files_are_picked_by_the_distribution_that_is_asked_for() {
    follows(&appends("pick=random"), &[1.0 / 50.0; 50]);
    let zipf: Vec<f64> = (1..=50).map(|k| f64::from(k).powf(-0.9)).collect();
    let sum: f64 = zipf.iter().sum();
    // The number of files is the number of ranks, without a word.
    let zipf: Vec<f64> = zipf.iter().map(|w| w / sum).collect();
    let counts = appends("pick=zipf(theta=0.9)");
    follows(&counts, &zipf);
    let hot: Vec<f64> = (0..50).map(|i| if i < 10 { 0.08 } else { 0.005 }).collect();
    follows(&appends("pick=hotspot(share=80,of=20)"), &hot);
    // Scrambled, the same counts lie elsewhere.
    let mut scrambled = appends("pick=zipf(theta=0.9,scramble=1)");
    assert!(scrambled[0] > 2 * scrambled[1], "{scrambled:?}");
    scrambled.sort_unstable_by(|a, b| b.cmp(a));
    assert!(scrambled[0].abs_diff(counts[0]) < counts[0] / 5);
}

#[test]
fn creating_and_deleting_at_random_keeps_the_books_right() {
    // Once more files come than go, and all is full at the end; once there are as many.
    for n in [0, 1] {
        let bench = Bench::new(&format!(
            "set mode quit alldone
             define fileset name=f,path=$dir,entries=200,dirwidth=20,size=0,prealloc=50
             define process name=p,instances=2 {{ thread name=t,instances=4 {{
               flowop createfile name=create,filesetname=f,fd=1,pick=random
               flowop closefile name=close,fd=1
               flowop deletefile name=delete,filesetname=f,pick=random,iters={n}
               flowop finishoncount name=enough,target=create,value=1000
             }} }}
             run"
        ));
        let outcome = bench.run().exits(0);
        let left = 100 + outcome.ops("create") - outcome.ops("delete");
        assert_eq!(bench.files().len() as u64, left);
        assert_eq!(left == 200, n == 0);
    }
}

#[test]
fn sizes_come_from_a_file_of_values() {
    let text = |file: &str| {
        format!(
            "define fileset name=f,path=$dir,entries=400,dirwidth=1000,prealloc,size=empirical(file=\"{file}\")
             define process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=f }} }}
             run 50ms"
        )
    };
    let bench = Bench::new(&text("sizes.txt"));
    std::fs::write(bench.scratch.path().join("sizes.txt"), "# found in the field\n1k\n4k 3\n").unwrap();
    bench.run().exits(0);
    let sizes = bench.sizes();
    let large = sizes.iter().filter(|size| **size == 4096).count();
    assert!(sizes.iter().all(|size| [1024, 4096].contains(size)));
    assert!((265..335).contains(&large), "{large}");

    // A mistake is found before anything is touched, with its line.
    std::fs::write(bench.scratch.path().join("sizes.txt"), "1k\nlarge\n").unwrap();
    bench.run().exits(2).says("sizes.txt: line 2: 'large' is not a number");
    Bench::new(&text("nowhere.txt")).run().exits(2).says("nowhere.txt cannot be read: No such file");
    Bench::new(&text("/dev/zero")).run().exits(2).says("it is not a regular file");
    let large = Bench::new(&text("sizes.txt"));
    std::fs::File::create(large.scratch.path().join("sizes.txt")).unwrap().set_len((16 << 20) + 1).unwrap();
    large.run().exits(2).says("it has more than 16777216 bytes");

    // A path that is not beside the workload's file is one of the working directory.
    let far = Bench::new(&text("sizes.txt"));
    let elsewhere = tempfile::tempdir().unwrap();
    let workload = elsewhere.path().join("w.wl");
    std::fs::write(&workload, text("sizes.txt")).unwrap();
    std::fs::write(far.scratch.path().join("sizes.txt"), "2k\n").unwrap();
    let output = std::process::Command::new(crate::support::WLRUN)
        .args([workload.as_path(), Path::new("--dir"), &far.dir])
        .current_dir(far.scratch.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(far.sizes().iter().all(|size| *size == 2048));
}
