//! `evalrs run` in a terminal: the progress bar, colours, and Ctrl-C where it is pressed.

use crate::judge::{Judge, Order};
use crate::space::{Space, lines};
use crate::terminal::{Terminal, key};

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
fn a_bar_shows_what_is_under_way_and_goes_when_nothing_is() {
    let (space, judge) = (space(), Judge::by_length());
    judge.hold();
    let mut terminal = run(&space, &judge, &[]);
    let screen = terminal.wait_for("3 in flight, 0 cached");
    assert!(screen.contains(" 0/3 judgments "), "{screen}");
    judge.release("answer 1");
    let screen = terminal.wait_for(" 1/3 judgments ");
    assert!(screen.contains("2 in flight, 0 cached"), "{screen}");
    assert_eq!(judge.given()[0].question(), "Is answer 1 polite?");
    judge.order(Order::AtOnce);
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.starts_with("passed  support") && !screen.contains(" judgments "), "{screen}");
}

#[test]
fn ctrl_c_pressed_in_a_terminal_ends_the_run_and_its_requests() {
    let (space, judge) = (space(), Judge::by_length());
    judge.hold();
    let mut terminal = run(&space, &judge, &[]);
    judge.release("answer 2");
    terminal.wait_for(" 1/3 judgments ");
    space.wait_stored(1);
    terminal.press(key::CTRL_C);
    // The judge still holds two replies: nobody waits for them.
    let (code, screen) = terminal.finish();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("interrupted: finished calls are cached"), "{screen}");
    judge.wait_hung_up(2);
    let mut hung_up = judge.hung_up();
    hung_up.sort();
    assert_eq!(hung_up, ["Is answer 0 polite?", "Is answer 1 polite?"]);
    let mark = judge.count();
    judge.order(Order::AtOnce);
    let rerun = run(&space, &judge, &[]);
    assert_eq!(rerun.finish().0, 0);
    let mut asked = judge.asked_since(mark);
    asked.sort();
    assert_eq!(asked, hung_up);
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
