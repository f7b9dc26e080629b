//! A record that may be shown to others: without names of hosts, servers and users, addresses, and paths.
//!
//! Each gets a placeholder (`<path1>`), the same wherever it stands. What lies below a known directory keeps its rest
//! (`<path1>/f/00000001`), which wlrun and the workload have named. The workload's own names stay, and so do those of the
//! kernel's (`/dev/sda`, `/proc/stat`).

use super::RunRecord;
use serde_json::Value;
use std::path::Path;

/// Keys whose values are words of wlrun or of the kernel, or no text for people.
const OWN_WORDS: &[&str] = &[
    "schema_version",
    "wlrun",
    "kernel",
    "cpu_model",
    "cpu_governor",
    "clock_source",
    "hypervisor",
    "container",
    "fs_type",
    "scheduler",
    "model",
    "hash",
    "ended",
    "type",
    "class",
    "histogram",
    "errno",
    "errors",
    "code",
    "unit",
    "monitor",
    "operation",
];

/// Options whose value is a path, however it looks.
const PATH_OPTIONS: &[&str] = &["--dir", "--lib", "--allow-path", "--json", "--out"];

/// Mount options whose value says who and where somebody is.
const TELLING_OPTIONS: &[(&str, Kind)] = &[
    ("addr", Kind::Address),
    ("clientaddr", Kind::Address),
    ("mountaddr", Kind::Address),
    ("srcaddr", Kind::Address),
    ("username", Kind::User),
    ("domain", Kind::User),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Address,
    User,
    Path,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Server => "server",
            Kind::Address => "address",
            Kind::User => "user",
            Kind::Path => "path",
        }
    }
}

/// Takes out of a record what says whose it is. `host` is the name of this machine.
pub fn redact(record: &RunRecord, host: &str) -> RunRecord {
    let environment = &record.environment;
    let mut secrets = Secrets::new(host);
    let targets = environment.targets.iter();
    let sources = environment.fs_source.iter().chain(targets.clone().map(|target| &target.fs_source));
    sources.filter_map(|source| server(source)).for_each(|name| secrets.know(Kind::Server, name));
    let options = environment.mount_options.iter().chain(targets.clone().map(|target| &target.mount_options));
    for (name, value) in options.flat_map(|list| list.split(',')).filter_map(|option| option.split_once('=')) {
        if let Some((_, kind)) = TELLING_OPTIONS.iter().find(|(known, _)| *known == name) {
            secrets.know(*kind, value);
        }
    }
    let points = environment.mount_point.iter().chain(targets.clone().map(|target| &target.mount_point));
    // Below --dir it is the workload that gives the names.
    let below = |path: &&String| environment.target.as_ref().is_some_and(|dir| Path::new(path).starts_with(dir));
    let paths = targets.map(|target| &target.path).filter(|path| !below(path));
    let places = environment.target.iter().chain(paths).chain(points);
    places.for_each(|path| secrets.know(Kind::Path, path));

    let mut document = serde_json::to_value(record).expect("a record is numbers, texts, lists and maps");
    secrets.walk(&mut document);
    let command = secrets.command(&environment.command);
    document["environment"]["command"] = command.into();
    serde_json::from_value(document).expect("only texts have changed")
}

/// `filer` of `filer:/vol`, `//filer/share` and `filer,other:/` (ceph).
fn server(source: &str) -> Option<&str> {
    if let Some(rest) = source.strip_prefix("//") {
        return rest.split('/').next();
    }
    source.split_once(":/").map(|(name, _)| name).filter(|name| !name.is_empty() && !name.contains('/'))
}

struct Secrets<'a> {
    host: Option<&'a str>,
    /// What was found, in the order of being numbered: a number is the place among those of its kind.
    numbered: Vec<(Kind, String)>,
    /// What is looked for, the longest first.
    known: Vec<(Kind, String)>,
}

impl<'a> Secrets<'a> {
    fn new(host: &'a str) -> Self {
        let host = (!matches!(host, "" | "localhost" | "(none)")).then_some(host);
        Secrets { host, numbered: Vec::new(), known: Vec::new() }
    }

