//! Flowops that filebench never had, and those that it has and that did not wait: what is on the disk afterwards.

use crate::support::{Bench, Outcome};
use std::os::unix::fs::MetadataExt;

/// One thread that comes to its end by its counts.
fn counted(sets: &str, flowops: &str) -> Bench {
    Bench::new(&format!(
        "set mode quit alldone\n{sets}\ndefine process name=p {{ thread name=t,memsize=64k {{\n{flowops}\n}} }}\nrun\n"
    ))
}

/// A file of zeros of 256 KiB.
const FILE: &str = "define file name=f,path=$dir,size=256k,prealloc";

fn content(bench: &Bench) -> Vec<u8> {
    let files = bench.files();
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::read(bench.dir.join(&files[0])).unwrap()
}

#[track_caller]
fn in_flight(outcome: &Outcome, name: &str) -> u64 {
    outcome.flowop(name)["in_flight"].as_u64().unwrap()
}

#[test]
fn submitted_writes_are_all_there_and_each_is_whole() {
    for model in ["processes", "threads"] {
        let bench = counted(
            FILE,
            "flowop aiowrite name=w,filename=f,iosize=4k,iters=64,outstanding=4
             flowop aiowait name=wait,value=0
             flowop finishoncount name=enough,value=64,target=w",
        )
        .args(["--process-model", model]);
        let outcome = bench.run().exits(0);
        assert_eq!((outcome.ops("w"), outcome.bytes("w"), outcome.ops("wait")), (64, 256 << 10, 1), "{model}");
        assert_eq!((in_flight(&outcome, "w"), &outcome.flowop("wait")["class"]), (0, &"control".into()));
        let content = content(&bench);
        assert_eq!(content.len(), 256 << 10);
        // Each of the four that may be under way has memory of its own, which nobody has touched meanwhile.
        let blocks: std::collections::BTreeSet<&[u8]> = content.chunks(4096).collect();
        assert!(!blocks.contains([0; 4096].as_slice()), "a block that was not written");
        assert!(blocks.len() <= 4, "{} different blocks", blocks.len());
    }
}

#[test]
fn what_is_under_way_at_a_threads_end_counts_where_the_run_goes_on() {
    let bench = counted(
        FILE,
        "flowop aioread name=r,filename=f,iosize=4k,iters=64
         flowop closefile name=c
         flowop aioread name=last,filename=f,iosize=4k,iters=10
         flowop finishoncount name=enough,value=1,target=c",
    );
    let outcome = bench.run().exits(0);
    // The close waits for what is under way on its slot.
    assert_eq!((outcome.ops("r"), outcome.bytes("r"), outcome.ops("c")), (64, 256 << 10, 1));
    assert_eq!((outcome.ops("last"), in_flight(&outcome, "last")), (10, 0));
}

#[test]
fn a_run_of_submitted_operations_is_exact() {
    let text = "define file name=f,path=$dir,size=64k,prealloc
        define process name=p { thread name=t {
          flowop aiowrite name=w,filename=f,iosize=4k,random,iters=4
          flowop aiowait name=half
          flowop aiowait name=rest,value=0
        } }
        run 100ms";
    let outcome = Bench::new(text).args(["--engine", "fake:open=0,write=30ms"]).run().exits(0);
    // Rounds of 30 ms, and a fourth that ends at 120 ms.
    assert_eq!((outcome.ops("w"), in_flight(&outcome, "w")), (12, 4));
    assert_eq!((outcome.ops("half"), in_flight(&outcome, "half")), (3, 1));
    // All four end at once, so nothing is left to wait for.
    assert_eq!(outcome.ops("rest"), 0);
    for name in ["w", "half"] {
        let latency = &outcome.flowop(name)["latency_ns"];
        assert_eq!((latency["min"].as_u64(), latency["max"].as_u64()), (Some(30_000_000), Some(30_000_000)));
    }
    let total = &outcome.only_run()["total"];
    assert_eq!((total["ops"].as_u64(), total["bytes_written"].as_u64()), (Some(12), Some(12 * 4096)));
    // On the engine without a kernel each is complete at once.
    let outcome = Bench::new(text).args(["--engine", "null"]).run().exits(0);
    assert!(outcome.ops("w") >= 4 * outcome.ops("half"));
}

#[test]
fn a_submitted_write_that_fails_ends_the_run_and_is_named() {
    let text = "define file name=f,path=$dir,size=64k,prealloc
        define process name=p { thread name=t {
          flowop aiowrite name=w,filename=f,iosize=4k,random,workingset=64m,iters=50
          flowop aiowait name=wait
        } }
        run 60";
    let limited = ["bash", "-c", "ulimit -f 1024; exec \"$@\"", "-"];
    let outcome = Bench::new(text).under(limited).run().exits(1).says("aiowrite of 4096 bytes at ").says("EFBIG");
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["valid"]), (&"error".into(), &false.into()));
    assert!(outcome.flowop("w")["errors"]["EFBIG"].as_u64().unwrap() >= 1);
    assert_eq!((&run["failures"][0]["flowop"], &run["failures"][0]["errno"]), (&"w".into(), &"EFBIG".into()));
}

