//! Paths of files as texts with `/` between their names: no file is looked at.

/// `path` seen from `folder`; a path that is already absolute stays.
pub fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') || folder.is_empty() || folder == "." {
        return path.to_owned();
    }
    format!("{}/{path}", folder.trim_end_matches('/'))
}

/// A folder as systems take it: an empty one is where the process is.
pub fn non_empty(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}

/// The folder of a file; empty for a bare name.
pub fn folder_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => &path[..at],
        None => "",
    }
}
