//! Network interfaces: `/proc/net/dev`. The loopback is one of them, apart from the others by its name.

use super::{FigureDef, KernelFile, Moment, MonitorDef, Opened, Row, Site, Source, counter, fact, number_in, numbers};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "net",
    summary: "the network interfaces; those without traffic are left out",
    figures: FIGURES,
    open: |site| Opened::one(Interfaces::open(site)),
};

static FIGURES: &[FigureDef] = &[
    counter("bytes_received", "with the headers of the link"),
    counter("packets_received", "packets"),
    counter("errors_received", "bad packets"),
    counter("drops_received", "packets that had no room or no taker"),
    counter("bytes_sent", "with the headers of the link"),
    counter("packets_sent", "packets"),
    counter("errors_sent", "packets that could not be sent"),
    counter("drops_sent", "packets that had no room"),
    fact("speed_bits_per_s", "of the link, where the driver says it"),
];

#[derive(Debug)]
struct Interfaces {
    file: KernelFile,
    class: PathBuf,
    /// Of those that were there at the last look; none where the driver does not say it.
    speeds: BTreeMap<String, Option<u64>>,
}

impl Interfaces {
    fn open(site: &Site<'_>) -> Result<Self, String> {
        let file = KernelFile::open(site.root.join("proc/net/dev"))?;
        Ok(Interfaces { file, class: site.root.join("sys/class/net"), speeds: BTreeMap::new() })
    }
}

impl Source for Interfaces {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let mut rows = parse(&self.file.text()?);
        for row in &mut rows {
            let name = row.of.clone().unwrap_or_default();
            let path = self.class.join(&name).join("speed");
            // Asked once: the kernel asks the device for it.
            let speed = self.speeds.entry(name).or_insert_with(|| number_in(&path).filter(|megabits| *megabits > 0));
            row.figures.extend(speed.map(|megabits| ("speed_bits_per_s", megabits * 1_000_000)));
        }
        Ok(rows)
    }
}

/// Two lines of headings; then a name, a colon, eight numbers of what was received and eight of what was sent.
fn parse(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        // An interface's alias has a colon in its name.
        let (name, rest) = line.rsplit_once(':')?;
        let all = numbers(rest);
        let (received, sent) = all.split_at_checked(8)?;
        let [bytes, packets, errors, drops, ..] = *received else { return None };
        let [sent_bytes, sent_packets, sent_errors, sent_drops, ..] = *sent else { return None };
        let figures = vec![
            ("bytes_received", bytes),
            ("packets_received", packets),
            ("errors_received", errors),
            ("drops_received", drops),
            ("bytes_sent", sent_bytes),
            ("packets_sent", sent_packets),
            ("errors_sent", sent_errors),
            ("drops_sent", sent_drops),
        ];
        Some(Row { of: Some(name.trim().into()), optional: true, ..Row::new(figures) })
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_is_a_row() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                    lo:    9168     107    0    0    0     0          0         0     9168     107    0    0    0     0       0          0\n  \
                    eth0:137732004    5401    1    2    0     0          0         0   408780    3433    3    4    0     0       0          0\n";
        let rows = parse(text);
        let names: Vec<&str> = rows.iter().filter_map(|row| row.of.as_deref()).collect();
        assert_eq!(names, ["lo", "eth0"]);
        let eth0: Vec<u64> = rows[1].figures.iter().map(|(_, value)| *value).collect();
        assert_eq!(eth0, [137_732_004, 5401, 1, 2, 408_780, 3433, 3, 4], "also without a blank behind the colon");
    }

    #[test]
    fn the_speed_is_that_of_the_driver_where_it_knows_one() {
        let root = tempfile::tempdir().unwrap();
        let line = |name: &str| format!("{name}: {}\n", ["1"; 16].join(" "));
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        std::fs::write(root.path().join("proc/net/dev"), line("a") + &line("b") + &line("c")).unwrap();
        for (name, speed) in [("a", "10000\n"), ("b", "-1\n")] {
            std::fs::create_dir_all(root.path().join("sys/class/net").join(name)).unwrap();
            std::fs::write(root.path().join("sys/class/net").join(name).join("speed"), speed).unwrap();
        }
        let mut interfaces = Interfaces::open(&Site { root: root.path(), targets: &[], pids: &[] }).unwrap();
        let rows = interfaces.read(Moment::Edge).unwrap();
        let speeds: Vec<Option<u64>> = rows.iter().map(|row| row.figure("speed_bits_per_s")).collect();
        assert_eq!(speeds, [Some(10_000_000_000), None, None]);
    }
}
