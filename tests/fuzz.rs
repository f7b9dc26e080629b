//! Random texts, and texts that ask for more than a machine has: no panic, no hang, and memory within bounds. What holds
//! of each is in `properties.rs`, which the fuzzer of `fuzz/` tries too.

use crate::properties::{fmt, parse, plan};
use crate::support::{Bench, WLRUN, skip};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use wlrun::attribute::{AttributeDef, Kind};
use wlrun::flowop::FLOWOPS;
use wlrun::plan::COMMANDS;
use wlrun::plan::entity::{ENTITIES, Entity};
use wlrun::random::{DISTRIBUTIONS, ON_ANY};
use wlrun::summary::METRICS;
use wlrun::syntax;

/// All words of the language, by its lists.
fn words() -> BTreeSet<&'static str> {
    let mut words = BTreeSet::from(syntax::COMMANDS);
    words.extend(COMMANDS.iter().flat_map(|def| def.form.split(' ')).filter(|word| {
        // The rest is what a reader is to put there.
        word.chars().all(|c| c.is_ascii_lowercase())
    }));
    let attributes = |defs: &'static [AttributeDef]| {
        defs.iter().flat_map(|def| std::iter::once(def.name).chain(def.aliases.iter().copied()))
    };
    for entity in ENTITIES {
        words.extend(std::iter::once(entity.name).chain(entity.aliases.iter().copied()));
        words.extend(attributes(entity.attributes));
        words.extend(entity.idle.iter().map(|(name, _)| *name));
    }
    for flowop in FLOWOPS {
        words.extend(std::iter::once(flowop.name).chain(flowop.aliases.iter().copied()));
        words.extend(flowop.attributes().flat_map(|def| std::iter::once(def.name).chain(def.aliases.iter().copied())));
    }
    for distribution in DISTRIBUTIONS {
        words.insert(distribution.name);
        words.extend(distribution.parameters.iter().map(|parameter| parameter.name));
    }
    words.extend(ON_ANY.iter().map(|(name, _)| *name));
    words.extend(METRICS.iter().flat_map(|metric| metric.spellings()));
    words.extend([
        "in",
        "mode",
        "quit",
        "timeout",
        "firstdone",
        "alldone",
        "randvar",
        "cvar",
        "table",
        "file",
        "values",
    ]);
    words
}

/// Pieces of more than a word, and what ends or begins something.
const PIECES: [&str; 27] = [
    " { ",
    " }\n",
    "(",
    ")",
    ",",
    "=",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    "\n",
    "# c\n",
    "## h\n",
    "\"",
    "$v",
    "${v}",
    "$(HOME)",
    "{{50,1k,2k},{50,4k,8k}}",
    "foreach $v in 1,2 {\n",
    "define process name=p { thread name=t {\n",
    "define flowop name=c,$v=1 { ",
    "flowop c name=",
    "include \"1.wl\" v=",
    "\0",
    "9223372036854775807",
    "1e",
];

#[test]
fn the_dictionary_of_the_fuzzer_has_all_words() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/wl.dict");
    if !path.parent().is_some_and(Path::exists) {
        return skip("the fuzzer is not part of the package");
    }
    let mut dictionary = "# Written by: UPDATE_DOCS=1 cargo test dictionary\n".to_owned();
    for word in PIECES.into_iter().chain(words()) {
        dictionary.push('"');
        for byte in word.bytes() {
            match byte {
                b'"' | b'\\' => _ = write!(dictionary, "\\{}", char::from(byte)),
                b' '..=b'~' => dictionary.push(char::from(byte)),
                _ => _ = write!(dictionary, "\\x{byte:02x}"),
            }
        }
        dictionary.push_str("\"\n");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &dictionary).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == dictionary, "fuzz/wl.dict is out of date; UPDATE_DOCS=1 cargo test dictionary writes it");
}

// ---- Workloads by the lists, whose values are mostly of their kinds ----

