//! Workloads of several texts, through the binary: where they are looked for, what they are given, what they are.

use crate::support::{Bench, Outcome, WLRUN};
use std::path::Path;
use std::process::{Command, Stdio};

/// One process that looks at the files of a set, as often as it has files.
const PART: &str = "## Files in the set.
set $nfiles=1000
define fileset name=f,path=$dir,entries=$nfiles,dirwidth=10,size=0,prealloc
define process name=p { thread name=t { flowop statfile name=s,filesetname=f flowop finishoncount name=e,value=$nfiles } }
set mode quit firstdone
run 60
";

fn write(here: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = here.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn wlrun(here: &Path, args: &[&str], env: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(WLRUN);
    command.args(args).current_dir(here).env_remove("WLRUN_LIB").envs(env.iter().copied()).stdin(Stdio::null());
    Bench::named("").outcome(command.output().unwrap())
}

/// What the sets of a run have been given, by the number of their files.
fn files_of(bench: &Bench) -> usize {
    bench.run().exits(0);
    bench.files().len()
}

#[test]
fn an_included_text_runs_with_what_it_is_given() {
    for (main, args, files) in [
        ("include \"part.wl\"", &[][..], 1000),
        ("include \"part.wl\" nfiles=20", &[], 20),
        ("set $n=5\ninclude \"part.wl\" nfiles=$n * 4\nset $nfiles=7", &[], 20),
        ("include \"part.wl\" nfiles=20", &["--set", "nfiles=30"], 30),
        ("foreach $n in 15 { include \"part.wl\" nfiles=$n }", &[], 15),
    ] {
        let bench = Bench::new(main).args(args.iter().copied());
        write(bench.scratch.path(), "part.wl", PART);
        assert_eq!(files_of(&bench), files, "{main}");
    }
}

#[test]
fn a_personality_is_included_with_a_smaller_set() {
    for name in ["fileserver", "fileserver.wl"] {
        let bench = Bench::new(&format!("include \"{name}\" nfiles=50, nthreads=2, runtime=1, filesize=1k"));
        let outcome = bench.run().exits(0);
        for words in ["  test  50 files", "1 process x 2 threads", "\ncreatefile1 ", "\nstatfile1 "] {
            assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
        }
        assert_eq!(outcome.record.as_ref().unwrap()["workload"]["name"], "test");
    }
}

/// Beside the file comes first, then each `--lib` in order, then the environment, then what is embedded.
#[test]
fn texts_are_looked_for_in_order() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let places = ["beside/", "one/", "two/", "env1/", "env2/"];
    for (at, place) in places.iter().enumerate() {
        write(here, &format!("{place}fileserver.wl"), format!("echo $found_{at}\nset $x=$no\n"));
    }
    write(here, "beside/main.wl", "include \"fileserver.wl\"");
    let environment = format!(":{0}/env1:{0}/env2", here.display());
    let args = ["check", "beside/main.wl", "--lib", "one", "--lib", "two"];
    for place in places {
        let outcome = wlrun(here, &args, &[("WLRUN_LIB", &environment)]).exits(2);
        assert!(outcome.stderr.contains(&format!("{place}fileserver.wl:2:8")), "{place}: {}", outcome.stderr);
        std::fs::remove_file(here.join(place).join("fileserver.wl")).unwrap();
    }
    let outcome = wlrun(here, &args, &[("WLRUN_LIB", &environment)]).exits(0);
    assert!(outcome.stderr.contains("--dir DIR"), "{}", outcome.stderr);
}

/// filebench 1.4 takes the name without its suffix, and looks in the working directory first.
#[test]
fn load_finds_the_files_of_filebench() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(here, "deep/main.f", "load part\n");
    for place in ["", "deep/", "lib/"] {
        write(here, &format!("{place}part.f"), "set $x=$no\n");
    }
    for place in ["part.f:1:8", "deep/part.f:1:8", "lib/part.f:1:8"] {
        let outcome = wlrun(here, &["check", "deep/main.f", "--lib", "lib"], &[]).exits(2);
        assert!(outcome.stderr.contains(&format!("[{place}]")), "{place}: {}", outcome.stderr);
        std::fs::remove_file(here.join(place.split(':').next().unwrap())).unwrap();
    }
    wlrun(here, &["check", "deep/main.f"], &[]).exits(2).says("no workload file 'part'").says("part.f or part.wl");
    write(here, "main.f", "load \"varmail\"\n");
    wlrun(here, &["check", "main.f", "--dir", "/d"], &[]).exits(0);
}

