//! `evalrs man`: manual pages, made of the same words as `--help`.

use std::io;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use evalrs_base::file_path::join;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Prints the page of evalrs, or writes a page for each command to a folder.
pub(crate) fn man(args: &ManArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let mut command = Cli::command();
    command.build();
    match &args.output {
        None => console.out.write_all(&page(&command)?)?,
        Some(folder) => write_pages(&command, folder, console)?,
    }
    Ok(ExitStatus::Success)
}

fn write_pages(command: &clap::Command, folder: &str, console: &mut Console<'_>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = join(folder, &format!("{name}.1"));
    let page = page(command)?;
    console.system.write(&path, &mut |to| to.write_all(&page))?;
    writeln!(console.out, "wrote {path}")?;
    let commands = command.get_subcommands();
    let mut shown = commands.filter(|of| !of.is_hide_set() && of.get_name() != "help");
    shown.try_for_each(|command| write_pages(command, folder, console))
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).manual("evalrs").render(&mut page)?;
    Ok(page)
}