fn number() -> BoxedStrategy<String> {
    prop_oneof![
        6 => (0..20_i64).prop_map(|n| n.to_string()),
        2 => any::<i64>().prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec!["4k", "16K", "8e", "0.5", "-1", "100", "1000000", "99999999999t", "10ms", "1e9", "3000000h"])
            .prop_map(str::to_owned),
    ]
    .boxed()
}

fn variable() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["$v", "$w", "${r}", "$dir", "$(HOME)"]).prop_map(str::to_owned)
}

fn arithmetic() -> BoxedStrategy<String> {
    let operand = prop_oneof![3 => number(), 1 => variable()].boxed();
    operand
        .prop_recursive(3, 8, 2, |inner| {
            (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), inner)
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
        })
        .boxed()
}

fn table() -> impl Strategy<Value = String> {
    let row = (number(), number(), number()).prop_map(|(percent, low, high)| format!("{{{percent},{low},{high}}}"));
    prop::collection::vec(row, 1..4).prop_map(|rows| format!("{{{}}}", rows.join(",")))
}

/// A random variable: one of the list, a randvar or a cvar.
fn distribution() -> BoxedStrategy<String> {
    let number = prop_oneof![4 => number(), 1 => variable()].boxed();
    let function =
        (prop::sample::select(DISTRIBUTIONS.to_vec()), prop::collection::vec(number, 6), table(), any::<u8>())
            .prop_map(|(def, numbers, table, some)| {
                let own = def.parameters.iter().map(|parameter| parameter.name);
                let own: Vec<&str> = own.chain(ON_ANY.iter().map(|(name, _)| *name)).collect();
                let given = own.iter().zip(&numbers).enumerate().filter(|(at, _)| some >> (at % 8) & 1 == 1);
                let mut list: Vec<String> = given.map(|(_, (name, x))| format!("{name}={x}")).collect();
                match def.name {
                    "tabular" => list.push(format!("table={table}")),
                    "empirical" => list.push("file=\"values\"".into()),
                    _ => {}
                }
                match some {
                    0..8 => format!("cvar(type=cvar-{}, parameters={})", def.name, list.join(";").replace('=', ":")),
                    8..64 => {
                        format!(
                            "randvar(type={}, randtable={table}, mean={}, min={})",
                            def.name, numbers[0], numbers[1]
                        )
                    }
                    _ => format!("{}({})", def.name, list.join(", ")),
                }
            });
    function.boxed()
}

/// A value that an attribute of this kind could have, or any other.
fn value_of(kind: Kind) -> BoxedStrategy<String> {
    let right = match kind {
        Kind::Fileset => prop::sample::select(vec!["f", "g", "missing"]).prop_map(str::to_owned).boxed(),
        Kind::Target | Kind::TargetOf(_) | Kind::Instances(_) => {
            prop::sample::select(vec!["o1", "o2", "o3", "c.o1"]).prop_map(str::to_owned).boxed()
        }
        Kind::Flag => prop::sample::select(vec!["true", "false", "1"]).prop_map(str::to_owned).boxed(),
        Kind::Text => {
            prop::sample::select(vec!["a", "\"a b\"", "/tmp/x", "~", "../.."]).prop_map(str::to_owned).boxed()
        }
        Kind::Pick(_) => prop_oneof![Just("random".to_owned()), Just("$r".to_owned()), distribution()].boxed(),
        Kind::Variable => prop_oneof![Just("$r".to_owned()), distribution()].boxed(),
        _ => number(),
    };
    prop_oneof![12 => right, 1 => variable(), 1 => arithmetic(), 1 => distribution(), 1 => table()].boxed()
}

