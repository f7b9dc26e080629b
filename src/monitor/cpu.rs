//! What all processors did: the first line of `/proc/stat`.

use super::{FigureDef, KernelFile, Moment, MonitorDef, Opened, Row, Source, counter, fact, named, numbers};

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "cpu",
    summary: "what all processors of the machine did, whoever asked them to",
    figures: FIGURES,
    open: |site| {
        Opened::one(
            KernelFile::open(site.root.join("proc/stat"))
                .map(|file| Stat { file, tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1) }),
        )
    },
};

static FIGURES: &[FigureDef] = &[
    counter("user_ns", "in programs, with `guest_ns`"),
    counter("nice_ns", "in programs of low priority, with `guest_nice_ns`"),
    counter("system_ns", "in the kernel for programs"),
    counter("idle_ns", "with nothing to do"),
    counter("iowait_ns", "with nothing to do while a task of theirs waited for I/O"),
    counter("irq_ns", "in interrupts"),
    counter("softirq_ns", "in what interrupts leave for later, such as the network"),
    counter("steal_ns", "wanted, while the host ran something else"),
    counter("guest_ns", "in guests"),
    counter("guest_nice_ns", "in guests of low priority"),
    fact("cpus", "processors that are online"),
];

/// In the order of the line.
const NAMES: &[&str] = &[
    "user_ns",
    "nice_ns",
    "system_ns",
    "idle_ns",
    "iowait_ns",
    "irq_ns",
    "softirq_ns",
    "steal_ns",
    "guest_ns",
    "guest_nice_ns",
];

#[derive(Debug)]
struct Stat {
    file: KernelFile,
    tick_ns: u64,
}

impl Source for Stat {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let figures = parse(&self.file.text()?, self.tick_ns).ok_or_else(|| self.file.strange())?;
        Ok(vec![Row::new(figures)])
    }
}

/// `cpu  USER NICE SYSTEM IDLE …` in ticks, then a line for each processor.
fn parse(text: &str, tick_ns: u64) -> Option<Vec<(&'static str, u64)>> {
    let mut lines = text.lines();
    let ticks = numbers(lines.next()?.strip_prefix("cpu ")?);
    let cpus = lines.take_while(|line| line.starts_with("cpu")).count() as u64;
    let mut figures = named(NAMES, &ticks, tick_ns);
    figures.push(("cpus", cpus));
    (ticks.len() >= 4).then_some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_and_processors_are_counted() {
        let text = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 9 18 27 36 45 54 63 72 81 90\nintr 5\n";
        let row = Row::new(parse(text, 10_000_000).unwrap());
        let found: Vec<u64> = NAMES.iter().map(|name| row.figure(name).unwrap() / 10_000_000).collect();
        assert_eq!(found, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        assert_eq!(row.figure("cpus"), Some(2));
    }

    #[test]
    fn what_a_kernel_does_not_show_is_left_out() {
        let row = Row::new(parse("cpu  1 2 3 4\ncpu0 1 2 3 4\n", 1).unwrap());
        assert_eq!((row.figure("idle_ns"), row.figure("iowait_ns"), row.figure("steal_ns")), (Some(4), None, None));
        assert_eq!(parse("cpu  1 2\n", 1), None);
        assert_eq!(parse("intr 1 2 3 4\n", 1), None);
    }
}
