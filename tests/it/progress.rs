//! `evalrs run` in a terminal.

use crate::judge::Judge;
use crate::space::{Space, lines};
use crate::terminal::Terminal;

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 2}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0}
";

fn space() -> Space {
    let rows = (0..3)
        .map(|at| format!("{{\"id\": \"s{at}\", \"input\": \"q\", \"output\": \"answer {at}\"}}"));
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows))])
}

fn run(space: &Space, judge: &Judge, environment: &[(&str, &str)]) -> Terminal {
    let (url, mut environment) = (judge.url(), environment.to_vec());
    environment.push(("OPENAI_BASE_URL", &url));
    Terminal::start(space, (24, 120), &["run", "suite.yaml"], &environment)
}

#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let judge = Judge::by_length();
    for (environment, colours) in
        [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)]
    {
        let space = space();
        let mut terminal = run(&space, &judge, environment);
        terminal.wait_for("passed  support");
        assert_eq!(terminal.colors(), colours, "{environment:?}");
        assert_eq!(terminal.finish().0, 0);
    }
}
