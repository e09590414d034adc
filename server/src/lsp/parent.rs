//! Whether the editor that started the server is still there.
//!
//! An editor that is killed may leave standard input open in another process.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_secs(1);

/// Trips `orphaned` soon after process `parent` has ended.
pub fn watch(parent: u32, orphaned: CancellationToken) {
    tokio::spawn(async move {
        while is_alive(parent) {
            tokio::time::sleep(INTERVAL).await;
        }
        orphaned.cancel();
    });
}

/// On Linux a process that has ended counts as dead even before its own parent takes note of it.
#[cfg(target_os = "linux")]
fn is_alive(process: u32) -> bool {
    // `PID (NAME) STATE ...`, and the name may hold anything.
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_alive(process: u32) -> bool {
    i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|process| {
            rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
        })
}

/// Elsewhere standard input tells.
#[cfg(not(unix))]
fn is_alive(_process: u32) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn processes_live_and_die() {
        assert!(is_alive(std::process::id()));
        let mut child = std::process::Command::new("true")
            .spawn()
            .expect("a process");
        let id = child.id();
        child.wait().expect("its end");
        assert!(!is_alive(id));
    }
}
