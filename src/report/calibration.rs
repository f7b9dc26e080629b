//! What each flowop asks of the storage by itself, as a table.

use super::line_of;
use super::table::Table;
use crate::record::{CalibrationRecord, MonitorInterval, Run};
use crate::summary::labels_of;

/// The table; nothing where nobody asked for it.
pub(super) fn table(run: &Run) -> String {
    if run.calibration.is_empty() {
        return String::new();
    }
    let of = |record: &CalibrationRecord, monitor: &str| record.monitors.iter().any(|m| m.monitor == monitor);
    // Where there is a server, what its own disks do here (on the loopback) is not asked by the flowop itself.
    let nfs = run.calibration.iter().any(|record| of(record, "nfs"));
    let header: &[&str] = match nfs {
        true => &["alone", "ops", "RPCs/op", "kB read/op", "kB written/op"],
        false => &["alone", "ops", "reads/op", "kB read/op", "writes/op", "kB written/op"],
    };
    let places = run.calibration.iter().map(|record| [&record.process[..], &record.thread, &record.name]);
    // The disks beneath the devices of the file systems would count the same again.
    let names = run.bytes.as_ref().map(|bytes| &bytes.storage.names[..]).filter(|names| !names.is_empty());
    let per_op = |record: &CalibrationRecord, monitor: &str, counter: &str, unit: f64| {
        let is_its = |m: &&MonitorInterval| {
            let named = names.is_none_or(|names| m.of.as_ref().is_some_and(|of| names.contains(of)));
            m.monitor == monitor && m.operation.is_none() && named
        };
        let sum: u64 = record.monitors.iter().filter(is_its).filter_map(|m| m.counters.get(counter)).sum();
        format!("{:.2}", sum as f64 / unit / record.ops as f64)
    };
    let mut table = Table::new(header.iter().copied());
    for (record, label) in run.calibration.iter().zip(labels_of(&places.collect::<Vec<_>>())) {
        let mut cells = vec![line_of(&label), record.ops.to_string()];
        if record.ops == 0 {
            cells.extend(header[2..].iter().map(|_| "-".to_owned()));
        } else if nfs {
            let columns = [("rpcs", 1.0), ("wire_bytes_read", 1000.0), ("wire_bytes_written", 1000.0)];
            cells.extend(columns.map(|(name, unit)| per_op(record, "nfs", name, unit)));
        } else {
            let columns = [("reads", 1.0), ("bytes_read", 1000.0), ("writes", 1.0), ("bytes_written", 1000.0)];
            cells.extend(columns.map(|(name, unit)| per_op(record, "disk", name, unit)));
        }
        table.push(cells);
    }
    // The remote procedures are a list behind the columns.
    let lists = std::iter::once(String::new()).chain(run.calibration.iter().map(operations));
    let line = |(line, list): (&str, String)| format!("{line}  {list}").trim_end().to_owned() + "\n";
    table.render().lines().zip(lists).map(line).collect()
}

/// `OPEN 1.00, SETATTR 0.95`, the most frequent first.
fn operations(record: &CalibrationRecord) -> String {
    if record.ops == 0 {
        return String::new();
    }
    let rpcs = |m: &MonitorInterval| m.counters.get("rpcs").copied().unwrap_or(0);
    let mut found: Vec<(u64, &str)> = record
        .monitors
        .iter()
        .filter(|m| m.monitor == "nfs" && rpcs(m) > 0)
        .filter_map(|m| Some((rpcs(m), m.operation.as_deref()?)))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let each = |(count, name): &(u64, &str)| format!("{name} {:.2}", *count as f64 / record.ops as f64);
    found.iter().map(each).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    fn counted(monitor: &str, operation: Option<&str>, counters: &[(&str, u64)]) -> MonitorInterval {
        MonitorInterval {
            monitor: monitor.into(),
            of: Some("x".into()),
            operation: operation.map(str::to_owned),
            counters: counters.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            ..MonitorInterval::default()
        }
    }

    fn of(name: &str, ops: u64, monitors: Vec<MonitorInterval>) -> CalibrationRecord {
        CalibrationRecord { name: name.into(), process: "p".into(), thread: "t".into(), ops, monitors }
    }

    #[test]
    fn remote_procedures_are_the_mean_of_an_operation() {
        let mut run = sample().runs.remove(0);
        assert_eq!(table(&run), "");
        run.calibration = vec![
            of(
                "open",
                20,
                vec![
                    counted("nfs", None, &[("rpcs", 30), ("wire_bytes_read", 40_000)]),
                    counted("nfs", Some("GETATTR"), &[("rpcs", 10)]),
                    counted("nfs", Some("OPEN"), &[("rpcs", 20)]),
                ],
            ),
            of("close", 20, vec![]),
            of("never", 0, vec![]),
        ];
        insta::assert_snapshot!(table(&run), @r"
        alone  ops  RPCs/op  kB read/op  kB written/op
        open    20     1.50        2.00           0.00  OPEN 1.00, GETATTR 0.50
        close   20     0.00        0.00           0.00
        never    0        -           -              -
        ");
    }

    #[test]
    fn a_device_has_requests_and_bytes() {
        let mut run = sample().runs.remove(0);
        run.calibration = vec![of("read", 4, vec![counted("disk", None, &[("reads", 6), ("bytes_read", 24_576)])])];
        insta::assert_snapshot!(table(&run), @r"
        alone  ops  reads/op  kB read/op  writes/op  kB written/op
        read     4      1.50        6.14       0.00           0.00
        ");
    }
}