#[test]
fn mistakes_are_found_before_the_start() {
    let check = |flowops: &str| counted(FILE, flowops).args(["--dir", "."]).check();
    check("flowop read name=r,filename=f,iosize=4k\nflowop aiowait name=w,target=r")
        .exits(2)
        .says("'r' is a flowop read, not aioread or aiowrite");
    check("flowop aiowait name=w\nflowop statfile name=s,filename=f")
        .exits(0)
        .says("w has nothing to do: its thread has no flowop aioread or aiowrite");
    check("flowop lseek name=l,filename=f,whence=end").exits(2).says("data or hole");
    // Its memory is its own; what is mapped is copied to and from the thread's.
    check("flowop aiowrite name=w,filename=f,iosize=128k\nflowop aiowait name=x,target=w").exits(0);
    check("flowop mmapread name=m,filename=f,iosize=128k").exits(2).says("memsize");
    let sets = "define fileset name=a,path=$dir,entries=2,dirwidth=9,writeonly
                define fileset name=b,path=$dir,entries=2,dirwidth=9,readonly";
    let access = |flowop: &str| counted(sets, flowop).args(["--dir", "."]).check().exits(2);
    access("flowop copyfile name=c,filesetname=a,source=a").says("'a' is writeonly");
    access("flowop copyfile name=c,filesetname=a").says("'a' is writeonly");
    access("flowop copyfile name=c,filesetname=b").says("'b' is readonly");
    for written in ["truncate name=x,value=1", "fallocate name=x,iosize=4k", "mmapwrite name=x,iosize=4k"] {
        access(&format!("flowop {written},filesetname=b")).says("'b' is readonly");
    }
    access("flowop mmapread name=m,filesetname=a,iosize=4k").says("'a' is writeonly");
}

#[test]
fn a_file_is_cut_and_grown_to_the_size_that_is_asked_for() {
    let cut = |flowops: &str| {
        let bench = counted(FILE, flowops);
        let outcome = bench.run().exits(0);
        assert_eq!(outcome.ops("t"), 1);
        bench.sizes()
    };
    let enough = "flowop finishoncount name=enough,value=1,target=t";
    assert_eq!(cut(&format!("flowop truncate name=t,filename=f,value=12345\n{enough}")), [12_345]);
    let open = "flowop openfile name=o,filename=f,fd=1\nflowop truncate name=t,fd=1,value=1m";
    assert_eq!(cut(&format!("{open}\n{enough}")), [1 << 20]);
}

#[test]
fn space_is_given_at_the_end_and_past_it_and_taken_out_of_the_middle() {
    let blocks = |flowop: &str| {
        let bench = counted(
            FILE,
            &format!(
                "flowop writewholefile name=w,filename=f,iosize=64k
                 flowop fsync name=s
                 flowop fallocate name=a,{flowop}
                 flowop finishoncount name=enough,value=1,target=a"
            ),
        );
        let outcome = bench.run();
        if outcome.code == 1 && outcome.stderr.contains("EOPNOTSUPP") {
            println!("skipped: the file system has no {flowop}");
            return None;
        }
        let outcome = outcome.exits(0);
        assert_eq!((outcome.ops("a"), outcome.bytes("a")), (1, 0));
        let metadata = bench.dir.join(&bench.files()[0]).metadata().unwrap();
        Some((metadata.len() >> 10, metadata.blocks() / 2))
    };
    // In KiB; the file system may take some for itself.
    if let Some((size, space)) = blocks("iosize=512k") {
        assert!(size == 768 && space >= 768, "{size} {space}");
    }
    if let Some((size, space)) = blocks("iosize=512k,keepsize") {
        assert!(size == 256 && space >= 768, "{size} {space}");
    }
    if let Some((size, space)) = blocks("iosize=128k,punch") {
        assert!(size == 256 && (128..256).contains(&space), "{size} {space}");
    }
}

