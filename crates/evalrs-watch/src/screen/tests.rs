//! What the screen looks like; what its keys do is in `keys`.

mod rare;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use self::fixtures::WatchFixture;
use super::Screen;
use crate::board::{ActionCounts, Activity, Board, UserCommand};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::price::Cost;

mod fixtures;
mod keys;

const WIDE: (u16, u16) = (140, 34);
const NARROW: (u16, u16) = (80, 24);

fn screen() -> Screen {
    Screen::new(false)
}

fn buffer(screen: &mut Screen, board: &dyn Board, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, board)).unwrap();
    terminal.backend().buffer().clone()
}

/// The lines of the screen, without spaces at their ends.
fn lines(buffer: &Buffer) -> Vec<String> {
    let line = |cells: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut covered = 0;
        for cell in cells {
            if covered == 0 {
                text.push_str(cell.symbol());
                covered = cell.symbol().width();
            }
            covered = covered.saturating_sub(1);
        }
        text.trim_end().to_owned()
    };
    buffer.content.chunks(usize::from(buffer.area.width)).map(line).collect()
}

fn shown(screen: &mut Screen, board: &dyn Board, size: (u16, u16)) -> String {
    lines(&buffer(screen, board, size)).join("\n")
}

/// The first lines of a narrow screen.
fn head(board: &WatchFixture, lines: usize) -> String {
    let shown = shown(&mut screen(), board, NARROW);
    shown.lines().take(lines).collect::<Vec<_>>().join("\n")
}

/// A key by its name; text that is none is typed.
fn events(name: &str) -> Vec<Event> {
    let control = |char| KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL);
    let key = match name {
        "enter" => KeyCode::Enter.into(),
        "esc" => KeyCode::Esc.into(),
        "tab" => KeyCode::Tab.into(),
        "backtab" => KeyCode::BackTab.into(),
        "back" => KeyCode::Backspace.into(),
        "down" => KeyCode::Down.into(),
        "up" => KeyCode::Up.into(),
        "right" => KeyCode::Right.into(),
        "left" => KeyCode::Left.into(),
        "pgdn" => KeyCode::PageDown.into(),
        "end" => KeyCode::End.into(),
        "home" => KeyCode::Home.into(),
        "^c" => control('c'),
        "^d" => control('d'),
        "^u" => control('u'),
        "^w" => control('w'),
        _ => return name.chars().map(|char| Event::Key(KeyCode::Char(char).into())).collect(),
    };
    vec![Event::Key(key)]
}

/// Presses keys one after the other, and draws after each. Returns what the user `command_of`.
fn press(screen: &mut Screen, board: &dyn Board, size: (u16, u16), keys: &str) -> Vec<UserCommand> {
    let mut commands = Vec::new();
    buffer(screen, board, size);
    for event in keys.split(' ').flat_map(events) {
        commands.extend(screen.key(&event, board));
        buffer(screen, board, size);
    }
    commands
}

fn asking() -> WatchFixture {
    let mut board = WatchFixture::small();
    board.overview.state = Activity::Asking;
    board.overview.actions = ActionCounts {
        total: 1000,
        cached: 960,
        asked: 21,
        under_way: 9,
        failed: 1,
        waiting: 19,
        superseded: 2,
        out: 0,
    };
    board.overview.waiting = vec!["openai: 20 requests a minute, goes on in 12 s".to_owned()];
    board
}

fn held() -> WatchFixture {
    let mut board = WatchFixture::small();
    let expected = Cost::from_dollars(0.12);
    board.overview.state = Activity::Paused { waiting: 980, expected };
    board
}

