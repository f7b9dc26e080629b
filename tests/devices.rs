//! Files of a workload that are block devices, on loop devices of the test's own. Each says why it is skipped.

use crate::support::{Bench, Outcome, root, skip};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wlrun::fileset::Device;
use wlrun::fileset::device::Leave;

const SIZE: usize = 8 << 20;

/// A loop device on a file that holds a pattern; gone at its end, and what is on it first.
struct Loop {
    path: PathBuf,
    scratch: tempfile::TempDir,
    /// Commands that undo what the test has done with the device, the last one first.
    undo: Vec<Vec<String>>,
}

impl Loop {
    /// None, and the reason said, where there can be none.
    fn new(options: &[&str]) -> Option<Loop> {
        if !root("a loop device") {
            return None;
        }
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("disk");
        let pattern: Vec<u8> = (0..SIZE).map(|at| (at / 512 % 251) as u8 | 1).collect();
        std::fs::write(&file, pattern).unwrap();
        Loop::on(scratch, options)
    }

    fn on(scratch: tempfile::TempDir, options: &[&str]) -> Option<Loop> {
        let words = options.iter().copied().chain(["-f", "--show"]);
        let made = Command::new("losetup").args(words).arg(scratch.path().join("disk")).output();
        match made {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8(output.stdout).unwrap().trim().into();
                Some(Loop { path, scratch, undo: Vec::new() })
            }
            other => {
                skip(&format!("losetup: {other:?}"));
                None
            }
        }
    }

    fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// What is on the device, past all caches of the device itself.
    fn content(&self) -> Vec<u8> {
        assert!(Command::new("blockdev").args(["--flushbufs", self.path()]).status().is_ok_and(|s| s.success()));
        std::fs::read(self.scratch.path().join("disk")).unwrap()
    }

    /// Blocks of 4 KiB that differ between two contents.
    fn changed(before: &[u8], after: &[u8]) -> usize {
        before.chunks(4096).zip(after.chunks(4096)).filter(|(one, other)| one != other).count()
    }

    /// Sectors read and written since the device was made, from the kernel's own count.
    fn sectors(&self) -> [u64; 2] {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().unwrap()).collect();
        [fields[2], fields[6]]
    }

    /// Runs a program on the device; false, and the reason said, where it fails.
    fn does(&mut self, words: &[&str], undo: &[&str]) -> bool {
        let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
        let done = output.as_ref().is_ok_and(|output| output.status.success());
        if done && !undo.is_empty() {
            self.undo.push(undo.iter().map(|word| (*word).into()).collect());
        }
        if !done {
            skip(&format!("{}: {output:?}", words.join(" ")));
        }
        done
    }

    /// A run of flowops in one thread on the file `d`, which is the device.
    fn bench(&self, set: &str, flowops: &str) -> Bench {
        Bench::new(&format!(
            "set mode quit alldone\ndefine file name={},path=/dev{set}\n\
             define process name=p {{ thread name=t {{ {} }} }}\nrun 20\n",
            self.name(),
            flowops.replace("$D", &format!("filename={}", self.name())),
        ))
        .args(["--allow-path", self.path()])
    }

    fn writes(&self) -> Bench {
        self.bench("", WRITES)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for words in self.undo.iter().rev() {
            let _ = Command::new(&words[0]).args(&words[1..]).output();
        }
        let _ = Command::new("losetup").args(["-d", self.path()]).output();
    }
}

const WRITES: &str =
    "flowop write name=w,$D,fd=1,iosize=4k,random,directio flowop finishoncount name=f,value=100,target=w";

fn device_of(outcome: &Outcome) -> &serde_json::Value {
    &outcome.record.as_ref().expect("a record")["environment"]["devices"][0]
}