#[test]
fn a_copy_has_the_content_of_its_source_and_both_directions_count() {
    let bench = counted(
        "define fileset name=old,path=$dir,entries=1,dirwidth=9,size=100k,prealloc
         define fileset name=new,path=$dir,entries=3,dirwidth=9,size=100k",
        "flowop writewholefile name=w,filename=old,iosize=64k
         flowop closefile name=x
         flowop copyfile name=c,filesetname=new,source=old,iosize=40k,iters=3
         flowop finishoncount name=enough,value=3,target=c",
    );
    let outcome = bench.run();
    if outcome.code == 1 && ["EOPNOTSUPP", "ENOSYS", "EXDEV", "EINVAL"].iter().any(|e| outcome.stderr.contains(e)) {
        println!("skipped: no copy_file_range on this file system");
        return;
    }
    let outcome = outcome.exits(0);
    let copy = outcome.flowop("c");
    assert_eq!((copy["ops"].as_u64(), copy["bytes_read"].as_u64()), (Some(3), Some(300 << 10)));
    assert_eq!(copy["bytes_written"], copy["bytes_read"]);
    let files = bench.files();
    assert_eq!(files.len(), 4, "{files:?}");
    let content: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(bench.dir.join(file)).unwrap()).collect();
    assert_eq!(content[0].len(), 100 << 10);
    assert!(content.iter().all(|other| *other == content[0]));
}

#[test]
fn what_is_written_to_a_mapping_is_in_the_file() {
    let bench = counted(
        FILE,
        "flowop mmapwrite name=w,filename=f,iosize=24k,iters=11
         flowop fsync name=s
         flowop mmapread name=r,filename=f,iosize=24k,iters=11
         flowop mmapread name=rr,filename=f,iosize=4k,iters=100,random
         flowop closefile name=c
         flowop finishoncount name=enough,value=1,target=c",
    );
    let outcome = bench.run().exits(0);
    // Ten of 24 KiB, and 16 KiB that are left.
    assert_eq!((outcome.ops("w"), outcome.bytes("w"), outcome.bytes("r")), (11, 256 << 10, 256 << 10));
    assert_eq!((outcome.bytes("rr"), outcome.flowop("rr")["class"].as_str()), (100 * 4096, Some("read")));
    let content = content(&bench);
    assert_eq!(content.len(), 256 << 10);
    assert!(content.chunks(1024).all(|block| block.iter().any(|byte| *byte != 0)), "a block that was not written");
}

#[test]
fn a_mapped_file_that_is_cut_kills_its_worker_and_the_report_says_so() {
    let bench = counted(
        FILE,
        "flowop mmapread name=r1,filename=f,iosize=4k
         flowop truncate name=t,value=0
         flowop mmapread name=r2,filename=f,iosize=4k,iters=2",
    );
    bench.run().exits(1).says("SIGBUS");
}

#[test]
fn locks_keep_others_out_and_end_with_the_run() {
    let text = "define file name=f,path=$dir,size=4k,prealloc
        define process name=p,instances=3 { thread name=t,instances=2 {
          flowop openfile name=o,filename=f,fd=1
          flowop flock name=lock,fd=1
          flowop delay name=hold,value=1ms
          flowop flock name=unlock,fd=1,unlock
          flowop flock name=share,fd=1,shared
          flowop closefile name=c,fd=1
        } }
        run 400ms";
    let outcome = Bench::new(text).run().exits(0);
    let held = outcome.ops("hold");
    // One after the other: at most 400 of 1 ms fit, however many want it.
    assert!(held > 0 && held <= 400, "{held}");
    assert!(outcome.ops("share") > 0);
    assert_eq!(outcome.only_run()["total"]["errors"], 0);
}

#[test]
fn holes_are_found_and_a_whole_file_system_is_flushed() {
    let bench = counted(
        "define file name=f,path=$dir,size=64k,prealloc",
        "flowop lseek name=hole,filename=f,whence=hole,iters=2
         flowop lseek name=data,filename=f,whence=data,random,iters=20
         flowop syncfs name=sync,filename=f
         flowop finishoncount name=enough,value=1,target=sync",
    );
    let outcome = bench.run().exits(0);
    assert_eq!(["hole", "data", "sync"].map(|name| outcome.ops(name)), [2, 20, 1]);
    assert_eq!(outcome.flowop("sync")["class"], "metadata");
}

/// What was submitted in the warm-up is of no measurement, whenever it ends.
#[test]
fn operations_under_way_when_the_warm_up_ends_do_not_count() {
    let text = "define file name=f,path=$dir,size=1m,prealloc\n\
        define process name=p { thread name=t {\n\
        flowop aiowrite name=w,filename=f,iosize=4k,random\n flowop aiowait name=a,value=0 } }\n\
        warmup 1050us\nrun 10ms";
    let outcome = Bench::new(text).args(["--engine", "fake:write=100us,other=1us"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let run = outcome.only_run();
    let write = &run["flowops"][0];
    // The file is opened in 1 us; the eleventh write begins at 1001 us and is of the warm-up.
    assert_eq!((&write["ops"], &write["bytes_written"]), (&99.into(), &(99 * 4096).into()), "{run}");
    let latency = &write["latency_ns"];
    assert_eq!((&latency["min"], &latency["max"]), (&100_000.into(), &100_000.into()));
}