fn broken() -> WatchFixture {
    let mut board = WatchFixture::small();
    let line = "    metric: avg_scoer";
    let place = Place::in_line("suite.yaml", 14, line, 12..21);
    let long = format!("{{\"id\": \"{}\", \"input\": 7}}", "x".repeat(70));
    board.overview.problems = vec![
        Diagnostic::error(place, "unknown metric `avg_scoer`")
            .label("did you mean `avg_score`?")
            .hint("one of `avg_score`, `accuracy`, `pass_hat_k`, `median`, and whatever else there is to aggregate by"),
        Diagnostic::error(Place::in_line("data.jsonl", 3, &long, 91..92), "`input` is no text"),
    ];
    board
}

#[test]
fn a_wide_screen_shows_list_and_detail_side_by_side() {
    insta::assert_snapshot!(shown(&mut screen(), &WatchFixture::small(), WIDE), @"
     support-quality  save 3  rubrics/helpful.md                                   $0.012 this save · $0.31 of $1.00 · $1.20 saved by the cache
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842                                                         960 cached · 40 made · 1 failed
     idle, waiting for a save

    ─ grader ────────────── mean ────────── 95 %  since last  since start ── pass ─ 95 % ───── judged  errors  means ───────────────────────────
    ▸ helpful              0.842  [0.821, 0.861]    ▲ +0.050     ▲ +0.110   84.0%      -    998/1,000     ! 2  ▁▂▅█
      grounded in sources  0.913               -    =  0.000     ▼ -0.020   95.0%      -  1,000/1,000       0  █▃▁▁
      by_subject           0.800  [0.700, 0.900]    ▼ -0.010            -       -      -  1,000/1,000       0  ▇▃
      ▲ 1 fixed   ▼ 2 broken   △ 1 raised   ▽ 0 lowered   ! 1 error   = 995 unchanged   · 1 pending
    ─[moved] failing  disagree  to label  errors  all ──── by movement ─ 1 of 5 ─┬─ refund-policy-0042 ─────────────────────────────── helpful ─
           moved     before    now      by  sample                 grader        │ ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500    ▐
    ▌ ✗ ▼  broken    0.900 → 0.400  -0.500  refund-policy-0042     helpful       │                                                             ▐
      ✓ ▲  fixed     0.300 → 0.850  +0.550  greeting-in-german     helpful       │ why, and what changed in it                                 ▐
      !    error             error          a-sample-w…olumn-0007  helpful       │ The answer names the [-return-]{+refund+} window of 30      ▐
      ✓ △  raised    0.700 → 0.800  +0.100  注文の状況を確認する   helpful       │ days{+,+} [-and is friendly-]{+but does not say who pays    ▐
      ✗ ▼  broken    0.500 → 0.250  -0.250  cancel order           grounded in…  │ for the return+}. A customer would [-be content-]{+have to  ▐
                                                                                 │ ask again+}.                                                ▐
                                                                                 │                                                             ▐
                                                                                 │ submission                                                  ▐
                                                                                 │ Yes! You can return it within 30 days of purchase.          ▐
                                                                                 │                                                             ▐
                                                                                 │ ground truth                                                ▐
                                                                                 │ Yes, within 30 days; we pay for the return.                 ▐
                                                                                 │                                                             ▐
                                                                                 │ input                                                       ▐
                                                                                 │ Hi,                                                         ▐
                                                                                 │                                                             ▐
                                                                                 │ I bought a lamp three weeks ago and it flickers.            ▐
                                                                                 │     Can I still send it back?                               ▐
                                                                                 │                                                             ▐
                                                                                 │ key 3f2a9c0d1e4b5a69                                        ▐
                                                                                 │ * system       You judge answers of a support desk. Be str… ▐
                                                                                 │ * changed
     q quit  L to label  f failing  a all  / search  b grader  o order  u prev save  s saves  D diff  e edit  r refresh  v detail  ? help
    ");
}

#[test]
fn a_medium_screen_shows_the_detail_below() {
    insta::assert_snapshot!(shown(&mut screen(), &WatchFixture::small(), (100, 30)), @"
     support-quality  save 3  rubrics/helpful.md                      $0.012 this save · $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842                 960 cached · 40 made · 1 failed
     idle, waiting for a save

    ─ grader ─────── mean ────────── 95 %  since last  since start ── pass ─ 95 % ───── judged  errors ─
    ▸ helpful       0.842  [0.821, 0.861]    ▲ +0.050     ▲ +0.110   84.0%      -    998/1,000     ! 2
      grounded in…  0.913               -    =  0.000     ▼ -0.020   95.0%      -  1,000/1,000       0
      by_subject    0.800  [0.700, 0.900]    ▼ -0.010            -       -      -  1,000/1,000       0
      ▲ 1 fixed   ▼ 2 broken   △ 1 raised   ▽ 0 lowered   ! 1 error   = 995 unchanged   · 1 pending
    ─[moved] failing  disagree  to label  errors  all ─────────────────────────── by movement ─ 1 of 5 ─
           moved     before    now      by  sample                grader            submission
    ▌ ✗ ▼  broken    0.900 → 0.400  -0.500  refund-policy-0042    helpful           Yes! You can retu…
      ✓ ▲  fixed     0.300 → 0.850  +0.550  greeting-in-german    helpful           Yes! You can retu…
      !    error             error          a-sample-w…lumn-0007  helpful           Yes! You can retu…
      ✓ △  raised    0.700 → 0.800  +0.100  注文の状況を確認する  helpful           Yes! You can retu…
      ✗ ▼  broken    0.500 → 0.250  -0.250  cancel order          grounded in sou…  Yes! You can retu…



    ─ refund-policy-0042 ───────────────────────────────────────────────────────────────────── helpful ─
     ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500                                          ▐
                                                                                                       ▐
     why, and what changed in it                                                                       ▐
     The answer names the [-return-]{+refund+} window of 30 days{+,+} [-and is friendly-]{+but does    ▐
     not say who pays for the return+}. A customer would [-be content-]{+have to ask again+}.

     submission
     Yes! You can return it within 30 days of purchase.

     q quit  f failing  a all  / search  p pin  u prev save  s saves  D diff  e edit  v detail  ? help
    ");
}

#[test]
fn a_narrow_screen_leaves_out_what_matters_least() {
    insta::assert_snapshot!(shown(&mut screen(), &WatchFixture::small(), NARROW), @"
     support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842          40 made · 1 failed
     idle, waiting for a save
    ─ grader ───────────── mean ────────── 95 %  since last ── pass ─ 95 %  errors ─
    ▸ helpful             0.842  [0.821, 0.861]    ▲ +0.050   84.0%      -     ! 2
      grounded in sourc…  0.913               -    =  0.000   95.0%      -       0
      by_subject          0.800  [0.700, 0.900]    ▼ -0.010       -      -       0
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered  ! 1 error  = 995 unchanged
    ─[moved] failing  disagree  to label  errors  all ─────── by movement ─ 1 of 5 ─
    ▌ ✗ ▼  broken    0.900 → 0.400  -0.500  refund-policy-0042       helpful
      ✓ ▲  fixed     0.300 → 0.850  +0.550  greeting-in-german       helpful
      !    error             error          a-sample-wh…column-0007  helpful
      ✓ △  raised    0.700 → 0.800  +0.100  注文の状況を確認する     helpful
      ✗ ▼  broken    0.500 → 0.250  -0.250  cancel order             grounded in…

    ─ refund-policy-0042 ───────────────────────────────────────────────── helpful ─
     ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500                      ▐
                                                                                   ▐
     why, and what changed in it
     The answer names the [-return-]{+refund+} window of 30 days{+,+} [-and is
     friendly-]{+but does not say who pays for the return+}. A customer would [-be
     content-]{+have to ask again+}.

     q quit  f failing  a all  / search  s saves  D diff  e edit  v detail  ? help
    ");
}

#[test]
fn a_small_screen_shows_the_list_or_the_detail() {
    let board = WatchFixture::small();
    let size = (58, 15);
    let mut screen = screen();
    insta::assert_snapshot!(shown(&mut screen, &board, size), @"
     support-quality  save 3  rubrics/helpfu…  $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful…: 0.842    40 made · 1 failed
     idle, waiting for a save
    ─ grader +1 ─── mean ────────── 95 %  since last ── pass ─
    ▸ helpful      0.842  [0.821, 0.861]    ▲ +0.050   84.0%
      grounded i…  0.913               -    =  0.000   95.0%
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered
    ─[moved] failing  d  L  errors  a ─ by movement ─ 1 of 5 ─
    ▌ ✗ ▼  0.900 → 0.400  refund-policy-0042       helpful
      ✓ ▲  0.300 → 0.850  greeting-in-german       helpful
      !            error  a-sample-wh…column-0007  helpful
      ✓ △  0.700 → 0.800  注文の状況を確認する     helpful
      ✗ ▼  0.500 → 0.250  cancel order             grounded…

     q quit  f failing  a all  / search  v detail  ? help
    ");
    press(&mut screen, &board, size, "v");
    insta::assert_snapshot!(shown(&mut screen, &board, size), @r"
     support-quality  save 3  rubrics/helpfu…  $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful…: 0.842    40 made · 1 failed
     idle, waiting for a save
    ─ grader +1 ─── mean ────────── 95 %  since last ── pass ─
    ▸ helpful      0.842  [0.821, 0.861]    ▲ +0.050   84.0%
      grounded i…  0.913               -    =  0.000   95.0%
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered
    ─ refund-policy-0042 ─────────────────────────── helpful ─
     ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500▐

     why, and what changed in it
     The answer names the [-return-]{+refund+} window of 30
     days{+,+} [-and is friendly-]{+but does not say who
     pays for the return+}. A customer would [-be
     q quit  h list  j k scroll  e edit  v as sent  ? help
    ");
}

#[test]
fn ingredients_of_a_key_that_are_as_before_fold_away_beside_the_list() {
    let (board, size) = (WatchFixture::small(), (140, 60));
    let mut screen = screen();
    let beside = shown(&mut screen, &board, size);
    assert!(beside.contains("3 ingredients: v shows all"), "{beside}");
    assert!(beside.contains("* system") && !beside.contains("gpt-4o-mini"), "{beside}");
    press(&mut screen, &board, size, "v");
    let alone = shown(&mut screen, &board, size);
    assert!(alone.contains("model        gpt-4o-mini") && !alone.contains("shows all"), "{alone}");
}

#[test]
fn a_tiny_screen_says_so() {
    assert_eq!(shown(&mut screen(), &WatchFixture::small(), (29, 2)), "terminal too small\n");
    insta::assert_snapshot!(shown(&mut screen(), &WatchFixture::small(), (30, 6)), @"
     ✓ PASS (was FAIL)  …: 0.842
    ─[moved] f  d  L  E … 1 of 5 ─
    ▌ ✗ ▼  refund…y-0042  helpf… ▐
      ✓ ▲  greeti…german  helpf… ▐
      !    a-samp…n-0007  helpf…
     q quit  f failing  ? help
    ");
}

#[test]
fn labels_are_compared() {
    let board = WatchFixture::labelled();
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "d");
    insta::assert_snapshot!(shown(&mut screen, &board, WIDE), @"
     support-quality  save 3  rubrics/helpful.md                                   $0.012 this save · $0.31 of $1.00 · $1.20 saved by the cache
     helpful ▼ agrees less 93.3%  kappa 0.83  false passes 18 (+16)  false fails 22 (-4)  on 600 of 606 labels               40 made · 1 failed
     idle, waiting for a save                                                           gate ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842

    ─ grader ────── agrees  since last  since start  kappa  since last  false passes  false fails ─ mean ─┬─ human label ────── ✓ pass ─ ✗ fail
    ▸ helpful        93.3%      ▼ -2.0       ▲ +1.7   0.83     ▼ -0.06      18 (+16)      22 (-4)  0.842  │  helpful ✓ pass        412       18
      grounded in…       -           -            -      -           -             -            -  0.913  │  helpful ✗ fail         22      148
      by_subject         -           -            -      -           -             -            -  0.800  │  kappa 0.83 (0.78 to 0.88) of 600
      ✓ 8 now agree   ≠ 20 no longer agree   ▲ 1 fixed   ▼ 2 broken   △ 1 raised   ▽ 0 lowered   ! 1 error   = 995 unchanged   · 1 pending
    ─ moved  failing [disagree] false pass  F  L  E  all ─ by distance ─ 1 of 2 ─┬─ refund-policy-0042 ─────────────────────────────── helpful ─
           before    now      by  person  sample                   grader        │ ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500    ▐
    ▌ ✗ ≠  0.900 → 0.400  -0.500  ≠ ✓     refund-policy-0042       helpful       │ ≠ human label: ✓   no longer agrees                         ▐
      ✓ △  0.700 → 0.800  +0.100  ≠ ✗     注文の状況を確認する     helpful       │                                                             ▐
                                                                                 │ why, and what changed in it                                 ▐
                                                                                 │ The answer names the [-return-]{+refund+} window of 30      ▐
                                                                                 │ days{+,+} [-and is friendly-]{+but does not say who pays    ▐
                                                                                 │ for the return+}. A customer would [-be content-]{+have to  ▐
                                                                                 │ ask again+}.                                                ▐
                                                                                 │                                                             ▐
                                                                                 │ submission                                                  ▐
                                                                                 │ Yes! You can return it within 30 days of purchase.          ▐
                                                                                 │                                                             ▐
                                                                                 │ ground truth                                                ▐
                                                                                 │ Yes, within 30 days; we pay for the return.                 ▐
                                                                                 │                                                             ▐
                                                                                 │ input                                                       ▐
                                                                                 │ Hi,                                                         ▐
                                                                                 │                                                             ▐
                                                                                 │ I bought a lamp three weeks ago and it flickers.            ▐
                                                                                 │     Can I still send it back?                               ▐
                                                                                 │                                                             ▐
                                                                                 │ key 3f2a9c0d1e4b5a69
                                                                                 │ * system       You judge answers of a support desk. Be str…
     q quit  y n label  L to label  m moved  f failing  a all  / search  u prev save  s saves  D diff  e edit  r refresh  v detail  ? help
    ");
}

#[test]
fn what_is_asked_is_counted() {
    insta::assert_snapshot!(head(&asking(), 4), @r"
     support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842          21 made · 1 failed
     judging 12/40 ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌   openai: 20 requests a minute, goes on in…
    ─ grader ───────────── mean ────────── 95 %  since last ── pass ─ 95 %  errors ─
    ");
    insta::assert_snapshot!(shown(&mut screen(), &asking(), WIDE).lines().take(4).collect::<Vec<_>>().join("\n"), @r#"
    support-quality  save 3  rubrics/helpful.md                                   $0.012 this save · $0.31 of $1.00 · $1.20 saved by the cache
    ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842               960 cached · 21 made · 9 in flight · 19 waiting · 2 superseded · 1 failed
    judging 12/40 ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌
    openai: 20 requests a minute, goes on in 12 s
    "#);
}

#[test]
fn what_is_held_says_how_it_goes_on() {
    let shown = shown(&mut screen(), &held(), NARROW);
    let lines: Vec<&str> = shown.lines().collect();
    insta::assert_snapshot!([lines[2], lines[23]].join("\n"), @r"
    paused: Enter: the rest (980, about $0.12) · N: next 200 (about $0.0245)
    q quit  Enter the rest  N next 200  f failing  a all  e edit  v detail  ? help
    ");
}

#[test]
fn what_is_held_says_what_the_limits_leave() {
    let mut board = held();
    board.overview.spent.budget = Cost::from_dollars(0.32);
    let mut told = |width| lines(&buffer(&mut screen(), &board, (width, 24)))[2].clone();
    insta::assert_snapshot!([120, 80, 60].map(&mut told).join("\n"), @r"
    paused: 20 of 1,000 judged; Enter: the rest (980, about $0.12; the limit leaves $0.010) · N: next 200 (about $0.0245)
    paused: Enter: the rest (980; the limit leaves $0.010) · N: next 200
    paused: Enter: the rest (980; the limit leaves $0.010)
    ");
    board.overview.spent.max_calls = Some(board.overview.spent.calls + 3);
    let told = lines(&buffer(&mut screen(), &board, WIDE))[2].clone();
    assert!(told.contains("the limit leaves $0.010 and 3 judgments"), "{told}");
}

#[test]
fn states_are_told() {
    let told = |state| {
        let mut board = WatchFixture::small();
        board.overview.state = state;
        lines(&buffer(&mut screen(), &board, NARROW))[2].clone()
    };
    let stopped = Activity::Stopped("the budget of $1.00 is used up".to_owned());
    assert_eq!(told(Activity::Planning), " planning");
    assert_eq!(told(stopped), " stopped: the budget of $1.00 is used up");
    let held = Activity::Paused { waiting: 1, expected: None };
    assert_eq!(told(held), " paused: 999 of 1,000 judged; Enter: the rest (1)");
}

#[test]
fn a_broken_file_is_shown_over_the_last_good_results() {
    insta::assert_snapshot!(shown(&mut screen(), &broken(), NARROW), @"
     support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842          40 made · 1 failed
     ! 2 problems; results are those of save 3   idle, waiting for a save
    ─ grader ───────────── mean ────────── 95 %  since last ── pass ─ 95 %  errors ─
    ▸ helpful             0.842  [0.821, 0.861]    ▲ +0.050   84.0%      -     ! 2
      grounded in sourc…  0.913               -    =  0.000   95.0%      -       0
      by_subject          0.800  [0.700, 0.900]    ▼ -0.010       -      -       0
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered  ! 1 error  = 995 unchanged
    ╭ 2 problems, not evaluated ───────────────────────────────────────────────────╮
    │ error: unknown metric `avg_scoer`                                            │
    │   --> suite.yaml:14:13                                                       │
    │    |                                                                         │
    │ 14 |     metric: avg_scoer                                                   │
    │    |             ^^^^^^^^^ did you mean `avg_score`?                         │
    │    |                                                                         │
    │    = help: one of `avg_score`, `accuracy`, `pass_hat_k`, `median`, and       │
    │      whatever else there is to aggregate by                                  │
    │                                                                              │
    ╰─ 5 lines more ───────────────────────────────────────────────────────────────╯
    ─[moved] failing  disagree  to label  errors  all ─────── by movement ─ 1 of 5 ─
    ▌ ✗ ▼  broken    0.900 → 0.400  -0.500  refund-policy-0042             helpful ▐
      ✓ ▲  fixed     0.300 → 0.850  +0.550  greeting-in-german             helpful ▐
      !    error             error          a-sample-whose…he-column-0007  helpful
     q quit  f failing  a all  / search  s saves  D diff  e edit  v detail  ? help
    ");
}

#[test]
fn an_earlier_save_is_told_from_the_newest() {
    let mut board = WatchFixture::small();
    board.overview.save = 2;
    let shown = shown(&mut screen(), &board, NARROW);
    let lines: Vec<&str> = shown.lines().collect();
    insta::assert_snapshot!([lines[0], lines[2], lines[23]].join("\n"), @r"
    support-quality  save 2  rubrics/helpful.md                     $0.31 of $1.00
     showing save 2; u returns to save 3
    q quit  f failing  a all  u back  [ ] before, after  D diff  v detail  ? help
    ");
}

#[test]
fn saves_are_listed_with_what_they_changed() {
    for (board, size) in [(WatchFixture::small(), WIDE), (WatchFixture::labelled(), NARROW)] {
        let mut screen = screen();
        press(&mut screen, &board, size, "s j j t");
        let shown = shown(&mut screen, &board, size);
        if size == WIDE {
            insta::assert_snapshot!(shown, @r"
             support-quality  save 3  rubrics/helpful.md                                   $0.012 this save · $0.31 of $1.00 · $1.20 saved by the cache
             ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842                                                         960 cached · 40 made · 1 failed
             idle, waiting for a save

            ─ grader ────────────── mean ────────── 95 %  since last  since start ── pass ─ 95 % ───── judged  errors  means ───────────────────────────
            ▸ helpful              0.842  [0.821, 0.861]    ▲ +0.050     ▲ +0.110   84.0%      -    998/1,000     ! 2  ▁▂▅█
              grounded in sources  0.913               -    =  0.000     ▼ -0.020   95.0%      -  1,000/1,000       0  █▃▁▁
              by_subject           0.800  [0.700, 0.900]    ▼ -0.010            -       -      -  1,000/1,000       0  ▇▃
              ▲ 1 fixed   ▼ 2 broken   △ 1 raised   ▽ 0 lowered   ! 1 error   = 995 unchanged   · 1 pending
            ─ saves by helpful ──────────────────────────── verdicts are kept of 3 of 4 ─┬─ what save 1 changed in the rubric ──────────────────────────
                 save   time    mean        by  gate            judged  files            │ helpful
              ●  3      14:03  0.842  ▲ +0.050  ✓ PASS       998/1,000  rubrics/helpfu…  │ Is the answer helpful?
                 2      14:02  0.792  ▲ +0.050  ✓ PASS       998/1,000  rubrics/helpfu…  │
            ▌    1      14:01  0.742  ▲ +0.050  ✓ PASS       998/1,000  rubrics/helpfu…  │ {+- It names a number.+}
                 start  14:00  0.692         -  ✓ PASS       998/1,000                   │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
                                                                                         │
             write rubrics/helpful.md as it was in save 1?  y yes  n no
            ");
        } else {
            insta::assert_snapshot!(shown, @r"
             support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
             helpful ▼ agrees less 93.3%  on 600 of 606 labels           40 made · 1 failed
             idle, waiting for a save                      gate ✓ PASS (was FAIL)  …: 0.842
            ─ grader ──── agrees  since last  since start  kappa  since last  false passes ─
            ▸ helpful      93.3%      ▼ -2.0       ▲ +1.7   0.83     ▼ -0.06      18 (+16)
              grounded…        -           -            -      -           -             -
              by_subject       -           -            -      -           -             -
              ✓ 8 now agree  ≠ 20 no longer agree  ▲ 1 fixed  ▼ 2 broken  △ 1 raised
            ─ saves by helpful ─────────────────────────────── verdicts are kept of 3 of 4 ─
                 save   agrees       by  kappa   mean        by  gate         files
              ●  3       93.3%   ▼ -2.0   0.83  0.842  ▲ +0.050  ✓ PASS       rubrics/hel…
                 2       95.3%   ▼ -2.0   0.83  0.792  ▲ +0.050  ✓ PASS       rubrics/hel…
            ▌    1       97.3%   ▼ -2.0   0.83  0.742  ▲ +0.050  ✓ PASS       rubrics/hel…
                 start   99.3%        -   0.83  0.692         -  ✓ PASS
            ─ what save 1 changed in the rubric ────────────────────────────────────────────
             helpful
             Is the answer helpful?

             {+- It names a number.+}




             write rubrics/helpful.md as it was in save 1?  y yes  n no
            ");
        }
    }
}