    fn know(&mut self, kind: Kind, text: &str) {
        let text = if kind == Kind::Path { text.trim_end_matches('/') } else { text };
        let entry = (kind, text.to_owned());
        // A record that has been through this before has placeholders.
        if !text.is_empty() && !text.starts_with('<') && !self.known.contains(&entry) {
            self.known.push(entry);
            self.known.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        }
    }

    fn placeholder(&mut self, kind: Kind, text: &str) -> String {
        let entry = (kind, text.to_owned());
        if !self.numbered.contains(&entry) {
            self.numbered.push(entry.clone());
        }
        let of_kind = self.numbered.iter().filter(|(other, _)| *other == kind);
        let number = of_kind.take_while(|other| **other != entry).count() + 1;
        format!("<{}{number}>", kind.word())
    }

    fn walk(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.walk(value)),
            Value::Object(map) => {
                map.iter_mut().filter(|(key, _)| !OWN_WORDS.contains(&key.as_str())).for_each(|(_, v)| self.walk(v));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let before = text[..at].chars().next_back();
            match self.secret(&text[at..], before) {
                Some((placeholder, length)) => {
                    out.push_str(&placeholder);
                    at += length;
                }
                None => {
                    out.push(next);
                    at += next.len_utf8();
                }
            }
        }
        out
    }

    /// The placeholder of what a text begins with, and the length of that.
    fn secret(&mut self, rest: &str, before: Option<char>) -> Option<(String, usize)> {
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let ends = |text: &str| !in_word(rest[text.len()..].chars().next());
        if in_word(before) {
            return None;
        }
        let path_begins = before.is_none_or(|c| c.is_whitespace() || "\"'`([{<=:,;".contains(c));
        let is_here = |(kind, text): &&(Kind, String)| {
            rest.starts_with(text.as_str()) && ends(text) && (*kind != Kind::Path || path_begins)
        };
        if let Some((kind, text)) = self.known.iter().find(is_here).cloned() {
            return Some((self.placeholder(kind, &text), text.len()));
        }
        if let Some(host) = self.host.filter(|host| rest.starts_with(host) && ends(host)) {
            return Some(("<host>".into(), host.len()));
        }
        let length = path_length(rest).filter(|_| path_begins)?;
        Some((self.placeholder(Kind::Path, &rest[..length]), length))
    }

    /// The words of the command line: also paths that do not begin at the root.
    fn command(&mut self, words: &[String]) -> Vec<String> {
        let mut option: Option<&str> = None;
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let (head, value) = match word.split_once('=') {
                Some((name, value)) => (format!("{name}="), value),
                None => (String::new(), word.as_str()),
            };
            let of = if word.starts_with("--") { word.split('=').next() } else { option };
            let is_option = head.is_empty() && word.starts_with('-');
            let is_path = value.contains('/')
                || of.is_some_and(|name| PATH_OPTIONS.contains(&name))
                // A workload of this directory; of other words, only one that stands where no value is expected.
                || (option.is_none() && head.is_empty() && at > 0 && value.contains('.'));
            found.push(match is_path && !is_option && !value.starts_with('<') {
                true if value.starts_with('/') => format!("{head}{}", self.text(value)),
                true => format!("{head}{}", self.placeholder(Kind::Path, value)),
                false => self.text(word),
            });
            option = is_option.then_some(word.as_str());
        }
        found
    }
}

