//! `wlrun clean`: what carries the mark goes, all else stays.

use crate::support::{Bench, command, root, skip, unmark, until, workers_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const THREE: &str = "
    define fileset name=a,path=$dir,entries=20,dirwidth=5,leafdirs=3,size=1k,prealloc
    define fileset name=b,path=$dir/deep/er,entries=3,dirwidth=5,size=1k
    define file name=c,path=$dir/deep,size=1k,prealloc
    define process name=p { thread name=t {
      flowop createfile name=make,filesetname=b,fd=1
      flowop closefile name=close,fd=1
      flowop symlink name=link,filesetname=b,source=a
      flowop statfile name=s,filesetname=c
    } }
    set mode quit alldone
    run 1
";

/// All paths below a directory.
fn all(top: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = vec![top.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                left.push(path.clone());
            }
            found.insert(path.strip_prefix(top).unwrap().to_owned());
        }
    }
    found
}

fn clean(dir: &Path, options: &[&str]) -> crate::support::Outcome {
    command(["clean", dir.to_str().unwrap()].iter().chain(options))
}

fn paths(of: &[&str]) -> BTreeSet<PathBuf> {
    of.iter().map(PathBuf::from).collect()
}

#[test]
fn our_trees_go_and_all_else_stays() {
    let bench = Bench::new(THREE);
    bench.run().exits(0);
    let dir = &bench.dir;
    // What only looks like a tree: without the mark, with the mark of another directory, behind a link.
    std::fs::create_dir_all(dir.join("theirs/00000001")).unwrap();
    std::fs::write(dir.join("theirs/00000001/00000001"), "precious").unwrap();
    std::fs::write(dir.join("deep/notes"), "precious").unwrap();
    let other = Bench::new(THREE);
    other.run().exits(0);
    std::os::unix::fs::symlink(other.dir.join("a"), dir.join("link")).unwrap();
    let copied = Command::new("cp").args(["-a", "--preserve=all"]).arg(dir.join("a")).arg(dir.join("copy")).status();
    let copied = copied.is_ok_and(|status| status.success());
    let (before, outside) = (all(dir), all(&other.dir));

    let outcome = clean(dir, &["--dry-run"]).exits(0);
    assert_eq!(outcome.stdout.lines().filter(|line| line.starts_with("would remove ")).count(), 3);
    assert_eq!(all(dir), before, "nothing is removed");

    let outcome = clean(dir, &[]).exits(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let count =
        |tree: &str| 1 + before.iter().filter(|path| path.starts_with(tree) && *path != Path::new(tree)).count();
    let expected = ["a", "deep/c", "deep/er/b"]
        .map(|tree| format!("removed {}: {} files and directories", dir.join(tree).display(), count(tree)));
    assert_eq!(lines, expected);
    let kept = ["a", "deep/c", "deep/er/b"];
    let left = before.into_iter().filter(|path| !kept.iter().any(|tree| path.starts_with(tree))).collect();
    assert_eq!(all(dir), left);
    assert!(!copied || dir.join("copy/00000001").exists());
    assert_eq!(all(&other.dir), outside);
    assert!(clean(dir, &[]).exits(0).stdout.contains("carries wlrun's mark"));
    // A tree itself is a place to look as well.
    clean(&other.dir.join("a"), &[]).exits(0);
    assert!(!other.dir.join("a").exists() && other.dir.join("deep/c").exists());
}

#[test]
fn a_tree_with_something_foreign_in_it_stays_whole_and_the_others_go() {
    let bench = Bench::new(THREE);
    bench.run().exits(0);
    let names: Vec<PathBuf> = (0..14).map(|n| bench.dir.join(format!("a/00000001/note{n:02}"))).collect();
    names.iter().for_each(|path| std::fs::write(path, "x").unwrap());
    let before = all(&bench.dir);
    for options in [&["-n"][..], &[]] {
        let outcome = clean(&bench.dir, options).exits(3).says("wlrun did not make it").says("4 more");
        let named = names.iter().filter(|path| outcome.stderr.contains(path.to_str().unwrap())).count();
        assert_eq!(named, 10, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("deep/c: "), "{}", outcome.stdout);
    }
    let left: BTreeSet<PathBuf> =
        before.into_iter().filter(|path| !path.starts_with("deep/c") && !path.starts_with("deep/er/b")).collect();
    assert_eq!(all(&bench.dir), left);
    names.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    clean(&bench.dir, &[]).exits(0);
    assert_eq!(all(&bench.dir), paths(&["deep", "deep/er"]));
}

#[test]
fn a_tree_that_a_run_works_in_stays_whoever_reads_or_writes_there() {
    for flowop in ["statfile name=s,filesetname=f", "write name=w,filesetname=f,iosize=1k,random"] {
        let bench = Bench::new(&format!(
            "define fileset name=f,path=$dir,entries=10,dirwidth=5,size=4k,prealloc,reuse
             define process name=p {{ thread name=t {{ flowop {flowop} }} }}
             run 1000"
        ));
        let mut child = bench.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        until("the workers", || (!workers_of(child.id()).is_empty()).then_some(()));
        let before = all(&bench.dir);
        for options in [&["-n"][..], &[]] {
            clean(&bench.dir, options).exits(3).says("another wlrun works in it");
        }
        assert_eq!(all(&bench.dir), before);
        child.kill().unwrap();
        child.wait().unwrap();
        // The lock ends with the last of its processes.
        until("the end of the lock", || (clean(&bench.dir, &[]).code == 0).then_some(()));
        assert_eq!(all(&bench.dir), BTreeSet::new());
    }
}

#[test]
fn what_a_run_left_that_died_while_it_made_files_goes_too() {
    let bench = Bench::new(THREE);
    bench.run().exits(0);
    let root = std::fs::File::open(bench.dir.join("a")).unwrap();
    let fd = std::os::fd::AsFd::as_fd(&root);
    use wlrun::fileset::owner::{Record, State, write};
    write(fd, &Record::now(fd, State::Making, 1).unwrap()).unwrap();
    clean(&bench.dir, &[]).exits(0);
    assert_eq!(all(&bench.dir), paths(&["deep", "deep/er"]));
}

#[test]
fn what_cannot_be_looked_at_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    clean(&scratch.path().join("missing"), &[]).exits(2).says("missing").says("ENOENT");
    std::fs::write(scratch.path().join("file"), "x").unwrap();
    clean(&scratch.path().join("file"), &[]).exits(2).says("ENOTDIR");
    command(["clean"]).exits(2).says("DIR");
    let bench = Bench::new(THREE);
    bench.run().exits(0);
    unmark(&bench.dir.join("a"));
    clean(&bench.dir.join("a"), &[]).exits(0);
    assert!(bench.dir.join("a").exists());
    // The trees of another directory go, whatever is wrong with the first.
    let missing = scratch.path().join("missing");
    command(["clean", missing.to_str().unwrap(), bench.dir.to_str().unwrap()]).exits(2);
    assert_eq!(all(&bench.dir.join("deep")), paths(&["er"]));
}

#[test]
fn other_file_systems_are_not_entered() {
    if !root("a mount") {
        return;
    }
    let bench = Bench::new(THREE);
    let mount = bench.dir.join("mount");
    std::fs::create_dir(&mount).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&mount).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("no tmpfs can be mounted");
    }
    let bench = Bench::new(THREE).at(&mount);
    bench.run().exits(0);
    let outcome = clean(mount.parent().unwrap(), &[]).exits(0);
    let whole = mount.join("a/00000001").exists();
    let below = clean(&mount, &[]).code;
    let _ = Command::new("umount").arg(&mount).status();
    assert!(whole && below == 0, "{below}");
    outcome.says("another file system is mounted there");
}
