//! The full screen, through a terminal: what stands on it after an edit, and what keys do.

use super::{POLITE, SUITE, TERSE, judge, labelled, save, space};
use crate::judge::Judge;
use crate::space::Space;
use crate::terminal::{Terminal, key};

/// A session on a screen.
pub(super) struct Screen {
    pub(super) space: Space,
    pub(super) judge: Judge,
    pub(super) terminal: Terminal,
}

impl Screen {
    /// A session on a screen whose first evaluation is there.
    pub(super) fn new(count: usize, environment: &[(&str, &str)]) -> Self {
        let mut screen = Self::begin(space(count), judge(), &["--yes"], environment);
        screen.wait_idle("start", ["1.000", &format!(" {count}/{count} ")]);
        screen
    }

    pub(super) fn begin(
        space: Space,
        judge: Judge,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        Self::sized((30, 100), space, judge, args, environment)
    }

    /// A session on a screen of so many rows and columns.
    pub(super) fn sized(
        size: (u16, u16),
        space: Space,
        judge: Judge,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let (url, mut environment) = (judge.url(), environment.to_vec());
        environment.push(("OPENAI_BASE_URL", &url));
        let args = [&["watch", "suite.yaml"], args].concat();
        let terminal = Terminal::start(&space, size, &args, &environment);
        Self { space, judge, terminal }
    }

    /// Waits until everything of the save is there, `metrics` among it, and returns the screen.
    pub(super) fn wait_idle(&mut self, save: &str, metrics: [&str; 2]) -> String {
        let title = format!(" support  {save} ");
        self.terminal.wait_until(&format!("{save} with {metrics:?}"), |shown| {
            let grader = shown.lines().find(|line| line.contains(" quality  "));
            shown.starts_with(&title)
                && shown.contains("idle, waiting for a save")
                && grader.is_some_and(|line| {
                    metrics.iter().all(|text| format!("{line} ").contains(text))
                })
        })
    }

    pub(super) fn end(mut self) {
        self.terminal.press("q");
        let (code, screen) = self.terminal.finish();
        assert_eq!(code, 0, "{screen}");
    }
}

#[test]
fn the_screen_follows_the_rubric_there_and_back() {
    let mut screen = Screen::new(6, &[]);
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["0.500", " 6/6 "]);
    // The verdict that came in first is selected, and stays so.
    screen.terminal.press("g");
    let shown = screen.terminal.wait_for(" 1 of 3 ");
    insta::assert_snapshot!(shown, @"
     support  save 1  rubric.txt                           1,260 tokens this save · 2,520 tokens in all
     ✗ FAIL (was PASS)  quality avg_score >= 0.75: 0.500                              0 cached · 6 made
     idle, waiting for a save

    ─ grader ───── mean ────────── 95 %  since last  since start ── pass ──────── 95 %  judged ─────────
    ▸ quality     0.500  [0.118, 0.882]    ▼ -0.500     ▼ -0.500   50.0%  [11.8, 88.2]     6/6
      ▲ 0 fixed   ▼ 3 broken   △ 0 raised   ▽ 0 lowered   ! 0 errors   = 3 unchanged   · 0 pending
    ─[moved] failing  disagree  to label  errors  all ─────────────────────────── by movement ─ 1 of 3 ─
           moved     before    now      by  sample  submission
    ▌ ✗ ▼  broken    1.000 → 0.000  -1.000  s1      answer 1.
      ✗ ▼  broken    1.000 → 0.000  -1.000  s3      answer 3.
      ✗ ▼  broken    1.000 → 0.000  -1.000  s5      answer 5.






    ─ s1 ───────────────────────────────────────────────────────────────────────────────────── quality ─
     ✗ fails, 0.000   was ✓ passes, 1.000   ▼ broken by 1.000                                          ▐
                                                                                                       ▐
     why, and what changed in it                                                                       ▐
     Is it polite terse? answer 1.                                                                     ▐
                                                                                                       ▐
     submission                                                                                        ▐
     answer 1.                                                                                         ▐
                                                                                                       ▐
     input
     q
     q quit  f failing  a all  / search  p pin  u prev save  s saves  D diff  e edit  v detail  ? help
    ");
    assert_eq!(screen.judge.count(), 12);
    screen.terminal.press("u");
    let shown = screen.terminal.wait_for("showing start");
    assert!(shown.contains("PASS") && shown.contains("1.000"), "{shown}");
    screen.terminal.press("u");
    let shown = screen.wait_idle("save 1", ["0.500", " 6/6 "]);
    assert!(shown.contains("FAIL"), "{shown}");
    save(&screen.space, "rubric.txt", POLITE);
    let shown = screen.wait_idle("save 2", ["1.000", " 6/6 "]);
    assert!(shown.contains("▲ 3 fixed") && shown.contains("6 cached · 0 made"), "{shown}");
    assert_eq!(screen.judge.count(), 12, "all of it is in the store");
    screen.end();
}

