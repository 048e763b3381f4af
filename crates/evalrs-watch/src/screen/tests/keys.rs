//! What the keys and the mouse do.

use crossterm::event::{Event, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::fixtures::WatchFixture;
use super::{NARROW, WIDE, buffer, events, held, press, screen, shown};
use crate::board::{ListFacts, UserCommand, VerdictId, WatchEvent};

fn id(case: u128) -> VerdictId {
    VerdictId { case, grader: usize::from(case > 3) }
}

#[test]
fn a_search_is_typed_live() {
    let board = WatchFixture::small();
    let mut screen = screen();
    press(&mut screen, &board, (80, 20), "a /refundx back");
    insta::assert_snapshot!(shown(&mut screen, &board, (80, 20)), @"
     support-quality  save 3  rubrics/helpful.md                     $0.31 of $1.00
     ✓ PASS (was FAIL)  helpful avg_score >= 0.8: 0.842          40 made · 1 failed
     idle, waiting for a save
    ─ grader ───────────── mean ────────── 95 %  since last ── pass ─ 95 %  errors ─
    ▸ helpful             0.842  [0.821, 0.861]    ▲ +0.050   84.0%      -     ! 2
      grounded in sourc…  0.913               -    =  0.000   95.0%      -       0
      by_subject          0.800  [0.700, 0.900]    ▼ -0.010       -      -       0
      ▲ 1 fixed  ▼ 2 broken  △ 1 raised  ▽ 0 lowered  ! 1 error  = 995 unchanged
    ─ moved  failing  disagree  to label  E [all] /refund ─ dataset order ─ 1 of 2 ─
    ▌ ✗ ▼  0.900 → 0.400  refund-policy-0042     helpful        Yes! You can retu…
      ✓            0.950  refund-policy-0042     grounded in…   Yes! You can retu…


    ─ refund-policy-0042 ───────────────────────────────────────────────── helpful ─
     ✗ fails, 0.400   was ✓ passes, 0.900   ▼ broken by 0.500                      ▐

     why, and what changed in it
     The answer names the [-return-]{+refund+} window of 30 days{+,+} [-and is
     friendly-]{+but does not say who pays for the return+}. A customer would [-be
     /refund▏   Enter keeps it, Esc ends it
    ");
}

#[test]
fn keys_become_commands() {
    let table: &[(&str, &[UserCommand])] = &[
        ("q", &[UserCommand::Quit]),
        ("^c", &[UserCommand::Interrupt]),
        ("/ q ^c", &[UserCommand::Interrupt]),
        ("? ^c", &[UserCommand::Interrupt]),
        ("u", &[UserCommand::Undo]),
        ("e", &[UserCommand::Edit(Some(id(0)))]),
        ("[", &[UserCommand::LookAt(2)]),
        ("]", &[]),
        ("s [", &[UserCommand::LookAt(2)]),
        ("s j j enter", &[UserCommand::LookAt(1)]),
        ("s G k enter", &[UserCommand::LookAt(1)]),
        ("s G t y", &[UserCommand::TakeBack(0)]),
        ("s G t n t esc q", &[UserCommand::Quit]),
        // The newest says what the files say.
        ("s t y", &[]),
        ("s esc D esc u", &[UserCommand::Undo]),
        ("r", &[UserCommand::Refresh(id(0))]),
        ("j p", &[UserCommand::Select(id(1)), UserCommand::Pin(id(1))]),
        // A selection that is as it was is no command.
        ("k home", &[]),
        ("down end end", &[UserCommand::Select(id(1)), UserCommand::Select(id(6))]),
        ("G g", &[UserCommand::Select(id(6)), UserCommand::Select(id(0))]),
        ("f", &[]),
        ("E", &[UserCommand::Select(id(2))]),
        ("tab tab tab tab", &[UserCommand::Select(id(2))]),
        ("backtab j", &[UserCommand::Select(id(1))]),
        ("/ greet", &[UserCommand::Select(id(1))]),
        ("/ greet esc", &[UserCommand::Select(id(1))]),
        ("/ greet enter j esc j", &[UserCommand::Select(id(1)), UserCommand::Select(id(2))]),
        ("/ q esc ?q", &[]),
        ("v j j v J ^d ^u", &[]),
    ];
    for (keys, expected) in table {
        let commands = press(&mut screen(), &WatchFixture::small(), NARROW, keys);
        assert_eq!(&commands, expected, "{keys}");
    }
    let empty = WatchFixture { rows: 0, ..WatchFixture::small() };
    assert_eq!(press(&mut screen(), &empty, WIDE, "j r p e"), [UserCommand::Edit(None)]);
    assert_eq!(press(&mut screen(), &held(), WIDE, "enter"), [UserCommand::RunRest]);
}

#[test]
fn what_was_typed_can_be_taken_back() {
    let board = WatchFixture::small();
    for (keys, expected) in [
        ("/ ab back", "a"),
        ("/ ab ^u c", "c"),
        ("/one\u{a0}two three back", "one\u{a0}twothre"),
        ("/ ab enter x", "ab"),
        ("/ ab esc", ""),
        ("/ e\u{301}e\u{301} back", "e\u{301}"),
    ] {
        let mut screen = screen();
        press(&mut screen, &board, NARROW, keys);
        assert_eq!(screen.list.choices.search, expected, "{keys}");
    }
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "/");
    screen.key(&Event::Paste("two\nwords\u{1b}[31m".to_owned()), &board);
    assert_eq!(screen.list.choices.search, "two words");
    press(&mut screen, &board, WIDE, "^w");
    assert_eq!(screen.list.choices.search, "two ");
    // Pasted text is no keys.
    press(&mut screen, &board, WIDE, "esc");
    assert_eq!(screen.key(&Event::Paste("q".to_owned()), &board), None);
}

#[test]
fn the_mouse_selects_and_scrolls_what_it_points_at() {
    let board = WatchFixture::large();
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "a");
    let mouse = |kind, column, row| {
        Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    let row = screen.list.area.y + 2;
    assert_eq!(
        screen.key(&mouse(click, 5, row), &board),
        Some(UserCommand::Select(VerdictId { case: 2, grader: 0 }))
    );
    assert_eq!(screen.key(&mouse(MouseEventKind::ScrollDown, 5, row), &board), None);
    assert_eq!(
        screen
            .key(&mouse(click, 5, row), &board)
            .map(|command| matches!(command, UserCommand::Select(id) if id.case == 5)),
        Some(true)
    );
    let before = shown(&mut screen, &board, (120, 20));
    screen.key(&mouse(MouseEventKind::ScrollDown, 110, row), &board);
    let after = shown(&mut screen, &board, (120, 20));
    assert_ne!(before, after);
    assert_eq!(screen.key(&mouse(click, 110, row), &board), None);
}

#[test]
fn only_rows_that_are_seen_are_asked_for() {
    let board = WatchFixture::large();
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "a");
    for key in ["end", "home", "pgdn"] {
        for event in events(key) {
            screen.key(&event, &board);
        }
        board.asked.set(0);
        buffer(&mut screen, &board, WIDE);
        let asked = board.asked.get();
        assert!((10..34).contains(&asked), "{key}: {asked}");
    }
}

#[test]
fn the_selection_is_seen_at_another_size() {
    let board = WatchFixture::large();
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "a end");
    for size in [NARROW, (58, 12), WIDE, (100, 30)] {
        assert!(shown(&mut screen, &board, size).contains("\n▌"), "{size:?}");
    }
}

