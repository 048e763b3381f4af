//! Tries whether bubblewrap holds here: a program in it attempts what one would that wants to get out.
//!
//! That it holds is noted for this start of the system, so that only the first run tries.
#![expect(clippy::disallowed_methods, reason = "starts the probe, and notes that it was tried")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{SandboxCommand, hidden};
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// What the probe does, with a folder that is read-only in the sandbox, and with the namespaces of mounts and of the
/// network outside. Each escape that works is a line. It does no harm where there is no sandbox at all: mounts are
/// touched only if they are its own, and of settings it is only tried to open them.
const SCRIPT: &str = r#"
mounts=$(readlink /proc/self/ns/mnt) && network=$(readlink /proc/self/ns/net) || exit
[ "$mounts" != "$2" ] || { echo 'the mounts of the system'; echo done; exit; }
[ "$network" != "$3" ] || echo 'the network of the system'
while read -r name value; do
  case $name in
    Cap[IPEA]*) [ -z "${value##*[!0]*}" ] && echo "capabilities ($name $value)" ;;
    NoNewPrivs:) [ "$value" = 1 ] || echo 'programs that change the user' ;;
  esac
done < /proc/self/status
for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/bus/pci/00/00.0; do
  (: >> "$file") 2>/dev/null && echo "writing $file"
done
umount -l /tmp 2>/dev/null && echo 'umount /tmp'
mount -o remount,bind,rw / 2>/dev/null && echo 'remount /'
unshare -rm umount -l /tmp 2>/dev/null && echo 'umount /tmp in a user namespace'
(: > "$1/written") 2>/dev/null && echo 'writing outside'
echo done"#;

/// Where that it holds is noted, in the folder of the records.
const NOTE: &str = ".evalrs/sandbox";
/// How long the probe may take; it takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSandbox {
    /// There can be none, and why.
    #[error("{0}")]
    Missing(String),
    /// A program gets out of it, and by what.
    #[error("bubblewrap does not isolate programs here, one can escape by {0}")]
    Open(String),
}

/// Finds bubblewrap, and reports where it is if it holds. `workspace` is the folder of the
/// workspace.
pub(crate) async fn find(
    environment: &BTreeMap<String, String>,
    workspace: &str,
) -> Result<String, NoSandbox> {
    let Some(bwrap) = OsSystem.find_program("bwrap") else {
        let why = "`bwrap` is not installed; install the package `bubblewrap`";
        return Err(NoSandbox::Missing(why.to_owned()));
    };
    let note = Path::new(workspace).join(NOTE);
    let situation = situation(&bwrap);
    let noted = std::fs::read_to_string(&note).ok();
    if situation.is_some() && noted == situation {
        return Ok(bwrap);
    }
    let folder = tempfile::Builder::new().prefix("evalrs-").tempdir();
    let folder = folder.map_err(|error| cannot_try(&error))?;
    let needed = BTreeSet::from([folder.path().to_string_lossy().into_owned()]);
    let sandboxed = SandboxCommand { bwrap: &bwrap, hidden: hidden(environment), needed };
    try_escapes(&sandboxed.prefix("/"), environment, folder.path()).await?;
    if let Some(situation) = situation {
        // Where there is no such folder, or it cannot be written, the next run tries again.
        let _ = std::fs::write(note, situation);
    }
    Ok(bwrap)
}

/// All visible facts that decide whether bubblewrap isolates: this start of the system, the calling user and container,
/// the program, and the trial. None where that cannot be told.
fn situation(bwrap: &str) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let file = std::fs::metadata(bwrap).ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let is_of_user = |line: &&str| line.starts_with("Uid:") || line.starts_with("CapEff:");
    let user: Vec<&str> = status.lines().filter(is_of_user).collect();
    let spaces = [namespace("user").ok()?, namespace("mnt").ok()?];
    let sandboxed = SandboxCommand { bwrap, hidden: BTreeSet::new(), needed: BTreeSet::new() };
    let tried = blake3::hash(format!("{}{SCRIPT}", sandboxed.prefix("/").join(" ")).as_bytes());
    let size = file.len();
    let written = file.modified().ok()?;
    let boot = boot.trim();
    Some(format!("{boot} {user:?} {spaces:?} {bwrap} {size} {written:?} {tried}\n"))
}

fn namespace(kind: &str) -> std::io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/ns/{kind}"))
}

/// Tries to get out of a sandbox, of which these are the words before a command. `folder` can be read in it.
pub(crate) async fn try_escapes(
    words: &[String],
    environment: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<(), NoSandbox> {
    let mounts = namespace("mnt").map_err(|error| cannot_try(&error))?;
    let network = namespace("net").map_err(|error| cannot_try(&error))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["/bin/sh", "-c", SCRIPT, "sh"]);
    command.args([folder, &mounts, &network]);
    command.env_clear().envs(environment).stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(output) => output.map_err(|error| cannot_try(&error))?,
        Err(_) => {
            let why = format!("bubblewrap made no sandbox within {} s", PATIENCE.as_secs());
            return Err(NoSandbox::Missing(why));
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    match lines.split_last() {
        Some((&"done", [])) => Ok(()),
        Some((&"done", escapes)) => Err(NoSandbox::Open(escapes.join(", "))),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = format!("bubblewrap cannot make a sandbox here: {}", said.trim());
            Err(NoSandbox::Missing(why))
        }
    }
}

fn cannot_try(error: &std::io::Error) -> NoSandbox {
    NoSandbox::Missing(format!(
        "whether bubblewrap isolates programs here cannot be tested: \
                                {error}"
    ))
}
