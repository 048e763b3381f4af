//! The examples that stand below the flags of each command in `--help` and on its manual page.

use clap::Command;
use clap::builder::Styles;

/// The examples of each command, by the words that call it: a comment, then the command line.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "run",
        "# Grade what changed and exit by the gate
evalrs run suite.yaml
# In CI: replay committed judgments, without a key
evalrs run . --frozen --format github
# Try one sample with one grader, again
evalrs run suite.yaml --sample q1 --grader quality --refresh=quality
# Spend at most two dollars
evalrs run suite.yaml --max-cost 2",
    ),
    (
        "watch",
        "# Edit the rubric in your editor and see each save here
evalrs watch suite.yaml
# Spend at most 50 cents, and never wait for Enter
evalrs watch suite.yaml --budget 0.50 --yes
# Label in the browser
evalrs watch suite.yaml --serve --open",
    ),
    (
        "plan",
        "# Show calls and cost before the run
evalrs plan suite.yaml
# Do the same for a part of the suite
evalrs plan suite.yaml --tags refund --max-samples 20
# Read it in a script
evalrs plan suite.yaml --json",
    ),
    (
        "explain",
        "# Show why the sample q1 has its grades
evalrs explain suite.yaml q1
# Show one judge's requests and replies in full
evalrs explain suite.yaml q1 quality --prompt",
    ),
    (
        "agree",
        "# Compare a judge with human labels
evalrs agree suite.yaml quality labels
# Compare two judges, by tag
evalrs agree suite.yaml quality strict --by tags
# Compare a judge's verdicts with a field of the dataset
evalrs agree suite.yaml quality.pass row.rating",
    ),
    (
        "diff",
        "# Compare the last two runs
evalrs diff
# Compare the first and the last save of the last `watch` session
evalrs diff latest@start latest@-1
# Compare two models of the last run
evalrs diff latest --models small large
# In CI: fail if the last run is significantly worse
evalrs diff latest~1 latest --fail-on-regression",
    ),
    (
        "report",
        "# Write the last run as JUnit XML
evalrs report --format junit -o junit.xml
# Write the run before it as one HTML file
evalrs report latest~1 --format html -o report.html",
    ),
    (
        "history",
        "# Show all runs of the suite
evalrs history suite.yaml
# Read the last ten in a script
evalrs history suite.yaml --limit 10 --json",
    ),
    (
        "serve",
        "# Browse runs and label in the browser
evalrs serve suite.yaml --open
# Let reviewers on other machines label, with a token
evalrs serve suite.yaml --bind 0.0.0.0 --token-env EVALRS_TOKEN --labellers",
    ),
    (
        "validate",
        "# Check every suite of this folder
evalrs validate .
# Show the suite after `extends` and variables
evalrs validate suite.yaml --canonical",
    ),
    (
        "list",
        "# List graders with a line on each
evalrs list graders
# Read their options in a script
evalrs list graders --json",
    ),
    (
        "cache",
        "# Write the suite's judgments to a file to commit
evalrs cache export suite.yaml
# Remove outcomes that no run has used for 30 days
evalrs cache gc --unused-since 30d",
    ),
    (
        "cache export",
        "# Write cache/suite.judgments.jsonl, and commit it
evalrs cache export suite.yaml
# Remove judgments that the suite no longer needs
evalrs cache export suite.yaml --prune",
    ),
    (
        "runs",
        "# Show what is recorded here
evalrs runs list
# Write the last run to one file
evalrs runs export latest -o run.zip",
    ),
    (
        "runs list",
        "# Show the last five runs
evalrs runs list --limit 5
# Read them in a script
evalrs runs list --json",
    ),
    (
        "runs export",
        "# Write the last run to one file
evalrs runs export -o run.zip
# Write the record alone, for a report
evalrs runs export latest~1 --record-only",
    ),
    (
        "runs remove",
        "# Remove the run before the last
evalrs runs remove latest~1
# Remove a run of another workspace
evalrs runs remove latest --suite bot.yaml",
    ),
    (
        "merge",
        "# Join the parts, and exit by the gate
evalrs merge part-*.zip
# Report to a pull request
evalrs merge part-*.zip --format markdown",
    ),
    (
        "batch",
        "# Show what is out, then bring answers into the cache
evalrs batch list
# Collect on another machine
evalrs batch collect suite.yaml",
    ),
    (
        "batch list",
        "# Show what is out, and how far it is
evalrs batch list
# Read it in a script, without a request
evalrs batch list --offline --json",
    ),
    (
        "batch collect",
        "# Bring answers into the cache
evalrs batch collect suite.yaml
# Find batches whose file is lost
evalrs batch collect suite.yaml --provider openai",
    ),
    (
        "batch cancel",
        "# End all batches of the workspace
evalrs batch cancel --all
# End one of them
evalrs batch cancel batch_68f2",
    ),
    (
        "batch forget",
        "# Call the judgments of a batch again
evalrs batch forget batch_68f2
# Call those of all batches again
evalrs batch forget --all",
    ),
    (
        "cache stats",
        "# Show the cache of the working directory
evalrs cache stats
# Read it in a script
evalrs cache stats suite.yaml --json",
    ),
    (
        "cache import",
        "# Merge a colleague's judgments
evalrs cache import theirs.jsonl
# Import ratings that people gave, as judgments of a grader
evalrs cache import ratings.csv --as suite.yaml quality --fields score=rating",
    ),
    (
        "cache verify",
        "# Check every entry
evalrs cache verify
# Check the cache of one suite, for a script
evalrs cache verify suite.yaml --json",
    ),
    (
        "cache gc",
        "# Show the outcomes that no run has used for 30 days
evalrs cache gc --unused-since 30d --dry-run
# Trim the cache to 500 MB
evalrs cache gc --max-size 500MB",
    ),
    (
        "cache push",
        "# Write what was judged on this machine
evalrs cache push
# Read in a script how much that was
evalrs cache push --json",
    ),
    (
        "cache pull",
        "# Read the logs that evalrs.toml believes
evalrs cache pull
# Read them in another workspace
evalrs cache pull bots/suite.yaml",
    ),
    (
        "cache audit",
        "# Show how many judgments others made
evalrs cache audit suite.yaml
# Repeat 50 of them, and exit with 1 if a score differs
evalrs cache audit suite.yaml --recheck 50",
    ),
    (
        "cache status",
        "# Show what of the shared cache is here
evalrs cache status
# Read it in a script
evalrs cache status --json",
    ),
    (
        "cache key",
        "# Make a key for the jobs that write
evalrs cache key new
# Print it for a script
evalrs cache key new --color never",
    ),
    (
        "cache key new",
        "# Make a key for the jobs that write
evalrs cache key new
# Print it for a script
evalrs cache key new --color never",
    ),
    (
        "cache remote",
        "# Show what would be removed
evalrs cache remote prune --dry-run
# Remove what was written over 30 days ago
evalrs cache remote prune --older 30d",
    ),
    (
        "cache remote prune",
        "# Show what would be removed
evalrs cache remote prune --dry-run
# Remove what was written over 30 days ago
evalrs cache remote prune --older 30d",
    ),
    (
        "cache path",
        "# Print the folder of the cache
evalrs cache path
# Print the folder that a suite uses
evalrs cache path suite.yaml",
    ),
    (
        "init",
        "# Start with a suite of three samples
evalrs init my-suite
# Start from Claude Code sessions, messages or a CSV of answers
evalrs init my-suite --from answers.csv
# Start with a rubric, labelled samples and a CI job
evalrs init my-suite --rubric
# Start with a grader of your own
evalrs init my-suite --grader python",
    ),
    (
        "import",
        "# Convert a promptfoo configuration
evalrs import promptfooconfig.yaml -o evals
# Convert a folder of Inspect logs
evalrs import logs -o evals --from inspect
# Read sessions of Claude Code where they are, as `init --from` does
evalrs import sessions -o evals --from claude-code",
    ),
    (
        "completions",
        "# Print the script for bash; source it in ~/.bashrc
evalrs completions bash
# Print the script for zsh
evalrs completions zsh",
    ),
    (
        "man",
        "# Print the manual page of evalrs
evalrs man
# Write a page per command
evalrs man --output man/man1",
    ),
    (
        "mcp",
        "# Let agents replay the cache
evalrs mcp
# Let their runs spend a dollar in all
evalrs mcp --max-cost 1.00",
    ),
    (
        "calibrate",
        "# Compare the judges of a suite with its labels
evalrs calibrate --suite suite.yaml
# Fail if a judge agrees too little
evalrs calibrate --suite suite.yaml --labels people.csv --min-kappa 0.6",
    ),
    (
        "grade",
        "# Grade records by a program of yours
evalrs grade results.jsonl --grader ./grader.py -o graded.jsonl
# Exit with 1 if a record fails
evalrs grade results.jsonl --grader ./grader.ts --strict",
    ),
    (
        "validate-refs",
        "# Check that each reference answer passes
evalrs validate-refs prompts.jsonl --grader ./grader.py
# Exit with 1 if one fails
evalrs validate-refs prompts.jsonl --grader ./grader.py --strict",
    ),
    (
        "capture",
        "# Run Claude Code over prompts, four at a time
evalrs capture prompts.jsonl -s claude-code -j 4 -o results.jsonl
# Grade each answer as it arrives
evalrs capture prompts.jsonl -s codex -g ./grader.py -o results.jsonl",
    ),
    (
        "trials",
        "# Run each prompt five times: pass@5 and pass^5
evalrs trials prompts.jsonl -s claude-code -k 5 -g ./grader.py
# Keep the result
evalrs trials prompts.jsonl -s codex -g ./grader.py -o trials.jsonl",
    ),
    (
        "headless",
        "# Serve Claude Code as JSON-RPC
evalrs headless -s claude-code
# Serve an agent by an adapter of your own
evalrs headless -s adapter.json",
    ),
    (
        "extract",
        "# Read Claude Code's raw output
evalrs extract raw.jsonl -s claude-code
# Write the records to a file
evalrs extract raw.jsonl -s codex -o results.jsonl",
    ),
    (
        "format",
        "# Write graded results as CSV
evalrs format graded.jsonl -f csv -o graded.csv
# Write them as Markdown
evalrs format graded.jsonl -f markdown",
    ),
    (
        "summarize",
        "# Print one line per result
evalrs summarize results.jsonl
# Write every step as Markdown
evalrs summarize results.jsonl --markdown -o summary.md",
    ),
    (
        "compare",
        "# Compare two runs over the same prompts
evalrs compare old.jsonl new.jsonl
# Name them, and add intervals
evalrs compare --run old:a.jsonl --run new:b.jsonl -s statistical",
    ),
    (
        "balance",
        "# Count cases by metadata.category
evalrs balance prompts.jsonl
# Count them by another key
evalrs balance prompts.jsonl -k difficulty",
    ),
    (
        "schemas",
        "# Print the JSON Schema of suites, for editors
evalrs schemas suite
# List the names
evalrs schemas --list",
    ),
];

