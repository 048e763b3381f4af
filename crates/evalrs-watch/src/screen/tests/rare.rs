//! What is seldom on the screen: a rubric compared, all keys, lists without rows, the smallest sizes.

use super::*;

#[test]
fn what_a_save_changed_in_the_rubric_is_shown() {
    let mut screen = screen();
    press(&mut screen, &WatchFixture::small(), NARROW, "D");
    insta::assert_snapshot!(shown(&mut screen, &WatchFixture::small(), NARROW), @r"
     support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842          40 made · 1 failed
     idle, waiting for a save
    ─ grader ───────────── mean ────────── 95 %  since last ── pass ─ 95 %  errors ─
    ▸ helpful             0.842  [0.821, 0.861]    ▲ +0.050   84.0%      -     ! 2
      grounded in sourc…  0.913               -    =  0.000   95.0%      -       0
      by_subject          0.800  [0.700, 0.900]    ▼ -0.010       -      -       0
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered  ! 1 error  = 995 unchanged
    ─ what save 3 changed in the rubric ────────────────────────────────────────────
     helpful
     ⋯ 2 lines unchanged
     - It names a number.
     - It is polite.
     {+- Nothing is promised.+}









     q quit  j k scroll  u prev save  s saves  D detail  e edit  v detail  ? help
    ");
}

#[test]
fn all_keys_are_told() {
    let board = WatchFixture::small();
    let mut screen = screen();
    press(&mut screen, &board, (100, 40), "?");
    insta::assert_snapshot!(shown(&mut screen, &board, (100, 40)), @"
     support-quality  ╭ keys of evalrs watch ────────────────────────────────────────╮ · $0.31 of $1.00
     ✓ PASS (was FAIL)│ judgments                                                    │0 made · 1 failed
     idle, waiting for│  Enter         resume: make the paused judgments             │
                      │  N             judge the next 200, then pause again          │
    ─ grader ─────── m│  r             make the judgments of this verdict again      │─ judged  errors ─
    ▸ helpful       0.│  p             pin this sample: listed and judged first      │98/1,000     ! 2
      grounded in…  0.│  e             open the rubric in an editor                  │00/1,000       0
      by_subject    0.│ saves                                                        │00/1,000       0
      ▲ 1 fixed   ▼ 2 │  u             show the previous save; again: go back        │  · 1 pending
    ─[moved] failing  │  [ ]           show the save before, after                   │ovement ─ 1 of 5 ─
           moved     b│  D             what the save changed in the rubric           │bmission
    ▌ ✗ ▼  broken    0│  s             list all saves                                │s! You can retu…
      ✓ ▲  fixed     0│  Enter t       in the list: show a save, revert to it        │s! You can retu…
      !    error      │ labels                                                       │s! You can retu…
      ✓ △  raised    0│  y n           label this answer pass, fail                  │s! You can retu…
      ✗ ▼  broken    0│  0 … 9         a score: the digit, 0 for 10, or tenths       │s! You can retu…
                      │  !             the top of a scale of tenths                  │
                      │  x             remove your label                             │
                      │  space         skip: the next one without a label            │
                      │  L             what to label next, and why                   │
                      │ verdicts                                                     │
                      │  j k ↓ ↑       next, previous                                │
                      │  PgDn PgUp     a page down, up                               │
    ─ refund-policy-00│  g G Home End  first, last                                   │──────── helpful ─
     ✗ fails, 0.400   │  m             those that moved                              │                 ▐
                      │  f             those that fail                               │                 ▐
     why, and what cha│  d             those that disagree with a label              │                 ▐
     The answer names │  P             false passes: label fail, verdict pass        │y-]{+but does    ▐
     not say who pays │  F             false fails: label pass, verdict fail         │gain+}.          ▐
                      │  c             disputed: reviewers disagree                  │                 ▐
     submission       │  E             errors                                        │                 ▐
     Yes! You can retu│  a             all                                           │                 ▐
                      │  Tab ⇧Tab      next, previous of these                       │                 ▐
     ground truth     │  /             search id, grader, input, submission          │                 ▐
     Yes, within 30 da│  t             those of samples with a tag                   │
                      │  b             those of one grader                           │
     input            │  Esc           all again: no tag, grader, search             │
     Hi,              │  o             another order: movement, score, length …      │
                      │  O             reverse the order                             │
     q quit  f failing╰ j k PgDn PgUp scroll, ? or Esc closes ───────────────────────╯v detail  ? help
    ");
    // Where there is no room for all of them they scroll.
    press(&mut screen, &board, NARROW, "pgdn pgdn pgdn j j j pgdn pgdn pgdn");
    assert!(shown(&mut screen, &board, NARROW).contains("wheel scrolls"));
    press(&mut screen, &board, NARROW, "esc");
    assert!(!shown(&mut screen, &board, NARROW).contains("wheel scrolls"));
}

#[test]
fn lists_without_rows_say_what_is_not_there() {
    let mut board = WatchFixture::small();
    board.details.truncate(5);
    board.details.drain(..4);
    board.rows = 1;
    let mut screen = screen();
    for (keys, expected) in [
        ("m", "nothing moved"),
        ("f", "nothing fails"),
        ("d", "no row has a label"),
        ("c", "no disputed labels"),
        ("E", "no errors"),
        ("a / z", "nothing here matches /z; Esc shows all"),
    ] {
        press(&mut screen, &board, WIDE, keys);
        let shown = shown(&mut screen, &board, WIDE);
        assert!(shown.contains(&format!("   {expected} ")), "{keys}: {shown}");
    }
}

#[test]
fn before_the_first_save_the_failing_ones_are_listed() {
    let mut board = WatchFixture::small();
    board.overview.save = 0;
    board.overview.newest = 0;
    let mut screen = screen();
    assert!(shown(&mut screen, &board, NARROW).contains("[failing]"));
    board.overview.save = 1;
    board.overview.newest = 1;
    assert!(shown(&mut screen, &board, NARROW).contains("[moved]"));
    press(&mut screen, &board, NARROW, "E");
    board.overview.save = 2;
    board.overview.newest = 2;
    assert!(shown(&mut screen, &board, NARROW).contains("[errors]"));
}

#[test]
fn no_size_panics() {
    let many = WatchFixture { rows: 300, ..WatchFixture::labelled() };
    let boards = [WatchFixture::labelled(), asking(), held(), broken(), many];
    let mut screens = ["j", "v", "?", "/ x", "a end"].map(|keys| {
        let mut screen = screen();
        press(&mut screen, &boards[0], WIDE, keys);
        screen
    });
    let widths = (1..=140).step_by(11).chain([29, 30, 59, 60, 119, 120, 129, 130, 140]);
    for width in widths {
        for (at, height) in [0, 1, 5, 6, 7, 9, 10, 12, 14, 16, 24, 28, 50].into_iter().enumerate() {
            // Every size meets one of them, and every width all of them.
            let at = (at + usize::from(width)) % boards.len();
            buffer(&mut screens[at], &boards[at], (width, height));
        }
    }
}

#[test]
fn colour_says_nothing_alone() {
    let mut plain = screen();
    let mut colored = Screen::new(true);
    press(&mut plain, &broken(), WIDE, "E");
    press(&mut colored, &broken(), WIDE, "E");
    let plain = buffer(&mut plain, &broken(), WIDE);
    for cell in &plain.content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        let allowed = Modifier::BOLD | Modifier::REVERSED | Modifier::UNDERLINED;
        assert!(allowed.contains(cell.modifier), "{cell:?}");
    }
    assert_eq!(lines(&buffer(&mut colored, &broken(), WIDE)), lines(&plain));
    // What is faint at the right of a line leaves the left of it alone.
    let name = buffer(&mut colored, &broken(), WIDE)[(1, 0)].modifier;
    assert_eq!(name, Modifier::BOLD);
    // But for words that were removed or added: those are crossed out or underlined instead.
    press(&mut colored, &WatchFixture::small(), WIDE, "m");
    let shown = buffer(&mut colored, &WatchFixture::small(), WIDE);
    let words = |modifier| -> String {
        let cells = shown.content.iter().filter(|cell| cell.modifier.contains(modifier));
        cells.map(ratatui::buffer::Cell::symbol).collect()
    };
    insta::assert_snapshot!(words(Modifier::CROSSED_OUT), @"returnandis friendlybe content");
    insta::assert_snapshot!(words(Modifier::UNDERLINED), @"refund,but does not say who pays for the returnhave to ask again");
}