#[test]
fn what_is_broken_is_shown_beside_the_last_results() {
    let mut screen = Screen::new(3, &[]);
    save(&screen.space, "suite.yaml", &SUITE.replace("kind: rubric", "kind: rubrik"));
    let shown = screen.terminal.wait_for("1 problem, not evaluated");
    for expected in ["suite.yaml:4", "rubrik", "results are those of start", "1.000"] {
        assert!(shown.contains(expected), "no `{expected}`:\n{shown}");
    }
    save(&screen.space, "suite.yaml", SUITE);
    screen.terminal.wait_until("nothing broken", |shown| !shown.contains("not evaluated"));
    assert_eq!(screen.judge.count(), 3);
    screen.end();
}

#[test]
fn the_list_is_filtered_searched_and_pinned() {
    let mut screen = Screen::new(40, &[]);
    let terminal = &mut screen.terminal;
    terminal.press("a");
    terminal.wait_for("1 of 40");
    terminal.press("/S37");
    terminal.wait_until("s37 alone", |shown| shown.contains("/S37") && shown.contains(" 1 of 1 "));
    terminal.press(key::ENTER);
    terminal.press("p");
    terminal.wait_for("★");
    terminal.press(key::ESC);
    terminal.wait_until("s37 first", |shown| {
        let listed = |id: &str| shown.find(&format!("1.000  {id}"));
        shown.contains(" 1 of 40 ") && listed("★ s37").is_some() && listed("★ s37") < listed("s0")
    });
    terminal.press("f");
    terminal.wait_for("[failing]");
    terminal.wait_until("no failure", |shown| shown.contains("nothing fails"));
    terminal.press("a");
    terminal.wait_for("[all]");
    for key in [key::DOWN, key::UP, key::PAGE_DOWN, key::PAGE_UP, key::RIGHT, key::LEFT, key::TAB] {
        terminal.press(key);
    }
    terminal.wait_for("[moved]");
    terminal.press("/xy");
    terminal.wait_for("/xy");
    terminal.press(key::BACKSPACE);
    terminal.press(key::BACKSPACE);
    terminal.press(key::ENTER);
    terminal.press("?");
    terminal.wait_for("keys of evalrs watch");
    terminal.press("q");
    terminal.wait_until("no help", |shown| !shown.contains("keys of evalrs watch"));
    screen.end();
}

#[test]
fn verdicts_that_disagree_with_people_are_listed() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true]));
    let mut screen = Screen::begin(space, judge(), &[], &[]);
    let shown = screen.wait_idle("start", ["66.7%", " 1.000 "]);
    assert!(shown.contains("agrees 66.7%"), "{shown}");
    screen.terminal.press("d");
    let shown = screen.terminal.wait_for("[disagree]");
    assert!(shown.contains("1 of 1") && shown.contains("≠"), "{shown}");
    screen.end();
}

#[test]
fn a_refreshed_verdict_asks_exactly_one() {
    let mut screen = Screen::new(5, &[]);
    screen.terminal.press("a");
    screen.terminal.press(key::DOWN);
    screen.terminal.wait_for("2 of 5");
    screen.judge.hold();
    screen.terminal.press("r");
    screen.judge.wait_asked(6);
    screen.terminal.wait_for("judging");
    screen.judge.release("polite");
    screen.judge.wait_given(6);
    screen.wait_idle("start", ["1.000", " 5/5 "]);
    assert_eq!(screen.judge.asked_since(5), ["Is it polite? answer 1."]);
    screen.end();
}

#[test]
fn the_wheel_moves_through_the_list() {
    let mut screen = Screen::new(60, &[]);
    screen.terminal.press("a");
    screen.terminal.wait_for("[all]");
    let last = |shown: &str| (0..60).filter(|at| shown.contains(&format!(" s{at} "))).max();
    let before = last(&screen.terminal.screen());
    for _ in 0..40 {
        screen.terminal.wheel_down(14, 10);
    }
    screen.terminal.wait_until("a later sample", |shown| last(shown) > before);
    for _ in 0..40 {
        screen.terminal.wheel_up(14, 10);
    }
    screen.terminal.wait_until("the first samples", |shown| last(shown) == before);
    screen.end();
}