/// The commands with their examples.
pub(super) fn with_examples(root: Command) -> Command {
    let styles = root.get_styles().clone();
    add(root, "", &styles)
}

/// Adds examples to a command that `words` call, and to those below it.
fn add(command: Command, words: &str, styles: &Styles) -> Command {
    let command = match EXAMPLES.iter().find(|(called, _)| *called == words) {
        Some((_, lines)) => command.after_long_help(text(lines, styles)),
        None => command,
    };
    command.mut_subcommands(|command| {
        let words = format!("{words} {}", command.get_name());
        add(command, words.trim_start(), styles)
    })
}

fn text(lines: &str, styles: &Styles) -> String {
    let heading = styles.get_header();
    let lines: String = lines.lines().flat_map(|line| ["\n  ", line]).collect();
    format!("{heading}Examples:{heading:#}{lines}")
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory, Parser};

    use super::EXAMPLES;
    use crate::cli::Cli;

    /// The words that call each command that is listed, and the command.
    fn commands(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        for command in shown.filter(|command| command.get_name() != "help") {
            let words = format!("{words} {}", command.get_name()).trim_start().to_owned();
            found.push((words.clone(), command.clone()));
            commands(command, &words, found);
        }
    }

    fn built() -> Vec<(String, Command)> {
        let mut root = Cli::command();
        root.build();
        let mut found = Vec::new();
        commands(&root, "", &mut found);
        found
    }

    #[test]
    fn every_example_is_a_command_line_with_a_comment() {
        let commands = built();
        for (words, lines) in EXAMPLES {
            let lines: Vec<&str> = lines.lines().collect();
            let is_in_this_build = commands.iter().any(|(called, _)| called == words);
            assert!((2..=4).contains(&(lines.len() / 2)), "{words}: two to four examples");
            for pair in lines.chunks(2) {
                let &[comment, line] = pair else { panic!("{words}: a comment and a line") };
                assert!(comment.starts_with("# ") && !comment.ends_with('.'), "{comment}");
                assert!(comment.len() < 79 && line.len() < 79, "{words}: a line breaks");
                assert!(line.starts_with(&format!("evalrs {words}")), "{line}");
                let read = Cli::try_parse_from(line.split(' '));
                assert!(read.is_ok() || !is_in_this_build, "{line}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn every_command_has_examples() {
        for (words, command) in built() {
            assert!(command.get_after_long_help().is_some(), "`{words}` has no example");
        }
    }

    /// One line of `-h`, as short as it is in lists at 60 columns.
    #[test]
    fn every_command_and_flag_has_one_line_in_the_imperative() {
        for (words, command) in built() {
            let about = command.get_about().unwrap().to_string();
            assert!(about.len() <= 43, "`{words}`: {about}");
            let help = command.get_arguments().filter(|arg| !arg.is_positional());
            let help = help.filter_map(|arg| arg.get_help()).map(ToString::to_string);
            for line in help.chain([about]) {
                let verb = line.split([' ', ':']).next().unwrap_or_default();
                assert!(!verb.ends_with('s') || verb == "Pass", "`{words}`: {line}");
                assert!(!line.ends_with('.') && line.len() < 76, "`{words}`: {line}");
            }
        }
    }
}
