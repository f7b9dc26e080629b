//! Forms of filebench 1.4 and 1.5, rewritten to those that wlrun's own workloads have, with the same plan.
//!
//! The words are replaced in the text, by the places that the tree has, so that comments stay; the layout is then for
//! [`crate::syntax::format`]. Names and aliases come from the lists of entities and flowops.

use super::entity::{self, Entity};
use super::resolve::sign;
use crate::attribute::{self, AttributeDef, Value};
use crate::flowop;
use crate::source::{SourceFile, Span, Spanned};
use crate::syntax::{self, Ast, Attribute, Block, Expression, Item, Library, Statement, Wanted};
use std::collections::BTreeSet;

/// Shape x 1000 of the sizes around a constant one, where a text of filebench 1.4 says none.
const GAMMA_OF_1_4: &str = "filesizegamma=1500";
/// Of a text of filebench 1.4 that says none.
const SIZE_OF_1_4: &str = "size=0";

/// The text of a workload that was read without mistakes, with its old forms rewritten.
///
/// | old | new |
/// |---|---|
/// | `define randvar name=$v,...` | `set $v=randvar(...)` |
/// | aliases of entities, flowops and attributes | the name of the reference |
/// | attributes that an entity takes without effect | nothing |
/// | `usage "TEXT"`, where no `help` shows it | `# TEXT` |
/// | `exit` | `quit` |
/// | `create filesets` and so on | `create files` |
/// | `load NAME` | `include "NAME.f"`, or `include "NAME.wl"` where that is what the library has |
/// | `enable_osprof`, `enable osprof` | `enable lathist` |
/// | `${v}` | `$v`, where no letter, digit or `_` follows |
/// | `16K` | `16k` |
/// | a fileset's constant size in a text of filebench 1.4 | with `filesizegamma=1500`, which 1.4 takes it for |
/// | no size in a text of filebench 1.4 | `size=0` |
///
/// The result is a text of wlrun's own language, to be kept under a name that ends in `.wl`: there a constant size is one.
pub fn to_wl(file: &SourceFile, ast: &Ast, library: &dyn Library) -> String {
    let old = sign(file, ast).is_some();
    let mut helps = false;
    syntax::each(&ast.statements, &mut |statement| {
        helps |= matches!(&statement.value, Statement::Command { word, .. } if word.value == "help");
    });
    let mut rewriter = Rewriter { file, library, old, helps, random: random(ast), edits: Vec::new() };
    syntax::each(&ast.statements, &mut |statement| rewriter.statement(statement));
    rewriter.done()
}

/// Variables that hold a random variable wherever the text sets them.
fn random(ast: &Ast) -> BTreeSet<&str> {
    let (mut random, mut others) = (BTreeSet::new(), BTreeSet::new());
    syntax::each(&ast.statements, &mut |statement| {
        match &statement.value {
            Statement::Set { variable, field: None, value, .. } => {
                let is_random = match &value.value {
                    Expression::Call { .. } => true,
                    Expression::Variable(from) => random.contains(from.as_str()),
                    _ => false,
                };
                if is_random { &mut random } else { &mut others }.insert(variable.value.as_str());
            }
            Statement::Define { what, attributes, .. } if what.value == "randvar" => {
                random.extend(randvar_name(attributes).map(|(_, name)| name));
            }
            // What it takes there may be anything.
            Statement::Foreach { variable, .. } => _ = others.insert(variable.value.as_str()),
            _ => {}
        }
    });
    random.difference(&others).copied().collect()
}

/// Place and variable of the attribute `name` of a `define randvar`.
fn randvar_name(attributes: &[Attribute]) -> Option<(usize, &str)> {
    let at = attributes.iter().position(|attribute| attribute.name.value == "name")?;
    match attributes[at].value.as_ref().map(|value| &value.value) {
        Some(Expression::Variable(name)) => Some((at, name)),
        _ => None,
    }
}