#[test]
fn a_terminal_may_be_made_small_and_large_again() {
    let mut screen = Screen::new(6, &[]);
    screen.terminal.press("a");
    let large = screen.terminal.wait_for("1 of 6");
    screen.terminal.resize(16, 60);
    let small = screen.terminal.wait_until("a small screen", |shown| {
        shown.contains("q quit")
            && shown.contains(" idle, ")
            && shown.contains(" 1 of 6 ")
            && shown.lines().count() <= 16
    });
    assert!(small.lines().all(|line| line.chars().count() <= 60), "{small}");
    screen.terminal.resize(3, 10);
    screen.terminal.wait_for("terminal…");
    screen.terminal.resize(30, 100);
    screen.terminal.wait_until("the same again", |shown| shown == large);
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["0.500", " 6/6 "]);
    screen.end();
}

#[test]
fn colours_are_shown_where_they_are_wanted() {
    for (environment, colours) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let screen = Screen::new(2, environment);
        assert_eq!(screen.terminal.colors(), colours, "{environment:?}");
        screen.end();
    }
}

#[test]
fn enter_asks_the_rest_and_ctrl_c_leaves_the_terminal_as_it_was() {
    let mut screen = Screen::begin(space(30), judge(), &[], &[]);
    screen.terminal.wait_for("Enter: the rest (10");
    assert_eq!(screen.judge.count(), 20);
    screen.terminal.press(key::ENTER);
    screen.wait_idle("start", ["1.000", " 30/30 "]);
    assert_eq!(screen.judge.count(), 30);
    screen.judge.hold();
    save(&screen.space, "rubric.txt", TERSE);
    screen.judge.wait_asked(31);
    screen.terminal.press(key::CTRL_C);
    let (code, shown) = screen.terminal.finish();
    assert_eq!(code, 130, "{shown}");
    assert_eq!(screen.space.stored_lines().len(), 30);
}

#[test]
fn n_asks_the_next_ones_of_the_rest_and_waits_again() {
    let space = space(440);
    space.write("evalrs.toml", "[prices.\"judge-1\"]\ninput = 0.0\noutput = 5.0\n");
    let mut screen = Screen::sized((24, 80), space, judge(), &[], &[]);
    let waits = |screen: &mut Screen, keys: &str, asked: usize| {
        screen.terminal.wait_until(keys, |shown| {
            shown.contains(&format!(" paused: {keys}")) && shown.contains(&format!(" {asked} made"))
        });
        assert_eq!(screen.judge.count(), asked);
    };
    waits(&mut screen, "Enter: the rest (420, about $0.42) · N: next 200 (about $0.20)", 20);
    screen.terminal.wait_until("both keys", |shown| {
        let keys = shown.lines().last().unwrap_or_default();
        keys.contains("Enter the rest") && keys.contains("N next 200")
    });
    screen.terminal.press("N");
    waits(&mut screen, "Enter: the rest (220, about $0.22) · N: next 200 (about $0.20)", 220);
    screen.terminal.press("N");
    waits(&mut screen, "420 of 440 judged; Enter: the rest (20, about $0.020)", 420);
    screen.terminal.press(key::ENTER);
    screen.wait_idle("start", ["1.000", "100.0%"]);
    assert_eq!(screen.judge.count(), 440);
    // Where nothing is held it asks nothing.
    screen.terminal.press("Na");
    screen.terminal.wait_for("[all]");
    assert_eq!(screen.judge.count(), 440);
    screen.end();
}

#[test]
fn an_editor_has_the_terminal_to_itself() {
    let editor = "#!/bin/sh\nprintf 'editing %s' \"$1\"; read line\n\
                  printf 'Is it terse? {submission}' > \"$1.new\"; mv \"$1.new\" \"$1\"\n";
    let space = space(2);
    space.write("editor.sh", editor);
    let mut screen = Screen::begin(space, judge(), &[], &[("EDITOR", "/bin/sh editor.sh")]);
    screen.wait_idle("start", ["1.000", " 2/2 "]);
    screen.terminal.press("e");
    let shown = screen.terminal.wait_for("editing rubric.txt");
    assert!(!shown.contains("support"), "{shown}");
    screen.terminal.press(key::ENTER);
    screen.wait_idle("save 1", ["0.500", " 2/2 "]);
    assert_eq!(screen.judge.count(), 4);
    screen.end();
}

