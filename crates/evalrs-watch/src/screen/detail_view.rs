//! How much of the screen the selected verdict takes.

/// How much is seen of the selected verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DetailView {
    /// Its detail, beside the list or below it.
    #[default]
    WithList,
    /// Its detail, in the place of the list too.
    Alone,
    /// What judges were sent about it and replied, in the place of both.
    AsSent,
}

impl DetailView {
    /// The one that shows more; the last shows all there is.
    pub(super) fn more(self) -> Self {
        match self {
            Self::WithList => Self::Alone,
            Self::Alone | Self::AsSent => Self::AsSent,
        }
    }

    /// The one that shows less; the first shows the list.
    pub(super) fn less(self) -> Self {
        match self {
            Self::AsSent => Self::Alone,
            Self::Alone | Self::WithList => Self::WithList,
        }
    }
}