struct Rewriter<'a> {
    file: &'a SourceFile,
    /// For what is loaded.
    library: &'a dyn Library,
    /// Of filebench 1.4.
    old: bool,
    /// A `help` shows what `usage` says.
    helps: bool,
    random: BTreeSet<&'a str>,
    /// What takes the place of what; none overlaps another.
    edits: Vec<(Span, String)>,
}

/// What becomes of an attribute.
enum Fate {
    Stays,
    Renamed(&'static str),
    Dropped,
}

impl Fate {
    /// By the declarations that hold for it.
    fn by<'d>(defs: impl IntoIterator<Item = &'d AttributeDef>, name: &str) -> Fate {
        match attribute::find(defs, name) {
            Some(def) if def.name != name => Fate::Renamed(def.name),
            _ => Fate::Stays,
        }
    }

    fn of(entity: &Entity, name: &str) -> Fate {
        if entity.idle.iter().any(|(idle, _)| *idle == name) {
            Fate::Dropped
        } else {
            Fate::by(entity.attributes, name)
        }
    }
}

impl Rewriter<'_> {
    fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.edits.push((span, text.into()));
    }

    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(Span::new(at, at), text);
    }

    /// Replaces a word, unless it is this one.
    fn word(&mut self, written: &Spanned<String>, text: &str) {
        if written.value != text {
            self.replace(written.span, text);
        }
    }

    fn done(mut self) -> String {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(self.file.text.len());
        let mut read = 0;
        for (span, text) in &self.edits {
            out.push_str(self.file.slice(Span::new(read, span.start)));
            out.push_str(text);
            read = span.end;
        }
        out.push_str(self.file.slice(Span::new(read, self.file.text.len())));
        out
    }

    /// One statement; those within a loop come by themselves.
    fn statement(&mut self, statement: &Spanned<Statement>) {
        match &statement.value {
            Statement::Set { variable, field: _, value, help: _ } => {
                self.variable(variable.span);
                self.value(value);
            }
            Statement::SetMode(_) => {}
            Statement::Define { what, attributes, block } => {
                self.define(statement.span, what, attributes, block.as_ref())
            }
            Statement::Run(length) => length.iter().for_each(|length| self.value(length)),
            Statement::Foreach { variable, values, body: _ } => {
                self.variable(variable.span);
                values.iter().for_each(|value| self.value(value));
            }
            Statement::Assert { subject, relation: _, limit } => {
                self.value(subject);
                self.value(limit);
            }
            Statement::Command { word, arguments, attributes } => {
                match word.value.as_str() {
                    "usage" if !self.helps => return self.usage(statement.span, arguments),
                    "load" => return self.load(word, arguments),
                    _ => {}
                }
                self.command(word, arguments);
                self.list(attributes, |name| Fate::of(&entity::EVENTGEN, name));
            }
        }
    }

    fn command(&mut self, word: &Spanned<String>, arguments: &[Spanned<Expression>]) {
        match word.value.as_str() {
            "exit" => self.word(word, "quit"),
            "enable_osprof" => self.word(word, "enable lathist"),
            _ => {}
        }
        for argument in arguments {
            let text = match &argument.value {
                Expression::Literal(Value::Text(text)) => text.as_str(),
                _ => "",
            };
            match (word.value.as_str(), text) {
                ("create", "file" | "fileset" | "filesets") => self.replace(argument.span, "files"),
                ("create", "process") => self.replace(argument.span, "processes"),
                ("enable", "osprof") => self.replace(argument.span, "lathist"),
                _ => self.value(argument),
            }
        }
    }

    /// A text that is loaded by its name is included by that of its file.
    fn load(&mut self, word: &Spanned<String>, arguments: &[Spanned<Expression>]) {
        let [Spanned { value: Expression::Literal(Value::Text(name)), span }] = arguments else { return };
        let suffix = match self.library.find(Wanted::Load, name, self.file) {
            _ if name.ends_with(".f") || name.ends_with(".wl") => "",
            Ok(found) if found.file.is_wl() => ".wl",
            _ => ".f",
        };
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        self.word(word, "include");
        self.replace(*span, format!("\"{quoted}{suffix}\""));
    }

    /// A line of help becomes a comment, which has its line for itself.
    fn usage(&mut self, span: Span, arguments: &[Spanned<Expression>]) {
        let mut text = String::new();
        for argument in arguments {
            say(&argument.value, &mut text);
        }
        let lines: Vec<String> = match text.lines().map(|line| format!("# {line}")).collect::<Vec<_>>() {
            none if none.is_empty() => vec!["#".to_owned()],
            lines => lines,
        };
        let mut comment = lines.join("\n");
        let (before, after) = (&self.file.text[..span.start], &self.file.text[span.end..]);
        let line_is_new = |(last, text): &(Span, String)| {
            text.ends_with('\n') && self.file.slice(Span::new(last.end, span.start)).trim().is_empty()
        };
        let begun = before.trim_end_matches([' ', '\t']).ends_with(|c| c != '\n' && c != '\r');
        if begun && !self.edits.last().is_some_and(line_is_new) {
            comment.insert(0, '\n');
        }
        if after.trim_start_matches([' ', '\t']).starts_with(|c| c != '\n' && c != '\r') {
            comment.push('\n');
        }
        self.replace(span, comment);
    }

    fn define(&mut self, span: Span, what: &Spanned<String>, attributes: &[Attribute], block: Option<&Block>) {
        if what.value == "randvar" {
            return self.randvar(span, what, attributes);
        }
        for entity in [&entity::FILE, &entity::FILESET, &entity::PROCESS] {
            if entity.is_called(&what.value) {
                self.word(what, entity.name);
                self.list(attributes, |name| Fate::of(entity, name));
                if self.old && !std::ptr::eq(entity, &entity::PROCESS) {
                    self.size_of_1_4(entity, attributes);
                }
            }
        }
        if what.value == "flowop" {
            self.list(attributes, |_| Fate::Stays);
        }
        block.into_iter().for_each(|block| self.block(block));
    }

    /// Makes explicit what filebench 1.4 takes a size for.
    fn size_of_1_4(&mut self, entity: &Entity, attributes: &[Attribute]) {
        let Some(end) = attributes.last().map(end) else { return };
        let find = |name: &str| {
            let def = attribute::find(entity.attributes, name)?;
            attributes.iter().rev().find(|attribute| def.is_called(&attribute.name.value))
        };
        let Some(size) = find("size") else { return self.insert(end, format!(", {SIZE_OF_1_4}")) };
        let plain = match size.value.as_ref().map(|value| &value.value) {
            Some(Expression::Literal(Value::Int(0)) | Expression::Call { .. }) => false,
            Some(Expression::Variable(name)) => !self.random.contains(name.as_str()),
            _ => true,
        };
        if plain && std::ptr::eq(entity, &entity::FILESET) && find("filesizegamma").is_none() {
            self.insert(self::end(size), format!(", {GAMMA_OF_1_4}"));
        }
    }

    fn randvar(&mut self, span: Span, what: &Spanned<String>, attributes: &[Attribute]) {
        let Some((at, name)) = randvar_name(attributes) else { return };
        // A comment may stand between the two words.
        self.replace(Span::new(span.start, span.start + "define".len()), format!("set ${name}="));
        self.replace(what.span, "randvar(");
        self.insert(attributes.last().map_or(what.span.end, end), ")");
        let dropped = attributes[at].name.span;
        self.list_by(attributes, |attribute| {
            if attribute.name.span == dropped {
                Fate::Dropped
            } else {
                Fate::of(&entity::RANDVAR, &attribute.name.value)
            }
        });
    }

    fn block(&mut self, block: &Block) {
        for item in &block.items {
            match &item.value {
                Item::Thread { attributes, block } => {
                    self.list(attributes, |name| Fate::of(&entity::THREAD, name));
                    self.block(block);
                }
                Item::Mix { attributes, block } => {
                    self.list(attributes, |name| Fate::of(&entity::MIX, name));
                    self.block(block);
                }
                Item::Flowop { kind, attributes } => match flowop::find(&kind.value) {
                    Some(def) => {
                        self.word(kind, def.name);
                        self.list(attributes, |name| Fate::by(def.attributes(), name));
                    }
                    // A composite flowop.
                    None => self.list(attributes, |_| Fate::Stays),
                },
            }
        }
    }

    fn list(&mut self, attributes: &[Attribute], fate: impl Fn(&str) -> Fate) {
        self.list_by(attributes, |attribute| fate(&attribute.name.value));
    }

    fn list_by(&mut self, attributes: &[Attribute], fate: impl Fn(&Attribute) -> Fate) {
        let mut kept = false;
        for (at, attribute) in attributes.iter().enumerate() {
            match fate(attribute) {
                Fate::Dropped => {
                    self.replace(Span::new(attribute.name.span.start, end(attribute)), "");
                    // And one comma: that before it, or that behind it where nothing is before it.
                    let comma = if kept { at.checked_sub(1) } else { Some(at) };
                    let two = comma.and_then(|first| Some((attributes.get(first)?, attributes.get(first + 1)?)));
                    if let Some((first, second)) = two {
                        let between = Span::new(end(first), second.name.span.start);
                        self.edits.extend(self.comma(between).map(|comma| (comma, String::new())));
                    }
                    continue;
                }
                Fate::Renamed(name) => self.replace(attribute.name.span, name),
                Fate::Stays => {}
            }
            kept = true;
            attribute.value.iter().for_each(|value| self.value(value));
        }
    }

    /// The comma between two attributes, where comments may stand too.
    fn comma(&self, between: Span) -> Option<Span> {
        let text = self.file.slice(between);
        let mut in_comment = false;
        for (at, c) in text.char_indices() {
            match c {
                '#' => in_comment = true,
                '\n' | '\r' => in_comment = false,
                ',' if !in_comment => return Some(Span::new(between.start + at, between.start + at + 1)),
                _ => {}
            }
        }
        None
    }

    fn value(&mut self, expression: &Spanned<Expression>) {
        match &expression.value {
            Expression::Literal(Value::Int(_)) => {
                let span = self.within(expression.span);
                let written = self.file.slice(span);
                if written.ends_with(|c: char| c.is_ascii_uppercase()) {
                    self.replace(span, written.to_ascii_lowercase());
                }
            }
            Expression::Literal(_) | Expression::Environment(_) | Expression::Invalid => {}
            Expression::Variable(_) => self.variable(self.within(expression.span)),
            Expression::Join(parts) => parts.iter().for_each(|part| self.value(part)),
            Expression::Binary { left, right, .. } => {
                self.value(left);
                self.value(right);
            }
            Expression::Call { attributes, .. } => self.list(attributes, |_| Fate::Stays),
            Expression::Table(rows) => {
                rows.iter().flat_map(|row| &row.value).for_each(|cell| self.value(cell));
            }
        }
    }

    /// The place of a word without the round brackets that may be around it.
    fn within(&self, span: Span) -> Span {
        let written = self.file.slice(span);
        let around = |c: char| c.is_whitespace() || c == '(' || c == ')';
        let inner = written.trim_start_matches(around);
        let start = span.end - inner.len();
        Span::new(start, start + inner.trim_end_matches(around).len())
    }

    /// A variable without its brackets, unless what follows would be taken for a part of its name.
    fn variable(&mut self, span: Span) {
        let written = self.file.slice(span);
        let Some(name) = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return };
        if !self.file.text[span.end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            self.replace(span, format!("${name}"));
        }
    }
}