#[test]
fn a_device_is_read_as_a_file_is_and_nothing_on_it_changes() {
    let Some(disk) = Loop::new(&["-r"]) else { return };
    let before = disk.content();
    let reads = "flowop openfile name=o,$D,fd=1 \
                 flowop read name=all,fd=1,iosize=1m,iters=10 flowop read name=any,fd=1,iosize=4k,random,iters=20 \
                 flowop aioread name=a,fd=1,iosize=4k,random,iters=20 flowop aiowait name=aw,value=0 \
                 flowop mmapread name=m,fd=1,iosize=4k,random,iters=20 flowop readwholefile name=whole,fd=1,iosize=64k \
                 flowop statfile name=s,fd=1 flowop statfile name=n,$D flowop fsync name=y,fd=1 \
                 flowop fsyncset name=ys,$D flowop flock name=l,fd=1,shared \
                 flowop closefile name=c,fd=1 flowop finishoncount name=f,value=3,target=c";
    // A device that cannot be opened for writing: reads must not try.
    let outcome = disk.bench("", reads).args(["--remove"]).run().exits(0);
    assert_eq!(outcome.ops("c"), 3);
    assert_eq!((outcome.ops("all"), outcome.bytes("all")), (30, 30 << 20), "8 MiB are read, then it starts over");
    assert_eq!(outcome.bytes("whole"), 3 * SIZE as u64);
    for name in ["o", "any", "a", "m", "s", "n", "y", "ys", "l"] {
        assert!(outcome.ops(name) >= 3, "{name}");
    }
    assert!(outcome.stdout.contains(&format!("1 device, 8.39 MB {}", disk.path())), "{}", outcome.stdout);
    assert_eq!(device_of(&outcome)["path"], disk.path());
    assert_eq!(device_of(&outcome)["size_bytes"], SIZE);
    assert_eq!(outcome.record.as_ref().unwrap()["workload"]["files"], 0);
    assert_eq!(Loop::changed(&before, &disk.content()), 0);
    assert!(disk.path.exists());
}

/// The counts are those of the kernel for the device.
#[test]
fn what_is_counted_is_what_the_device_got() {
    let Some(disk) = Loop::new(&[]) else { return };
    let read = "flowop read name=r,$D,fd=1,iosize=16k,random,directio flowop finishoncount name=f,value=200,target=r";
    let before = disk.sectors();
    let outcome = disk.bench(",size=4m", read).run().exits(0);
    let after = disk.sectors();
    assert_eq!(outcome.bytes("r"), 200 << 14);
    assert_eq!([after[0] - before[0], after[1] - before[1]], [outcome.bytes("r") / 512, 0]);
    assert_eq!(device_of(&outcome)["bytes"], 4 << 20);
    let outcome = disk.writes().args(["--destroy-data", disk.path()]).run().exits(0);
    let written = disk.sectors()[1] - after[1];
    assert_eq!((outcome.ops("w"), written), (100, outcome.bytes("w") / 512));
}

#[test]
fn writing_needs_leave_for_just_this_device_and_then_writes_there() {
    let (Some(disk), Some(other)) = (Loop::new(&[]), Loop::new(&[])) else { return };
    let before = disk.content();
    disk.writes().run().exits(3).says(&format!("--destroy-data {}", disk.path())).says("write w");
    disk.writes().args(["--yes-overwrite-signature"]).run().exits(2);
    disk.writes().args(["--destroy-data", other.path()]).run().exits(2).says(other.path());
    disk.writes().args(["--destroy-data", "/dev"]).run().exits(2);
    assert_eq!(Loop::changed(&before, &disk.content()), 0);
    // Any path that leads to it is its name.
    let link = disk.scratch.path().join("by-id");
    symlink(&disk.path, &link).unwrap();
    let all = "flowop write name=w,$D,fd=1,iosize=4k,wrap flowop aiowrite name=a,$D,fd=2,iosize=4k,iters=3 \
               flowop mmapwrite name=m,$D,fd=3,iosize=4k flowop writewholefile name=ww,$D,fd=4,iosize=64k,workingset=256k \
               flowop finishoncount name=f,value=8,target=w";
    let text = disk.bench(",size=1m", all).args(["--destroy-data".to_owned(), link.display().to_string()]);
    let outcome = text.run().exits(0);
    assert_eq!(outcome.ops("w"), 8);
    assert!(["a", "m", "ww"].iter().all(|name| outcome.ops(name) > 0));
    let after = disk.content();
    assert!(Loop::changed(&before[..1 << 20], &after[..1 << 20]) >= 64);
    assert_eq!(Loop::changed(&before[1 << 20..], &after[1 << 20..]), 0, "the size is the working set");
    assert_eq!(after.len(), SIZE);
}