/// Attributes out of a list of declarations; `name` always, and those that are needed mostly.
fn attributes(defs: Vec<&'static AttributeDef>, name: &'static str) -> BoxedStrategy<String> {
    let one = move |def: &'static AttributeDef| {
        let needed = def.default == wlrun::attribute::Fallback::Required;
        let names = std::iter::once(def.name).chain(def.aliases.iter().copied()).collect::<Vec<_>>();
        let written = (prop::sample::select(names), value_of(def.kind), any::<u8>())
            .prop_map(|(name, value, bare)| if bare < 10 { name.to_owned() } else { format!("{name}={value}") });
        prop::option::weighted(if needed { 0.97 } else { 0.2 }, written)
    };
    let others: Vec<_> = defs.into_iter().filter(|def| def.name != "name").map(one).collect();
    others
        .prop_map(move |list| {
            std::iter::once(format!("name={name}")).chain(list.into_iter().flatten()).collect::<Vec<_>>().join(", ")
        })
        .boxed()
}

fn of_entity(entity: &'static Entity, name: &'static str) -> BoxedStrategy<String> {
    attributes(entity.attributes.iter().collect(), name)
}

fn entity(name: &str) -> &'static Entity {
    ENTITIES.iter().find(|entity| entity.name == name).unwrap()
}

/// Flowops of the list, uses of the composite, and mixes of them.
fn items() -> BoxedStrategy<String> {
    let flowop = (0..FLOWOPS.len(), prop::sample::select(vec!["o1", "o2", "o3"]))
        .prop_flat_map(|(at, name)| (Just(at), attributes(FLOWOPS[at].attributes().collect(), name)))
        .prop_map(|(at, list)| format!("flowop {} {list}\n", FLOWOPS[at].name));
    let composite = number().prop_map(|n| format!("flowop c name=c, $l={n}, iters=2\n"));
    let item = prop_oneof![6 => flowop, 1 => composite].boxed();
    let item = item.prop_recursive(3, 8, 3, |item| {
        prop::collection::vec((item, number()), 1..4).prop_map(|items| {
            let weighted =
                items.into_iter().map(|(item, weight)| item.replacen(" name=", &format!(" weight={weight}, name="), 1));
            format!("mix name=m {{\n{}}}\n", weighted.collect::<String>())
        })
    });
    prop::collection::vec(item, 1..5).prop_map(|items| items.concat()).boxed()
}

fn statement() -> BoxedStrategy<String> {
    let set = prop_oneof![arithmetic(), distribution(), number(), variable(), Just("a$w/$v".to_owned())].boxed();
    let variables = prop::sample::select(vec!["v", "w", "r", "r.mean", "r.min", "dir"]);
    let process = (of_entity(entity("process"), "p"), of_entity(entity("thread"), "t"), items())
        .prop_map(|(process, thread, items)| format!("define process {process} {{ thread {thread} {{\n{items}}} }}\n"));
    let forms: Vec<&str> = COMMANDS.iter().map(|def| def.form).collect();
    let simple = prop_oneof![
        4 => (variables, set.clone()).prop_map(|(name, value)| format!("set ${name}={value}\n")),
        3 => process,
        2 => of_entity(entity("fileset"), "f").prop_map(|list| format!("define fileset {list}\n")),
        1 => of_entity(entity("file"), "g").prop_map(|list| format!("define file {list}\n")),
        1 => of_entity(entity("randvar"), "$r").prop_map(|list| format!("define randvar {list}\n")),
        1 => of_entity(entity("posset"), "s").prop_map(|list| format!("define posset {list}\n")),
        2 => items().prop_map(|items| format!("define flowop name=c, $l=1 {{\n{items}}}\n")),
        2 => number().prop_map(|n| format!("run {n}\n")),
        1 => (number(), number()).prop_map(|(period, length)| format!("psrun -{period} {length}\n")),
        1 => arithmetic().prop_map(|n| format!("eventgen rate={n}\n")),
        1 => number().prop_map(|n| format!("assert o1.p99 < {n}\n")),
        1 => (0..3_u8, set).prop_map(|(at, value)| format!("include \"{at}.wl\" v={value}\n")),
        2 => prop::sample::select(forms).prop_map(|form| format!("{form}\n")),
        1 => prop::sample::select(vec![
            "create files\n", "create processes\n", "shutdown processes\n", "stats clear\n", "stats snap\n", "sleep 1\n",
            "set mode quit alldone\n", "usage \"x\"\n", "echo \"$v\" $w\n", "warmup 5\n", "quit\n", "shutdown filesets\n",
        ]).prop_map(str::to_owned),
    ]
    .boxed();
    simple
        .prop_recursive(3, 12, 3, |inner| {
            let values = prop::collection::vec(prop_oneof![number(), arithmetic(), Just("a b".to_owned())], 1..20);
            (values, prop::collection::vec(inner, 0..4))
                .prop_map(|(values, body)| format!("foreach $v in {} {{\n{}}}\n", values.join(", "), body.concat()))
        })
        .boxed()
}

