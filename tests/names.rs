//! Flowops on names and attributes, on a real file system: what is reported is compared with the tree that is left, and
//! with the kernel's own account of the calls.

use crate::strace;
use crate::support::{Bench, Outcome, has_attributes, unmark};
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A workload of one thread in one process.
fn one_thread(filesets: &str, flowops: &str) -> String {
    format!(
        "set mode quit firstdone\n{filesets}\ndefine process name=p {{ thread name=t {{\n{flowops}\n}} }}\nrun 60\n"
    )
}

/// A set of 40 files of different sizes in 9 directories or so, of which so many per cent exist.
fn set(name: &str, prealloc: u32) -> String {
    let size = "cvar(type=cvar-gamma,parameters=mean:3000;gamma:1.5)";
    format!("define fileset name={name},path=$dir,entries=40,dirwidth=5,size={size},prealloc={prealloc}\n")
}

fn two_sets() -> String {
    set("a", 100) + &set("b", 0)
}

/// Makes sets and lists a directory of one.
fn only_made(filesets: &str, set: &str) -> String {
    let flowops = format!("flowop listdir name=l,filesetname={set}\nflowop finishoncount name=enough,value=1");
    one_thread(filesets, &flowops)
}

/// Names below `--dir` that are no directories, in order; links are not followed.
fn names(bench: &Bench, set: &str) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![bench.dir.join(set)]);
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() { todo.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Directories below the root of a set.
fn directories(root: &Path) -> usize {
    let below = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    below.map(|path| 1 + directories(&path)).sum()
}

fn sizes(paths: &[PathBuf]) -> Vec<u64> {
    let mut sizes: Vec<u64> = paths.iter().map(|path| path.metadata().unwrap().len()).collect();
    sizes.sort_unstable();
    sizes
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 65_536];
    let length = rustix::fs::getxattr(path, name, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

/// How often the workers made these calls with a name below a set, or with an absolute one; none where nothing can be
/// traced.
fn traced(bench: Bench, calls: &[&str]) -> Option<(Outcome, Vec<u64>)> {
    let (_bench, outcome, log) = strace::traced(bench, &calls.join(","))?;
    let found = strace::calls(&log);
    let named = |call: &&strace::Call<'_>| call.arguments.starts_with(|c: char| c.is_ascii_digit() || c == '"');
    let count = |name: &&str| found.iter().filter(named).filter(|call| call.name == *name).count() as u64;
    Some((outcome.exits(0), calls.iter().map(count).collect()))
}

#[test]
fn names_move_from_set_to_set_and_the_files_keep_their_sizes() {
    let text = one_thread(
        &two_sets(),
        "flowop rename name=r,filesetname=b,source=a
         flowop finishoncount name=enough,value=30,target=r",
    );
    let bench = Bench::new(&text);
    assert_eq!(bench.run().exits(0).ops("r"), 30);
    assert_eq!((names(&bench, "a").len(), names(&bench, "b").len()), (10, 30));
    let plain = Bench::new(&only_made(&two_sets(), "a"));
    plain.run().exits(0);
    let all: Vec<PathBuf> = ["a", "b"].iter().flat_map(|set| names(&bench, set)).collect();
    assert_eq!(sizes(&all), sizes(&names(&plain, "a")));
    let rest: BTreeSet<PathBuf> = bench.files().into_iter().collect();
    assert!(plain.files().iter().filter(|path| !rest.contains(*path)).count() >= 20, "names of a are gone");
}

#[test]
fn no_file_is_lost_where_many_threads_rename_and_write_in_one_set() {
    for prealloc in [50, 97] {
        let fileset = set("f", prealloc);
        let text = format!(
            "{fileset}
             define process name=p,instances=2 {{ thread name=t,instances=4 {{
               flowop rename name=r,filesetname=f,iters=3
               flowop openfile name=o,filesetname=f,fd=1
               flowop writewholefile name=w,fd=1
               flowop closefile name=c,fd=1
             }} }}
             run 1\n"
        );
        let bench = Bench::new(&text);
        let outcome = bench.run().exits(0);
        assert_eq!(outcome.only_run()["ended"], "time", "{}", outcome.stderr);
        assert!(outcome.ops("r") > 0 && outcome.ops("w") > 0);
        let plain = Bench::new(&only_made(&fileset, "f"));
        plain.run().exits(0);
        // A file that is written with the size of another one would have grown.
        assert_eq!(sizes(&names(&bench, "f")), sizes(&names(&plain, "f")));
    }
}

#[test]
fn links_are_second_names_of_the_files() {
    let text = one_thread(
        &two_sets(),
        "flowop link name=l,filesetname=b,source=a
         flowop finishoncount name=enough,value=25,target=l",
    );
    let bench = Bench::new(&text);
    assert_eq!(bench.run().exits(0).ops("l"), 25);
    let inode = |path: &PathBuf| path.metadata().unwrap().ino();
    let originals: BTreeSet<u64> = names(&bench, "a").iter().map(inode).collect();
    let links = names(&bench, "b");
    assert_eq!(links.len(), 25);
    assert!(links.iter().all(|path| originals.contains(&inode(path)) && path.metadata().unwrap().nlink() == 2));
}

#[test]
fn a_set_with_links_in_it_is_whole_again_after_a_run_with_reuse() {
    let fileset = "define fileset name=f,path=$dir,entries=40,dirwidth=5,size=2k,reuse,prealloc=50\n";
    let flowops = "flowop deletefile name=d,filesetname=f,iters=5
                   flowop link name=l,filesetname=f,iters=10
                   flowop symlink name=s,filesetname=f,iters=5
                   flowop finishoncount name=enough,value=5,target=s";
    let bench = Bench::new(&one_thread(fileset, flowops));
    bench.run().exits(0);
    assert!(names(&bench, "f").iter().any(|path| path.is_symlink()));
    let reads = Bench::new(&one_thread(fileset, "flowop statfile name=s,filesetname=f,iters=99")).at(&bench.dir);
    let reads = reads.args(["--runtime", "1"]);
    assert!(reads.run().exits(0).ops("s") > 0);
    assert!(
        names(&bench, "f").iter().any(|path| path.metadata().unwrap().nlink() > 1),
        "who only reads may read links"
    );
    let again = "flowop chmod name=c,filesetname=f\nflowop finishoncount name=enough,value=1";
    Bench::new(&one_thread(fileset, again)).at(&bench.dir).run().exits(0);
    let paths = names(&bench, "f");
    assert_eq!(paths.len(), 20);
    let alone = |path: &PathBuf| path.symlink_metadata().is_ok_and(|m| m.is_file() && m.nlink() == 1);
    assert!(paths.iter().all(alone));
    // And a tree with links is emptied as any other.
    bench.run().exits(0);
    let anew = Bench::new(&one_thread(&set("f", 50), flowops)).at(&bench.dir).args(["--remove"]);
    anew.run().exits(0);
    assert!(!bench.dir.join("f").exists());
}

#[test]
fn symbolic_links_lead_to_files_of_the_other_set_and_are_read_and_opened() {
    let text = one_thread(
        &format!("{}define fileset name=b,path=$dir/deep/er,entries=40,dirwidth=3,size=1k\n", set("a", 100)),
        "flowop symlink name=s,filesetname=b,source=a
         flowop readlink name=l,filesetname=b,iters=2
         flowop openfile name=o,filesetname=b,fd=1
         flowop readwholefile name=r,fd=1
         flowop closefile name=c,fd=1
         flowop finishoncount name=enough,value=30,target=s",
    );
    let bench = Bench::new(&text);
    // The way to --dir has a link in it, which the links must not depend on.
    let real = bench.scratch.path().join("real/place");
    std::fs::create_dir_all(&real).unwrap();
    let way = bench.scratch.path().join("way");
    std::os::unix::fs::symlink(&real, &way).unwrap();
    let bench = bench.at(&way);
    let outcome = bench.run().exits(0);
    assert_eq!((outcome.ops("s"), outcome.ops("l"), outcome.ops("r")), (30, 60, 30));
    assert!(outcome.bytes("r") > 30 * 100, "the size of the file that the link leads to");
    assert_eq!(outcome.bytes("l"), 0);
    let links = names(&bench, "deep/er/b");
    assert_eq!(links.len(), 30);
    let targets: BTreeSet<PathBuf> = links.iter().map(|path| path.canonicalize().unwrap()).collect();
    let files: BTreeSet<PathBuf> = names(&bench, "a").iter().map(|path| path.canonicalize().unwrap()).collect();
    assert!(targets.is_subset(&files) && targets.len() == 30);
    assert!(links.iter().all(|path| path.read_link().unwrap().is_relative()));
}

#[test]
fn a_file_is_no_symbolic_link() {
    let bench = Bench::new(&one_thread(&set("a", 100), "flowop readlink name=l,filesetname=a"));
    bench.run().exits(1).says("EINVAL").says("it is no symbolic link");
}

#[test]
fn permissions_and_times_are_those_that_were_set() {
    let text = one_thread(
        &(set("a", 100) + &set("b", 100) + &set("c", 100)).replace("prealloc", "reuse,prealloc"),
        "flowop chmod name=c,filesetname=a,mode=0640
         flowop utimes name=u,filesetname=c
         flowop openfile name=o,filesetname=b,fd=1
         flowop chmod name=d,fd=1
         flowop utimes name=v,fd=1
         flowop closefile name=x,fd=1
         flowop finishoncount name=enough,value=40,target=c",
    );
    let bench = Bench::new(&text);
    bench.run().exits(0);
    let all = || ["b", "c"].into_iter().flat_map(|set| names(&bench, set));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    for path in all() {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let outcome = bench.run().exits(0);
    assert_eq!(["c", "u", "d", "v"].map(|name| outcome.ops(name)), [40; 4]);
    let modes = |set: &str| -> Vec<u32> {
        let mode = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o7777;
        names(&bench, set).iter().map(mode).collect()
    };
    assert_eq!(modes("a"), [0o640; 40]);
    assert_eq!(modes("b"), [0o644, 0o600].repeat(20));
    assert!(all().all(|path| path.metadata().unwrap().modified().unwrap() > long_ago));
}

#[test]
fn extended_attributes_are_set_and_read() {
    let text = one_thread(
        &set("a", 100),
        "flowop setxattr name=s,filesetname=a,attr=user.test,iosize=300
         flowop openfile name=o,filesetname=a,fd=1
         flowop setxattr name=t,fd=1,iosize=10
         flowop getxattr name=g,fd=1
         flowop listxattr name=l,fd=1
         flowop closefile name=c,fd=1
         flowop getxattr name=h,filesetname=a,attr=user.test,iosize=300
         flowop listxattr name=m,filesetname=a
         flowop finishoncount name=enough,value=40,target=s",
    );
    let bench = Bench::new(&text);
    if !has_attributes(&bench.dir) {
        return;
    }
    // In rotation each of the four takes every fourth entry, so the one that reads comes upon files that have nothing:
    // `indexed` gives all of them the same one.
    let text = text.replace("filesetname=a,attr", "filesetname=a,indexed=7,attr");
    let bench = Bench::new(&text);
    let outcome = bench.run().exits(0);
    let names_of = ["s", "t", "g", "l", "h", "m"];
    assert_eq!(names_of.map(|name| outcome.ops(name)), [40; 6]);
    assert_eq!(names_of.map(|name| outcome.bytes(name)), [0; 6]);
    let lengths = |name: &str| -> Vec<usize> {
        names(&bench, "a").iter().filter_map(|path| Some(attribute(path, name)?.len())).collect()
    };
    assert_eq!(lengths("user.test"), [300]);
    assert!(!lengths("user.wlrun.test").is_empty());
    assert!(lengths("user.wlrun.test").iter().all(|length| *length == 10));
    assert!(crate::support::mark(&bench.dir.join("a")).is_some());

    let bench = Bench::new(&one_thread(&set("a", 100), "flowop getxattr name=g,filesetname=a"));
    bench.run().exits(1).says("ENODATA").says("a setxattr has to set it first");

    // By name; those by descriptor are the controller's too, for its marks.
    if let Some((_, seen)) = traced(Bench::new(&text), &["setxattr", "getxattr", "listxattr"]) {
        assert_eq!(seen, [40; 3]);
    }
}

#[test]
fn directories_of_files_go_and_come_back_and_reuse_makes_those_that_are_missing() {
    let fileset = set("f", 0).replace("prealloc", "reuse,prealloc");
    let bench = Bench::new(&one_thread(&fileset, "flowop rmdir name=r,filesetname=f"));
    let plain = Bench::new(&only_made(&fileset, "f"));
    plain.run().exits(0);
    let outcome = bench.run().exits(0);
    let (all, left) = (directories(&plain.dir.join("f")), directories(&bench.dir.join("f")));
    assert!(outcome.ops("r") > 3);
    assert_eq!(left as u64, all as u64 - outcome.ops("r"));
    // The next run finds all of them again.
    assert_eq!(bench.run().exits(0).ops("r"), outcome.ops("r"));
    let make = one_thread(
        &fileset,
        "flowop rmdir name=r,filesetname=f,iters=2
         flowop mkdir name=m,filesetname=f,iters=2
         flowop createfile name=c,filesetname=f,fd=1
         flowop closefile name=x,fd=1
         flowop deletefile name=d,filesetname=f
         flowop finishoncount name=enough,value=50,target=m",
    );
    let made = Bench::new(&make).at(&bench.dir).run().exits(0);
    assert_eq!((made.ops("r"), made.ops("m"), made.ops("c")), (50, 50, 25));
    assert_eq!(directories(&bench.dir.join("f")), all);
}

#[test]
fn a_directory_with_files_in_it_is_not_removed_and_one_that_was_removed_takes_no_file() {
    let bench = Bench::new(&one_thread(&set("f", 100), "flowop rmdir name=r,filesetname=f"));
    bench.run().exits(1).says("ENOTEMPTY").says("its files must be deleted first");
    assert_eq!(names(&bench, "f").len(), 40);
    for flowop in [
        "createfile name=c,filesetname=f",
        "link name=c,filesetname=f,source=a",
        "copyfile name=c,filesetname=f,source=a",
    ] {
        let fileset = set("f", 0).replace("dirwidth=5", "dirwidth=100") + &set("a", 100);
        let flowops = format!("flowop rmdir name=r,filesetname=f\nflowop {flowop}");
        Bench::new(&one_thread(&fileset, &flowops)).run().exits(1).says("ENOENT").says("mkdir has to make it again");
    }
}

#[test]
fn leaf_directories_are_made_looked_at_and_removed() {
    let text = one_thread(
        "define fileset name=f,path=$dir,entries=0,leafdirs=50,dirwidth=7",
        "flowop makedir name=m,filesetname=f,iters=3
         flowop statdir name=s,filesetname=f,iters=5
         flowop removedir name=r,filesetname=f,iters=2
         flowop finishoncount name=enough,value=20,target=r",
    );
    let outcome = Bench::new(&text).run().exits(0);
    assert_eq!(["m", "s", "r"].map(|name| outcome.ops(name)), [30, 50, 20]);
}

#[test]
fn the_kernel_saw_the_calls_that_are_reported() {
    let text = one_thread(
        &(set("a", 50) + &set("b", 0)),
        "flowop rename name=rename,filesetname=a,iters=3
         flowop link name=link,filesetname=b,source=a
         flowop deletefile name=delete,filesetname=b
         flowop symlink name=symlink,filesetname=b,source=a
         flowop readlink name=readlink,filesetname=b,iters=2
         flowop deletefile name=delete2,filesetname=b
         flowop chmod name=chmod,filesetname=a,iters=4
         flowop utimes name=utimes,filesetname=a,iters=5
         flowop finishoncount name=enough,value=20,target=link",
    );
    let calls = ["renameat,renameat2", "linkat", "symlinkat", "readlinkat", "fchmodat", "utimensat"];
    let calls: Vec<&str> = calls.iter().flat_map(|names| names.split(',')).collect();
    let Some((outcome, seen)) = traced(Bench::new(&text), &calls) else { return };
    let reported = ["rename", "link", "symlink", "readlink", "chmod", "utimes"].map(|name| outcome.ops(name));
    assert_eq!(reported, [60, 20, 20, 40, 80, 100]);
    let [renamed, renamed2, rest @ ..] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((renamed + renamed2, rest), (60, &reported[1..]));
}

#[test]
fn without_a_kernel_all_of_them_run_too() {
    let text = one_thread(
        &(set("a", 50) + &set("b", 0) + "define fileset name=d,path=$dir,leafdirs=9,entries=0,dirwidth=3,prealloc\n"),
        "flowop rename name=n1,filesetname=a
         flowop link name=n2,filesetname=b,source=a
         flowop symlink name=n3,filesetname=b,source=a
         flowop readlink name=n4,filesetname=b
         flowop chmod name=n5,filesetname=a
         flowop utimes name=n6,filesetname=a
         flowop setxattr name=n7,filesetname=a
         flowop getxattr name=n8,filesetname=a
         flowop listxattr name=n9,filesetname=a
         flowop rmdir name=n10,filesetname=a
         flowop mkdir name=n11,filesetname=a
         flowop statdir name=n12,filesetname=d
         flowop finishoncount name=enough,value=10,target=n12",
    );
    let bench = Bench::new(&text).args(["--engine", "null"]);
    let outcome = bench.run().exits(0);
    assert!((1..=12).all(|n| outcome.ops(&format!("n{n}")) == 10));
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn what_was_there_before_is_not_renamed_even_with_leave() {
    let made = Bench::new(&only_made(&two_sets(), "a"));
    made.run().exits(0);
    unmark(&made.dir.join("a"));
    let before = names(&made, "a");
    let text =
        one_thread(&two_sets(), "flowop rename name=r,filesetname=b,source=a\nflowop listdir name=l,filesetname=a");
    let bench = Bench::new(&text).at(&made.dir).args(["--adopt", "--runtime", "1"]);
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.ops("r"), 0);
    assert!(outcome.flowop("r")["skipped"].as_u64().unwrap() > 0);
    assert_eq!((names(&made, "a"), names(&made, "b").len()), (before, 0));
}

#[test]
fn a_tree_of_others_gets_no_names_and_no_attributes() {
    for flowop in [
        "chmod name=x,filesetname=a",
        "utimes name=x,filesetname=a",
        "setxattr name=x,filesetname=a",
        "rename name=x,filesetname=b,source=a",
        "link name=x,filesetname=b,source=a",
        "symlink name=x,filesetname=b,source=a",
        "rmdir name=x,filesetname=a",
        "truncate name=x,filesetname=a,value=1",
        "copyfile name=x,filesetname=a,source=b",
    ] {
        let bench = Bench::new(&one_thread(
            &two_sets(),
            "flowop statfile name=s,filesetname=a\nflowop finishoncount name=enough,value=1",
        ));
        bench.run().exits(0);
        unmark(&bench.dir.join("a"));
        let before: Vec<_> = names(&bench, "a").iter().map(|path| path.metadata().unwrap().ctime_nsec()).collect();
        let outcome = Bench::new(&one_thread(&two_sets(), &format!("flowop {flowop}"))).at(&bench.dir).run();
        outcome.exits(3).says("--adopt");
        let after: Vec<_> = names(&bench, "a").iter().map(|path| path.metadata().unwrap().ctime_nsec()).collect();
        assert_eq!(before, after, "{flowop}");
    }
    // A copy is a file of its own: the set that it is made from is only read.
    let bench = Bench::new(&only_made(&two_sets(), "a"));
    bench.run().exits(0);
    unmark(&bench.dir.join("a"));
    let outcome = Bench::new(&one_thread(&two_sets(), "flowop copyfile name=x,filesetname=b,source=a")).at(&bench.dir);
    assert_eq!(outcome.run().exits(0).ops("x"), 40);
}