/// A writer that is never chosen writes nothing.
#[test]
fn what_is_never_done_needs_no_leave() {
    let Some(disk) = Loop::new(&["-r"]) else { return };
    let set = |text: String| ["--set".to_owned(), text];
    let sio = |args: &[&str]| {
        let bench = Bench::named("sio").args(["--runtime", "1", "--allow-path", "/dev"]).args(args.iter().copied());
        let bench = bench.args(set("path=/dev".into())).args(set(format!("target={}", disk.name())));
        bench.args(set("nthreads=2".into())).run()
    };
    let reads = sio(&["--set", "readpct=100", "--set", "filesize=0"]).exits(0);
    assert!(reads.ops("randread") > 0 && reads.ops("randwrite") == 0);
    assert_eq!(device_of(&reads)["bytes"], SIZE);
    sio(&["--set", "filesize=0"]).exits(3).says("--destroy-data");
    sio(&["--set", "readpct=100"]).exits(1).says("8388608");
    let zero = "flowop read name=r,$D,fd=1,iosize=4k flowop write name=w,$D,fd=1,iosize=4k,iters=0 \
                flowop finishoncount name=f,value=3,target=r";
    disk.bench("", zero).run().exits(0);
}

#[test]
fn a_device_lies_where_its_own_name_is() {
    let Some(disk) = Loop::new(&[]) else { return };
    let reads = "flowop read name=r,$D,fd=1,iosize=4k flowop finishoncount name=f,value=3,target=r";
    let bench = disk.bench("", reads);
    let text = std::fs::read_to_string(bench.scratch.path().join("test.wl")).unwrap();
    Bench::new(&text).run().exits(3).says("outside");
    Bench::new(&text).args(["--allow-path", "/dev"]).run().exits(0);
    // A link below --dir leads out of it all the same, and the report shows what it leads to.
    let text = text.replace(&format!("name={},path=/dev", disk.name()), "name=link,path=$dir");
    let bench = Bench::new(&text.replace(&format!("filename={}", disk.name()), "filename=link"));
    symlink(&disk.path, bench.dir.join("link")).unwrap();
    bench.run().exits(3).says(disk.path());
    let outcome = bench.args(["--allow-path", disk.path()]).run().exits(0);
    assert_eq!(device_of(&outcome)["path"], disk.path());
    assert!(outcome.stdout.contains(disk.path()));
}

#[test]
fn what_carries_something_is_not_overwritten_until_that_is_allowed() {
    let gpt = |at: u64| {
        move |disk: &mut Loop| {
            let device = std::fs::OpenOptions::new().write(true).open(&disk.path).unwrap();
            device.write_all_at(b"EFI PART", at).unwrap();
            true
        }
    };
    type Make = Box<dyn Fn(&mut Loop) -> bool>;
    let cases: [(&str, Make); 5] = [
        (
            "ext2, ext3 or ext4",
            Box::new(|disk| {
                let path = disk.path().to_owned();
                disk.does(&["mkfs.ext4", "-q", "-F", &path], &[])
            }),
        ),
        (
            "swap space",
            Box::new(|disk| {
                let path = disk.path().to_owned();
                disk.does(&["mkswap", &path], &[])
            }),
        ),
        ("GPT", Box::new(gpt(512))),
        ("GPT", Box::new(gpt(SIZE as u64 - 512))),
        (
            "MBR",
            Box::new(|disk| {
                let device = std::fs::OpenOptions::new().write(true).open(&disk.path).unwrap();
                device.write_all_at(b"\x55\xaa", 510).unwrap();
                true
            }),
        ),
    ];
    for (what, make) in cases {
        let Some(mut disk) = Loop::new(&[]) else { return };
        if !make(&mut disk) {
            continue;
        }
        let before = disk.content();
        let leave = ["--destroy-data", disk.path()];
        disk.writes().args(leave).run().exits(3).says(what).says("--yes-overwrite-signature");
        assert_eq!(Loop::changed(&before, &disk.content()), 0, "{what}");
        disk.bench("", "flowop read name=r,$D,iosize=4k flowop finishoncount name=f,value=3,target=r").run().exits(0);
        disk.writes().args(leave).args(["--yes-overwrite-signature"]).run().exits(0);
        assert!(Loop::changed(&before, &disk.content()) > 0, "{what}");
    }
}

/// No option lets a device that is in use be written to. It may be read.
#[track_caller]
fn is_in_use(disk: &Loop, path: &Path, why: &str) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let flowops = WRITES.replace("$D", &format!("filename={name}"));
    let bench = |flowops: &str| {
        Bench::new(&format!(
            "set mode quit alldone\ndefine file name={name},path=/dev\n\
             define process name=p {{ thread name=t {{ {flowops} }} }}\nrun 20\n"
        ))
        .args(["--allow-path", "/dev"])
    };
    let before = disk.content();
    let leave = ["--destroy-data", path.to_str().unwrap(), "--yes-overwrite-signature"];
    bench(&flowops).args(leave).run().exits(3).says("in use").says(why);
    assert_eq!(Loop::changed(&before, &disk.content()), 0, "{why}");
    bench(&flowops.replace("flowop write", "flowop read")).run().exits(0);
}

