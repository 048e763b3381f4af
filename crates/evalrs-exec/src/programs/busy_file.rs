//! Starts a program whose file may still be being written: systems refuse that for a moment.

use std::io::ErrorKind;
use std::time::Duration;

/// How often a file that is being written is tried again, and after how long.
const BUSY: (usize, Duration) = (5, Duration::from_millis(20));

/// Starts what may still be written a few times.
pub(super) async fn patiently<T>(
    mut start: impl FnMut() -> std::io::Result<T>,
) -> std::io::Result<T> {
    let (tries, pause) = BUSY;
    for _ in 0..tries {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(pause).await;
            }
            started => return started,
        }
    }
    start()
}
