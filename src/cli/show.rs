//! `wlrun show`: what a workload models, its parameters, its text.

use super::exit::{self, Exit};
use super::{complain, library, print};
use crate::diagnostic::Diagnostics;
use crate::syntax::{Parameter, Texts};
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A personality, or a workload file
    #[arg(value_name = "NAME|FILE")]
    name: String,
    /// The text alone, as it is
    #[arg(long)]
    text: bool,
    /// Look here too for what the workload includes, behind its own directory; may be repeated
    #[arg(long, value_name = "DIR")]
    lib: Vec<PathBuf>,
}

pub(super) fn run(args: &ShowArgs) -> Exit {
    match library::load(&args.name) {
        Ok(file) if args.text => print(&file.text),
        Ok(file) => {
            // What is wrong with it is the matter of `check`.
            let mut unsaid = Diagnostics::new();
            print(&describe(&Texts::read(file, &library::Shelves::new(&args.lib), &mut unsaid)))
        }
        Err(why) => {
            complain(&why);
            exit::USAGE
        }
    }
}

/// Name, head comment, parameters, text.
fn describe(texts: &Texts) -> String {
    let file = texts.sources().main();
    let mut out = format!("{}\n\n", file.stem());
    let head = head(&file.text);
    if !head.is_empty() {
        let _ = write!(out, "{head}\n\n");
    }
    let parameters = texts.parameters(0);
    if !parameters.is_empty() {
        let _ = writeln!(out, "{}", table(&parameters));
    }
    out.push_str(&file.text);
    out
}

/// The comment that a text begins with.
fn head(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty()).map_while(|line| line.trim().strip_prefix('#'));
    // Two signs are the help of a parameter.
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).map(str::trim_end).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// A line for each parameter: name, default, help.
fn table(parameters: &[Parameter<'_>]) -> String {
    let rows: Vec<[String; 3]> = std::iter::once(["parameter".into(), "default".into(), "help".into()])
        .chain(parameters.iter().map(|parameter| {
            let default: Vec<&str> = parameter.default.split_whitespace().collect();
            [parameter.name.to_owned(), default.join(" "), parameter.help.unwrap_or_default().to_owned()]
        }))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (names, defaults) = (width(0), width(1));
    let mut out = String::new();
    for [name, default, help] in &rows {
        let line = format!("{name:names$}  {default:defaults$}  {help}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::syntax::NoLibrary;

    #[test]
    fn a_workload_is_shown_with_its_parameters() {
        let text = "# tiny: two files\n#\n#   an example\n## Files in\n## the set.\nset $nfiles=2\nset $size=randvar(type=gamma,\n  \
                    mean=4k)\n## Threads.\nset $n=$nfiles * 2\nset $size.mean=8k\nrun 1\n";
        let texts = Texts::read(SourceFile::new("<tiny>", text), &NoLibrary, &mut Diagnostics::new());
        insta::assert_snapshot!(describe(&texts), @r"
    tiny

    tiny: two files

      an example

    parameter  default                       help
    nfiles     2                             Files in the set.
    size       randvar(type=gamma, mean=4k)
    n          $nfiles * 2                   Threads.

    # tiny: two files
    #
    #   an example
    ## Files in
    ## the set.
    set $nfiles=2
    set $size=randvar(type=gamma,
      mean=4k)
    ## Threads.
    set $n=$nfiles * 2
    set $size.mean=8k
    run 1
    ");
    }
}