#[test]
fn what_is_mounted_is_not_written_to() {
    let Some(mut disk) = Loop::new(&[]) else { return };
    let (path, at) = (disk.path().to_owned(), disk.scratch.path().join("a b"));
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap().to_owned();
    // Read-only, so that the content stays as it is.
    if disk.does(&["mkfs.ext4", "-q", "-F", &path], &[]) && disk.does(&["mount", "-r", &path, &at], &["umount", &at]) {
        is_in_use(&disk, &disk.path, &format!("mounted at {at}"));
    }
}

#[test]
fn swap_space_is_not_written_to() {
    let Some(mut disk) = Loop::new(&[]) else { return };
    let path = disk.path().to_owned();
    if disk.does(&["mkswap", &path], &[]) && disk.does(&["swapon", &path], &["swapoff", &path]) {
        is_in_use(&disk, &disk.path, "is swap space");
    }
}

#[test]
fn what_holds_something_in_use_is_not_written_to() {
    if !root("a loop device") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut table = vec![0u8; SIZE];
    // One Linux partition from sector 2048 on.
    table[446 + 4] = 0x83;
    table[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    table[446 + 12..446 + 16].copy_from_slice(&8192u32.to_le_bytes());
    table[510..512].copy_from_slice(b"\x55\xaa");
    std::fs::write(scratch.path().join("disk"), table).unwrap();
    let Some(mut disk) = Loop::on(scratch, &["-P"]) else { return };
    let (part, at) = (format!("{}p1", disk.path()), disk.scratch.path().join("mnt"));
    let whole = disk.path().to_owned();
    // Where the kernel reads no such tables, it is told.
    if !Path::new(&part).exists() {
        disk.does(&["addpart", &whole, "1", "2048", "8192"], &["delpart", &whole, "1"]);
    }
    if !Path::new(&part).exists() {
        return skip("no device node for a partition of a loop device");
    }
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap().to_owned();
    if disk.does(&["mkfs.ext4", "-q", "-F", &part], &[]) && disk.does(&["mount", "-r", &part, &at], &["umount", &at]) {
        is_in_use(&disk, &disk.path, &format!("{part} is mounted at {at}"));
        is_in_use(&disk, Path::new(&part), &format!("mounted at {at}"));
    }
}

#[test]
fn what_a_volume_is_made_of_is_not_written_to() {
    let Some(mut disk) = Loop::new(&[]) else { return };
    let name = format!("wlrun-test-{}", std::process::id());
    let table = format!("0 {} linear {} 0", SIZE / 512, disk.path());
    if disk.does(&["dmsetup", "create", &name, "--table", &table], &["dmsetup", "remove", &name]) {
        is_in_use(&disk, &disk.path, &format!("(device mapper, {name})"));
    }
    let Some(mut below) = Loop::new(&[]) else { return };
    let output = Command::new("losetup").args(["-f", "--show", below.path()]).output().unwrap();
    let above = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    below.undo.push(vec!["losetup".into(), "-d".into(), above.clone()]);
    is_in_use(&below, &below.path, &format!("what {} is made of", above.trim_start_matches("/dev/")));
}

/// A device that a run writes to belongs to it until the end.
#[test]
fn a_claim_keeps_others_out_and_holds_for_the_device_that_was_looked_at() {
    let (Some(disk), Some(other)) = (Loop::new(&[]), Loop::new(&[])) else { return };
    let device = Device::find(&disk.path).unwrap().unwrap();
    let leave = Leave { destroy: vec![disk.path.clone()], signatures: false };
    let claim = device.claim(true, &leave).unwrap();
    let again = device.claim(true, &leave).unwrap_err().to_string();
    assert!(again.contains("claimed"), "{again}");
    // Reading is no claim.
    device.claim(false, &Leave::default()).unwrap();
    drop(claim);
    // A process that another test is about to start may have inherited the descriptor, until it is that program.
    let free = (0..100_000).any(|_| {
        device.claim(true, &leave).is_ok() || {
            std::thread::yield_now();
            false
        }
    });
    assert!(free, "{:?}", device.claim(true, &leave).map(drop).map_err(|error| error.to_string()));
    assert!(device.claim(true, &Leave::default()).unwrap_err().to_string().contains("--destroy-data"));
    // Another device is there under the name by then.
    let number = Device::find(&other.path).unwrap().unwrap().number;
    let changed = Device { number, ..device };
    assert!(changed.claim(true, &leave).unwrap_err().to_string().contains("another device"));
    assert!(changed.find_again().unwrap_err().contains("another device"));
}

#[test]
fn what_a_device_cannot_do_is_refused_at_its_place_before_anything_is_touched() {
    let Some(disk) = Loop::new(&[]) else { return };
    let before = disk.content();
    let allowed = ["--destroy-data", disk.path()];
    for flowop in [
        "createfile name=x,$D,fd=2",
        "deletefile name=x,$D",
        "truncate name=x,$D,value=1k",
        "appendfile name=x,$D,fd=1,iosize=4k",
        "appendfilerand name=x,fd=1,iosize=4k",
        "rename name=x,$D",
        "link name=x,$D",
        "symlink name=x,filesetname=s,source=$D",
        "copyfile name=x,filesetname=s,source=$D",
        "readlink name=x,$D",
        "mkdir name=x,$D",
        "rmdir name=x,$D",
        "makedir name=x,$D",
        "removedir name=x,$D",
        "listdir name=x,$D",
        "statdir name=x,$D",
        "chmod name=x,fd=1",
        "utimes name=x,$D",
        "setxattr name=x,$D",
        "lseek name=x,$D,fd=1,whence=data",
        "fallocate name=x,$D,fd=1,iosize=4k",
        "fallocate name=x,$D,fd=1,iosize=4k,punch",
        "syncfs name=x,$D",
    ] {
        let flowop = flowop.replace("source=$D", &format!("source={}", disk.name()));
        let text = format!("flowop read name=r,$D,fd=1,iosize=4k flowop {flowop}");
        let bench = disk.bench("\ndefine fileset name=s,path=$dir,entries=9,dirwidth=9,size=1k", &text).args(allowed);
        let outcome = bench.run().exits(2).says("cannot work on the device").says(disk.path());
        assert!(outcome.stderr.contains(flowop.split(' ').next().unwrap()), "{}", outcome.stderr);
        assert!(bench.files().is_empty());
        // Where it is written nothing is wrong with it.
        let text = std::fs::read_to_string(bench.scratch.path().join("test.wl")).unwrap();
        assert!(!Bench::new(&text).check().stderr.contains("cannot work on the device"));
    }
    assert_eq!(Loop::changed(&before, &disk.content()), 0);
    let fileset = disk.bench("", "flowop read name=r,$D,iosize=4k");
    let text = std::fs::read_to_string(fileset.scratch.path().join("test.wl")).unwrap();
    let text = text.replace("define file ", "define fileset entries=1,dirwidth=1,");
    Bench::new(&text).args(["--allow-path", "/dev"]).run().exits(2).says("only a 'define file'");
    disk.bench(",size=9m", "flowop read name=r,$D,iosize=4k").run().exits(1).says("9437184").says("8388608");
}

/// A device that is made of two names is claimed once; a file set beside it is made as ever.
#[test]
fn a_device_stands_beside_files_and_may_have_two_names() {
    let Some(disk) = Loop::new(&[]) else { return };
    let link = disk.scratch.path().join("second");
    symlink(&disk.path, &link).unwrap();
    let more = format!(
        "\ndefine file name=second,path={}\ndefine fileset name=s,path=$dir,entries=9,dirwidth=9,size=1k,prealloc",
        disk.scratch.path().display()
    );
    let flowops = "flowop write name=w,$D,fd=1,iosize=4k,random,iters=20 flowop read name=r,filename=second,fd=2,iosize=4k \
                   flowop readwholefile name=s,filename=s,fd=3 flowop closefile name=c,fd=3 \
                   flowop finishoncount name=f,value=20,target=s";
    let bench = disk.bench(&more, flowops).args(["--destroy-data", disk.path(), "--remove"]);
    let outcome = bench.run().exits(0);
    assert!(
        outcome.stdout.contains(&format!("1 device, 8.39 MB {}, 9 files, 9.22 kB in", disk.path())),
        "{}",
        outcome.stdout
    );
    assert!(bench.files().is_empty() && disk.path.exists());
    // The engine that touches nothing needs no leave to touch nothing.
    disk.writes().args(["--engine", "null"]).run().exits(0);
}
