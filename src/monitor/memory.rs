//! The page cache: `/proc/meminfo` and `/proc/vmstat`.

use super::{FigureDef, KernelFile, Moment, MonitorDef, Opened, Row, Site, Source, counter, level};

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "memory",
    summary: "the page cache of the machine: what is dirty, what is cached, what went through it",
    figures: FIGURES,
    open: |site| Opened::one(Memory::open(site)),
};

static FIGURES: &[FigureDef] = &[
    level("dirty_bytes", "written by programs and not yet on its way to a device or server"),
    level("writeback_bytes", "on its way"),
    level("cached_bytes", "in the page cache"),
    level("available_bytes", "free, or free as soon as it is needed"),
    counter("paged_in_bytes", "that block devices gave to the machine"),
    counter("paged_out_bytes", "that the machine gave to block devices"),
    counter("dirtied_bytes", "pages of the cache that became dirty"),
    counter("cleaned_bytes", "pages of the cache that were written back"),
];

/// Key, figure. All are in kB.
const MEMINFO: &[(&str, &str)] = &[
    ("Dirty:", "dirty_bytes"),
    ("Writeback:", "writeback_bytes"),
    ("Cached:", "cached_bytes"),
    ("MemAvailable:", "available_bytes"),
];

const VMSTAT: &[(&str, &str)] = &[
    ("pgpgin", "paged_in_bytes"),
    ("pgpgout", "paged_out_bytes"),
    ("nr_dirtied", "dirtied_bytes"),
    ("nr_written", "cleaned_bytes"),
];

#[derive(Debug)]
struct Memory {
    meminfo: KernelFile,
    /// Without it the levels are all there is.
    vmstat: Option<KernelFile>,
}

impl Memory {
    fn open(site: &Site<'_>) -> Result<Self, String> {
        let open = |name: &str| KernelFile::open(site.root.join("proc").join(name));
        Ok(Memory { meminfo: open("meminfo")?, vmstat: open("vmstat").ok() })
    }
}

impl Source for Memory {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let mut figures = parse(&self.meminfo.text()?, MEMINFO, 1);
        if figures.is_empty() {
            return Err(self.meminfo.strange());
        }
        if let Some(vmstat) = &mut self.vmstat {
            figures.extend(parse(&vmstat.text()?, VMSTAT, rustix::param::page_size() as u64));
        }
        Ok(vec![Row::new(figures)])
    }
}

/// Lines of a key, a number, and perhaps `kB`. What has no unit is pages of `unit` bytes, but for what went in and out.
fn parse(text: &str, names: &[(&str, &'static str)], unit: u64) -> Vec<(&'static str, u64)> {
    let figure = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (key, number) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        let name = names.iter().find(|(known, _)| *known == key)?.1;
        let unit = if words.next() == Some("kB") || key.starts_with("pgpg") { 1024 } else { unit };
        Some((name, number * unit))
    };
    text.lines().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_meminfo_and_vmstat_are_bytes() {
        let meminfo = "MemTotal: 100 kB\nMemAvailable:   50 kB\nCached:  30 kB\nSwapCached:  9 kB\nDirty:  2 kB\n\
                       Writeback:  1 kB\nWritebackTmp:  8 kB\n";
        let row = Row::new(parse(meminfo, MEMINFO, 1));
        let kb = |name| row.figure(name).map(|bytes| bytes / 1024);
        assert_eq!((kb("available_bytes"), kb("cached_bytes")), (Some(50), Some(30)));
        assert_eq!((kb("dirty_bytes"), kb("writeback_bytes")), (Some(2), Some(1)));
        assert_eq!(row.figures.len(), 4);
        let vmstat = "nr_free_pages 7\nnr_dirtied 5\nnr_written 4\npgpgin 3\npgpgout 2\nnr_dirty 9\n";
        let row = Row::new(parse(vmstat, VMSTAT, 4096));
        assert_eq!((row.figure("dirtied_bytes"), row.figure("cleaned_bytes")), (Some(5 * 4096), Some(4 * 4096)));
        assert_eq!((row.figure("paged_in_bytes"), row.figure("paged_out_bytes")), (Some(3 * 1024), Some(2 * 1024)));
        assert!(parse("nothing\n", VMSTAT, 1).is_empty());
    }
}
