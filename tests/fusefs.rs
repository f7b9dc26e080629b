//! A file system of the tests' own: it lies in memory, is served by threads of the test through FUSE, and is as slow or
//! as broken as the test says.
//!
//! What the test scripts is a [`Fault`] for calls of a kind, counted from the moment that it is said. The server
//! remembers each call and how long it held it, by its own clock: something to compare a run's figures with.
//!
//! Every request reaches the server: data is not cached (direct_io), attributes are not, names are. So a `read`, `write`,
//! `fsync`, `close`, and `stat` of a known name, are one call each. There are no links, no locks of its own and no
//! shared mappings.

use crate::support::skip;
use fuser::{
    BackgroundSession, Config, Errno as Code, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request,
    TimeOrNow, WriteFlags,
};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::{Bound, RangeBounds};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// A kind of call, by FUSE's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// A name is looked for in a directory; not again while the kernel knows it.
    Lookup,
    /// `stat`.
    Getattr,
    /// `truncate`, `chmod`, `utimes`.
    Setattr,
    Mkdir,
    Unlink,
    Rmdir,
    Rename,
    /// The open of a file that is there.
    Open,
    /// The open of a new file.
    Create,
    Read,
    Write,
    /// Each `close` of a descriptor, with an answer that `close` gives.
    Flush,
    Fsync,
    Opendir,
    Readdir,
    Statfs,
    Setxattr,
    Getxattr,
    Listxattr,
    Removexattr,
}

/// What is wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is carried out and answered so much after it came.
    Delay(Duration),
    /// It is answered with this and has no effect.
    Error(Errno),
    /// It moves so many bytes at most.
    Short(usize),
    /// A list of a directory is that of when it was opened, also where it is read again from the start.
    Stale,
    /// It is neither carried out nor answered until [`FuseFs::let_go`].
    Hang,
}

/// A call that was answered, in nanoseconds since the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Its kind.
    pub call: Call,
    /// When the server got it.
    pub arrived: u64,
    /// Just before the server answered.
    pub answered: u64,
    /// Which thread made it, by the kernel's number.
    pub thread: u32,
}

impl Served {
    /// How long the server had it.
    pub fn held(&self) -> u64 {
        self.answered - self.arrived
    }
}

/// Mean, in nanoseconds.
pub fn mean(times: &[u64]) -> f64 {
    times.iter().sum::<u64>() as f64 / times.len() as f64
}

/// The percentile by nearest rank, exactly.
pub fn percentile(times: &[u64], percent: f64) -> u64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (times.len() as f64 * percent / 100.0).ceil() as usize;
    sorted[rank.max(1) - 1]
}

/// Makes a program, and all that it starts, come before everything else on the machine: for root.
pub const FIRST: [&str; 3] = ["chrt", "--fifo", "1"];

/// A mount, and the handle of its server. It is gone when this is, whatever hangs on it.
pub struct FuseFs {
    shared: Arc<Shared>,
    mount: tempfile::TempDir,
    /// What is written to there breaks the connection, where the kernel shows its connections.
    breaker: PathBuf,
    first: bool,
    session: Option<BackgroundSession>,
}

impl FuseFs {
    /// An empty file system of 256 MiB. None, and the reason said, where this machine does not let it be mounted.
    pub fn mount() -> Option<FuseFs> {
        FuseFs::new(256 << 20, false)
    }

    /// As [`FuseFs::mount`], with room for so many bytes of data.
    pub fn of_size(bytes: u64) -> Option<FuseFs> {
        FuseFs::new(bytes, false)
    }

    /// As [`FuseFs::mount`], with a server that waits for no processor that others keep busy, where that is allowed.
    pub fn first() -> Option<FuseFs> {
        FuseFs::new(256 << 20, true)
    }

