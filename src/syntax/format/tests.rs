//! What the layout looks like, and that it changes nothing else.

use super::super::Statement;
use super::*;
use crate::source::Sources;
use proptest::prelude::*;

/// The canonical layout of a text without mistakes, after the properties of every layout were looked at.
#[track_caller]
fn laid(text: &str) -> String {
    let file = SourceFile::new("w.wl", text);
    let mut found = Diagnostics::new();
    let out = format(&file, &mut found);
    let out = out.unwrap_or_else(|| panic!("{text}\n{}", found.render(&Sources::new(file.clone()), false)));
    let again = SourceFile::new("w.wl", &*out);
    let [before, after] = [&file, &again].map(|file| super::super::parse(file, &mut Diagnostics::new()).unplaced());
    assert_eq!(before, after, "{text}\n-----\n{out}");
    assert_eq!(comments(&file.text), comments(&out), "{text}\n-----\n{out}");
    let twice = format(&again, &mut Diagnostics::new());
    assert_eq!(twice.as_deref(), Some(&*out), "{text}");
    assert!(out.is_empty() || out.ends_with('\n') && !out.ends_with("\n\n"), "{out:?}");
    out
}

/// The comments of a text, by the few rules that hold for them; not by the code under test.
fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['#', '"']) {
        // A word may have no `#`, so only quotes hide one.
        rest = &rest[at..];
        if rest.starts_with('#') {
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            found.push(rest[..end].trim_end_matches([' ', '\t', '\u{b}', '\u{c}']).to_owned());
            rest = &rest[end..];
        } else {
            let mut end = 1;
            while !rest[end..].starts_with('"') {
                let escaped = rest[end..].starts_with('\\');
                end += rest[end..].chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum::<usize>();
            }
            rest = &rest[end + 1..];
        }
    }
    found
}

