//! One builder for a test through the real binary: workload text in; stdout, stderr, exit code, record and files out.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The binary under test.
pub const WLRUN: &str = env!("CARGO_BIN_EXE_wlrun");

/// A workload, a directory for it, and how it is run.
pub struct Bench {
    /// Holds everything of the test; gone at its end.
    pub scratch: tempfile::TempDir,
    /// What `--dir` is given.
    pub dir: PathBuf,
    file: String,
    args: Vec<String>,
    /// Words before the binary: `strace …`, `bash -c "ulimit …"`.
    prefix: Vec<String>,
    env: Vec<(String, String)>,
}

impl Bench {
    /// A workload of its own text.
    pub fn new(text: &str) -> Self {
        let bench = Bench::named("");
        let file = bench.scratch.path().join("test.wl");
        std::fs::write(&file, text).unwrap();
        Bench { file: file.display().to_string(), ..bench }
    }

    /// A personality, or a file by its path.
    pub fn named(name: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("dir");
        std::fs::create_dir(&dir).unwrap();
        Bench { scratch, dir, file: name.into(), args: Vec::new(), prefix: Vec::new(), env: Vec::new() }
    }

    /// File sets below another directory, such as a mount.
    pub fn at(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    /// Further arguments.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A program that runs the binary, with its own arguments.
    pub fn under<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.prefix.extend(words.into_iter().map(Into::into));
        self
    }

    /// A variable of the environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Where the record goes.
    pub fn json_path(&self) -> PathBuf {
        self.scratch.path().join("out.json")
    }

    /// The command of a run with `--dir` and `--json`, for tests that send signals to it.
    pub fn command(&self) -> Command {
        let mut words = self.prefix.clone();
        words.extend([WLRUN.into(), self.file.clone(), "--dir".into(), self.dir.display().to_string()]);
        words.extend(["--json".into(), self.json_path().display().to_string()]);
        // It would wait for what everybody has written to the disk that holds the scratch directory.
        words.push("--no-drain".into());
        words.extend(self.args.clone());
        self.words(&words)
    }

    fn words(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.scratch.path()).envs(self.env.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it with `--dir` and `--json`.
    pub fn run(&self) -> Outcome {
        let _ = std::fs::remove_file(self.json_path());
        let output = self.command().output().unwrap();
        self.outcome(output)
    }

    /// `wlrun check`.
    pub fn check(&self) -> Outcome {
        let mut words = vec![WLRUN.to_owned(), "check".into(), self.file.clone()];
        words.extend(self.args.clone());
        let output = self.words(&words).output().unwrap();
        self.outcome(output)
    }

    /// What a finished command of [`Bench::command`] left.
    pub fn outcome(&self, output: std::process::Output) -> Outcome {
        let record = std::fs::read_to_string(self.json_path()).ok();
        Outcome {
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            record: record.map(|text| serde_json::from_str(&text).unwrap_or_else(|e| panic!("no JSON: {e}\n{text}"))),
        }
    }

    /// Paths of all files below `--dir`, relative to it, in order. The mark of ownership is none of them.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.dir, &mut found);
        found.iter().map(|path| path.strip_prefix(&self.dir).unwrap().to_owned()).collect()
    }

    /// Sizes of all files below `--dir`, in the order of [`Bench::files`].
    pub fn sizes(&self) -> Vec<u64> {
        self.files().iter().map(|path| self.dir.join(path).metadata().unwrap().len()).collect()
    }
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            walk(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

/// A command of the binary that takes no workload.
pub fn command<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Outcome {
    let bench = Bench::named("");
    let words: Vec<String> =
        std::iter::once(WLRUN.to_owned()).chain(words.into_iter().map(|w| w.as_ref().to_owned())).collect();
    let output = bench.words(&words).output().unwrap();
    bench.outcome(output)
}

/// What the mark of a tree says; none where it has none.
pub fn mark(root: &Path) -> Option<String> {
    let fd = std::fs::File::open(root).ok()?;
    let record = wlrun::fileset::owner::read(std::os::fd::AsFd::as_fd(&fd)).unwrap();
    record.map(|record| record.to_string())
}

/// Takes the mark of a tree away: it is a stranger's from then on.
pub fn unmark(root: &Path) {
    let fd = std::fs::File::open(root).unwrap();
    wlrun::fileset::owner::erase(std::os::fd::AsFd::as_fd(&fd)).unwrap();
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code; the negative signal where one ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// What `--json` wrote.
    pub record: Option<Value>,
}

impl Outcome {
    /// Fails the test unless the exit code is this.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless stderr has this, in any case of letters.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.to_lowercase().contains(&text.to_lowercase()), "no '{text}' in:\n{}", self.stderr);
        self
    }

    /// The only run of the record.
    #[track_caller]
    pub fn only_run(&self) -> &Value {
        let runs = self.runs();
        assert_eq!(runs.len(), 1);
        &runs[0]
    }

    /// The runs of the record.
    #[track_caller]
    pub fn runs(&self) -> &Vec<Value> {
        self.record.as_ref().expect("a record")["runs"].as_array().unwrap()
    }

    /// The flowop of that name in the only run.
    #[track_caller]
    pub fn flowop(&self, name: &str) -> &Value {
        let flowops = self.only_run()["flowops"].as_array().unwrap();
        flowops.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no flowop {name}"))
    }

    /// Operations of a flowop.
    #[track_caller]
    pub fn ops(&self, name: &str) -> u64 {
        self.flowop(name)["ops"].as_u64().unwrap()
    }

    /// Bytes of a flowop, read and written.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> u64 {
        let flowop = self.flowop(name);
        flowop["bytes_read"].as_u64().unwrap() + flowop["bytes_written"].as_u64().unwrap()
    }
}

