//! Time in which tasks waited for processors, I/O or memory: `/proc/pressure`.

use super::{FigureDef, KernelFile, Missing, Moment, MonitorDef, Opened, Row, Source, counter};

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "pressure",
    summary: "time in which tasks of the machine waited for processors, I/O and memory (PSI)",
    figures: FIGURES,
    open: |site| {
        let of = |name: &str| match KernelFile::open(site.root.join("proc/pressure").join(name)) {
            Ok(file) => Ok(Box::new(Pressure { of: name.into(), file }) as Box<dyn Source>),
            Err(why) => Err(Missing { of: Some(name.into()), why }),
        };
        Opened(["cpu", "io", "memory"].map(of).into())
    },
};

static FIGURES: &[FigureDef] =
    &[counter("some_ns", "at least one task waited"), counter("full_ns", "all tasks that had something to do waited")];

#[derive(Debug)]
struct Pressure {
    of: String,
    file: KernelFile,
}

impl Source for Pressure {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let figures = parse(&self.file.text()?).ok_or_else(|| self.file.strange())?;
        Ok(vec![Row { of: Some(self.of.clone()), ..Row::new(figures) }])
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`, and `full` likewise; old kernels have no `full` of cpu.
fn parse(text: &str) -> Option<Vec<(&'static str, u64)>> {
    let total = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    let mut figures = vec![("some_ns", total("some ")? * 1000)];
    figures.extend(total("full ").map(|micros| ("full_ns", micros * 1000)));
    Some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_become_nanoseconds() {
        let some = "some avg10=73.23 avg60=34.09 avg300=40.79 total=7508651847\n";
        let full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!(parse(&format!("{some}{full}")).unwrap(), [("some_ns", 7_508_651_847_000), ("full_ns", 12_000)]);
        assert_eq!(parse(some).unwrap(), [("some_ns", 7_508_651_847_000)]);
        assert_eq!(parse(full), None);
        assert_eq!(parse("some avg10=1\n"), None);
    }
}
