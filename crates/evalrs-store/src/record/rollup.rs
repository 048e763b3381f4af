//! Records of roll-ups: a folder each beside the records of runs, `rollups/<id>/rollup.json`.

use super::run_names::is_run_id;
use super::{keep_out_of_version_control, new_id};
use evalrs_base::file_path::join;
use evalrs_metrics::rollup::RollupReport;
use evalrs_system::System;
use jiff::Timestamp;

/// This many of them are kept; the oldest are removed.
const MOST: usize = 1000;

/// Writes the result of a roll-up under `home`, and returns its place.
pub fn write(
    system: &dyn System,
    home: &str,
    report: &RollupReport,
    ended: Timestamp,
) -> std::io::Result<String> {
    let folder = join(home, "rollups");
    let names = system.list(&folder).unwrap_or_default();
    let id = new_id(system, &folder, ended);
    let path = join(&join(&folder, &id), "rollup.json");
    keep_out_of_version_control(system, home)?;
    super::write_json(system, &path, report)?;
    let old = names.iter().filter(|name| is_run_id(name));
    let too_many = (old.clone().count() + 1).saturating_sub(MOST);
    old.take(too_many).try_for_each(|old| system.remove_folder(&join(&folder, old)))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::{MOST, write};
    use evalrs_metrics::rollup::RollupReport;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn the_last_records_stay() {
        let system = MemorySystem::default();
        let report = RollupReport { name: "all".to_owned(), ..RollupReport::default() };
        let ended = |second| jiff::Timestamp::from_second(second).unwrap();
        for second in (0..).take(MOST + 2) {
            write(&system, "h", &report, ended(second)).unwrap();
        }
        let names = system.list("h/rollups").unwrap();
        assert_eq!(names.len(), MOST);
        assert!(names[0].starts_with("19700101T000002-"), "{}", names[0]);
        let last = write(&system, "h", &report, ended(2000)).unwrap();
        let text = String::from_utf8(system.read(&last).into_bytes().unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<RollupReport>(&text).unwrap(), report);
    }
}
