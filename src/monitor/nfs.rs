//! The NFS mounts under the file sets: `/proc/self/mountstats`.

use super::{FigureDef, KernelFile, Moment, MonitorDef, Opened, Row, Site, Source, counter, named, numbers};
use crate::mounts::unescape;
use std::collections::BTreeMap;

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "nfs",
    summary: "the NFS mounts under the file sets: bytes of programs, bytes on the wire, and each remote procedure",
    figures: FIGURES,
    open: |site| Opened::one(Stats::open(site)),
};

static FIGURES: &[FigureDef] = &[
    counter("app_bytes_read", "what read calls through the page cache returned"),
    counter("app_bytes_written", "what write calls through the page cache took"),
    counter("app_direct_bytes_read", "what read calls with O_DIRECT returned"),
    counter("app_direct_bytes_written", "what write calls with O_DIRECT took"),
    counter("wire_bytes_read", "data that the server sent"),
    counter("wire_bytes_written", "data that was sent to the server"),
    counter("pages_read", "pages of the cache that were filled; it has those of mapped files too"),
    counter("pages_written", "pages of the cache that were written back"),
    counter("rpcs", "calls of the server; of one operation, or of all"),
    counter("transmissions", "times that they were sent"),
    counter("retransmissions", "times that they were sent again"),
    counter("timeouts", "times that the patience for an answer ran out"),
    counter("rpc_bytes_sent", "with the headers of the calls"),
    counter("rpc_bytes_received", "with the headers of the answers"),
    counter("queue_time_ns", "from the making of the calls to their sending, all together"),
    counter("rtt_time_ns", "from the sending to the answers, all together"),
    counter("execute_time_ns", "from the making of the calls to their end, all together"),
    counter("errors", "calls that ended with an error (from Linux 5.4)"),
];

/// In the order of the line `bytes:`.
const BYTES: &[&str] = &[
    "app_bytes_read",
    "app_bytes_written",
    "app_direct_bytes_read",
    "app_direct_bytes_written",
    "wire_bytes_read",
    "wire_bytes_written",
    "pages_read",
    "pages_written",
];

const MILLISECOND: u64 = 1_000_000;

#[derive(Debug)]
struct Stats {
    file: KernelFile,
    /// Mount points, each with why others may share its figures.
    mounts: BTreeMap<String, Option<String>>,
}

impl Stats {
    fn open(site: &Site<'_>) -> Result<Self, String> {
        let all = site.mounts()?;
        let mut mounts = BTreeMap::new();
        for mount in site.targets.iter().filter_map(|target| all.of(target)).filter(|mount| is_nfs(&mount.fs_type)) {
            // Mounts of one file system have one set of counters.
            let shared = all.iter().any(|other| other.device == mount.device && other.point != mount.point);
            mounts.insert(mount.point.clone(), shared.then(|| "another mount has the same counters".to_owned()));
        }
        if mounts.is_empty() {
            return Err("no file set lies on NFS".into());
        }
        Ok(Stats { file: KernelFile::open(site.root.join("proc/self/mountstats"))?, mounts })
    }
}

impl Source for Stats {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let rows = parse(&self.file.text()?, &self.mounts);
        if rows.is_empty() {
            let points: Vec<&str> = self.mounts.keys().map(String::as_str).collect();
            return Err(format!("{} is not in {}", points.join(", "), self.file.path.display()));
        }
        Ok(rows)
    }
}

fn is_nfs(fs_type: &str) -> bool {
    matches!(fs_type, "nfs" | "nfs4")
}