fn end(attribute: &Attribute) -> usize {
    attribute.value.as_ref().map_or(attribute.name.span, |value| value.span).end
}

/// An argument of `usage` as it would be shown, with variables by their names.
fn say(expression: &Expression, out: &mut String) {
    match expression {
        Expression::Literal(value) => out.push_str(&value.to_string()),
        Expression::Variable(name) => out.extend(["$", name]),
        Expression::Environment(name) => out.extend(["$(", name, ")"]),
        Expression::Join(parts) => parts.iter().for_each(|part| say(&part.value, out)),
        // An argument has none of these.
        Expression::Binary { .. } | Expression::Call { .. } | Expression::Invalid | Expression::Table(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Plan, plan};
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::source::Sources;
    use crate::syntax::{Found, NoLibrary, Texts};

    fn rewritten(text: &str) -> String {
        rewritten_of("old.f", text)
    }

    fn rewritten_of(name: &str, text: &str) -> String {
        let file = SourceFile::new(name, text);
        let mut found = Diagnostics::new();
        let ast = syntax::parse(&file, &mut found);
        let shown = |found: &Diagnostics, file: &SourceFile| found.render(&Sources::new(file.clone()), false);
        assert!(!found.has_errors(), "{}", shown(&found, &file));
        let new = SourceFile::new("old.wl", to_wl(&file, &ast, &NoLibrary));
        let laid = syntax::format(&new, &mut found);
        laid.unwrap_or_else(|| panic!("{}\n{}", new.text, shown(&found, &new)))
    }

    /// The plan of a text without what the rewriting may change.
    fn meaning(name: &str, text: &str) -> Option<serde_json::Value> {
        fn strip(value: &mut serde_json::Value) {
            match value {
                serde_json::Value::Object(object) => {
                    object.remove("span");
                    object.values_mut().for_each(strip);
                }
                serde_json::Value::Array(list) => list.iter_mut().for_each(strip),
                _ => {}
            }
        }
        let mut found = Diagnostics::new();
        let texts = Texts::read(SourceFile::new(name, text), &NoLibrary, &mut found);
        let options = Options { base: "/d".into(), dir: Some("/d".into()), seed: 1, check: true, ..Options::default() };
        let plan: Option<Plan> = plan(&texts, &options, &mut found);
        let mut json = serde_json::to_value(plan?).unwrap();
        strip(&mut json);
        json["workload"].take();
        json["dialect"].take();
        Some(json)
    }

    /// Rewrites, and compares the plans.
    #[track_caller]
    fn same(text: &str) -> String {
        let new = rewritten(text);
        let before = meaning("old.f", text).unwrap_or_else(|| panic!("no plan: {text}"));
        assert_eq!(Some(before), meaning("old.wl", &new), "{new}");
        assert_eq!(rewritten_of("old.wl", &new), new);
        new
    }

    const BLOCK: &str = "define process name=p { thread name=t { flowop statfile name=s,filesetname=f } } run 1\n";

    #[test]
    fn a_text_of_1_4_becomes_one_of_wl() {
        insta::assert_snapshot!(same(
            "# a text of 1.4\nset $n=4K usage \"Usage: set \\$n=<n>   (now $n)\" # help\nusage \" \" usage \"two\\nlines\" \
             set $m=(${n}) * 2 set $o=(2K)\n\
             define randvar name=$r, type=tabular, # small ones\n min=1K, randtable={{60,1K,8K},{40,8K,64K}}\n\
             define randvar type=gamma,name=${g},mean=${n},gamma=1500\nset $h=${g}\n\
             define filesets name=f,path=${dir}/x${n}y,filesize=$m,cached=false,entries=4,dirwidth=8\n\
             define fileset cached, # why\n name=f2,path=$dir,size=$h,entries=4,dirwidth=8\n\
             define fileset name=f3,path=\"$dir/${n}_${n}\",entries=4,dirwidth=8,cached\n\
             define fileset name=f4,path=$dir,size=0,entries=4,dirwidth=8\n\
             define fileset name=f5,path=$dir,size=1m,filesizegamma=0,entries=4,dirwidth=8\n\
             define files name=f6,path=$dir,filesize=1M\ndefine file name=f7,path=$dir,cached=$n\n\
             create filesets\n\
             define processes name=p { thread procname=p,name=t,useism,memsize=1M,useism { \
             flowop readfile name=s,filename=f flowop read name=r,filename=f,iosize=4K,wss=$r } } run 1\nexit\n"
        ), @r##"
        # a text of 1.4
        set $n=4k
        # Usage: set $n=<n>   (now $n)
        # help
        #
        # two
        # lines
        set $m=($n) * 2
        set $o=(2k)
        set $r=randvar(type=tabular, # small ones
            min=1k,
            randtable={{60, 1k, 8k}, {40, 8k, 64k}})
        set $g=randvar(type=gamma, mean=$n, gamma=1500)
        set $h=$g
        define fileset name=f, path=$dir/x${n}y, size=$m, filesizegamma=1500, entries=4, dirwidth=8
        define fileset # why
            name=f2, path=$dir, size=$h, entries=4, dirwidth=8
        define fileset name=f3, path="$dir/${n}_$n", entries=4, dirwidth=8, size=0
        define fileset name=f4, path=$dir, size=0, entries=4, dirwidth=8
        define fileset name=f5, path=$dir, size=1m, filesizegamma=0, entries=4, dirwidth=8
        define file name=f6, path=$dir, size=1m
        define file name=f7, path=$dir, size=0
        create files
        define process name=p
        {
          thread name=t, memsize=1m
          {
            flowop readwholefile name=s, filesetname=f
            flowop read name=r, filesetname=f, iosize=4k, workingset=$r
          }
        }
        run 1
        quit
        "##);
    }

    #[test]
    fn a_text_of_wl_stays() {
        for text in [
            format!("define fileset name=f,path=$dir,size=1m,entries=4,dirwidth=8\n{BLOCK}"),
            format!("set $n=16k\ndefine fileset name=f,path=$dir/${{n}}x,entries=4,dirwidth=8\n{BLOCK}"),
            format!("define fileset name=f,path=$dir,entries=4,dirwidth=8\necho \"${{dir}}1 16K\"\n{BLOCK}quit\n"),
        ] {
            let file = SourceFile::new("w.wl", &*text);
            assert_eq!(to_wl(&file, &syntax::parse(&file, &mut Diagnostics::new()), &NoLibrary), text);
            same(&text);
        }
    }

    #[test]
    fn a_variable_that_is_a_constant_at_times_has_its_gamma() {
        let text = format!(
            "set $a=randvar(type=uniform,mean=4k)\nset $b=$a\nset $c=$b\nset $b=4k\nusage \"x\"\n\
             define fileset name=f,path=$dir,size=$b,entries=4,dirwidth=8\n\
             define fileset name=g,path=$dir,size=$c,entries=4,dirwidth=8\n\
             define fileset name=h,path=$dir,size=$d,entries=4,dirwidth=8\nset $d=1k\n{BLOCK}"
        );
        let new = same(&text);
        assert_eq!(new.matches("filesizegamma=1500").count(), 2, "{new}");
        assert!(new.contains("size=$b, filesizegamma=1500") && new.contains("size=$d, filesizegamma=1500"), "{new}");
    }

    #[test]
    fn commands_have_one_name() {
        insta::assert_snapshot!(rewritten(
            "enable_osprof enable osprof enable lathist create process create fileset create file echo ${a} \"${b}c\" 5K run ${t}\nsleep 5 usage"
        ), @r##"
        enable lathist
        enable lathist
        enable lathist
        create processes
        create files
        create files
        echo $a "${b}c" 5k
        run $t
        sleep 5
        #
        "##);
    }

    #[test]
    fn what_is_new_in_wl_is_rewritten_within() {
        insta::assert_snapshot!(same(
            "usage \"x\"\nset $n=4K\nset $s=randvar(type=uniform,mean=4k)\nset $z=zipf(theta=1.1,n=8K)\n\
             ## sizes\nforeach ${s} in ${n}, 8K {\n  usage \"one\" foreach $i in a, b { set $k=${s} # each\n\
             define filesets name=$i-$s,path=${dir}/f,filesize=$s,entries=2,dirwidth=2,cached=false }\n}\n\
             define fileset name=f,path=$dir,size=$z,entries=4,dirwidth=8\n\
             define process name=p { thread name=t,memsize=1M { mix name=m { flowop readfile name=r,filename=f,weight=70 \
             mix { flowop write name=w,filename=f,iosize=4K,wss=$z,weight=1 } } } }\n\
             run 1\nassert r.p99 < ${n} * 1us\nassert \"w\".bytes_per_s >= 1M\n"
        ), @r##"
        # x
        set $n=4k
        set $s=randvar(type=uniform, mean=4k)
        set $z=zipf(theta=1.1, n=8k)
        ## sizes
        foreach $s in $n, 8k
        {
          # one
          foreach $i in a, b
          {
            set $k=$s # each
            define fileset name=$i-$s, path=$dir/f, size=$s, filesizegamma=1500, entries=2, dirwidth=2
          }
        }
        define fileset name=f, path=$dir, size=$z, entries=4, dirwidth=8
        define process name=p
        {
          thread name=t, memsize=1m
          {
            mix name=m
            {
              flowop readwholefile name=r, filesetname=f, weight=70
              mix
              {
                flowop write name=w, filesetname=f, iosize=4k, workingset=$z, weight=1
              }
            }
          }
        }
        run 1
        assert r.p99 < $n * 1us
        assert "w".bytes_per_s >= 1m
        "##);
    }

    #[test]
    fn a_constant_size_that_is_added_later_is_one() {
        let new = same(&format!("usage \"x\"\ndefine fileset name=f,path=$dir,size=1m,entries=4,dirwidth=8\n{BLOCK}"));
        let more = format!("define fileset name=g, path=$dir, size=1m, entries=4, dirwidth=8\n{new}");
        let sizes = |name| {
            let plan = meaning(name, &more).unwrap();
            let sets = plan["filesets"].as_array().unwrap();
            sets.iter().map(|set| set["size"].to_string()).collect::<Vec<_>>()
        };
        let [added, rewritten] = sizes("new.wl").try_into().unwrap();
        assert!(added.contains("fixed") && rewritten.contains("gamma"), "{added} {rewritten}");
        assert_eq!(rewritten_of("new.wl", &more), more);
        // Under another name it would not be.
        assert!(sizes("new.f")[0].contains("gamma"));
    }

    /// Has these files.
    struct Files(&'static [&'static str]);

    impl Library for Files {
        fn find(&self, _: Wanted, name: &str, _: &SourceFile) -> Result<Found, (String, String)> {
            let has = |suffix: &&str| self.0.contains(&format!("{name}{suffix}").as_str());
            let suffix = [".f", ".wl"].into_iter().find(has).ok_or((String::new(), String::new()))?;
            Ok(Found { key: name.into(), file: SourceFile::new(format!("{name}{suffix}"), "") })
        }

        fn key(&self, file: &SourceFile) -> String {
            file.name.clone()
        }
    }

    #[test]
    fn what_is_loaded_is_included_by_the_name_of_its_file() {
        let text = "load old load new load none # why\nload \"a \\\"b\\\\\\$\"\nload at.f foreach $x in 1 { load at.wl }\nload $x load a b";
        let file = SourceFile::new("w.f", text);
        let ast = syntax::parse(&file, &mut Diagnostics::new());
        let new = SourceFile::new("w.wl", to_wl(&file, &ast, &Files(&["old.f", "old.wl", "new.wl"])));
        insta::assert_snapshot!(syntax::format(&new, &mut Diagnostics::new()).unwrap(), @r##"
        include "old.f"
        include "new.wl"
        include "none.f" # why
        include "a \"b\\\$.f"
        include "at.f"
        foreach $x in 1
        {
          include "at.wl"
        }
        load $x
        load a b
        "##);
    }
}