#[test]
fn texts_stand_sixteen_deep_and_no_deeper() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    for at in 0..17 {
        write(here, &format!("{at}.wl"), format!("include \"{}.wl\"\n", at + 1));
    }
    write(here, "17.wl", PART);
    wlrun(here, &["check", "1.wl", "--dir", "/d"], &[]).exits(0);
    let outcome = wlrun(here, &["check", "0.wl", "--dir", "/d"], &[]).exits(2).says("more than 16 deep");
    assert!(outcome.stderr.contains("[0.wl:1:9]") && outcome.stderr.contains("[16.wl:1:9]"), "{}", outcome.stderr);
    // By the way that is found second, too.
    write(here, "both.wl", "include \"1.wl\"\ninclude \"0.wl\"\n");
    wlrun(here, &["check", "both.wl", "--dir", "/d"], &[]).exits(2).says("more than 16 deep");
}

#[test]
fn what_is_included_is_a_regular_file_of_some_size() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(here, "main.wl", "include \"part\"\nrun 1\n");
    let part = here.join("part");
    rustix::fs::mkfifoat(rustix::fs::CWD, &part, rustix::fs::Mode::RWXU).unwrap();
    wlrun(here, &["check", "main.wl"], &[]).exits(2).says("no regular file").says("16 MiB");
    std::fs::remove_file(&part).unwrap();
    std::fs::File::create(&part).unwrap().set_len((16 << 20) + 1).unwrap();
    wlrun(here, &["check", "main.wl"], &[]).exits(2).says("at most 16777216").says("main.wl:1:9");
    write(here, "part", b"run 1\n\0");
    wlrun(here, &["check", "main.wl"], &[]).exits(2).says("NUL byte").says("main.wl:1:9");
}

#[test]
fn the_hash_covers_what_is_included() {
    let bench = Bench::new("include \"part.wl\" nfiles=1\n");
    let hash = |text: &str| {
        write(bench.scratch.path(), "part.wl", text);
        bench.run().exits(0).record.unwrap()["workload"]["hash"].as_str().unwrap().to_owned()
    };
    let (first, again, other) = (hash(PART), hash(PART), hash(&PART.replace("1000", "2000")));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn the_variable_of_a_loop_is_set_by_nobody_else() {
    let bench = Bench::new(
        "define process name=p { thread name=t { flowop delay name=d,value=1ms } }\nforeach $n in 1, 2 { run 200ms }\n",
    );
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.record.unwrap()["runs"].as_array().unwrap().len(), 2);
    bench.args(["--set", "n=3"]).run().exits(2).says("$n is given a value from outside").says("--set");
}

#[test]
fn each_time_round_a_definition_is_another_one() {
    let bench = Bench::new(
        "foreach $n in 1, 3 {\n  set $width=$n * 10\n  define fileset name=f$n,path=$dir,entries=$n,dirwidth=$width,size=0,prealloc\n\
           define process name=p$n,instances=$n { thread name=t { flowop statfile name=s$n,filesetname=f$n } }\n}\nrun 50ms\n",
    );
    let outcome = bench.run().exits(0);
    let names: Vec<_> =
        outcome.only_run()["flowops"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["s1", "s3"]);
    let files = bench.files();
    let of = |set: &str| files.iter().filter(|file| file.starts_with(set)).count();
    assert_eq!((of("f1"), of("f3")), (1, 3));
}

#[test]
fn an_unknown_parameter_is_answered_with_all_of_them() {
    let bench = Bench::new(PART).args(["--set", "nfile=2"]);
    let outcome = bench.run().exits(2).says("did you mean 'nfiles'?").says("nfiles  Files in the set.");
    assert!(bench.files().is_empty(), "{}", outcome.stderr);
    Bench::new("include \"part.wl\"").args(["--set", "banana=2"]).run().exits(2).says("no workload file 'part.wl'");
}

