//! `evalrs man`: manual pages, made of the same words as `--help`.

use std::io;

use clap::CommandFactory;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::{Cli, GROUPS, ManArgs};
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
    let examples = command.get_after_long_help().map(ToString::to_string);
    let mut own = command.clone().after_long_help(Resettable::Reset);
    let mut sections = Roff::new();
    if command.get_name() == Cli::NAME {
        own = own.mut_subcommands(|command| command.hide(true));
        list_in_groups(command, &mut sections);
    }
    if let Some(examples) = &examples {
        list_examples(examples, &mut sections);
    }
    let mut page = Vec::new();
    Man::new(own).manual("evalrs").render(&mut page)?;
    page.extend(sections.to_roff().into_bytes());
    Ok(page)
}

/// The commands as `--help` lists them.
fn list_in_groups(root: &clap::Command, sections: &mut Roff) {
    sections.control("SH", ["COMMANDS"]);
    for group in GROUPS {
        sections.control("SS", [group.title]);
        for command in group.commands_of(root) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            sections.control("TP", []);
            sections.text([bold(format!("evalrs-{}(1)", command.get_name()))]);
            sections.text([roman(about)]);
        }
    }
}

/// The lines below the heading, as they are.
fn list_examples(text: &str, sections: &mut Roff) {
    sections.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in text.lines().skip(1) {
        sections.text([roman(line)]);
    }
    sections.control("fi", []);
}
