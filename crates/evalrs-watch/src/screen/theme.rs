//! What things look like: the styles, and the signs that say the same without colour.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use evalrs_base::text::grouped;
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{Cell, CellState, Movement};
use evalrs_model::outcome::Usage;
use evalrs_model::spec::Label;

/// What is read first.
pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// The styles. Only the sixteen colours that every terminal's own scheme defines; without colour only bold, underlined
/// and reversed text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    color: bool,
    /// Whether colours say what is good and what is bad.
    judges: bool,
}

impl Theme {
    pub(crate) fn new(color: bool) -> Self {
        Self { color, judges: true }
    }

    /// The same for what is neither good nor bad, whichever way it goes.
    pub(super) fn neutral(self) -> Self {
        Self { judges: false, ..self }
    }

    fn tinted(self, color: Color) -> Style {
        if self.color && self.judges { Style::new().fg(color) } else { Style::new() }
    }

    /// Whether removed and added words have to be put in brackets.
    pub(crate) fn has_color(self) -> bool {
        self.color
    }

    pub(super) fn good(self) -> Style {
        self.tinted(Color::Green)
    }

    pub(crate) fn bad(self) -> Style {
        self.tinted(Color::Red)
    }

    pub(super) fn doubtful(self) -> Style {
        self.tinted(Color::Yellow)
    }

    /// What goes on, and what is pointed at.
    pub(super) fn accent(self) -> Style {
        self.tinted(Color::Cyan)
    }

    /// What is there to be found, not to be read.
    pub(super) fn faint(self) -> Style {
        if self.color { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }

    /// The selected line, over the styles of its parts.
    pub(super) fn selected(self) -> Style {
        let modifier = if self.color { Modifier::BOLD } else { Modifier::REVERSED };
        Style::new().add_modifier(modifier)
    }

    /// What must not be overlooked.
    pub(super) fn banner(self) -> Style {
        self.doubtful().add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    pub(super) fn removed(self) -> Style {
        if self.color { self.bad().add_modifier(Modifier::CROSSED_OUT) } else { Style::new() }
    }

    pub(super) fn added(self) -> Style {
        if self.color { self.good().add_modifier(Modifier::UNDERLINED) } else { Style::new() }
    }

    pub(crate) fn verdict(self, cell: Cell, under_way: bool) -> (&'static str, Style) {
        match cell.state {
            _ if under_way => ("…", self.accent()),
            CellState::Passed => ("✓", self.good()),
            CellState::Failed => ("✗", self.bad()),
            CellState::Errored => ("!", self.doubtful()),
            CellState::Pending => ("·", self.faint()),
            CellState::Skipped | CellState::NotApplicable => ("-", self.faint()),
        }
    }

    /// The sign, the word and the style of a movement against the label of a person.
    pub(crate) fn agreement(self, moved: AgreementMove) -> (&'static str, &'static str, Style) {
        match moved {
            AgreementMove::NowAgrees => ("✓", "now agrees", self.good()),
            AgreementMove::NoLongerAgrees => ("≠", "no longer agrees", self.bad()),
        }
    }

    /// The sign of a movement: full where the verdict is another, hollow where only the score is.
    pub(super) fn movement(self, movement: Movement) -> (&'static str, &'static str, Style) {
        match movement {
            Movement::Fixed => ("▲", "fixed", self.good()),
            Movement::Broken => ("▼", "broken", self.bad()),
            Movement::Raised => ("△", "raised", self.good()),
            Movement::Lowered => ("▽", "lowered", self.bad()),
            Movement::Errored => ("!", "error", self.doubtful()),
            Movement::Answered => ("◇", "answered", self.accent()),
            Movement::New => ("+", "new", self.accent()),
            Movement::Same => ("=", "same", self.faint()),
            Movement::Pending => ("·", "pending", self.faint()),
            Movement::NotApplicable => ("-", "not applicable", self.faint()),
        }
    }

    /// By how much a mean or a score changed.
    pub(crate) fn change(self, by: Option<f64>) -> Span<'static> {
        match by {
            None => Span::styled("-", self.faint()),
            Some(0.0) => Span::styled("=  0.000", self.faint()),
            Some(by) if by.abs() < 0.0005 => Span::styled(format!("≈ {by:+.3}"), self.faint()),
            Some(by) if by > 0.0 => Span::styled(format!("▲ {by:+.3}"), self.good()),
            Some(by) => Span::styled(format!("▼ {by:+.3}"), self.bad()),
        }
    }
}

/// The human label, in at most four columns.
pub(super) fn label(label: Label) -> String {
    match label {
        Label::Pass(true) => "✓".to_owned(),
        Label::Pass(false) => "✗".to_owned(),
        Label::Score(score) => format!("{score:.2}"),
    }
}

/// What was used: what it cost, or the tokens where no price is known.
pub(super) fn used(usage: Usage) -> String {
    match usage.cost {
        Some(cost) => cost.to_string(),
        None if usage.input + usage.output == 0 => "$0".to_owned(),
        None => format!("{} tokens", grouped(usage.input + usage.output)),
    }
}

/// The values as a curve of at most `width` columns, the newest ones at its right end. The lowest block is the least
/// of them, and the highest the greatest, unless they are all nearly the same.
pub(super) fn curve(values: &[f64], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const LEAST_RANGE: f64 = 0.02;
    let values = &values[values.len().saturating_sub(width)..];
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (highest - lowest).max(LEAST_RANGE);
    let start = lowest.midpoint(highest) - range / 2.0;
    let steps = values.iter().map(|value| ((value - start) / range * 8.0).clamp(0.0, 7.0));
    steps.map(|step| BLOCKS[step as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::{Theme, curve};

    #[test]
    fn curves_show_their_range() {
        let cases: [(&[f64], usize, &str); 5] = [
            (&[], 8, ""),
            (&[0.5], 8, "▅"),
            (&[0.5, 0.501], 8, "▄▅"),
            (&[0.0, 0.25, 0.5, 1.0], 8, "▁▃▅█"),
            (&[0.0, 0.25, 0.5, 1.0], 2, "▁█"),
        ];
        for (values, width, expected) in cases {
            assert_eq!(curve(values, width), expected);
        }
    }

    #[test]
    fn changes_have_signs() {
        let theme = Theme::new(false);
        let changes = [None, Some(0.0), Some(0.05), Some(-0.25), Some(-0.000_01)];
        let shown = changes.map(|by| theme.change(by).content);
        assert_eq!(shown, ["-", "=  0.000", "▲ +0.050", "▼ -0.250", "≈ -0.000"]);
    }
}