/// A text, and two that it may include, with a NUL between.
fn workload() -> impl Strategy<Value = String> {
    let text = |most| prop::collection::vec(statement(), 0..most).prop_map(|statements| statements.concat());
    (text(8), text(3), text(3)).prop_map(|(main, one, two)| format!("set $v=1\nset $w=x\n{main}\0{one}\0{two}"))
}

fn all(text: &str) {
    parse(text.as_bytes());
    fmt(text.as_bytes());
    plan(text.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_holds_of_every_text_holds_of_any_text(text in "(?s).{0,200}") {
        all(&text);
    }

    #[test]
    fn it_holds_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        parse(&bytes);
        fmt(&bytes);
        plan(&bytes);
    }

    #[test]
    fn it_holds_of_words_without_sense(pieces in prop::collection::vec(prop_oneof![
        prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        prop::sample::select(words().into_iter().collect::<Vec<_>>()).prop_map(|word| format!("{word} ")),
        prop::sample::select(words().into_iter().collect::<Vec<_>>()).prop_map(|word| format!("{word}=")),
    ], 0..80)) {
        all(&pieces.concat());
    }

    #[test]
    fn it_holds_of_workloads_of_the_lists(text in workload()) {
        all(&text);
        // Each text by itself has a layout where it has no mistake.
        text.split('\0').for_each(|text| fmt(text.as_bytes()));
    }
}

// ---- Texts that ask for more than there is ----

/// Checks a text of many megabytes' or hours' worth within a time that no machine is too slow for, and in 1 GiB.
fn refused(what: &str, text: &str) -> String {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("w.wl"), text).unwrap();
    let limited = ["-c", "ulimit -v 1048576 && exec \"$0\" check --dir /d w.wl", WLRUN];
    let start = Instant::now();
    let output = Command::new("sh").args(limited).current_dir(here.path()).output().unwrap();
    let taken = start.elapsed();
    let outcome = Bench::named("").outcome(output).exits(2);
    assert!(taken < Duration::from_secs(60), "{what} took {taken:?}");
    assert!(outcome.stderr.len() < 1 << 17, "{what}: {} bytes of messages", outcome.stderr.len());
    outcome.stderr
}

const PROCESS: &str = "define process name=p { thread name=t { flowop delay name=d,value=1 } }\nrun 1\n";

/// `define flowop c0`, which has ten of `c1`, and so on; the last has `last` in it.
fn tower(height: usize, last: &str) -> String {
    let mut text = String::new();
    for at in 0..height {
        let uses: String = (0..10).map(|n| format!("flowop c{} name=u{n} ", at + 1)).collect();
        let _ = writeln!(text, "define flowop name=c{at} {{ {uses}}}");
    }
    text + &format!("define flowop name=c{height} {{ {last} }}\n")
}

