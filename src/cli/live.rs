//! What is shown while a run is on: on stderr, and only where somebody looks.

use super::files::Files;
use super::say;
use crate::event::{Event, Tick};
use crate::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};

/// Where an `echo` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EchoTo {
    Stdout,
    Stderr,
}

/// Shows events.
pub(super) struct Live {
    echo: EchoTo,
    terminal: bool,
    quiet: bool,
    bar: Option<ProgressBar>,
    /// An `echo` could not be written.
    pub(super) broken: Option<std::io::Error>,
    /// A run has begun: what is said from now on stands behind the report, as it does in the workload.
    ran: bool,
    /// Lines for behind the report.
    pub(super) after: String,
    /// What the workload writes.
    pub(super) files: Files,
}

impl Live {
    pub(super) fn new(echo: EchoTo, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        Live {
            echo,
            terminal,
            quiet,
            bar: None,
            broken: None,
            ran: false,
            after: String::new(),
            files: Files::default(),
        }
    }

    pub(super) fn show(&mut self, event: Event) {
        match event {
            Event::Echo(text) => {
                self.clear();
                match self.echo {
                    EchoTo::Stdout if self.ran => {
                        self.after.push_str(&text);
                    }
                    EchoTo::Stdout => {
                        let mut out = std::io::stdout().lock();
                        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                            self.broken.get_or_insert(error);
                        }
                    }
                    EchoTo::Stderr => say(&text),
                }
            }
            Event::Preparing { fileset, files_done, files, bytes_done, bytes } => {
                if self.terminal {
                    self.preparing(&fileset, files_done, files, bytes_done, bytes);
                }
            }
            Event::Prepared { files, made, elapsed_ns } => {
                self.clear();
                if self.terminal {
                    let time = units::duration(elapsed_ns);
                    say(&format!("{files} files are there, {made} of them made in {time}\n"));
                }
            }
            Event::Starting { ready, processes, threads } => {
                self.ran = true;
                if self.terminal && ready < processes {
                    self.line(&format!("{ready} of {processes} processes are ready, {threads} threads in all"));
                }
            }
            Event::Interval(tick) => {
                if self.terminal {
                    self.line(&tick_line(&tick));
                }
            }
            // For a stream.
            Event::Counted { .. } | Event::Measured(_) => {}
            Event::Draining { processes } => {
                self.clear();
                if !self.quiet {
                    let have = if processes == 1 { "process has" } else { "processes have" };
                    say(&format!("the window has closed; {processes} {have} operations under way\n"));
                }
            }
            Event::Doing(text) => {
                self.clear();
                if self.terminal {
                    say(&format!("{}\n", text.replace(char::is_control, " ")));
                }
            }
            Event::Dump { format, path, record } => self.files.dump(&format, &path, &record),
            Event::Directory(path) => self.files.directory(&path),
            Event::Log { path, text } => self.files.log(&path, &text),
            Event::Said(text) => {
                self.clear();
                say(&format!("{text}\n"));
            }
            Event::Warning(text) => {
                self.clear();
                say(&format!("warning: {text}\n"));
            }
        }
    }

    fn preparing(&mut self, fileset: &str, files_done: u64, files: u64, bytes_done: u64, bytes: u64) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            bar.set_style(style.progress_chars("=> "));
            bar
        });
        // A set of empty files is measured in files, any other in bytes.
        let (done, all) = if bytes > 0 { (bytes_done, bytes) } else { (files_done, files) };
        bar.set_length(all.max(1));
        bar.set_position(done);
        bar.set_message(format!("{fileset}: {files_done} of {files} files, {}", units::bytes(bytes_done)));
    }

    fn line(&mut self, text: &str) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_message(text.to_owned());
        bar.tick();
    }

    /// Takes the live line away.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn tick_line(tick: &Tick) -> String {
    let length = tick.length_ns.map(|length| format!(" of {}", units::duration(length))).unwrap_or_default();
    let mean = tick.mean_ns.map_or_else(|| "-".to_owned(), |mean| units::duration(mean as u64));
    let lag = tick.lag_ns.map(|lag| format!("  lag {}", units::duration(lag))).unwrap_or_default();
    format!(
        "{}{}{length}  {:.0} ops/s  read {:.1} MB/s  written {:.1} MB/s  mean {mean}{lag}",
        if tick.warmup { "warming up " } else { "" },
        units::duration(tick.elapsed_ns),
        tick.ops_per_s,
        tick.read_per_s / 1e6,
        tick.written_per_s / 1e6,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_has_time_rates_and_latency() {
        let tick = Tick {
            warmup: false,
            elapsed_ns: 3_000_000_000,
            length_ns: Some(60_000_000_000),
            ops_per_s: 1234.4,
            read_per_s: 5.5e6,
            written_per_s: 0.0,
            mean_ns: Some(1_500_000.0),
            lag_ns: None,
        };
        let line = "3.00 s of 60.0 s  1234 ops/s  read 5.5 MB/s  written 0.0 MB/s  mean 1.50 ms";
        assert_eq!(tick_line(&tick), line);
        assert_eq!(tick_line(&Tick { warmup: true, ..tick.clone() }), format!("warming up {line}"));
        let late = Tick { lag_ns: Some(1_250_000_000), ..tick.clone() };
        assert_eq!(tick_line(&late), format!("{line}  lag 1.25 s"));
        assert!(tick_line(&Tick { length_ns: None, mean_ns: None, ..tick }).starts_with("3.00 s  "));
    }
}