#[test]
fn messages_last_until_the_next_key() {
    let board = WatchFixture::small();
    let mut screen = screen();
    screen.event(&WatchEvent::Note("the editor ended with exit code 1".to_owned()));
    assert!(shown(&mut screen, &board, NARROW).contains("the editor ended with exit code 1"));
    press(&mut screen, &board, NARROW, "j");
    assert!(!shown(&mut screen, &board, NARROW).contains("the editor"));
}

#[test]
fn a_message_is_read_whatever_goes_on() {
    let board = WatchFixture { overview: held().overview, ..WatchFixture::labelled() };
    let mut screen = screen();
    press(&mut screen, &board, NARROW, "t");
    let third = |shown: &str| shown.lines().nth(2).unwrap_or_default().to_owned();
    let line = third(&shown(&mut screen, &board, NARROW));
    assert!(line.starts_with(" no sample has a tag"), "{line}");
    press(&mut screen, &board, NARROW, "j");
    let line = third(&shown(&mut screen, &board, NARROW));
    assert!(line.starts_with(" paused: Enter: the rest (980"), "{line}");
}

#[test]
fn verdicts_are_told_apart_by_model_and_grader_at_any_width() {
    let mut board = WatchFixture::labelled();
    for (at, detail) in board.details.iter_mut().enumerate() {
        detail.row.model = Some(["gpt-4o", "claude-sonnet-4"][at % 2].to_owned());
    }
    board.facts = std::sync::Arc::new(ListFacts { has_models: true, ..ListFacts::default() });
    let mut screen = screen();
    for width in [80, 100, 120, 200] {
        let shown = shown(&mut screen, &board, (width, 40));
        let is_told = |line: &str| line.contains("gpt-4o") && line.contains("helpful");
        assert!(shown.lines().any(is_told), "{width}:\n{shown}");
    }
}

#[test]
fn a_menu_has_the_keys_and_the_wheel() {
    let board = WatchFixture::small();
    let mut screen = screen();
    press(&mut screen, &board, WIDE, "a b");
    let wheel = MouseEvent {
        kind: MouseEventKind::ScrollDown,
        column: 3,
        row: 14,
        modifiers: KeyModifiers::NONE,
    };
    for _ in 0..2 {
        screen.key(&Event::Mouse(wheel), &board);
    }
    // Letters are typed, and are no keys meanwhile.
    assert_eq!(press(&mut screen, &board, WIDE, "q back enter"), []);
    assert_eq!(screen.list.choices.grader, None, "what is typed points at the first again");
    press(&mut screen, &board, WIDE, "b gro enter");
    assert_eq!(screen.list.choices.grader.as_deref(), Some("grounded"));
    let one = shown(&mut screen, &board, WIDE);
    assert!(one.contains(" grader grounded ─ dataset order ─ 1 of 3 ─"), "{one}");
    press(&mut screen, &board, WIDE, "b up enter");
    assert_eq!(screen.list.choices.grader.as_deref(), Some("helpful"));
    press(&mut screen, &board, WIDE, "esc");
    assert_eq!(screen.list.choices.grader, None);
}

#[test]
fn a_long_text_scrolls_and_stays_where_it_is() {
    let mut board = WatchFixture::small();
    board.details[0].submission =
        (0..500).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let mut screen = screen();
    press(&mut screen, &board, NARROW, "v pgdn pgdn");
    let before = shown(&mut screen, &board, NARROW);
    assert!(before.contains(" line 30\n"), "{before}");
    board.overview.counts.fixed += 1;
    assert_eq!(lines_from(&before, 8), lines_from(&shown(&mut screen, &board, NARROW), 8));
    press(&mut screen, &board, NARROW, "end");
    assert!(shown(&mut screen, &board, NARROW).contains("* changed"));
}

fn lines_from(text: &str, at: usize) -> Vec<&str> {
    text.lines().skip(at).collect()
}