#[test]
fn what_multiplies_has_an_end() {
    let delay = "flowop delay name=d,value=1";
    let threads: String = (0..1000).map(|n| format!("thread name=t{n} {{ flowop c0 name=a }}\n")).collect();
    let values = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let loops: String = (0..16).map(|n| format!("foreach $v{n} in {values} {{\n")).collect();
    let many = format!("{delay}\n").repeat(3000);
    for (what, text) in [
        ("empty composites", format!("{}define process name=p {{ {threads} }}\nrun 1\n", tower(15, ""))),
        ("composites", format!("{}define process name=p {{ {threads} }}\nrun 1\n", tower(4, delay))),
        ("loops", format!("{loops}echo $v1\n{}\n{PROCESS}", "}".repeat(16))),
        ("empty loops", format!("{loops}{}\n{PROCESS}", "}".repeat(16))),
        ("runs", format!("define process name=p {{ thread name=t {{\n{many}}} }}\n{}", "run 1\n".repeat(3000))),
    ] {
        let said = refused(what, &text);
        assert!(said.contains("come to more than 100000 statements and flowops"), "{what}: {said}");
        assert_eq!(said.matches("come to more than").count(), 1, "{what}: {said}");
    }
}

#[test]
fn values_have_an_end() {
    let long = format!("set $a=abcdefgh\n{}", "set $a=$a$a\n".repeat(13));
    let locals: Vec<String> = (0..3000).map(|n| format!("$l{n}=1")).collect();
    let delays = "flowop delay name=d,value=1\n".repeat(3000);
    let sets: String = (0..3000).map(|n| format!("set $v{n}=1\n")).collect();
    let rows = format!("{{100,1,2}}{}", ",{0,1,2}".repeat(3000));
    for (what, text) in [
        ("doubled", format!("set $a=abcdefgh\n{}{PROCESS}", "set $a=$a$a\n".repeat(60))),
        ("copied", format!("{long}{}{PROCESS}", "set $b=$a\n".repeat(3000))),
        ("shown", format!("{long}{}{PROCESS}", "echo \"$a\"\n".repeat(3000))),
        ("of runs", format!("{sets}{PROCESS}{}", "run 1\n".repeat(3000))),
        (
            "of loops",
            format!(
                "{long}foreach $v in $a {{ foreach $w in {} {{ define fileset name=f$w,path=/d }} }}\n{PROCESS}",
                (0..3000).map(|n| n.to_string()).collect::<Vec<_>>().join(",")
            ),
        ),
        (
            "local",
            format!(
                "define flowop name=c,{} {{ {delays} }}\ndefine process name=p {{ thread name=t {{ flowop c name=a }} }}\nrun 1\n",
                locals.join(",")
            ),
        ),
        (
            "tables",
            format!(
                "set $t=randvar(type=tabular,randtable={{{rows}}},min=1)\n{}{PROCESS}",
                "set $t.min=1\n".repeat(3000)
            ),
        ),
    ] {
        let said = refused(what, &text);
        assert!(said.contains("the values of this workload come to more than 64 MiB"), "{what}: {said}");
    }
}

#[test]
fn a_text_of_many_or_of_long_mistakes_is_answered_at_once() {
    let sets: String = (0..3000).map(|n| format!("set $v{n}=1\n")).collect();
    let unset: String = (0..3000).map(|n| format!("set $a=$w{n}\n")).collect();
    let filesets: String =
        (0..3000).map(|n| format!("define fileset name=f{n},path=/d,entries=1,dirwidth=1\n")).collect();
    let stats: String = (0..3000).map(|n| format!("flowop statfile name=s{n},filesetname=g{n}\n")).collect();
    let targets: String = (0..3000).map(|n| format!("flowop opslimit name=o{n},target=q{n}\n")).collect();
    let long = "x".repeat(100_000);
    let body = |items: &str| format!("define process name=p {{ thread name=t {{\n{items}}} }}\nrun 1\n");
    for (what, text) in [
        ("variables", format!("{sets}{unset}{PROCESS}")),
        ("filesets", format!("{filesets}{}", body(&stats))),
        ("targets", body(&targets)),
        (
            "long names",
            format!(
                "define fileset name={long}a,path=/d,entries=1,dirwidth=1\n{}",
                body(&format!("flowop statfile name=s,filesetname={long}b\n"))
            ),
        ),
        ("a long line beside", format!("# {long}{long}\nrum 1\n# {long}{long}")),
        ("garbage", "{(\"$a=#,".repeat(1 << 17)),
    ] {
        refused(what, &text);
    }
}