#[test]
fn an_old_encoding_is_read_with_one_warning() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(here, "old.wl", [b"# Gr\xf6\xdfe f\xfcr 5 \x80\n".as_slice(), PART.as_bytes()].concat());
    let outcome = wlrun(here, &["check", "old.wl", "--dir", "/d"], &[]).exits(0);
    assert!(
        outcome.stderr.contains("[old.wl:1:5]") && outcome.stderr.contains("# Größe für 5 €"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.stderr.matches("Latin-1").count(), 1, "{}", outcome.stderr);
    let utf16: Vec<u8> = "\u{feff}run 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(here, "wide.wl", utf16);
    wlrun(here, &["check", "wide.wl"], &[]).exits(2).says("UTF-16").says("iconv -f UTF-16 -t UTF-8");
    write(here, "marked.wl", [b"\xef\xbb\xbf".as_slice(), PART.replace('\n', "\r\n").as_bytes()].concat());
    let outcome = wlrun(here, &["check", "marked.wl", "--dir", "/d"], &[]).exits(0);
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_megabyte_of_garbage_is_one_short_error() {
    let here = tempfile::tempdir().unwrap();
    // A generator of no quality will do.
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let garbage: Vec<u8> = (0..1 << 20).map(|_| byte()).collect();
    write(here.path(), "noise.wl", &garbage);
    let without: Vec<u8> = garbage.into_iter().filter(|b| *b != 0).collect();
    write(here.path(), "noise0.wl", without);
    for name in ["noise.wl", "noise0.wl"] {
        let outcome = wlrun(here.path(), &["check", name], &[]).exits(2).says("is no text");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn variables_that_filebench_has_by_itself() {
    let text = "eventgen rate=7\ndefine process name=p { thread name=t { flowop delay name=d,value=1ms } }\n\
                echo \"${scriptname}/${hostname}/${date}/${rate}\"\nrun 1\n";
    let outcome = Bench::new(text).run().exits(0);
    let line = outcome.stdout.lines().next().unwrap().to_owned();
    let parts: Vec<&str> = line.split('/').collect();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!((parts[0], parts[1], parts[3]), ("test", host.as_str(), "7"), "{line}");
    let (day, minute) = parts[2].split_once('-').unwrap();
    assert!(day.len() == 8 && minute.len() == 4 && day.starts_with("20"), "{line}");
    // What the text sets comes before; a rate that nothing gives is not there.
    let outcome = Bench::new(&format!("set $date=5\n{text}")).run().exits(0);
    assert!(outcome.stdout.lines().next().unwrap().contains("/5/"), "{}", outcome.stdout);
    Bench::new(&text.replace("eventgen rate=7", "set $x=$rate")).run().exits(2).says("$rate is not set");
    Bench::new(&text.replace("rate=7", "rate=${rate}")).run().exits(2).says("$rate is not set");
}

#[test]
fn a_workload_is_shown_with_its_parameters() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(here, "part.wl", PART);
    write(
        here,
        "main.wl",
        "# main: looks at files\n#\n# And more.\n\n## Of all.\nset $runtime=5\ninclude \"part.wl\"\n",
    );
    let outcome = wlrun(here, &["show", "main.wl"], &[]).exits(0);
    let (head, text) = outcome.stdout.split_once("# main").unwrap();
    assert_eq!(
        head,
        "main\n\nmain: looks at files\n\nAnd more.\n\nparameter  default  help\nruntime    5        Of all.\n\
         nfiles     1000     Files in the set.\n\n"
    );
    let whole = std::fs::read_to_string(here.join("main.wl")).unwrap();
    assert_eq!(format!("# main{text}"), whole);
    assert_eq!(wlrun(here, &["show", "main.wl", "--text"], &[]).exits(0).stdout, whole);
    let outcome = wlrun(here, &["show", "fileserver"], &[]).exits(0);
    assert!(outcome.stdout.starts_with("fileserver\n\nfileserver: users of a file server"), "{}", outcome.stdout);
    wlrun(here, &["show", "nothing"], &[]).exits(2).says("no file 'nothing'");
}