/// The mounts at these points: of several at one point the last, which hides the others.
fn parse(text: &str, mounts: &BTreeMap<String, Option<String>>) -> Vec<Row> {
    let mut found: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    let mut at: Option<(&str, Option<&String>)> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("device ") {
            at = device(rest).and_then(|point| mounts.get_key_value(&point)).map(|(p, why)| (p.as_str(), why.as_ref()));
            if let Some((point, why)) = at {
                let row = Row { of: Some(point.into()), upper_bound: why.cloned(), ..Row::default() };
                found.insert(point, vec![row]);
            }
            continue;
        }
        let Some(rows) = at.and_then(|(point, _)| found.get_mut(point)) else { continue };
        let Some((key, rest)) = line.trim().split_once(':') else { continue };
        if key == "bytes" {
            rows[0].figures.extend(named(BYTES, &numbers(rest), 1));
        } else if let Some(figures) = operation(key, rest) {
            let (of, upper_bound) = (rows[0].of.clone(), rows[0].upper_bound.clone());
            let operation = Some(key.to_owned());
            rows.push(Row { of, operation, upper_bound, optional: true, figures });
        }
    }
    let mut rows: Vec<Row> = found.into_values().flatten().collect();
    sum(&mut rows);
    rows
}

/// `server:/export mounted on /mnt/n with fstype nfs4 statvers=1.1`: the mount point of an NFS mount. Blanks in it are
/// escaped.
fn device(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(" mounted on ")?;
    let (point, kind) = rest.split_once(" with fstype ")?;
    is_nfs(kind.split(' ').next()?).then(|| unescape(point))
}

/// `READ: 12 12 0 1800 40000 3 45 50 0`: calls, transmissions, timeouts, bytes sent, bytes received, milliseconds in the
/// queue, until the answer, in all; and from statvers 1.1 errors. Other lines have another name or other numbers.
fn operation(name: &str, rest: &str) -> Option<Vec<(&'static str, u64)>> {
    let is_operation =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let all = numbers(rest);
    let ([rpcs, transmissions, timeouts, sent, received, queue, rtt, execute, errors @ ..], true) =
        (&all[..], is_operation)
    else {
        return None;
    };
    let mut figures = vec![
        ("rpcs", *rpcs),
        ("transmissions", *transmissions),
        // A call that could not be sent at all has none.
        ("retransmissions", transmissions.saturating_sub(*rpcs)),
        ("timeouts", *timeouts),
        ("rpc_bytes_sent", *sent),
        ("rpc_bytes_received", *received),
        ("queue_time_ns", queue * MILLISECOND),
        ("rtt_time_ns", rtt * MILLISECOND),
        ("execute_time_ns", execute * MILLISECOND),
    ];
    figures.extend(errors.first().map(|errors| ("errors", *errors)));
    Some(figures)
}