    fn new(bytes: u64, first: bool) -> Option<FuseFs> {
        if !Path::new("/dev/fuse").exists() {
            skip("there is no /dev/fuse");
            return None;
        }
        sweep();
        let mount = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared {
            epoch: Instant::now(),
            tree: Mutex::new(Tree::new(bytes)),
            script: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut config = Config::default();
        let name = format!("{NAME}{}", std::process::id());
        config.mount_options = vec![MountOption::FSName(name), MountOption::NoSuid, MountOption::NoDev];
        let server = Server { shared: shared.clone() };
        // The server's threads are like the one that starts them.
        let start = || (first && comes_first(), fuser::spawn_mount(server, mount.path(), &config));
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        let (first, session) = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let session = match session {
            Ok(session) => session,
            // A container or a user without the right; anything else is a fault of the test.
            Err(error) if refused(&error) => {
                skip(&format!("no FUSE file system can be mounted: {error}"));
                return None;
            }
            Err(error) => panic!("the FUSE file system was not mounted: {error}"),
        };
        // By the minor number that the kernel gives to what has no device.
        let connection = rustix::fs::minor(mount.path().metadata().unwrap().dev());
        let breaker = format!("/sys/fs/fuse/connections/{connection}/abort").into();
        let fs = FuseFs { shared, mount, breaker, first, session: Some(session) };
        if !rustix::process::geteuid().is_root() && !fs.breaker.exists() {
            skip("what hangs on a FUSE file system can be ended by root, or where fusectl is mounted, only");
            return None;
        }
        Some(fs)
    }

    /// True where the server comes before all others: so may a run, by [`FIRST`].
    pub fn is_first(&self) -> bool {
        self.first
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// From now on the calls of a kind with these numbers have a fault; the next is number 1. `..` is all of them,
    /// `3..=3` the third, `3..` the third and all behind it.
    pub fn on(&self, call: Call, which: impl RangeBounds<u64>, fault: Fault) {
        let first = match which.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let last = match which.end_bound() {
            Bound::Included(last) => *last,
            Bound::Excluded(behind) => behind - 1,
            Bound::Unbounded => u64::MAX,
        };
        self.shared.script().rules.push(Rule { call, first, last, fault, seen: 0 });
    }

    /// Nothing is wrong from now on; what hangs goes on hanging.
    pub fn heal(&self) {
        self.shared.script().rules.clear();
    }

    /// Forgets the calls until now.
    pub fn forget_calls(&self) {
        self.shared.script().served.clear();
    }

    /// The calls that were answered, in the order in which they came.
    pub fn served(&self) -> Vec<Served> {
        let mut served = self.shared.script().served.clone();
        served.sort_by_key(|served| served.arrived);
        served
    }

    /// How many calls of a kind were answered.
    pub fn count(&self, call: Call) -> u64 {
        self.shared.script().served.iter().filter(|served| served.call == call).count() as u64
    }

    /// How many calls hang now.
    pub fn hanging(&self) -> u64 {
        self.shared.script().hanging
    }

    /// What hangs is carried out and answered, and nothing hangs any more.
    pub fn let_go(&self) {
        let mut script = self.shared.script();
        script.rules.retain(|rule| rule.fault != Fault::Hang);
        script.releases += 1;
        self.shared.changed.notify_all();
    }

    /// Breaks the connection, as when the server dies: whoever waits gets an error, and so does whoever comes.
    pub fn abort(&self) {
        // Opened only where it is there, and not made.
        let broken =
            std::fs::OpenOptions::new().write(true).open(&self.breaker).and_then(|mut file| file.write_all(b"1"));
        if broken.is_err() {
            // It stays mounted while somebody is in it, but without a server.
            let _ = rustix::mount::unmount(self.path(), rustix::mount::UnmountFlags::FORCE);
        }
    }

    /// The size and content of each file, by path: what the server has, without a call to it.
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let tree = self.shared.tree();
        let mut found = BTreeMap::new();
        let mut todo = vec![(PathBuf::new(), INodeNo::ROOT.0)];
        while let Some((path, number)) = todo.pop() {
            match &tree.nodes[&number].kind {
                Kind::File(data) => drop(found.insert(path, data.clone())),
                Kind::Directory(entries) => todo.extend(entries.iter().map(|(name, at)| (path.join(name), *at))),
            }
        }
        found
    }
}

impl Drop for FuseFs {
    fn drop(&mut self) {
        // First those who wait for an answer, or nothing would be let go of.
        self.abort();
        let mut script = self.shared.script();
        script.closed = true;
        drop(script);
        self.shared.changed.notify_all();
        // Detached too, for a process may still have its working directory or a file there.
        let flags = rustix::mount::UnmountFlags::FORCE | rustix::mount::UnmountFlags::DETACH;
        let _ = rustix::mount::unmount(self.path(), flags);
        if let Some(session) = self.session.take() {
            // Without the right to do so here, this does it by fusermount; where it is done, it fails.
            let _ = session.umount_and_join();
        }
    }
}

/// What the kernel's list of mounts shows for one of a process, before its number.
const NAME: &str = "wlrun-test-";

/// Takes away the mounts of test processes that were killed. Nobody serves them, so nothing hangs on them.
fn sweep() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for mount in mounts.lines() {
        let mut words = mount.split(' ');
        let (Some(name), Some(path)) = (words.next(), words.next()) else { continue };
        let pid = name.strip_prefix(NAME).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH);
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Makes this thread come before all others; false where that is not allowed.
fn comes_first() -> bool {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let [program, policy, priority] = FIRST;
    let made = Command::new(program).args([policy, "--pid", priority, &thread]).stderr(Stdio::null()).status();
    made.is_ok_and(|status| status.success())
}

fn refused(error: &std::io::Error) -> bool {
    let refusals = [Errno::PERM, Errno::ACCESS, Errno::NOENT, Errno::NODEV, Errno::NXIO];
    error.raw_os_error().is_some_and(|code| refusals.contains(&Errno::from_raw_os_error(code)))
        || matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
        || !rustix::process::geteuid().is_root()
}

/// Faults of calls of a kind.
struct Rule {
    call: Call,
    first: u64,
    last: u64,
    fault: Fault,
    /// Calls of the kind since the rule was made.
    seen: u64,
}

/// What is to happen, and what has.
#[derive(Default)]
struct Script {
    rules: Vec<Rule>,
    served: Vec<Served>,
    hanging: u64,
    /// How often what hangs was let go.
    releases: u64,
    /// Nobody waits any more.
    closed: bool,
}

/// What the server's threads and the test's handle have in common.
struct Shared {
    epoch: Instant,
    tree: Mutex<Tree>,
    script: Mutex<Script>,
    /// The script has changed for calls that hang.
    changed: Condvar,
}

impl Shared {
    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    // A test that failed while it held one leaves it as good as it was.
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// What is wrong with the call of a kind that has come.
    fn faults(&self, call: Call) -> Faults {
        let mut faults = Faults { delay: None, error: None, most: usize::MAX, stale: false, hangs: None };
        let mut script = self.script();
        let releases = script.releases;
        for rule in script.rules.iter_mut().filter(|rule| rule.call == call) {
            rule.seen += 1;
            if (rule.first..=rule.last).contains(&rule.seen) {
                match rule.fault {
                    Fault::Delay(time) => faults.delay = Some(time),
                    Fault::Error(errno) => faults.error = Some(errno),
                    Fault::Short(most) => faults.most = most,
                    Fault::Stale => faults.stale = true,
                    Fault::Hang => faults.hangs = Some(releases),
                }
            }
        }
        faults
    }

