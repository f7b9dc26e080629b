//! What the front end reads, and what it says. Trees are compared in a short notation: texts quoted, parts of a join
//! in brackets, operations in parentheses, `!` for what could not be read.

use super::*;
use crate::attribute::Value;
use crate::source::Spanned;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

fn read(text: &str) -> (SourceFile, Ast, Diagnostics) {
    let file = SourceFile::new("w.wl", text);
    let mut found = Diagnostics::new();
    let ast = parse(&file, &mut found);
    (file, ast, found)
}

/// Each mistake of a text in one line: place, message, the words at the caret, advice.
fn mistakes(text: &str) -> String {
    let (file, _, found) = read(text);
    let mut out = String::new();
    for finding in found.sorted() {
        let (line, column) = file.line_column(finding.labels[0].0.start);
        write!(out, "{line}:{column} {} | {}", finding.message, finding.labels[0].1).unwrap();
        if let Some(help) = &finding.help {
            write!(out, " | {help}").unwrap();
        }
        out.push('\n');
    }
    out
}

/// The tree of a text that has no mistake, a statement a line.
fn tree(text: &str) -> String {
    assert_eq!(mistakes(text), "", "{text}");
    lines(&read(text).1)
}

fn lines(ast: &Ast) -> String {
    ast.statements.iter().map(|s| statement(&s.value) + "\n").collect()
}

/// The value of `$x` in a text that sets it.
fn value(text: &str) -> String {
    tree(&format!("set $x={text}\n")).trim_start_matches("set x = ").trim_end().to_owned()
}

fn statement(s: &Statement) -> String {
    match s {
        Statement::Set { variable, field, value, help } => {
            let field = field.as_ref().map_or_else(String::new, |field| format!(" . {}", field.value));
            let help = help.as_ref().map_or_else(String::new, |help| format!(" ## {help}"));
            format!("set {}{field} = {}{help}", variable.value, expression(value))
        }
        Statement::SetMode(words) => words.iter().fold("mode".to_owned(), |line, word| line + " " + &word.value),
        Statement::Define { what, attributes, block } => {
            let block = block.as_ref().map_or_else(String::new, self::block);
            format!("define {} {}{block}", what.value, list(attributes))
        }
        Statement::Run(None) => "run".into(),
        Statement::Run(Some(length)) => format!("run {}", expression(length)),
        Statement::Foreach { variable, values, body } => {
            let values: Vec<String> = values.iter().map(expression).collect();
            let body: Vec<String> = body.iter().map(|s| statement(&s.value)).collect();
            format!("foreach {} in {} {{ {} }}", variable.value, values.join(", "), body.join("; "))
        }
        Statement::Assert { subject, relation, limit } => {
            let relation = relation.map_or_else(|| "!".to_owned(), |relation| relation.to_string());
            format!("assert {} {relation} {}", expression(subject), expression(limit))
        }
        Statement::Command { word, arguments, attributes } => {
            let arguments: String = arguments.iter().map(|a| " ".to_owned() + &expression(a)).collect();
            let attributes = if attributes.is_empty() { String::new() } else { " : ".to_owned() + &list(attributes) };
            format!("{}{arguments}{attributes}", word.value)
        }
    }
}

fn block(block: &Block) -> String {
    let item = |item: &Spanned<Item>| match &item.value {
        Item::Thread { attributes, block } => format!("thread {}{}", list(attributes), self::block(block)),
        Item::Flowop { kind, attributes } => format!("flowop {} {}", kind.value, list(attributes)),
        Item::Mix { attributes, block } => format!("mix {}{}", list(attributes), self::block(block)),
    };
    format!(" {{ {} }}", block.items.iter().map(item).collect::<Vec<_>>().join("; "))
}

fn list(attributes: &[Attribute]) -> String {
    let written: Vec<_> = attributes
        .iter()
        .map(|a| match &a.value {
            Some(value) => format!("{}={}", a.name.value, expression(value)),
            None => a.name.value.clone(),
        })
        .collect();
    written.join(", ")
}

fn expression(e: &Spanned<Expression>) -> String {
    match &e.value {
        Expression::Literal(Value::Text(text)) => format!("{text:?}"),
        Expression::Literal(Value::Nanos(n)) => format!("{n}ns"),
        Expression::Literal(value) => value.to_string(),
        Expression::Variable(name) => format!("${name}"),
        Expression::Environment(name) => format!("$({name})"),
        Expression::Join(parts) => format!("[{}]", parts.iter().map(expression).collect::<Vec<_>>().join(" ")),
        Expression::Binary { operator, left, right } => {
            format!("({} {operator} {})", expression(left), expression(right))
        }
        Expression::Call { function, attributes } => format!("{}({})", function.value, list(attributes)),
        Expression::Invalid => "!".into(),
        Expression::Table(rows) => {
            let row = |row: &Spanned<Vec<Spanned<Expression>>>| {
                format!("{{{}}}", row.value.iter().map(expression).collect::<Vec<_>>().join(","))
            };
            format!("{{{}}}", rows.iter().map(row).collect::<Vec<_>>().join(","))
        }
    }
}

const WHOLE: &str = "# a workload\r\n\
    set $dir=/tmp/a\r\n\
    set mode quit firstdone\r\n\
    define fileset name = fs1 , path=$dir,\r\n\tentries=4, # a comment, with a comma\n prealloc\n\
    define process name=p1,instances=2 {\n  thread name=t1,memsize=1m\n  {\n\
    flowop read name=r1,filename=fs1,iosize=8k flowop closefile name=c1 } }\n\
    run 60 echo \"done\"\n";

