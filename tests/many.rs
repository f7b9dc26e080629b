//! A thousand threads: what their figures take of memory, and that the live line goes on beside them.

use crate::support::{Bench, WLRUN, have, processes, tmpfs};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

/// The controller that writes this record, by its process id.
fn controller(json: &str) -> Option<u32> {
    let is_it = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(WLRUN) && line.split('\0').any(|word| word == json)
    };
    processes().find(is_it)
}

/// Bytes that the shared memory of a process has taken: each page once, whichever processes have touched it. None where
/// the process is gone.
fn shared_bytes(pid: u32) -> Option<u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).ok()? {
        let path = entry.ok()?.path();
        if std::fs::read_link(&path).is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:wlrun")) {
            let memory = std::fs::metadata(&path).ok()?;
            found.insert(memory.ino(), memory.blocks() * 512);
        }
    }
    (!found.is_empty()).then(|| found.values().sum())
}

/// The lines that a terminal was shown of a run that goes on, one after the other.
fn live_lines(shown: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        shown.split(['\r', '\n', '\u{1b}']).filter(|line| line.contains(" ops/s  read ")).collect();
    lines.dedup();
    lines
}

#[test]
fn a_thousand_threads_take_little_memory_and_the_live_line_goes_on() {
    const ROUNDS: u64 = 10;
    let text = format!(
        "set mode quit alldone
         define fileset name=f,path=$dir,entries=1000,dirwidth=100,size=4k,prealloc
         define process name=p,instances=4 {{ thread name=t,instances=250,memsize=4k {{
           flowop openfile name=open,filesetname=f,fd=1
           flowop read name=read,fd=1,iosize=1k,random
           flowop write name=write,fd=1,iosize=1k,random
           flowop readwholefile name=all,fd=1
           flowop writewholefile name=whole,fd=1
           flowop fsync name=sync,fd=1
           flowop statfile name=stat,fd=1
           flowop chmod name=mode,fd=1
           flowop utimes name=times,fd=1
           flowop lseek name=seek,fd=1,whence=data,random
           flowop closefile name=close,fd=1
           flowop delay name=rest,value=100ms
           flowop finishoncount name=end,value={ROUNDS},target=rest
         }} }}
         run\n"
    );
    // A terminal for it.
    let (Some(dir), true) = (tmpfs(), have("script")) else { return };
    let bench = Bench::new(&text).at(dir.path());
    let (file, json) = (bench.scratch.path().join("test.wl"), bench.json_path());
    let (file, json) = (file.to_str().unwrap(), json.to_str().unwrap());
    let line = format!("{WLRUN} {file} --dir {} --json {json} --no-drain --interval 100ms", dir.path().display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::piped()).env("TERM", "xterm");
    let mut terminal = command.spawn().unwrap();
    let mut output = terminal.stdout.take().unwrap();
    let (mut shown, mut piece, mut looks) = (Vec::new(), vec![0; 1 << 16], Vec::new());
    while let Ok(bytes @ 1..) = output.read(&mut piece) {
        shown.extend_from_slice(&piece[..bytes]);
        if live_lines(&String::from_utf8_lossy(&shown)).len() > looks.len() {
            looks.push(controller(json).and_then(shared_bytes));
        }
    }
    let shown = String::from_utf8_lossy(&shown);
    assert!(terminal.wait().unwrap().success(), "{shown}");
    let outcome: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let run = &outcome["runs"][0];
    let flowops = run["flowops"].as_array().unwrap();
    assert_eq!(flowops.len(), 13);
    for flowop in flowops.iter().filter(|flowop| flowop["name"] != "end") {
        assert_eq!(
            (&flowop["instances"], &flowop["ops"]),
            (&1000.into(), &(1000 * ROUNDS).into()),
            "{}",
            flowop["name"]
        );
    }
    let lines = live_lines(&shown);
    assert!(lines.len() >= 3 && lines.len() <= run["intervals"].as_array().unwrap().len(), "{lines:#?}");
    assert!(lines.iter().any(|line| !line.contains(" 0 ops/s")), "{lines:#?}");
    let bytes = looks.iter().flatten().max().copied().expect("a look at the memory");
    assert!(bytes < 400_000_000, "{bytes}");
    // Each of the histograms has a page at least: it was them that the looks saw.
    assert!(bytes > 12_000 * 4096, "{bytes}");
}
