//! The binary as a command.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What a process did.
#[derive(Debug)]
pub struct Output {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the binary; fails when it takes longer than `limit`.
pub fn run<I>(arguments: I, limit: Duration) -> Output
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut child = Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let read_stdout = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    let read_stderr = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map(|_| bytes)
    });
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the process can be waited for") {
            break status;
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the command took longer than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |bytes: std::thread::Result<std::io::Result<Vec<u8>>>| {
        String::from_utf8_lossy(&bytes.expect("a reader").expect("a pipe")).into_owned()
    };
    Output {
        code: status.code(),
        stdout: text(read_stdout.join()),
        stderr: text(read_stderr.join()),
    }
}

/// A finding of `buflens check --format json`.
#[derive(Debug, Clone)]
pub struct Finding {
    pub file: String,
    /// From 1.
    pub line: u64,
    pub end_line: u64,
    pub code: String,
    pub severity: String,
    pub message: String,
    /// Files and lines that take part.
    pub related: Vec<(String, u64)>,
}

impl Finding {
    fn read(finding: &Value) -> Option<Self> {
        let text = |name: &str| Some(finding.get(name)?.as_str()?.to_owned());
        let mut related = Vec::new();
        for place in finding.get("related")?.as_array()? {
            let file = place.get("file")?.as_str()?.to_owned();
            place.get("column")?.as_u64()?;
            place.get("message")?.as_str()?;
            related.push((file, place.get("line")?.as_u64()?));
        }
        finding.get("column")?.as_u64()?;
        finding.get("end_column")?.as_u64()?;
        Some(Self {
            file: text("file")?,
            line: finding.get("line")?.as_u64()?,
            end_line: finding.get("end_line")?.as_u64()?,
            code: text("code")?,
            severity: text("severity")?,
            message: text("message")?,
            related,
        })
    }

    /// Whether it is an error or a warning.
    pub fn is_serious(&self) -> bool {
        self.severity == "error" || self.severity == "warning"
    }

    /// Whether the finding or a related place is on `line`, from 1, of `file`.
    pub fn names(&self, file: &str, line: u64) -> bool {
        (self.file == file && self.line <= line && line <= self.end_line)
            || self
                .related
                .iter()
                .any(|(related, at)| related == file && *at == line)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}:{}: {} {}: {}",
            self.file, self.line, self.severity, self.code, self.message
        )
    }
}

/// Runs `buflens check PATH... --format json` and reads what it printed.
pub fn check(paths: &[&Path]) -> (Output, Vec<Finding>) {
    let mut arguments = vec![OsStr::new("check")];
    arguments.extend(paths.iter().map(|path| path.as_os_str()));
    arguments.extend([OsStr::new("--format"), OsStr::new("json")]);
    let output = run(arguments, Duration::from_secs(300));
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| {
        let printed: String = output.stdout.chars().take(300).collect();
        panic!(
            "check printed no JSON: {error}; code {:?}, stdout: {printed}, stderr: {}",
            output.code, output.stderr
        )
    });
    assert_eq!(report["schema"], 1, "the number of the JSON contract");
    let findings = report["findings"].as_array().expect("an array of findings");
    let findings = findings
        .iter()
        .map(|finding| {
            Finding::read(finding).unwrap_or_else(|| panic!("a finding of another form: {finding}"))
        })
        .collect();
    (output, findings)
}
