//! What a list of verdicts is drawn by: its query, what there is to show, and the colours.

use super::theme::Theme;
use crate::list_query::ListQuery;

/// What the whole list has in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListContext<'a> {
    pub(super) theme: Theme,
    /// What is listed now.
    pub query: &'a ListQuery,
    /// Whether any verdict has a label.
    pub has_labels: bool,
    /// Whether people differ on some verdict.
    pub(super) has_disputes: bool,
    /// Whether verdicts of several graders are listed.
    pub has_graders: bool,
    /// Whether samples are of several models.
    pub(super) has_models: bool,
    /// Whether anything was saved, so that verdicts can have moved.
    pub(super) has_saves: bool,
    /// Whether verdicts may still come in.
    pub is_open: bool,
    /// Whether the verdicts of the save are not kept any more.
    pub(super) has_no_verdicts: bool,
    /// What more labels would tell, where those to label are listed.
    pub(super) more_labels: Option<&'a str>,
}