/// Gives the row of each mount the sums of its operations.
fn sum(rows: &mut [Row]) {
    let sums: Vec<(usize, &'static str, u64)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.operation.is_none())
        .flat_map(|(at, mount)| {
            let operations = rows.iter().filter(|row| row.operation.is_some() && row.of == mount.of);
            let mut sums: BTreeMap<&'static str, u64> = BTreeMap::new();
            for (name, value) in operations.flat_map(|row| &row.figures) {
                *sums.entry(name).or_default() += value;
            }
            sums.into_iter().map(move |(name, value)| (at, name, value))
        })
        .collect();
    for (at, name, value) in sums {
        rows[at].figures.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(point: &str) -> BTreeMap<String, Option<String>> {
        [(point.to_owned(), None)].into()
    }

    fn figure(rows: &[Row], operation: Option<&str>, name: &str) -> Option<u64> {
        rows.iter().find(|row| row.operation.as_deref() == operation)?.figure(name)
    }

    /// As Linux 4.19 writes it: statvers 1.0, eight numbers an operation.
    const V3: &str = "device proc mounted on /proc with fstype proc\n\
        device filer:/vol/home mounted on /mnt/home with fstype nfs statvers=1.0\n\
        \topts:\trw,vers=3,rsize=65536,wsize=65536,namlen=255,acregmin=3,hard,proto=tcp,timeo=600,retrans=2,sec=sys\n\
        \tage:\t120\n\
        \tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=32768,bsize=0,namlen=255\n\
        \tsec:\tflavor=1,pseudoflavor=1\n\
        \tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n\
        \tbytes:\t1001 1002 1003 1004 1005 1006 1007 1008\n\
        \tRPC iostats version: 1.0  p/v: 100003/3 (nfs)\n\
        \txprt:\ttcp 875 1 1 0 0 98 98 0 98 0 2 0 0\n\
        \tper-op statistics\n\
        \t        NULL: 0 0 0 0 0 0 0 0\n\
        \t     GETATTR: 10 11 1 1320 1120 2 30 33\n\
        \t        READ: 20 23 2 3000 70000 5 60 66\n\
        \t       WRITE: 5 5 0 9000 800 1 40 42\n\
        \t      COMMIT: 0 0 0 0 0 0 0 0\n";

    #[test]
    fn version_3_of_an_old_kernel() {
        let rows = parse(V3, &one("/mnt/home"));
        let bytes: Vec<u64> = BYTES.iter().map(|name| rows[0].figure(name).unwrap()).collect();
        assert_eq!(bytes, [1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008]);
        let read = |name| figure(&rows, Some("READ"), name).unwrap();
        assert_eq!((read("rpcs"), read("transmissions"), read("retransmissions"), read("timeouts")), (20, 23, 3, 2));
        assert_eq!((read("rpc_bytes_sent"), read("rpc_bytes_received")), (3000, 70_000));
        assert_eq!(
            (read("queue_time_ns"), read("rtt_time_ns"), read("execute_time_ns")),
            (5_000_000, 60_000_000, 66_000_000)
        );
        assert_eq!(figure(&rows, Some("READ"), "errors"), None);
        assert_eq!((figure(&rows, None, "rpcs"), figure(&rows, None, "retransmissions")), (Some(35), Some(4)));
        let operations: Vec<&str> = rows.iter().filter_map(|row| row.operation.as_deref()).collect();
        assert_eq!(operations, ["NULL", "GETATTR", "READ", "WRITE", "COMMIT"], "and no other line");
    }

    /// Version 4.0: a line `nfsv4:` before the security, nine numbers an operation.
    const V40: &str = "device 192.0.2.7:/data mounted on /srv/my\\040data with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.0,rsize=262144,wsize=262144,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,clientaddr=192.0.2.9\n\
        \tage:\t7\n\
        \timpl_id:\tname='',domain='',date='0,0'\n\
        \tcaps:\tcaps=0xfff7,wtmult=512,dtsize=262144,bsize=0,namlen=255\n\
        \tnfsv4:\tbm0=0xfdffbfff,bm1=0xf9be3e,bm2=0x0,acl=0x3,pnfs=not configured,lease_time=90,lease_expired=0\n\
        \tsec:\tflavor=1,pseudoflavor=1\n\
        \tevents:\t0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
        \tbytes:\t0 4096 0 0 0 4096 0 1\n\
        \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
        \txprt:\ttcp 0 0 1 0 3 12 12 0 12 0 2 0 0\n\
        \tper-op statistics\n\
        \t        NULL: 1 1 0 44 24 0 0 0 0\n\
        \t       WRITE: 1 1 0 4300 180 0 2 2 0\n\
        \tOPEN_CONFIRM: 1 1 0 200 60 0 1 1 0\n\
        \t     SETATTR: 2 2 0 400 300 0 1 1 1\n";

    /// Version 4.2 with sessions, pNFS and two connections: two lines `xprt:`, more operations.
    const V42: &str = "device 192.0.2.7:/ mounted on /mnt/n with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=2,timeo=600,retrans=2,sec=sys\n\
        \tage:\t10\n\
        \timpl_id:\tname='',domain='',date='0,0'\n\
        \tcaps:\tcaps=0x3ffbffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n\
        \tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x60803,acl=0x3,sessions,pnfs=not configured,lease_time=90,lease_expired=0\n\
        \tsec:\tflavor=1,pseudoflavor=1\n\
        \tevents:\t9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
        \tbytes:\t500 0 0 0 500 0 1 0\n\
        \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
        \txprt:\ttcp 0 0 2 0 0 20 20 0 20 0 2 0 0\n\
        \txprt:\ttcp 0 0 1 0 0 10 10 0 10 0 2 0 0\n\
        \tper-op statistics\n\
        \t        READ: 1 1 0 200 650 0 3 3 0\n\
        \t   READ_PLUS: 4 4 0 800 2600 1 9 10 0\n\
        \t  EXCHANGE_ID: 2 2 0 440 208 0 0 0 0\n\
        \tLAYOUTRETURN: 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn versions_4_0_and_4_2_stand_beside_each_other_and_are_told_apart() {
        let text = format!("{V3}{V40}device tmpfs mounted on /tmp with fstype tmpfs\n{V42}");
        let rows = parse(&text, &one("/srv/my data"));
        assert_eq!(rows[0].of.as_deref(), Some("/srv/my data"));
        assert_eq!(
            (rows[0].figure("app_bytes_written"), rows[0].figure("wire_bytes_written")),
            (Some(4096), Some(4096))
        );
        assert_eq!(figure(&rows, Some("OPEN_CONFIRM"), "rpcs"), Some(1));
        assert_eq!((figure(&rows, Some("SETATTR"), "errors"), figure(&rows, None, "errors")), (Some(1), Some(1)));
        let both: BTreeMap<String, Option<String>> = one("/mnt/n").into_iter().chain(one("/mnt/home")).collect();
        let rows = parse(&text, &both);
        let mounts: Vec<&Row> = rows.iter().filter(|row| row.operation.is_none()).collect();
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].figure("rpcs"), mounts[1].figure("rpcs")), (Some(35), Some(7)));
        assert_eq!(mounts[1].figure("app_bytes_read"), Some(500));
        let reads = rows.iter().filter(|row| row.operation.as_deref() == Some("READ")).count();
        assert_eq!(reads, 2, "one of each mount");
    }

    #[test]
    fn of_two_mounts_at_one_point_the_upper_one_counts() {
        let text = V42.replace("READ: 1 1", "READ: 77 77") + V42;
        let rows = parse(&text, &one("/mnt/n"));
        assert_eq!(figure(&rows, Some("READ"), "rpcs"), Some(1));
        assert_eq!(rows.iter().filter(|row| row.operation.is_none()).count(), 1);
    }

    #[test]
    fn other_mounts_and_broken_lines_are_no_figures() {
        assert!(parse(V42, &one("/mnt")).is_empty());
        assert!(parse("", &one("/mnt/n")).is_empty());
        let rows = parse(&V42.replace("READ: 1 1 0 200 650 0 3 3 0", "READ: 1 1 0"), &one("/mnt/n"));
        assert_eq!(figure(&rows, Some("READ"), "rpcs"), None);
        assert_eq!(figure(&rows, None, "rpcs"), Some(6));
    }

    #[test]
    fn which_mounts_are_watched() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountstats"), V42).unwrap();
        let open = |mountinfo: &str| {
            std::fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
            Stats::open(&Site { root: root.path(), targets: &["/mnt/n/set".into()], pids: &[] })
        };
        let local = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let mounted = format!("{local}2 1 0:40 / /mnt/n rw - nfs4 192.0.2.7:/ rw,vers=4.2\n");
        let twice = format!("{mounted}3 1 0:40 / /mnt/m rw - nfs4 192.0.2.7:/ rw,vers=4.2\n");
        assert_eq!(open(local).unwrap_err(), "no file set lies on NFS");
        let rows = open(&mounted).unwrap().read(Moment::Edge).unwrap();
        assert_eq!((rows[0].of.as_deref(), rows[0].upper_bound.as_ref()), (Some("/mnt/n"), None));
        let rows = open(&twice).unwrap().read(Moment::Edge).unwrap();
        assert_eq!(rows[0].upper_bound.as_deref(), Some("another mount has the same counters"));
        std::fs::write(root.path().join("proc/self/mountstats"), V3).unwrap();
        assert!(open(&mounted).unwrap().read(Moment::Edge).unwrap_err().starts_with("/mnt/n is not in "));
    }
}