/// An editor that writes wherever there is room, also once more when the window gets another size, as editors do.
const FILLING_EDITOR: &str = "#!/bin/bash\n\
    fill() { for at in $(seq 60); do printf '\\033[%s;1Heditor %s' $at \"$(printf 'x%.0s' $(seq 130))\"; done; }\n\
    trap 'fill; printf \"\\033[1;1Hresized\"' WINCH\n\
    fill; printf '\\033[1;1Hediting'; until read -t 1 line; do [ $? -gt 128 ] || break; done; fill\n";

#[test]
fn a_window_that_is_resized_while_an_editor_is_open_shows_nothing_of_it() {
    for (rows, columns) in [(20, 80), (44, 150)] {
        let space = space(6);
        space.write("editor.sh", FILLING_EDITOR);
        let mut screen = Screen::begin(space, judge(), &[], &[("EDITOR", "/bin/bash editor.sh")]);
        screen.wait_idle("start", ["1.000", " 6/6 "]);
        screen.terminal.press("a");
        screen.terminal.wait_for("1 of 6");
        screen.terminal.press("e");
        screen.terminal.wait_for("editing");
        screen.terminal.resize(rows, columns);
        screen.terminal.wait_for("resized");
        screen.terminal.press(key::ENTER);
        let whole = |shown: &str| {
            let footer = shown.lines().last().is_some_and(|line| line.contains("q quit"));
            let is_full = shown.lines().count() == usize::from(rows);
            footer && is_full && shown.contains("1 of 6") && !shown.contains("editor")
        };
        let shown = screen.terminal.wait_until("the screen in its new size", whole);
        // The same as if it was drawn from nothing.
        screen.terminal.resize(rows + 1, columns + 1);
        screen
            .terminal
            .wait_until("another size", |shown| shown.lines().count() == usize::from(rows) + 1);
        screen.terminal.resize(rows, columns);
        screen.terminal.wait_until("the same again", |again| again == shown);
        screen.end();
    }
}

#[test]
fn a_key_that_comes_together_with_another_size_is_not_lost() {
    let mut screen = Screen::new(6, &[]);
    screen.terminal.press("a");
    screen.terminal.wait_for("1 of 6");
    for round in 0..200 {
        screen.terminal.resize(20 + round % 2, 80);
        screen.terminal.press("G");
        screen.terminal.wait_for("6 of 6");
        screen.terminal.resize(20 + round % 2, 81);
        screen.terminal.press("g");
        screen.terminal.wait_for("1 of 6");
    }
    screen.end();
}

#[test]
fn an_editor_that_cannot_be_started_is_named() {
    let mut screen = Screen::new(2, &[("EDITOR", "no-such-editor")]);
    screen.terminal.press("e");
    screen.terminal.wait_for("cannot start the editor `no-such-editor`");
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["0.500", " 2/2 "]);
    screen.end();
}

/// A session that a shell with jobs started; once it is stopped, the shell goes on with `then`.
fn screen_of_shell(then: &str) -> Screen {
    let (space, judge) = (space(2), judge());
    let mut evalrs = space.command(&[]);
    let binary = evalrs.get_program().to_string_lossy().into_owned();
    let script = format!("{binary} watch suite.yaml --yes; printf 'the shell has it'; {then}; fg");
    evalrs.env("OPENAI_BASE_URL", judge.url());
    let mut shell = std::process::Command::new("/bin/bash");
    shell.args(["--norc", "-m", "-c", &script]).current_dir(space.path("."));
    shell.env_clear().envs(evalrs.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let terminal = Terminal::of(&shell, (30, 100));
    let mut screen = Screen { space, judge, terminal };
    screen.wait_idle("start", ["1.000", " 2/2 "]);
    screen.terminal.press(key::CTRL_Z);
    let shown = screen.terminal.wait_for("the shell has it");
    assert!(!shown.contains("idle, waiting"), "{shown}");
    screen
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_until_it_is_continued() {
    let mut screen = screen_of_shell("read line; echo \"$line\" > typed");
    screen.terminal.press("quit e x");
    screen.terminal.press(key::ENTER);
    screen.wait_idle("start", ["1.000", " 2/2 "]);
    assert_eq!(screen.space.read("typed"), "quit e x\n");
    screen.end();
}

#[test]
fn a_key_that_comes_while_the_session_is_continued_is_not_lost() {
    let screen = screen_of_shell("until [ -e go ]; do :; done");
    // Nobody reads it before the session does.
    let Screen { space, mut terminal, .. } = screen;
    terminal.press("q");
    terminal.wait_for("the shell has itq");
    space.write("go", "");
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
}