/// The first workload below a heading of docs/reference/language.md.
#[track_caller]
pub fn example_of_the_language_page(heading: &str) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/language.md")).unwrap();
    let section = page.split(&format!("\n{heading}\n")).nth(1).expect("the heading is there");
    let block = section.split("```wl\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the section has an example").to_owned()
}

/// Says on the test's output why it is skipped.
#[allow(clippy::print_stdout)]
pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// True where a program can be run; says on the test's output why a test is skipped otherwise.
pub fn have(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// A directory on tmpfs, where there is one.
pub fn tmpfs() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").inspect_err(|_| skip("no /dev/shm")).ok()
}

/// A directory on the disk that holds the build: the temporary directory is often in memory.
pub fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// True where the file system takes extended attributes of users; says why a test is skipped otherwise.
pub fn has_attributes(dir: &Path) -> bool {
    let takes = rustix::fs::setxattr(dir, "user.probe", b"x", rustix::fs::XattrFlags::empty()).is_ok();
    if !takes {
        skip("no extended attributes here");
    }
    takes
}

/// True for root; says why a test is skipped otherwise.
pub fn root(why: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(&format!("{why} needs root"));
    }
    root
}

/// The worker processes of a controller that are still there, by process id. Each has the controller's among its
/// arguments, so they are found after its death too.
pub fn workers_of(controller: u32) -> Vec<u32> {
    workers(controller).into_keys().collect()
}

/// As [`workers_of`], each with the place of its process in the workload.
pub fn workers(controller: u32) -> BTreeMap<u32, usize> {
    let controller = controller.to_string();
    let place = |pid: u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<&str> = line.split('\0').collect();
        let is_worker = words.get(1) == Some(&wlrun::exec::WORKER) && words.get(5) == Some(&controller.as_str());
        Some((pid, words.get(2).filter(|_| is_worker)?.parse().ok()?))
    };
    processes().filter_map(place).collect()
}

/// All processes of the machine.
pub fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// A process that another one has started.
pub fn child_of(parent: u32) -> Option<u32> {
    // 1234 (name of it) S 1200 …
    let parent = parent.to_string();
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(&parent))
    };
    processes().find(is_child)
}

/// Waits until something is there. The limit is for a test that would hang otherwise; no result depends on it.
#[track_caller]
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = std::time::Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(60), "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// A run that was started, and how to end it.
pub struct Started {
    /// What it runs.
    pub bench: Bench,
    /// Its controller, until its output was taken.
    pub child: Option<Child>,
    /// The controller's.
    pub pid: u32,
}

impl Started {
    /// Starts it.
    pub fn new(bench: Bench) -> Self {
        let child = bench.command().spawn().unwrap();
        let pid = child.id();
        Started { bench, child: Some(child), pid }
    }

    /// Waits until something is seen; fails where the run is over before.
    #[track_caller]
    pub fn sees<T>(&mut self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        until(what, || {
            let seen = found(self);
            let over = self.child.as_mut().unwrap().try_wait().unwrap().is_some();
            assert!(seen.is_some() || !over, "the run ended before {what}");
            seen
        })
    }

    /// Sends the controller a signal.
    pub fn send(&self, signal: Signal) {
        send(self.pid, signal);
    }

    /// Its outcome; nobody of it is left.
    #[track_caller]
    pub fn end(mut self) -> Outcome {
        let output = self.output();
        until("the end of the workers", || workers_of(self.pid).is_empty().then_some(()));
        self.bench.outcome(output)
    }

    /// What it says until its end, which a broken one might never come to.
    #[track_caller]
    pub fn output(&mut self) -> Output {
        let (pid, child) = (self.pid, self.child.take().unwrap());
        let (over, watched) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let late = watched.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout);
            if late {
                // Workers that outlive it hold its stderr open.
                for pid in workers_of(pid).into_iter().chain([pid]) {
                    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
                }
            }
            late
        });
        let output = child.wait_with_output().unwrap();
        drop(over);
        assert!(!watch.join().unwrap(), "the run did not come to its end");
        output
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Of a test that failed.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for worker in workers_of(self.pid) {
            let _ = kill_process(Pid::from_raw(worker as i32).unwrap(), Signal::KILL);
        }
    }
}

/// Sends a process a signal.
pub fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}