    /// Waits for the next release behind so many, which may have been while the call was on its way here.
    fn hang(&self, releases: u64) {
        let mut script = self.script();
        script.hanging += 1;
        while !script.closed && script.releases == releases {
            script = self.changed.wait(script).unwrap_or_else(|broken| broken.into_inner());
        }
        script.hanging -= 1;
    }
}

/// All that is wrong with one call.
struct Faults {
    delay: Option<Duration>,
    error: Option<Errno>,
    most: usize,
    stale: bool,
    /// The number of releases by then.
    hangs: Option<u64>,
}

/// An object without a name.
struct Node {
    kind: Kind,
    mode: u32,
    owner: (u32, u32),
    changed: SystemTime,
    attributes: BTreeMap<OsString, Vec<u8>>,
    /// Names that lead to it.
    links: u32,
    /// How often the kernel was told its number and has not forgotten it.
    known: u64,
}

enum Kind {
    File(Vec<u8>),
    Directory(BTreeMap<OsString, u64>),
}

/// All that is there.
struct Tree {
    nodes: HashMap<u64, Node>,
    /// The last number that was given to a node or a listing.
    last: u64,
    /// By handle, the entries of the directories that are open, as they were when their list was last begun.
    listings: HashMap<u64, Vec<Entry>>,
    /// Bytes of data that there is room for, and that are there.
    size: u64,
    used: u64,
}

type Answered<T> = Result<T, Errno>;

/// Number, kind and name.
type Entry = (u64, FileType, OsString);

const BLOCK: u32 = 4096;

/// The kernel need not ask for a name again, but for attributes it must.
const NAMES_LIVE: Duration = Duration::from_secs(3600);

impl Tree {
    fn new(size: u64) -> Self {
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let root = Node { links: 1, known: 1, ..Node::new(Kind::Directory(BTreeMap::new()), 0o755, owner) };
        let (first, listings) = (INodeNo::ROOT.0, HashMap::new());
        Tree { nodes: HashMap::from([(first, root)]), last: first, listings, size, used: 0 }
    }

