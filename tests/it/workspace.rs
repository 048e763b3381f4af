//! Settings of `evalrs.toml` that are of a command rather than of what it evaluates.

use crate::space::Space;

const SUITE: &str =
    "name: s\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: exact_match}\n";
const ROW: &str = "{\"id\": 1, \"input\": \"i\", \"ground_truth\": \"x\", \"output\": \"x\"}\n";

fn space(settings: &str) -> Space {
    let (suite, data) = (("w/suite.yaml", SUITE), ("w/data.jsonl", ROW));
    Space::new(&[("evalrs.toml", settings), suite, data])
}

#[test]
fn colour_is_as_the_first_of_command_line_environment_and_workspace_says() {
    let (always, never) = ("[run]\ncolor = \"always\"\n", "[run]\ncolor = \"never\"\n");
    let no_color = [("NO_COLOR", "1")];
    for (settings, environment, args, expected) in [
        ("", &[][..], &[][..], false),
        (always, &[], &[], true),
        (always, &no_color, &[], false),
        (always, &[("NO_COLOR", "")], &[], true),
        (always, &[], &["--color", "never"], false),
        (always, &[], &["--color", "auto"], false),
        (never, &[], &["--color", "always"], true),
        (never, &[("CLICOLOR_FORCE", "1")], &[], true),
        (always, &no_color, &["--color", "always"], true),
    ] {
        let space = space(settings);
        let mut command = space.command(&[&["run", "w/suite.yaml"], args].concat());
        let output = command.envs(environment.iter().copied()).output().unwrap();
        let place = format!("{settings} {environment:?} {args:?}: {output:?}");
        assert_eq!(output.status.code(), Some(0), "{place}");
        assert_eq!(output.stdout.contains(&0x1b), expected, "{place}");
    }
}

#[test]
fn colour_is_of_messages_and_of_every_command_too() {
    let space = space("[run]\ncolor = \"always\"\n");
    assert!(space.run(&["plan", "w/suite.yaml"]).stdout().contains('\u{1b}'));
    space.write("w/suite.yaml", "nam: s\n");
    let ran = space.run(&["validate", "w/suite.yaml"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains('\u{1b}'), "{}", ran.shown());
    space.write("evalrs.toml", "[run]\ncolor = \"blue\"\n");
    let ran = space.run(&["validate", "w/suite.yaml"]);
    assert!(ran.code() == 2 && ran.stderr().contains("unknown color `blue`"), "{}", ran.shown());
}

#[test]
fn old_records_go_where_a_workspace_says_how_many_stay() {
    let space = space("");
    let run = || {
        let ran = space.run(&["run", "w/suite.yaml"]);
        assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{}", ran.shown());
        space.names(".evalrs/runs")
    };
    for number in 1..=4 {
        assert_eq!(run().len(), number, "without a setting all stay");
    }
    space.write("evalrs.toml", "[run]\nkeep_runs = 2\n");
    let before = space.names(".evalrs/runs");
    let after = run();
    assert_eq!((after.len(), &after[0]), (2, &before[3]));
    assert!(space.record("results.jsonl").contains("\"sample_id\""), "the latest is there");
}
