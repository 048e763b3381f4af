//! What `-h` and `--help` print, at the widths of terminals.

use crate::space::Space;

/// What the binary prints on a terminal of `columns`.
fn printed(words: &[&str], columns: &str) -> String {
    let space = Space::new(&[]);
    let mut command = space.command(words);
    let output = command.env("COLUMNS", columns).env_remove("EVALRS_CACHE_DIR").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg(all(feature = "serve", feature = "import", feature = "harness"))]
fn commands_are_listed_in_groups() {
    insta::assert_snapshot!(printed(&["-h"], "80"));
}

#[test]
#[cfg(feature = "harness")]
fn the_flags_of_run_fit_one_screen() {
    let help = printed(&["run", "-h"], "80");
    assert!(help.lines().count() <= 40, "{help}");
    insta::assert_snapshot!(help);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for words in ["-h", "--help", "run -h", "run --help", "watch -h", "watch --help", "init -h"] {
        let words: Vec<&str> = words.split(' ').collect();
        for columns in [60, 80, 120] {
            let help = printed(&words, &columns.to_string());
            for line in help.lines().filter(|line| !line.starts_with("  evalrs ")) {
                assert!(line.chars().count() <= columns, "{words:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_session_of_watch_fits_one_screen_too() {
    let help = printed(&["watch", "-h"], "80");
    assert!((24..=45).contains(&help.lines().count()), "{help}");
}

#[test]
fn manual_pages_list_commands_in_groups_and_have_examples() {
    let space = Space::new(&[]);
    assert!(space.run(&["man"]).stdout().contains(".SS Inspect\n.TP\n\\fBevalrs\\-explain(1)"));
    space.run(&["man", "--output", "man"]);
    let page = space.read("man/evalrs-run.1");
    assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
    assert!(page.contains("evalrs run . \\-\\-frozen"), "{page}");
}