    fn node(&mut self, number: u64) -> Answered<&mut Node> {
        self.nodes.get_mut(&number).ok_or(Errno::STALE)
    }

    fn entries(&mut self, number: u64) -> Answered<&mut BTreeMap<OsString, u64>> {
        match &mut self.node(number)?.kind {
            Kind::Directory(entries) => Ok(entries),
            Kind::File(_) => Err(Errno::NOTDIR),
        }
    }

    fn data(&mut self, number: u64) -> Answered<&mut Vec<u8>> {
        match &mut self.node(number)?.kind {
            Kind::File(data) => Ok(data),
            Kind::Directory(_) => Err(Errno::ISDIR),
        }
    }

    fn find(&mut self, parent: u64, name: &OsStr) -> Answered<u64> {
        self.entries(parent)?.get(name).copied().ok_or(Errno::NOENT)
    }

    fn attr(&mut self, number: u64) -> Answered<FileAttr> {
        let node = self.node(number)?;
        let (kind, size) = match &node.kind {
            Kind::File(data) => (FileType::RegularFile, data.len() as u64),
            Kind::Directory(_) => (FileType::Directory, 0),
        };
        Ok(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: node.changed,
            mtime: node.changed,
            ctime: node.changed,
            crtime: node.changed,
            kind,
            perm: (node.mode & 0o7777) as u16,
            nlink: node.links,
            uid: node.owner.0,
            gid: node.owner.1,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        })
    }

    /// The attributes, for an answer by which the kernel gets to know the object.
    fn introduce(&mut self, number: u64) -> Answered<FileAttr> {
        self.node(number)?.known += 1;
        self.attr(number)
    }

    fn make(&mut self, parent: u64, name: OsString, node: Node) -> Answered<FileAttr> {
        let number = self.last + 1;
        let entries = self.entries(parent)?;
        if entries.contains_key(&name) {
            return Err(Errno::EXIST);
        }
        entries.insert(name, number);
        self.last = number;
        self.nodes.insert(number, Node { links: 1, ..node });
        self.introduce(number)
    }