#[test]
fn a_workload_in_one_line_gets_its_lines() {
    insta::assert_snapshot!(laid(
        "set $n = 5 set mode  quit\ttimeout define fileset name = f ,path=$dir , entries= $n,prealloc \
         define process name=p{thread name=t , instances=2{flowop read name=r,filesetname=f flowop closefile name=c}}\
         create files run 60 echo  \"a  b\"   $n"
    ), @r##"
    set $n=5
    set mode quit timeout
    define fileset name=f, path=$dir, entries=$n, prealloc
    define process name=p
    {
      thread name=t, instances=2
      {
        flowop read name=r, filesetname=f
        flowop closefile name=c
      }
    }
    create files
    run 60
    echo "a  b" $n
    "##);
}

#[test]
fn comments_stay_where_they_are() {
    insta::assert_snapshot!(laid(
        "#!/usr/bin/env wlrun  \n\n\n# head\nset $a=1 # one\n## help\nset $b = # the value\n 2 # two\n\n\n   # alone\n\
         define # what\nfileset # which\nname=f # before the comma\n,  # after it\n # on its own\n path=$dir, size=randvar( # of\n type=gamma # t\n,\
         mean=5 # m\n) # end\n\
         define process name=p # a process\n # before its brace\n\n { # behind its brace\n\n # first\n\n thread name=t { flowop a name=b # c\n\n\
         # last\n\n } # behind a brace\n}\n# foot"
    ), @r##"
    #!/usr/bin/env wlrun

    # head
    set $a=1 # one
    ## help
    set $b= # the value
        2 # two

    # alone
    define # what
        fileset # which
        name=f, # before the comma
        # after it
        # on its own
        path=$dir,
        size=randvar( # of
            type=gamma, # t
            mean=5 # m
        ) # end
    define process name=p # a process
    # before its brace
    { # behind its brace
      # first

      thread name=t
      {
        flowop a name=b # c

        # last
      } # behind a brace
    }
    # foot
    "##);
}

#[test]
fn a_long_list_is_broken_at_commas() {
    insta::assert_snapshot!(laid(
        "define process name=p{thread name=t{flowop read name=rand-read1,filename=largefile1,iosize=$iosize,random,workingset=$workingset,directio=$directio}}\n\
         define fileset name=bigfileset,path=$dir,size=randvar(type=gamma,mean=$meanfilesize,gamma=1500,min=1024,round=512),entries=1000,dirwidth=20\n\
         set $x=randvar(type=gamma,mean=$a_long_name_of_a_variable,gamma=$another_long_name_of_a_variable,min=1024,round=512)\n\
         define fileset name=f,path=\"a text that is longer than a line may be and that cannot be broken, for it is one word of the text\",entries=1"
    ), @r##"
    define process name=p
    {
      thread name=t
      {
        flowop read name=rand-read1, filename=largefile1, iosize=$iosize, random,
            workingset=$workingset, directio=$directio
      }
    }
    define fileset name=bigfileset, path=$dir,
        size=randvar(type=gamma, mean=$meanfilesize, gamma=1500, min=1024, round=512), entries=1000,
        dirwidth=20
    set $x=randvar(type=gamma, mean=$a_long_name_of_a_variable, gamma=$another_long_name_of_a_variable,
        min=1024, round=512)
    define fileset name=f,
        path="a text that is longer than a line may be and that cannot be broken, for it is one word of the text",
        entries=1
    "##);
}

#[test]
fn a_table_is_a_row_a_line_where_it_is_long() {
    insta::assert_snapshot!(laid(
        "set $a=randvar(type=tabular,randtable={{ 50,1k,2k },{50,4k , 8k}})\n\
         set $b=randvar(type=tabular,min=1k,randtable={{80,1k,4k},{15,4k,16k},{5,16k,$most}},round=1k)\n\
         set $c=randvar(type=tabular,randtable={{50,$a_long_name_of_a_variable,$another_long_name_of_one},{50,1k,$a_third_long_name}})\n\
         define randvar name=$d, type=tabular, randtable={{40,1k,2k}, # small\n {60,4k,8k} # large\n}, min=1k"
    ), @r##"
    set $a=randvar(type=tabular, randtable={{50, 1k, 2k}, {50, 4k, 8k}})
    set $b=randvar(type=tabular, min=1k, randtable={
      {80,  1k,    4k},
      {15,  4k,   16k},
      { 5, 16k, $most}
    }, round=1k)
    set $c=randvar(type=tabular,
        randtable={
          {50, $a_long_name_of_a_variable, $another_long_name_of_one},
          {50,                         1k,        $a_third_long_name}
        })
    define randvar name=$d,
        type=tabular,
        randtable={
          {40, 1k, 2k}, # small
          {60, 4k, 8k} # large
        },
        min=1k
    "##);
}

#[test]
fn values_keep_their_words() {
    insta::assert_snapshot!(laid(
        "set $a=$b*3+1\nset ${c} = ( 1+ 2 )*( ( 3 ) )\nset $d=$e - 4 / 5%6\nset $f=a\"b  c\"$d/${e}x\nset $g.mean = 16K\n"
    ), @r##"
    set $a=$b * 3 + 1
    set ${c}=(1 + 2) * ((3))
    set $d=$e - 4 / 5 % 6
    set $f=a"b  c"$d/${e}x
    set $g.mean=16K
    "##);
    assert_eq!(
        laid("set $x=0016K echo 5 -3 \"a\\\"b # no\"$x \"two\r\nlines\""),
        "set $x=0016K\necho 5 -3 \"a\\\"b # no\"$x \"two\r\nlines\"\n"
    );
}

#[test]
fn empty_lines_are_one_at_most_and_none_at_a_brace() {
    assert_eq!(
        laid(
            "\n\n\nset $a=1\n\n \n\t\nset $b=2\nset $c=3\r\n\r\nset $d=4\r\rset $e=5\n\ndefine process name=p\n\n{\n\nthread name=t\n\n{\n\nflowop a name=b\n\n\nflowop c name=d\n\n}\n\n}\n\n\n"
        ),
        "set $a=1\n\nset $b=2\nset $c=3\n\nset $d=4\n\nset $e=5\n\ndefine process name=p\n{\n  thread name=t\n  {\n    flowop a name=b\n\n    flowop c name=d\n  }\n}\n"
    );
}

#[test]
fn a_text_without_statements_is_its_comments() {
    assert_eq!(laid(""), "");
    assert_eq!(laid(" \n\t\n"), "");
    assert_eq!(laid("\u{feff}  # a \n\n\n# b"), "# a\n\n# b\n");
    assert_eq!(laid("define process name=p { # none\n }"), "define process name=p\n{ # none\n}\n");
}

#[test]
fn loops_mixes_asserts_and_includes_have_their_lines() {
    insta::assert_snapshot!(laid(
        "set $a=zipf ( theta = 1.1,max=5 ) foreach $v in 1,2 , \"x y\" , ( 1+2 ) { set $b=$v foreach ${w} in a{ run $w } echo $b \
         define process name=p{thread name=t{flowop a name=x mix{flowop b name=y ,weight=70 mix name=m , iters=2{ flowop c name=z } } flowop d name=e}}}\n\
         include   \"x.wl\"  a = 1 ,b=$v*2 load   old\n\
         assert x.p99<5ms assert \"my x\".mean>=$a*2 assert total.errors\n== # none\n0\n"
    ), @r##"
    set $a=zipf(theta=1.1, max=5)
    foreach $v in 1, 2, "x y", (1 + 2)
    {
      set $b=$v
      foreach ${w} in a
      {
        run $w
      }
      echo $b
      define process name=p
      {
        thread name=t
        {
          flowop a name=x
          mix
          {
            flowop b name=y, weight=70
            mix name=m, iters=2
            {
              flowop c name=z
            }
          }
          flowop d name=e
        }
      }
    }
    include "x.wl" a=1, b=$v * 2
    load old
    assert x.p99 < 5ms
    assert "my x".mean >= $a * 2
    assert total.errors == # none
        0
    "##);
}

#[test]
fn comments_stay_in_loops_and_mixes() {
    insta::assert_snapshot!(laid(
        "foreach # a\n$v # b\nin # c in\n 1 # d\n, 2 # e\n{ # f\n\n ## help\nset $x=$v # g\n\n\n## more\n## help\nset $y=1\n # h\n\n} # i\n\
         define process name=p{thread name=t{mix # k\n{ # l\nflowop a name=x # m\n} # n\n}}\n\
         assert # o\nx.p99 # p\n< # q\n5ms # r\n\
         foreach $v in a_long_word_of_a_loop_, another_long_word_of_it, a_third_long_word_of_it, a_fourth_long_word, last { }"
    ), @r##"
    foreach # a
        $v # b
        in # c in
        1, # d
        2 # e
    { # f
      ## help
      set $x=$v # g

      ## more
      ## help
      set $y=1
      # h
    } # i
    define process name=p
    {
      thread name=t
      {
        mix # k
        { # l
          flowop a name=x # m
        } # n
      }
    }
    assert # o
        x.p99 # p
        < # q
        5ms # r
    foreach $v in a_long_word_of_a_loop_, another_long_word_of_it, a_third_long_word_of_it,
        a_fourth_long_word, last
    {
    }
    "##);
}

/// The words directly above a `set` are its help, and no others become it.
#[test]
fn help_stays_with_its_variable() {
    let help = |text: &str| {
        let file = SourceFile::new("w.wl", text);
        let ast = super::super::parse(&file, &mut Diagnostics::new());
        let mut helps = Vec::new();
        super::super::each(&ast.statements, &mut |statement| {
            if let Statement::Set { help, .. } = &statement.value {
                helps.push(help.clone());
            }
        });
        helps
    };
    for (text, helps) in [
        ("## a\nset $x=1", vec![Some("a")]),
        ("## a\rset $x=1\r## b\r\n##c\rset $y=2", vec![Some("a"), Some("b c")]),
        ("set $x=1 ## a\nset $y=2", vec![None, None]),
        ("set $x=1 ## a\rset $y=2", vec![None, None]),
        ("## a\n\n\nset $x=1", vec![None]),
        ("## a\n# b\nset $x=1", vec![None]),
        ("run 5 ## a\n ## b\n set $x=1 set $y=2", vec![Some("b"), None]),
        ("foreach $v in 1 { ## a\nset $x=1\n## b\n set $y=2 } ## c\n## d\nset $z=3", vec![None, Some("b"), Some("d")]),
    ] {
        assert_eq!(help(text), helps.iter().map(|help| help.map(str::to_owned)).collect::<Vec<_>>(), "{text:?}");
        assert_eq!(help(&laid(text)), help(text), "{text:?}");
    }
}

/// What the grammar takes as a statement or an item, but for mistakes, is here, and has a layout.
#[test]
fn every_kind_of_statement_and_item_has_a_layout() {
    let grammar = include_str!("../../../grammar/wl.pest");
    let kinds = |before: &str, after: &str| -> Vec<&str> {
        let rest = grammar.split_once(before).unwrap().1;
        let mistakes = ["stray_brace", "junk", "body_junk", "misplaced", "bad_item"];
        rest.split_once(after).unwrap().0.split(" | ").filter(|kind| !mistakes.contains(kind)).collect()
    };
    let statements = kinds("\nstatement = _{ ", " }");
    assert_eq!(statements, kinds("\nin_body  = _{ ", " }"));
    let items = kinds("\nblock        =  { \"{\" ~ (gap ~ (", "))*");
    assert!(statements.len() >= 6 && items.len() >= 3, "{statements:?} {items:?}");
    for kind in statements.into_iter().chain(items) {
        let text = match kind {
            "set" => "set $a=1 set mode quit timeout",
            "define" => "define fileset name=f define flowop name=c { }",
            "run" => "run run 5",
            "foreach" => "foreach $v in 1, 2 { foreach $w in 3 { run } }",
            "assert" => "assert x.p99 < 5ms",
            "command" => "list echo 1 include \"x\" a=1",
            "thread" => "define process name=p { thread name=t { } }",
            "flowop" => "define flowop name=c { flowop a name=b }",
            "mix" => "define flowop name=c { mix { mix name=m { } } }",
            new => panic!("'{new}' has no text in this test"),
        };
        let pairs = Wl::parse(Rule::file, text).unwrap().flatten();
        assert!(pairs.map(|pair| format!("{:?}", pair.as_rule())).any(|rule| rule == kind), "{kind}: {text}");
        laid(text);
    }
}

#[test]
fn a_text_with_mistakes_has_no_layout() {
    let mut found = Diagnostics::new();
    assert_eq!(format(&SourceFile::new("w", "set $a=1\nset b=2\nrun\ndefien x\n"), &mut found), None);
    assert_eq!(found.sorted().len(), 2);
}

#[test]
fn time_grows_with_the_text_and_no_faster() {
    let taken = |lines: usize| {
        let line = "    flowop readwholefile name=r,filesetname=set,fd=1,iosize=$iosize # why\n";
        let text = format!("define process name=p {{ thread name=t {{\n{} }} }}\nrun 60\n", line.repeat(lines));
        let start = std::time::Instant::now();
        assert!(super::format(&SourceFile::new("w", text), &mut Diagnostics::new()).is_some());
        start.elapsed()
    };
    taken(1_000);
    let (few, many) = (taken(3_000), taken(30_000));
    // Ten times the text; a hundred times the time would be the square. The rest is for a busy machine.
    assert!(many < few * 40 + std::time::Duration::from_millis(500), "{few:?} {many:?}");
    // One list, and one table, of as many words.
    for (open, item, close) in [("echo ", "a ", ""), ("define fileset a", ",a=b", ""), ("set $x=a({{1}", ",{1}", "})")]
    {
        let text = format!("{}{}{close}", open.replace('(', "(b="), item.repeat(30_000));
        let start = std::time::Instant::now();
        assert!(super::format(&SourceFile::new("w", text), &mut Diagnostics::new()).is_some(), "{open}");
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{open}");
    }
}

// ---- Texts out of a grammar of valid workloads, as words; what stands between them comes from elsewhere ----

/// Words of a text. Two that a space or a new line would part are one.
type Words = Vec<String>;

fn joined(parts: Vec<Words>) -> Words {
    parts.concat()
}

fn words(text: &str) -> Words {
    text.split(' ').map(str::to_owned).collect()
}

fn operand() -> BoxedStrategy<String> {
    prop::sample::select(vec![
        "1",
        "-5",
        "0.5",
        "16k",
        "2T",
        "10ms",
        "word",
        "/tmp/a",
        "./x;y:z",
        "true",
        "$a",
        "${b}",
        "$(HOME)",
        "$dir/sub",
        "$a$b",
        "4$x",
        "\"\"",
        "\"a # b\"",
        "\"a \\\" $b {\"",
        "\"two\nlines\"",
        "a\"b c\"$d",
        "é",
    ])
    .prop_map(str::to_owned)
    .boxed()
}

fn value() -> BoxedStrategy<Words> {
    let table =
        prop::collection::vec(prop::collection::vec(prop::sample::select(vec!["5", "100k", "$lo"]), 1..4), 1..5)
            .prop_map(|rows| {
                let mut words = vec!["{".to_owned()];
                for (at, row) in rows.iter().enumerate() {
                    if at > 0 {
                        words.push(",".to_owned());
                    }
                    words.push("{".to_owned());
                    words.extend(row.join(" , ").split(' ').map(str::to_owned));
                    words.push("}".to_owned());
                }
                words.push("}".to_owned());
                words
            });
    let leaf = prop_oneof![8 => operand().prop_map(|word| vec![word]), 1 => table];
    leaf.prop_recursive(3, 12, 3, |value| {
        prop_oneof![
            (value.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), value.clone())
                .prop_map(|(a, operator, b)| joined(vec![a, vec![operator.to_owned()], b])),
            value.clone().prop_map(|inner| joined(vec![words("("), inner, words(")")])),
            list_of(value).prop_map(|list| joined(vec![words("randvar("), list, words(")")])),
        ]
    })
    .boxed()
}

fn list_of(value: impl Strategy<Value = Words> + 'static) -> BoxedStrategy<Words> {
    let name = prop::sample::select(vec!["name", "size", "a_rather_long_name_of_an_attribute", "$local"]);
    let attribute = (name, prop::option::of(value)).prop_map(|(name, value)| match value {
        Some(value) => joined(vec![words(name), words("="), value]),
        None => words(name),
    });
    prop::collection::vec(attribute, 1..6)
        .prop_map(|attributes| {
            let mut out = Words::new();
            for (at, attribute) in attributes.into_iter().enumerate() {
                if at > 0 {
                    out.push(",".to_owned());
                }
                out.extend(attribute);
            }
            out
        })
        .boxed()
}

fn list() -> BoxedStrategy<Words> {
    list_of(value())
}

/// Flowops, and mixes of them.
fn flowops() -> BoxedStrategy<Words> {
    let flowop = (prop::sample::select(vec!["read", "statfile", "mine"]), list())
        .prop_map(|(kind, list)| joined(vec![vec![format!("flowop {kind}")], list]))
        .boxed();
    let items = flowop.prop_recursive(3, 8, 3, |item| {
        let list = prop_oneof![
            1 => Just(Words::new()),
            3 => list().prop_map(|list| joined(vec![words("name = m ,"), list])),
        ];
        (list, prop::collection::vec(item, 0..4))
            .prop_map(|(list, items)| joined(vec![words("mix"), list, words("{"), joined(items), words("}")]))
    });
    prop::collection::vec(items, 0..4).prop_map(joined).boxed()
}

fn statement() -> BoxedStrategy<Words> {
    simple_statement()
        .prop_recursive(3, 12, 3, |statement| {
            let variable = prop::sample::select(vec!["foreach $v in", "foreach ${v} in"]);
            (variable, prop::collection::vec(loop_value(), 1..5), prop::collection::vec(statement, 0..4)).prop_map(
                |(variable, values, body)| {
                    let mut out = words(variable);
                    for (at, value) in values.into_iter().enumerate() {
                        if at > 0 {
                            out.push(",".to_owned());
                        }
                        out.extend(value);
                    }
                    joined(vec![out, words("{"), joined(body), words("}")])
                },
            )
        })
        .boxed()
}

/// A value that does not begin with a `{`, which would be the body.
fn loop_value() -> BoxedStrategy<Words> {
    value().prop_filter("a table", |value| !value[0].starts_with('{')).boxed()
}

fn simple_statement() -> BoxedStrategy<Words> {
    let thread = (list(), flowops())
        .prop_map(|(list, flowops)| joined(vec![words("thread"), list, words("{"), flowops, words("}")]));
    prop_oneof![
        value().prop_map(|value| joined(vec![words("set $v ="), value])),
        value().prop_map(|value| joined(vec![words("set ${v}.mean ="), value])),
        prop::sample::select(vec![
            "set mode quit alldone",
            "set mode nousestats",
            "run",
            "run 60",
            "run $a * 2",
            "run 5 + ( 3 )",
            "create files",
            "list",
            "load old",
            "quit",
            "stats snap",
            "psrun -10 60",
            "echo",
            "echo \"a # b\" $c",
            "usage \"x\" 5",
            "eventgen rate = $r",
            "sleep 1",
            "enable multi master = h , client = n",
            "system \"ls | wc\"",
        ])
        .prop_map(|text| match text.strip_prefix("set mode") {
            // A mode's words stand on one line.
            Some(rest) => vec![format!("set mode{rest}")],
            None if text.contains('"') || text.starts_with("psrun") || text.starts_with("sleep") =>
                vec![text.to_owned()],
            None if text.starts_with("create")
                || text.starts_with("load")
                || text.starts_with("stats")
                || text.starts_with("enable") =>
            {
                let (word, rest) = text.split_once(' ').unwrap();
                let (object, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let mut out = vec![word.to_owned(), object.to_owned()];
                out.extend(rest.split_whitespace().map(str::to_owned));
                out
            }
            None => words(text),
        }),
        (
            prop::sample::select(vec!["read.p99", "total.ops/s", "\"my read\".p99", "a.b.c.mean"]),
            prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]),
            value(),
        )
            .prop_map(|(subject, relation, limit)| joined(vec![
                words("assert"),
                vec![subject.into(), relation.into()],
                limit
            ])),
        (prop::sample::select(vec!["\"a b.wl\"", "$dir/x.wl"]), prop::option::of(list())).prop_map(|(path, list)| {
            // Behind an argument, a list begins with a value.
            let list = list.map(|list| joined(vec![words("a = 1 ,"), list]));
            joined(vec![vec!["include".into(), path.into()], list.unwrap_or_default()])
        }),
        (prop::sample::select(vec!["define fileset", "define file", "define randvar"]), list())
            .prop_map(|(define, list)| joined(vec![words(define), list])),
        (list(), flowops()).prop_map(|(list, flowops)| {
            joined(vec![words("define flowop"), list, words("{"), flowops, words("}")])
        }),
        (list(), prop::collection::vec(thread, 0..3)).prop_map(|(list, threads)| {
            joined(vec![words("define process"), list, words("{"), joined(threads), words("}")])
        }),
    ]
    .boxed()
}

/// What may stand between two words.
fn between() -> BoxedStrategy<String> {
    prop_oneof![
        6 => Just(" ".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\r\n\r\n\n".to_owned()),
        1 => Just("\t ".to_owned()),
        1 => "[ -~é]{0,20}".prop_map(|text| format!("#{text}\n")),
        1 => "#{0,2}[ -~]{0,9}".prop_map(|text| format!("\n\n # {text}\r")),
        1 => "[ -~]{0,9}".prop_map(|text| format!("\n##{text}\n")),
        1 => "[ -~]{0,9}".prop_map(|text| format!("##{text}\r")),
        1 => Just(" # a\n# b\r\n\n\n# c\n".to_owned()),
    ]
    .boxed()
}

fn workload() -> BoxedStrategy<String> {
    prop::collection::vec(statement(), 0..6)
        .prop_map(joined)
        .prop_flat_map(|words| {
            let gaps = prop::collection::vec(between(), words.len() + 1);
            (Just(words), gaps).prop_map(|(words, gaps)| {
                let mut text = String::new();
                for (word, gap) in words.iter().zip(&gaps) {
                    text.push_str(gap);
                    text.push_str(word);
                }
                text.push_str(&gaps[words.len()]);
                text
            })
        })
        .boxed()
}

proptest! {
    #[test]
    fn a_layout_keeps_what_the_text_says(text in workload()) {
        laid(&text);
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = format(&SourceFile::new("w", text), &mut Diagnostics::new());
    }

    #[test]
    fn no_soup_of_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "set ", "$a", "=", "5", ",", "\n", "# c\n", "define ", "process ", "name", "{", "}", "thread ", "flowop ", "(", ")", "\"x\"", "run ", "echo ",
        "{{1,2}}", "+", " - ", "randvar(", "set mode quit ", " ", "é", "foreach $v in ", "in ", "assert ", "x.p99", "<", "mix ", "include ", "load ",
        "## h\n",
    ]), 0..60)) {
        let text = words.concat();
        let file = SourceFile::new("w", &*text);
        let mut found = Diagnostics::new();
        super::super::parse(&file, &mut found);
        if found.has_errors() {
            prop_assert!(format(&file, &mut Diagnostics::new()).is_none());
        } else {
            laid(&text);
        }
    }
}