#[test]
fn newlines_are_space_and_a_statement_ends_where_its_shape_ends() {
    insta::assert_snapshot!(tree(WHOLE), @r#"
    set dir = "/tmp/a"
    mode quit firstdone
    define fileset name="fs1", path=$dir, entries=4, prealloc
    define process name="p1", instances=2 { thread name="t1", memsize=1048576 { flowop read name="r1", filename="fs1", iosize=8192; flowop closefile name="c1" } }
    run 60
    echo "done"
    "#);
    assert_eq!(
        tree("set\n$x\n=\n4\nset mode\nquit\ntimeout\ncreate\nfiles\nrun\n5"),
        tree("set $x=4 set mode quit timeout create files run 5")
    );
}

#[test]
fn every_statement_attribute_and_item_has_its_place() {
    let (file, ast, _) = read(WHOLE);
    let slices: Vec<_> = ast.statements.iter().map(|s| file.slice(s.span)).collect();
    assert_eq!(slices[0], "set $dir=/tmp/a");
    assert_eq!(slices[1], "set mode quit firstdone");
    assert!(slices[2].starts_with("define fileset") && slices[2].ends_with("\n prealloc"), "{}", slices[2]);
    assert!(slices[3].starts_with("define process") && slices[3].ends_with("} }"), "{}", slices[3]);
    assert_eq!(slices[4], "run 60");
    assert_eq!(slices[5], "echo \"done\"");
    let Statement::Define { what, attributes, block: Some(block) } = &ast.statements[3].value else { panic!() };
    assert_eq!(file.slice(what.span), "process");
    assert_eq!(file.slice(attributes[1].name.span), "instances");
    assert_eq!(file.slice(attributes[1].value.as_ref().unwrap().span), "2");
    assert!(file.slice(block.span).starts_with("{\n  thread") && file.slice(block.span).ends_with('}'));
    let Item::Thread { block, .. } = &block.items[0].value else { panic!() };
    assert_eq!(file.slice(block.items[1].span), "flowop closefile name=c1");
    for (text, place) in
        [("set $x=$a/b c\n", "$a/b"), ("set $x=\"a $b\"", "\"a $b\""), ("set $x=$a * (2 + 1)", "$a * (2 + 1)")]
    {
        let Statement::Set { value, .. } = &read(text).1.statements[0].value.clone() else { panic!() };
        assert_eq!(read(text).0.slice(value.span), place);
    }
}

#[test]
fn values_are_numbers_words_texts_and_variables() {
    assert_eq!(value("10K"), "10240");
    assert_eq!(value("-5"), "-5");
    assert_eq!(value("0.5"), "0.5");
    assert_eq!(value(".5"), "0.5");
    assert_eq!(value("10ms"), "10000000ns");
    assert_eq!(value("true"), "true");
    assert_eq!(value("truely"), "\"truely\"");
    assert_eq!(value("./x"), "\"./x\"");
    assert_eq!(value("~/a-b_c.d:e;f"), "\"~/a-b_c.d:e;f\"");
    assert_eq!(value("dönerspieß"), "\"dönerspieß\"");
    assert_eq!(value("$a"), "$a");
    assert_eq!(value("${a_b}"), "$a_b");
    assert_eq!(value("$(HOME)"), "$(HOME)");
    assert_eq!(value("$dir/sub"), "[$dir \"/sub\"]");
    assert_eq!(value("$a$b"), "[$a $b]");
    assert_eq!(value("${x}y1"), "[$x \"y1\"]");
    assert_eq!(value("${x}1"), "[$x \"1\"]");
    assert_eq!(value("4$x"), "[\"4\" $x]");
    assert_eq!(value("a\"b c\"$d"), "[\"a\" \"b c\" $d]");
}

#[test]
fn quoted_text_has_escapes_variables_and_lone_dollars() {
    assert_eq!(value(r#""""#), r#""""#);
    assert_eq!(value(r#""random # no comment ^ {""#), r#""random # no comment ^ {""#);
    assert_eq!(value(r#""a\"b\\c\nd\te\$f\g""#), r#""a\"b\\c\nd\te$f\\g""#);
    assert_eq!(value("\"two\nlines\""), r#""two\nlines""#);
    assert_eq!(value(r#""$a""#), "[$a]");
    assert_eq!(value(r#""in $dir/${x}y for $(USER)""#), r#"["in " $dir "/" $x "y for " $(USER)]"#);
    assert_eq!(value(r#""$Revision: 1.13 $ of $""#), r#"[$Revision ": 1.13 $ of $"]"#);
    assert_eq!(value(r#""${a $(b $1""#), r#""${a $(b $1""#);
}

#[test]
fn operators_bind_as_usual_and_minus_and_slash_need_space() {
    assert_eq!(value("$a * 3"), "($a * 3)");
    assert_eq!(value("$a*3+1"), "(($a * 3) + 1)");
    assert_eq!(value("1 + 2 * 3 - 4 / 5 % 6"), "((1 + (2 * 3)) - ((4 / 5) % 6))");
    assert_eq!(value("10 - 3 - 2"), "((10 - 3) - 2)");
    assert_eq!(value("(1 + 2) * (3)"), "((1 + 2) * 3)");
    assert_eq!(mistakes("set $x=$a /b"), "1:11 unknown command '/b' | a command is expected here\n");
    assert_eq!(
        tree("define fileset name=a,size=$b * 2,path=/c - /d"),
        "define fileset name=\"a\", size=($b * 2), path=(\"/c\" - \"/d\")\n"
    );
}

#[test]
fn fields_are_of_set_only() {
    assert_eq!(tree("set $rv.mean=20"), "set rv . mean = 20\n");
    assert_eq!(value("$rv.mean"), "[$rv \".mean\"]");
}

#[test]
fn random_variables_and_tables_go_over_lines() {
    assert_eq!(
        tree("set $r=randvar(type=tabular,\n  randtable = {{50, 1k,2k},\n {50,$lo,$hi}} ,\n min=$mm)"),
        "set r = randvar(type=\"tabular\", randtable={{50,1024,2048},{50,$lo,$hi}}, min=$mm)\n"
    );
    assert_eq!(
        tree("set $c = cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)"),
        "set c = cvar(type=\"cvar-gamma\", parameters=\"mean:131072;gamma:1.5\")\n"
    );
    assert_eq!(
        tree("define randvar randtable={{100,1,2}},name=$r,type=tabular"),
        "define randvar randtable={{100,1,2}}, name=$r, type=\"tabular\"\n"
    );
    assert_eq!(tree("define fileset name=a,size=randvar()"), "define fileset name=\"a\", size=randvar()\n");
}

#[test]
fn blocks_hold_threads_and_flowops() {
    assert_eq!(
        tree("define flowop name=c,$n,$size=4k { flowop read name=r,iosize=$size\nflowop c2 name=d,$n=$n }"),
        "define flowop name=\"c\", $n, $size=4096 { flowop read name=\"r\", iosize=$size; flowop c2 name=\"d\", $n=$n }\n"
    );
    // That something is missing in these is for the plan to say.
    assert_eq!(tree("define process name=p { }"), "define process name=\"p\" {  }\n");
    assert_eq!(
        tree("define process name=p {thread name=t {}}"),
        "define process name=\"p\" { thread name=\"t\" {  } }\n"
    );
    assert_eq!(tree("define process name=p\nrun"), "define process name=\"p\"\nrun\n");
    assert_eq!(
        tree("define process name=p { thread name=t { flowop list name=run } }"),
        "define process name=\"p\" { thread name=\"t\" { flowop list name=\"run\" } }\n"
    );
}

#[test]
fn run_takes_what_is_a_length() {
    assert_eq!(
        tree("run run 60 run $runtime run 30s run $a * 2 quit"),
        "run\nrun 60\nrun $runtime\nrun 30000000000ns\nrun ($a * 2)\nquit\n"
    );
}

#[test]
fn other_commands_keep_their_arguments() {
    let text = "psrun -10 60\nusage \"a\" \"b $c\"\nset mode quit alldone\nset mode nousestats\nenable lathist\n\
        create files\ncreate processes\neventgen rate=$r\neventgen rate = $r\nload name stats command \"x\"\nstats snap\n\
        debug 1\nlist\nlist fileset\nquit\nversion\nenable multi master=h, client=n\nsleep 5\nsleep $n\nsystem \"cmd\"\n\
        warmup 5\nshutdown processes\nfscheck path=/a,fstype=b\nfsflush fstype=b\nnousestats\nexit\nhelp\nvars\n\
        log \"x\"\ndomultisync value=1\nenable_osprof\ndisable_osprof\ninclude \"x\"\necho $x\necho\n";
    insta::assert_snapshot!(tree(text), @r#"
    psrun -10 60
    usage "a" ["b " $c]
    mode quit alldone
    mode nousestats
    enable "lathist"
    create "files"
    create "processes"
    eventgen : rate=$r
    eventgen : rate=$r
    load "name"
    stats "command" "x"
    stats "snap"
    debug 1
    list
    list "fileset"
    quit
    version
    enable "multi" : master="h", client="n"
    sleep 5
    sleep $n
    system "cmd"
    warmup 5
    shutdown "processes"
    fscheck : path="/a", fstype="b"
    fsflush : fstype="b"
    nousestats
    exit
    help
    vars
    log "x"
    domultisync : value=1
    enable_osprof
    disable_osprof
    include "x"
    echo $x
    echo
    "#);
}

#[test]
fn the_list_of_commands_is_the_grammars() {
    let grammar = include_str!("../../grammar/wl.pest");
    let rule = grammar.split("keyword = @{").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    let words: Vec<_> = rule.split('"').skip(1).step_by(2).collect();
    assert_eq!(words, COMMANDS);
    for word in COMMANDS {
        assert!(!mistakes(word).contains("unknown command"), "{word}");
    }
}

#[test]
fn a_missing_comma_is_one_mistake() {
    insta::assert_snapshot!(mistakes("define fileset name=fs1 path=$dir prealloc, size=4k\n  entries=4\nrun 5"), @r"
    1:25 a comma is expected before 'path' | a comma is expected before this
    1:35 a comma is expected before 'prealloc' | a comma is expected before this
    2:3 a comma is expected before 'entries' | a comma is expected before this
    ");
    assert_eq!(lines(&read("define file name=a size=4k run 5").1), "define file name=\"a\", size=4096\nrun 5\n");
}

#[test]
fn a_list_with_a_flaw_keeps_its_other_attributes() {
    insta::assert_snapshot!(mistakes("define file name=a,path=,size=4k\ndefine file name=a,=5\ndefine file name=a,,size=4k\n\
        define file name=a,size=4k,\ndefine file name=@a,size=4k@3,path=$\ndefine file name=a,path=${b\ndefine file name=a 5,size=1\nrun"), @r"
    1:20 'path' has no value | a value is expected after the '='
    2:20 a '=' without a name before it | the name of an attribute is expected before this
    3:19 no attribute follows this comma | an attribute is expected after this
    4:27 no attribute follows this comma | an attribute is expected after this
    5:18 unexpected character '@' | a value is expected here
    5:28 unexpected character '@' | a comma, an attribute or the end of the list is expected here
    5:36 unexpected '$' without a name after it | a value is expected here
    6:25 '${' begins no variable: that is written ${name} | a value is expected here
    7:20 unexpected number '5' | a comma, an attribute or the end of the list is expected here
    ");
    assert_eq!(
        lines(&read("define file name=@a,size=4k@3,path=b,run").1),
        "define file name=!, size=4096, path=\"b\"\nrun\n"
    );
}

#[test]
fn an_unclosed_block_ends_at_the_next_command() {
    insta::assert_snapshot!(mistakes("set $a=1\ndefine process name=p\n{\n thread name=t\n {\n flowop read name=r\n }\nrun 1\nfoo"), @r"
    3:1 the block opened at line 3 is not closed | this '{' has no '}'
    9:1 unknown command 'foo' | a command is expected here
    ");
    insta::assert_snapshot!(mistakes("define process name=p {\n thread name=t {\n flowop read name=r\n thread name=u { flowop read name=s }\n}"), @"2:16 the block opened at line 2 is not closed | this '{' has no '}'");
    insta::assert_snapshot!(mistakes("define process name=p { thread name=t { flowop read name=r } } }\nrun 1"), @"1:64 this '}' closes nothing | no block is open here");
}

#[test]
fn a_block_that_is_not_opened_is_read_all_the_same() {
    insta::assert_snapshot!(mistakes("define process name=p\n thread name=t { flowop read name=r } }\nrun 1"), @"2:2 the block of this process is not opened | a '{' is expected before this");
    insta::assert_snapshot!(mistakes("define process name=p { thread name=t\n flowop read name=r } }\nrun 1"), @"2:2 the block of this thread is not opened | a '{' is expected before this");
    insta::assert_snapshot!(mistakes("define process name=p { thread name=t }"), @"1:25 this thread has no block | '{', flowops and '}' are expected after its attributes");
}

#[test]
fn what_cannot_stand_in_a_block_is_passed_over() {
    let text = "define process name=p { thread name=t {\nflwop read name=r\n{ flowop a name=b }\nsleep 5\nflowop name=b\nflowop read name=s } }\nrun 1";
    insta::assert_snapshot!(mistakes(text), @r"
    2:1 unexpected word 'flwop' | a thread, a flowop or '}' is expected here | did you mean 'flowop'?
    4:1 the command 'sleep' cannot stand in a block | a thread, a flowop or '}' is expected here
    5:1 this flowop has no type | a type, such as read or statfile, is expected after this
    ");
    assert_eq!(
        lines(&read(text).1),
        "define process name=\"p\" { thread name=\"t\" { flowop read name=\"s\" } }\nrun 1\n"
    );
}

#[test]
fn an_unknown_command_is_skipped_up_to_the_next_known_one() {
    insta::assert_snapshot!(mistakes("# text\n\nsudo wl << SCRIPT\nload varmail\nrun 720\ndefien process name=p\n{ thread name=t { flowop x name=y } }\nrun 5"), @r"
    3:1 unknown command 'sudo' | a command is expected here
    6:1 unknown command 'defien' | a command is expected here | did you mean 'define'?
    ");
    insta::assert_snapshot!(mistakes("\"a\" = b\n@\nrun soon\nquit\n$x = 5\nrun 60;\nquit\nthread name=t { flowop a name=b }\nflowop x\nset $x=5\n)"), @r#"
    1:1 unexpected text in quotes | a command is expected here
    3:5 unknown command 'soon' | a command is expected here
    5:1 unexpected variable $x | a command is expected here | to give a variable its value, write: set $x=...
    6:7 unexpected character ';' | a command is expected here
    8:1 this thread stands outside of a block | a command is expected here | threads stand in the braces of a process, flowops and mixes in those of a thread
    11:1 unexpected ')' | a command is expected here
    "#);
}

#[test]
fn set_says_what_it_lacks() {
    insta::assert_snapshot!(mistakes("set $x=\nset $y 5\nset $z\nset z=5\nset\nset mode\nset $x=5 seconds\nset $x =\n run 5\ndefine\ndefine name=a,path=b"), @r#"
    1:1 'set $x' has no value | a value is expected after the '='
    2:5 a '=' is expected after $y | '=' and a value are expected after this
    3:5 a '=' is expected after $z | '=' and a value are expected after this
    4:5 unexpected word 'z' | a variable such as $nfiles or 'mode' is expected here | a variable begins with a '$': set $z=...
    5:1 nothing follows 'set' | a variable such as $nfiles or 'mode' is expected after this
    6:5 'set mode' names no mode | a mode is expected after this | such as: set mode quit alldone
    7:10 unknown command 'seconds' | a command is expected here
    8:1 'set $x' has no value | a value is expected after the '='
    10:1 nothing follows 'define' | a file, fileset, process, flowop or randvar is expected after this
    11:8 unexpected word 'name' | a file, fileset, process, flowop or randvar is expected here
    "#);
    assert_eq!(lines(&read("set $y 5\nset $x=\nrun").1), "set y = 5\nset x = !\nrun\n");
}

#[test]
fn a_value_with_a_flaw_is_named_once() {
    insta::assert_snapshot!(mistakes("set $a=1kb\nset $a=99999999999999999999\nset $a=1-2\nset $a=2024file\nset $a=4 *\nset $a=(1 + 2\nset $a=()\n\
        set $a=a(b=c\nset $a={{1,2},{3}\nset $a={1,2}\nset $a=a@b\nrun 1"), @r#"
    1:8 'kb' in '1kb' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h | a number is expected here
    2:8 the number 99999999999999999999 is too large: at most 2^63-1 is possible | a smaller number is expected here
    3:8 '-2' in '1-2' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h | a number is expected here | to subtract or divide, put a space on both sides of the sign
    4:8 'file' in '2024file' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h | a number is expected here | a text that begins with a digit stands in quotes
    5:10 a value is expected after '*' | a value is expected after this
    6:8 this '(' is not closed | this '(' has no ')'
    7:8 nothing stands in these brackets | a value is expected here
    8:9 this '(' is not closed | this '(' has no ')'
    9:8 this is no table | rows of numbers are expected here | a table is written {{50,1k,2k},{50,4k,8k}}
    10:8 this is no table | rows of numbers are expected here | a table is written {{50,1k,2k},{50,4k,8k}}
    11:9 unexpected character '@' | a command is expected here
    "#);
}

#[test]
fn odd_quotes_are_named() {
    insta::assert_snapshot!(mistakes("define fileset name=“fs1”,path='b',size=`c\necho ‘a b’\nrun"), @r#"
    1:21 “ does not quote a text here | plain quotes (") are expected here
    1:32 ' does not quote a text here | plain quotes (") are expected here
    1:41 ` does not quote a text here | plain quotes (") are expected here
    2:6 ‘ does not quote a text here | plain quotes (") are expected here
    "#);
}

#[test]
fn a_text_without_end_points_at_the_one_that_may_be_to_blame() {
    let (file, _, found) = read("echo \"abc\necho \"def\"\nrun 5");
    let found = found.sorted();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "the text that begins here has no closing quote");
    let places: Vec<_> = found[0].labels.iter().map(|(span, _)| file.line_column(span.start)).collect();
    assert_eq!(places, [(2, 10), (1, 6)]);
}

#[test]
fn a_loop_has_its_statements() {
    let text = "foreach $v in 1, 2k, $n*2, \"a b\", word, 5ms {\n set $x=$v # }\n foreach ${w} in \"}\"\n{ echo \"{\" $w }\n\
                define process name=p$v { thread name=t { flowop x name=y } } run $v }\nforeach $e in 1 { }\nrun 5";
    insta::assert_snapshot!(tree(text), @r#"
    foreach v in 1, 2048, ($n * 2), "a b", "word", 5000000ns { set x = $v; foreach w in "}" { echo "{" $w }; define process name=["p" $v] { thread name="t" { flowop x name="y" } }; run $v }
    foreach e in 1 {  }
    run 5
    "#);
}

#[test]
fn a_loop_says_what_it_lacks() {
    insta::assert_snapshot!(mistakes("foreach\nforeach x in 1 { run 1 }\nforeach $x 1, 2 { run 1 }\nforeach $x in { run 1 }\n\
        foreach $x in 1,, 2, { run 1 }\nforeach $x in 1 2 3 { run 1 }\nforeach $x in 1, 2\nrun 1\nforeach $x in 1, @ { run }\n\
        foreach $x { run }\nforeach $x in 1kb { run }\nforeach $x in 1 { thread a { b } } run 5\nforeach $x in 1 { sett $y=1 }\n\
        foreach $x in run { echo a }\nforeach"), @r"
    1:1 nothing follows 'foreach' | a variable such as $nthreads is expected after this
    2:9 unexpected word 'x' | a variable such as $nthreads is expected here | a variable begins with a '$': foreach $x in ...
    3:12 this foreach has no 'in' | 'in' and values are expected after the variable | such as: foreach $n in 1, 2, 4 { ... }
    4:1 this foreach lacks a value | values are expected after 'in' and each comma | such as: foreach $n in 1, 2, 4 { ... }
    5:1 this foreach lacks a value | values are expected after 'in' and each comma | such as: foreach $n in 1, 2, 4 { ... }
    6:17 unexpected number '2' | a comma or '{' is expected before this
    7:1 this foreach has no body | '{', commands and '}' are expected after its values
    9:1 this foreach lacks a value | values are expected after 'in' and each comma | such as: foreach $n in 1, 2, 4 { ... }
    10:1 this foreach has no 'in' | 'in' and values are expected after the variable | such as: foreach $n in 1, 2, 4 { ... }
    11:15 'kb' in '1kb' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h | a number is expected here
    12:19 this thread stands outside of a block | a command is expected here | threads stand in the braces of a process, flowops and mixes in those of a thread
    13:19 unknown command 'sett' | a command is expected here | did you mean 'set'?
    14:1 this foreach lacks a value | values are expected after 'in' and each comma | such as: foreach $n in 1, 2, 4 { ... }
    14:19 unexpected '{' | a command is expected here
    15:1 nothing follows 'foreach' | a variable such as $nthreads is expected after this
    ");
    insta::assert_snapshot!(mistakes("foreach $x in 1 {\n  run 1\n  foreach $y in 2 { run 2\n}\nrun 3"), @"1:17 the body opened at line 1 is not closed | this '{' has no '}'");
    insta::assert_snapshot!(mistakes("foreach $x in 1 {\n define process name=p { thread name=t {\n flowop a name=b }\n run 1 }\nrun 2"), @r"
    1:17 the body opened at line 1 is not closed | this '{' has no '}'
    4:2 the command 'run' cannot stand in a block | a thread, a flowop or '}' is expected here
    ");
    insta::assert_snapshot!(mistakes("foreach $x in 1 { run 1 } }\nrun 2"), @"1:27 this '}' closes nothing | no block is open here");
    // A loop in a block was meant to stand behind it.
    insta::assert_snapshot!(mistakes("define process name=p { thread name=t { flowop a name=b }\nforeach $x in 1 { run 1 }"), @"1:23 the block opened at line 1 is not closed | this '{' has no '}'");
}

#[test]
fn loops_stand_in_loops_to_an_end() {
    for (depth, sound) in [(16, true), (17, false), (300, false), (100_000, false)] {
        let text = format!("{}run 1\n{}\nrun 2", "foreach $x in 1 {\n".repeat(depth), "}".repeat(depth));
        let found = mistakes(&text);
        assert_eq!(found.contains("more than 16 deep"), !sound, "{depth}");
        // Braces more than 99 deep are not counted.
        assert!(found.lines().count() == usize::from(!sound) || depth > 99, "{depth} {found}");
    }
}

#[test]
fn comments_of_two_signs_are_the_help_of_the_set_below() {
    let text = "# head\n## Files in the set,\n  ## and no directories.\nset $a=1 ## of nothing\nset $b=2\n\n## far away\n\nset $c=3\r\n\
                ## of CR LF \r\nset $d=4\n### a ruler\nset $e=5\n# plain\n## last line only\nset $f=6\n##\nset $g=7\n\
                ## not this\nrun 1\nforeach $v in 1 { ## not of a body\n## of h\nset $h=8 }\necho \"\n## text\"\nset $i=9\n## j\nset $j.mean=1";
    insta::assert_snapshot!(tree(text), @r#"
    set a = 1 ## Files in the set, and no directories.
    set b = 2
    set c = 3
    set d = 4 ## of CR LF
    set e = 5
    set f = 6 ## last line only
    set g = 7
    run 1
    foreach v in 1 { set h = 8 ## of h }
    echo "\n## text"
    set i = 9
    set j . mean = 1 ## j
    "#);
}

#[test]
fn a_text_behind_another_has_its_places_there() {
    let text = "set $a=$b*2 # c\nset $r.mean={{1,2},{$x}}\nset mode quit alldone\ndefine process name=p { thread a,b=c { flowop read name=$d/e } }\n\
                run $n\nforeach $v in 1, $w { eventgen rate=$r }\nset $q=randvar(type=$t)\n@\nset $z=“x”";
    let (file, alone, found) = read(text);
    let behind = SourceFile { base: 1000, ..file };
    let mut moved = Diagnostics::new();
    let tree = parse(&behind, &mut moved);
    // Each place is in the debug text of a tree.
    let by = |text: &str| {
        let number =
            |word: &str, key: &str| word.strip_prefix(key).and_then(|n| n.trim_end_matches(',').parse::<usize>().ok());
        let mut out = Vec::new();
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            out.push(match pair[0] {
                "start:" | "end:" => number(pair[1], "").map_or_else(|| pair[1].to_owned(), |n| format!("@{n}")),
                _ => pair[1].to_owned(),
            });
        }
        out
    };
    let (alone, tree) = (by(&format!("{alone:?} {:?}", found.sorted())), by(&format!("{tree:?} {:?}", moved.sorted())));
    let mut places = 0;
    for (a, b) in alone.iter().zip(&tree) {
        match (a.strip_prefix('@'), b.strip_prefix('@')) {
            (Some(a), Some(b)) => {
                places += 1;
                assert_eq!(a.parse::<usize>().unwrap() + 1000, b.parse::<usize>().unwrap());
            }
            _ => assert_eq!(a, b),
        }
    }
    assert!(places > 100, "{places}");
}

#[test]
fn nesting_has_an_end() {
    for (depth, sound) in [(99, true), (100, false), (200_000, false)] {
        let brackets = format!("set $x={}1{}\nrun", "(".repeat(depth), ")".repeat(depth));
        let calls = format!("set $x={}1{}\nrun", "a(b=".repeat(depth), ")".repeat(depth));
        for text in [brackets, calls] {
            let found = mistakes(&text);
            assert_eq!(found.lines().count(), usize::from(!sound), "{depth} {found}");
            assert_eq!(found.contains("more than 99 deep"), !sound, "{depth}");
        }
    }
    let sum = format!("set $x=1{}", "+1".repeat(100_000));
    assert!(mistakes(&sum).contains("more than 100 operators"));
}

#[test]
fn a_mix_is_an_item_of_flowops_and_mixes() {
    assert_eq!(
        tree(
            "define process name=p { thread name=t { mix name=access, iters=2 {\n flowop read name=r,weight=70\n mix weight=0.5 { flowop a name=b }\n } flowop c name=d } }"
        ),
        "define process name=\"p\" { thread name=\"t\" { mix name=\"access\", iters=2 { flowop read name=\"r\", weight=70; mix weight=0.5 { flowop a name=\"b\" } }; flowop c name=\"d\" } }\n"
    );
    assert_eq!(
        tree("define flowop name=c\n{ flowop a name=b\n mix { flowop a name=b } }\nrun"),
        "define flowop name=\"c\" { flowop a name=\"b\"; mix  { flowop a name=\"b\" } }\nrun\n"
    );
    // The word means nothing elsewhere.
    assert_eq!(
        tree(
            "set $mix=mix\ndefine fileset name=mix,mix=1\ndefine process name=mix { thread name=mix { flowop mix name=mix\nmix name=m { } } }\necho mix\nload mix\nrun"
        ),
        "set mix = \"mix\"\ndefine fileset name=\"mix\", mix=1\n\
         define process name=\"mix\" { thread name=\"mix\" { flowop mix name=\"mix\"; mix name=\"m\" {  } } }\n\
         echo \"mix\"\nload \"mix\"\nrun\n"
    );
}

#[test]
fn mistakes_in_a_mix_are_those_of_any_block() {
    let within = |mix: &str| mistakes(&format!("define process name=p {{ thread name=t {{\n{mix}\n}} }}\nrun"));
    insta::assert_snapshot!(within("mix name=m {\nflwop read name=r\nsleep 5\nflowop read name=s }"), @r"
    3:1 unexpected word 'flwop' | a thread, a flowop or '}' is expected here | did you mean 'flowop'?
    4:1 the command 'sleep' cannot stand in a block | a thread, a flowop or '}' is expected here
    ");
    insta::assert_snapshot!(within("mix name=m { flowop read name=r"), @"1:23 the block opened at line 1 is not closed | this '{' has no '}'");
    insta::assert_snapshot!(within("mix name=m { thread name=u { flowop read name=r } }"), @"2:14 a thread cannot stand in a mix | a flowop, a mix or '}' is expected here");
    insta::assert_snapshot!(within("mix name=m\nflowop read name=r }"), @"3:1 the block of this mix is not opened | a '{' is expected before this");
    insta::assert_snapshot!(within("mix name=m"), @"2:1 this mix has no block | '{', flowops and '}' are expected after its attributes");
    insta::assert_snapshot!(within("mxi name=m { flowop read name=r }"), @"2:1 unexpected word 'mxi' | a thread, a flowop or '}' is expected here | did you mean 'mix'?");
    insta::assert_snapshot!(mistakes("mix name=m { flowop read name=r }\nrun 1"), @"1:1 this mix stands outside of a block | a command is expected here | threads stand in the braces of a process, flowops and mixes in those of a thread");
    for (depth, sound) in [(16, true), (17, false), (100_000, false)] {
        let found = within(&format!("{}flowop a name=b{}", "mix {".repeat(depth), "}".repeat(depth)));
        assert_eq!(found.lines().count(), usize::from(!sound), "{depth} {found}");
        assert_eq!(found.contains("mixes stand more than 16 deep"), !sound, "{depth}");
    }
}

#[test]
fn an_assert_has_a_subject_a_relation_and_a_limit() {
    insta::assert_snapshot!(tree("assert r.p99 < 5ms\nassert r.p99.9<=$x*2 assert a.b.c.ops/s >= 1.5\nassert \"a b\".max\n!=\n$limit assert ${x}r.ops == (1 + 2) * 3\nrun"), @r#"
    assert "r.p99" < 5000000ns
    assert "r.p99.9" <= ($x * 2)
    assert "a.b.c.ops/s" >= 1.5
    assert ["a b" ".max"] != $limit
    assert [$x "r.ops"] == ((1 + 2) * 3)
    run
    "#);
    insta::assert_snapshot!(mistakes("assert\nassert r.p99 5ms\nassert r.p99\nassert r.p99 = 5ms\nassert r.p99 => 5ms\nassert r.p99 <> 5\nassert r.p99 <\nassert < 5\nassert r.p99 <<< 5\nassert r.p99 < 5qs\nassert {a} < 5\nrun 1"), @r"
    1:1 nothing follows 'assert' | a flowop and its metric, such as read1.p99, is expected after this
    2:8 a comparison is expected after r.p99 | expected <, <=, >, >=, == or != after this | such as: assert read1.p99 < 5ms
    3:8 a comparison is expected after r.p99 | expected <, <=, >, >=, == or != after this | such as: assert read1.p99 < 5ms
    4:14 '=' compares nothing | expected <, <=, >, >=, == or != | to compare for equality, write ==
    5:14 '=>' compares nothing | expected <, <=, >, >=, == or != | did you mean '>='?
    6:14 '<>' compares nothing | expected <, <=, >, >=, == or != | did you mean '!='?
    7:14 a value is expected after '<' | a value is expected after this
    8:8 unexpected character '<' | a flowop and its metric, such as read1.p99, is expected here
    9:14 '<<<' compares nothing | expected <, <=, >, >=, == or !=
    10:16 'qs' in '5qs' is no unit: sizes end in k, m, g or t, times in ns, us, ms, s, min or h | a number is expected here
    11:8 unexpected '{' | a flowop and its metric, such as read1.p99, is expected here
    ");
    assert_eq!(
        lines(&read("assert r.p99 = 5\nassert r.p99\nrun").1),
        "assert \"r.p99\" ! 5\nassert \"r.p99\" ! !\nrun\n"
    );
}

#[test]
fn garbage_is_refused_at_once_and_in_few_words() {
    const SIZE: usize = 1 << 18;
    for piece in [
        "a",
        "a ",
        "{",
        "}",
        "(",
        ")",
        "\"",
        "\\",
        "$",
        "#",
        "=",
        ",",
        "a=",
        "set ",
        "set\n",
        "set $a=(",
        "set $a=b(c=",
        "set $a={{1,2},\n",
        "define a {",
        "define a{thread{",
        "define a{x{",
        "define a{\nset $x=1\n",
        "flowop",
        "foreach {",
        "foreach $x in ",
        "foreach $x in 1 {",
        "foreach $x in 1 {\n",
        "foreach $x in 1 { define a {",
        "foreach $x in 1 { define a { thread {\n",
        "define a { foreach $x in 1 {\n",
        "define a { thread { foreach $x in 1, ",
        "foreach $x in {{1,",
        "## a\n",
        "## a\nset $x=1\n",
        "“",
        "'",
        "-",
        "1+",
        "set $a=1 +",
        "mix{",
        "mix {mix\n",
        "define a{thread{mix{",
        "mix #\n",
        "assert ",
        "assert a",
        "assert a<",
        "assert a < b +",
        "define a b=c d=e\n",
        "define a b=c\nd,",
        "define é é=é\né=",
    ] {
        let text = piece.repeat(SIZE / piece.len());
        let start = Instant::now();
        let (_, _, found) = read(&text);
        let taken = start.elapsed();
        assert!(found.sorted().len() <= 51, "{piece:?}");
        assert!(found.sorted().iter().all(|finding| finding.message.len() < 300), "{piece:?}");
        assert!(taken < Duration::from_secs(10), "{piece:?} took {taken:?}");
    }
    // Commands in as many open blocks as there can be.
    let text = format!("define a{{thread{{{}{}", "mix{".repeat(16), "\nset $x=1".repeat(SIZE / 10));
    let start = Instant::now();
    assert!(read(&text).2.sorted().len() <= 51);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(mistakes(&"}\n".repeat(1000)).contains("950 more mistakes are not shown"));
}

#[test]
fn time_grows_with_the_text_and_no_faster() {
    let text = |lines: usize| {
        let line = "    flowop readwholefile name=r,filesetname=set,fd=1,iosize=$iosize\n";
        format!("define process name=p {{ thread name=t {{\n{} }} }}\nrun 60\n", line.repeat(lines))
    };
    let taken = |lines: usize| {
        let text = text(lines);
        let start = Instant::now();
        let (_, ast, found) = read(&text);
        assert!(found.is_empty());
        assert_eq!(ast.statements.len(), 2);
        start.elapsed()
    };
    taken(1_000);
    let (few, many) = (taken(5_000), taken(50_000));
    // Ten times the text; a hundred times the time would be the square. The rest is for a busy machine.
    assert!(many < few * 40 + Duration::from_millis(500), "{few:?} {many:?}");
}

/// Pieces of the language, to be put together without sense.
fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "set",
        "define",
        "run",
        "echo",
        "create",
        "mode",
        "quit",
        "foreach",
        "foreach $v in",
        "in",
        "##h\n",
        "include",
        "process",
        "fileset",
        "thread",
        "flowop",
        "mix",
        "mix {",
        "assert",
        "<",
        ">=",
        "name",
        "read",
        "$a",
        "${b}",
        "$(C)",
        "$",
        "=",
        ",",
        "{",
        "}",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "%",
        " ",
        " ",
        " ",
        "\n",
        "\n",
        "\t",
        "\r\n",
        "# c\n",
        "\"",
        "\"t $x\"",
        "\"\"",
        "\\",
        "12",
        "4k",
        "-5",
        "1kb",
        "0.5",
        "true",
        ".",
        "randvar(",
        "{{1,2},{3,4}}",
        "“",
        "'",
        "@",
        ";",
        "é",
        "/tmp",
        "\u{feff}",
    ])
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = mistakes(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = mistakes(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_soup_of_tokens_panics_or_takes_long(tokens in prop::collection::vec(token(), 0..300)) {
        let text = tokens.concat();
        let start = Instant::now();
        let (file, ast, found) = read(&text);
        prop_assert!(start.elapsed() < Duration::from_secs(2));
        prop_assert!(!found.sorted().iter().any(|d| d.message.contains("cannot be read from here")));
        for finding in found.sorted() {
            for (span, label) in &finding.labels {
                prop_assert!(file.text.get(span.start..span.end).is_some() && !label.is_empty());
            }
        }
        // A hole in the tree has a finding.
        prop_assert!(!lines(&ast).contains('!') || !found.is_empty() || text.contains('!'));
        for pair in ast.statements.windows(2) {
            prop_assert!(pair[0].span.end <= pair[1].span.start);
        }
    }
}