    fn remove(&mut self, parent: u64, name: &OsStr, directory: bool) -> Answered<()> {
        let number = self.find(parent, name)?;
        match (&self.node(number)?.kind, directory) {
            (Kind::Directory(_), false) => return Err(Errno::ISDIR),
            (Kind::File(_), true) => return Err(Errno::NOTDIR),
            (Kind::Directory(entries), true) if !entries.is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        self.entries(parent)?.remove(name);
        self.node(number)?.links -= 1;
        self.tidy(number);
        Ok(())
    }

    fn rename(&mut self, from: (u64, &OsStr), to: (u64, OsString)) -> Answered<()> {
        let number = self.find(from.0, from.1)?;
        let directory = matches!(self.node(number)?.kind, Kind::Directory(_));
        match self.find(to.0, &to.1) {
            Ok(same) if same == number => return Ok(()),
            Ok(_) => self.remove(to.0, &to.1, directory)?,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        self.entries(from.0)?.remove(from.1);
        self.entries(to.0)?.insert(to.1, number);
        Ok(())
    }

    /// Takes away an object that has no name and that the kernel does not know.
    fn tidy(&mut self, number: u64) {
        let gone = self.nodes.get(&number).is_some_and(|node| node.links == 0 && node.known == 0);
        if gone && let Some(Node { kind: Kind::File(data), .. }) = self.nodes.remove(&number) {
            self.used -= data.len() as u64;
        }
    }

    fn resize(&mut self, number: u64, size: u64) -> Answered<()> {
        let before = self.data(number)?.len() as u64;
        let used = self.used - before + size;
        if size > before && used > self.size {
            return Err(Errno::NOSPC);
        }
        self.used = used;
        self.data(number)?.resize(size as usize, 0);
        self.node(number)?.changed = SystemTime::now();
        Ok(())
    }

    fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Answered<u32> {
        let end = offset + bytes.len() as u64;
        if end > self.data(number)?.len() as u64 {
            self.resize(number, end)?;
        }
        self.data(number)?[offset as usize..end as usize].copy_from_slice(bytes);
        self.node(number)?.changed = SystemTime::now();
        Ok(bytes.len() as u32)
    }

    fn list(&mut self, number: u64) -> Answered<Vec<Entry>> {
        let entries: Vec<_> = self.entries(number)?.iter().map(|(name, at)| (*at, name.clone())).collect();
        // Nobody asks for the one above: its number is not kept.
        let dots = [".", ".."].map(|name| (number, FileType::Directory, OsString::from(name)));
        let mut list = Vec::from(dots);
        for (at, name) in entries {
            list.push((at, self.attr(at)?.kind, name));
        }
        Ok(list)
    }

    fn open_directory(&mut self, number: u64) -> Answered<u64> {
        let list = self.list(number)?;
        self.last += 1;
        self.listings.insert(self.last, list);
        Ok(self.last)
    }
}

impl Node {
    fn new(kind: Kind, mode: u32, owner: (u32, u32)) -> Self {
        let attributes = BTreeMap::new();
        Node { kind, mode, owner, changed: SystemTime::now(), attributes, links: 0, known: 0 }
    }
}

/// An answer of some form.
trait Answer: Send + 'static {
    /// What it carries.
    type What;
    fn answer(self, what: Answered<Self::What>);
}

fn code(errno: Errno) -> Code {
    Code::from_i32(errno.raw_os_error())
}

macro_rules! answers {
    ($($reply:ident: $what:ty => |$it:ident, $value:ident| $send:expr;)*) => {$(
        impl Answer for $reply {
            type What = $what;
            fn answer(self, what: Answered<$what>) {
                let $it = self;
                match what {
                    Ok($value) => $send,
                    Err(errno) => $it.error(code(errno)),
                }
            }
        }
    )*};
}

answers! {
    ReplyEmpty: () => |reply, _nothing| reply.ok();
    ReplyEntry: FileAttr => |reply, attr| reply.entry_with_ttls(&Duration::ZERO, &NAMES_LIVE, &attr, Generation(0));
    ReplyAttr: FileAttr => |reply, attr| reply.attr(&Duration::ZERO, &attr);
    ReplyData: Vec<u8> => |reply, data| reply.data(&data);
    ReplyWrite: u32 => |reply, bytes| reply.written(bytes);
    ReplyOpen: (u64, FopenFlags) => |reply, open| reply.opened(FileHandle(open.0), open.1);
    // One time for both: the name is looked up once more.
    ReplyCreate: FileAttr => |reply, attr| {
        reply.created(&Duration::ZERO, &attr, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO)
    };
    ReplyStatfs: [u64; 2] => |reply, blocks| {
        reply.statfs(blocks[0], blocks[1], blocks[1], 1 << 20, 1 << 20, BLOCK, 255, BLOCK)
    };
    // Entries with the place behind each.
    ReplyDirectory: Vec<(u64, Entry)> => |reply, entries| {
        let mut reply = reply;
        let _ = entries.into_iter().any(|(behind, (number, kind, name))| reply.add(INodeNo(number), behind, kind, name));
        reply.ok();
    };
    ReplyXattr: (Vec<u8>, u32) => |reply, value| match value.0.len() as u32 {
        length if value.1 == 0 => reply.size(length),
        length if value.1 < length => reply.error(Code::ERANGE),
        _ => reply.data(&value.0),
    };
}

struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// Answers a call with what comes of it, or as the script says.
    fn serve<R: Answer>(
        &self,
        request: &Request,
        call: Call,
        reply: R,
        work: impl FnOnce(&mut Tree, &Faults) -> Answered<R::What> + Send + 'static,
    ) {
        let shared = self.shared.clone();
        let (arrived, thread) = (shared.now(), request.pid());
        let faults = shared.faults(call);
        let waits = faults.hangs.is_some() || faults.delay.is_some();
        let carry_out = move || {
            if let Some(delay) = faults.delay {
                let due = Duration::from_nanos(arrived) + delay;
                std::thread::sleep(due.saturating_sub(shared.epoch.elapsed()));
            }
            if let Some(releases) = faults.hangs {
                shared.hang(releases);
            }
            let what = match faults.error {
                Some(errno) => Err(errno),
                None => work(&mut shared.tree(), &faults),
            };
            let answered = shared.now();
            shared.script().served.push(Served { call, arrived, answered, thread });
            reply.answer(what);
        };
        // Each that waits has a thread of its own, so that no other call waits for it.
        if waits {
            std::thread::spawn(carry_out);
        } else {
            carry_out();
        }
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it each write would ask for an extended attribute first. Where the kernel is older, it does.
        let _ = config.add_capabilities(InitFlags::FUSE_HANDLE_KILLPRIV_V2);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        self.serve(request, Call::Lookup, reply, move |tree, _| {
            let number = tree.find(parent.0, &name)?;
            tree.introduce(number)
        });
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        let mut tree = self.shared.tree();
        if let Ok(node) = tree.node(number.0) {
            node.known = node.known.saturating_sub(times);
        }
        tree.tidy(number.0);
    }