/// The length of the absolute path that a text begins with; none where it begins with none, or with one of the kernel's.
fn path_length(text: &str) -> Option<usize> {
    let end = text.find(|c: char| c.is_whitespace() || "\"'`,:;()[]{}<>".contains(c)).unwrap_or(text.len());
    let path = text[..end].trim_end_matches('.');
    let inner = path.strip_prefix('/')?;
    let is_kernels = ["proc", "sys"].iter().any(|top| inner == *top || inner.starts_with(&format!("{top}/")))
        || inner.strip_prefix("dev/").is_some_and(|name| !name.contains('/'));
    (inner.starts_with(|c: char| c.is_alphanumeric() || "/._-".contains(c)) && !is_kernels).then_some(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Environment, SCHEMA_VERSION, Target, WorkloadRecord};

    fn record(environment: Environment, name: &str) -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION.into(),
            wlrun: "0.1.0".into(),
            seed: 1,
            environment,
            workload: WorkloadRecord {
                name: name.into(),
                hash: "fnv1a64:0".into(),
                parameters: [("dir".into(), "/mnt/acme/bench".into()), ("rate".into(), 1.5.into())].into(),
                files: 0,
                bytes: 0,
                processes: 0,
                threads: 0,
            },
            runs: Vec::new(),
            not_begun: None,
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn acme() -> Environment {
        Environment {
            kernel: Some("Linux 6.1 x86_64".into()),
            target: Some("/mnt/acme/bench".into()),
            fs_type: Some("nfs4".into()),
            fs_source: Some("filer.acme.com:/vol/secret".into()),
            mount_point: Some("/mnt/acme".into()),
            mount_options: Some("rw,vers=4.2,proto=tcp,clientaddr=192.0.2.9,addr=192.0.2.7".into()),
            command: words(
                "/home/jo/wlrun ./plans/x.wl --dir /mnt/acme/bench --json out.json --set dir2=/srv/jo --set n=1.5 \
                 --out csv=a.csv --runtime 1.5",
            ),
            targets: vec![Target { path: "/mnt/acme/bench/f".into(), ..Target::default() }],
            ..Environment::default()
        }
    }

    #[test]
    fn nothing_that_says_whose_it_is_stays() {
        let redacted = redact(&record(acme(), "x"), "jos-laptop");
        let environment = &redacted.environment;
        assert_eq!(environment.target.as_deref(), Some("<path1>"));
        assert_eq!(environment.fs_source.as_deref(), Some("<server1>:<path2>"));
        assert_eq!(
            environment.mount_options.as_deref(),
            Some("rw,vers=4.2,proto=tcp,clientaddr=<address1>,addr=<address2>")
        );
        assert_eq!(environment.targets[0].path, "<path1>/f");
        assert_eq!(redacted.workload.parameters["dir"], *environment.target.as_ref().unwrap());
        let text = serde_json::to_string(&redacted).unwrap();
        for secret in ["acme", "jo", "secret", "192.0.2", "plans", "out.json", "a.csv", "/srv"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert_eq!(environment.kernel, acme().kernel);
        let shape: Vec<&str> = environment.command.iter().map(|word| word.split('<').next().unwrap()).collect();
        assert_eq!(
            shape,
            [
                "",
                "",
                "--dir",
                "",
                "--json",
                "",
                "--set",
                "dir2=",
                "--set",
                "n=1.5",
                "--out",
                "csv=",
                "--runtime",
                "1.5"
            ]
        );
        assert_eq!(redact(&record(acme(), "x"), "jos-laptop"), redacted, "each time the same");
        assert_eq!(redact(&redacted, "jos-laptop"), redacted, "nothing is left to take out");
    }

    #[test]
    fn words_of_wlrun_stay_whatever_the_host_is_called() {
        let environment = Environment { fs_type: Some("ext4".into()), command: words("wlrun fileserver"), ..acme() };
        let redacted = redact(&record(environment, "fnv1a64"), "fnv1a64");
        assert_eq!(redacted.workload.hash, "fnv1a64:0");
        assert_eq!(redacted.workload.name, "<host>");
        assert_eq!(redacted.environment.command, ["wlrun", "fileserver"]);
    }

    #[test]
    fn paths_in_sentences() {
        let mut secrets = Secrets::new("box");
        secrets.know(Kind::Path, "/mnt/my data/");
        secrets.know(Kind::Server, "filer");
        let mut text = |text: &str| secrets.text(text);
        assert_eq!(text("open of /mnt/my data/f/0001: EIO (/mnt/my data)"), "open of <path1>/f/0001: EIO (<path1>)");
        assert_eq!(text("cp '/etc/a b' /x/y."), "cp '<path2> b' <path3>.");
        assert_eq!(text("12 ops/s, 3 MB/s, a / b, and/or"), "12 ops/s, 3 MB/s, a / b, and/or");
        assert_eq!(text("/proc/stat, /dev/sda and /dev/mapper/jo"), "/proc/stat, /dev/sda and <path4>");
        assert_eq!(text("box, inbox, box-1, filer:/x filers"), "<host>, inbox, box-1, <server1>:<path5> filers");
        assert_eq!(text("é /é/ü ü"), "é <path6> ü");
        assert_eq!(text("lowerdir=/a:/b,upperdir=/c"), "lowerdir=<path7>:<path8>,upperdir=<path9>");
    }
}
