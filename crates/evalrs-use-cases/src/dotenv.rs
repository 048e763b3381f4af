//! The environment of a command: that of the process, and what `.env` files add to it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::error::Error;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::join;
use evalrs_eval::dataset::split::decode;
use evalrs_system::{FileBytes, System};

/// The process's environment, then `.env` beside the suite, then `.env` in the working directory.
pub(super) fn environment(
    folder: &str,
    system: &dyn System,
) -> Result<BTreeMap<String, String>, Error> {
    let mut environment = system.environment();
    let beside = join(folder, ".env");
    let own = Some(".env").filter(|own| *own != beside);
    for path in [beside.as_str()].into_iter().chain(own) {
        match system.read(path) {
            FileBytes::Bytes(bytes) => read_env(path, &bytes, &mut environment)?,
            // A folder of that name is a virtual environment of Python.
            FileBytes::Missing | FileBytes::Folder => {}
            FileBytes::Unreadable(reason) => {
                let message = format!("cannot read the environment file: {reason}");
                return Err(Diagnostic::error(Place::file(path), message).into());
            }
        }
    }
    Ok(environment)
}

fn read_env(
    path: &str,
    bytes: &[u8],
    environment: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    let text = decode(path, bytes).map_err(|mut problem| {
        // Every line may hold a secret, and the parser's error would quote it.
        problem.place = problem.place.map(|place| bare_place(path, place.line));
        problem
    })?;
    let lines = Lines { text, given: Rc::default() };
    let given = Rc::clone(&lines.given);
    for item in dotenvy::from_read_iter(lines) {
        let (name, value) = item.map_err(|error| {
            let before = match &error {
                dotenvy::Error::LineParse(lines, _) => lines.trim_end().matches('\n').count(),
                _ => 0,
            };
            let line = given.get().saturating_sub(before);
            let message = "this is not `NAME=value`";
            let hint = "quote a value that contains spaces, quotes or `#`, and close every quote";
            Diagnostic::error(bare_place(path, line), message).hint(hint)
        })?;
        environment.entry(name).or_insert(value);
    }
    Ok(())
}

/// A line without what it says.
fn bare_place(path: &str, line: usize) -> Place {
    match line {
        0 => Place::file(path),
        line => Place::in_line(path, line, "(not shown: it may hold a secret)", 0..0),
    }
}

/// A text that is read line by line, and counts the lines it gave: the parser does not say where it is.
struct Lines<'a> {
    text: &'a str,
    given: Rc<Cell<usize>>,
}

impl std::io::Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = self.text.find('\n').map_or(self.text.len(), |at| at + 1);
        let mut count = end.min(buffer.len());
        while !self.text.is_char_boundary(count) {
            count -= 1;
        }
        let (line, rest) = self.text.split_at(count);
        buffer[..count].copy_from_slice(line.as_bytes());
        self.given.set(self.given.get() + usize::from(count > 0 && count == end));
        self.text = rest;
        Ok(count)
    }
}