    fn getattr(&self, request: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.serve(request, Call::Getattr, reply, move |tree, _| tree.attr(number.0));
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.serve(request, Call::Setattr, reply, move |tree, _| {
            if let Some(size) = size {
                tree.resize(number.0, size)?;
            }
            let node = tree.node(number.0)?;
            node.mode = mode.unwrap_or(node.mode);
            node.owner = (uid.unwrap_or(node.owner.0), gid.unwrap_or(node.owner.1));
            match mtime {
                Some(TimeOrNow::SpecificTime(time)) => node.changed = time,
                Some(TimeOrNow::Now) => node.changed = SystemTime::now(),
                None => {}
            }
            tree.attr(number.0)
        });
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (name, owner) = (name.to_owned(), (request.uid(), request.gid()));
        self.serve(request, Call::Mkdir, reply, move |tree, _| {
            tree.make(parent.0, name, Node::new(Kind::Directory(BTreeMap::new()), mode & !umask, owner))
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.serve(request, Call::Unlink, reply, move |tree, _| tree.remove(parent.0, &name, false));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.serve(request, Call::Rmdir, reply, move |tree, _| tree.remove(parent.0, &name, true));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        self.serve(request, Call::Rename, reply, move |tree, _| {
            if !flags.is_empty() {
                return Err(Errno::INVAL);
            }
            tree.rename((parent.0, &name), (new_parent.0, new_name))
        });
    }

    fn open(&self, request: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.serve(request, Call::Open, reply, move |tree, _| {
            tree.data(number.0)?;
            Ok((0, FopenFlags::FOPEN_DIRECT_IO))
        });
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let (name, owner) = (name.to_owned(), (request.uid(), request.gid()));
        self.serve(request, Call::Create, reply, move |tree, _| {
            tree.make(parent.0, name, Node::new(Kind::File(Vec::new()), mode & !umask, owner))
        });
    }

    fn read(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.serve(request, Call::Read, reply, move |tree, faults| {
            let data = tree.data(number.0)?;
            let start = data.len().min(offset as usize);
            let end = data.len().min(start + faults.most.min(size as usize));
            Ok(data[start..end].to_vec())
        });
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        self.serve(request, Call::Write, reply, move |tree, faults| {
            tree.write(number.0, offset, &data[..faults.most.min(data.len())])
        });
    }

    fn flush(&self, request: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.serve(request, Call::Flush, reply, |_, _| Ok(()));
    }

    fn fsync(&self, request: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.serve(request, Call::Fsync, reply, |_, _| Ok(()));
    }

    fn opendir(&self, request: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.serve(request, Call::Opendir, reply, move |tree, _| {
            Ok((tree.open_directory(number.0)?, FopenFlags::empty()))
        });
    }

    fn readdir(&self, request: &Request, number: INodeNo, handle: FileHandle, offset: u64, reply: ReplyDirectory) {
        self.serve(request, Call::Readdir, reply, move |tree, faults| {
            if offset == 0 && !faults.stale {
                let list = tree.list(number.0)?;
                tree.listings.insert(handle.0, list);
            }
            let list = tree.listings.get(&handle.0).ok_or(Errno::BADF)?;
            Ok((1..).zip(list.iter().cloned()).skip(offset as usize).collect())
        });
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.shared.tree().listings.remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, request: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.serve(request, Call::Fsync, reply, |_, _| Ok(()));
    }

    fn statfs(&self, request: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.serve(request, Call::Statfs, reply, |tree, _| {
            Ok([tree.size, tree.size - tree.used].map(|bytes| bytes / u64::from(BLOCK)))
        });
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let (name, value) = (name.to_owned(), value.to_vec());
        self.serve(request, Call::Setxattr, reply, move |tree, _| {
            tree.node(number.0)?.attributes.insert(name, value);
            Ok(())
        });
    }

    fn getxattr(&self, request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.to_owned();
        self.serve(request, Call::Getxattr, reply, move |tree, _| {
            let value = tree.node(number.0)?.attributes.get(&name).cloned();
            Ok((value.ok_or(Errno::NODATA)?, size))
        });
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        self.serve(request, Call::Listxattr, reply, move |tree, _| {
            use std::os::unix::ffi::OsStrExt;
            let names = tree.node(number.0)?.attributes.keys();
            Ok((names.flat_map(|name| name.as_bytes().iter().copied().chain([0])).collect(), size))
        });
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.serve(request, Call::Removexattr, reply, move |tree, _| {
            tree.node(number.0)?.attributes.remove(&name).map(drop).ok_or(Errno::NODATA)
        });
    }
}
