//! Findings as SARIF 2.1.0, as GitHub's code scanning takes it.
//!
//! The records are those of the standard that are written, and no others: crates that have them all
//! hold a run in memory as its types, which are many times as large.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Judged, Spot, Worst};
use crate::checks::budgets::program;
use crate::checks::{Code, Finding, Severity};
use crate::model::bytes::counted;
use crate::model::{Dump, Place};
use crate::workspace;

/// GitHub takes 25,000 results and shows the first 5,000.
const MOST_RESULTS: usize = 5_000;
/// GitHub takes so many places of a result.
const MOST_RELATED: usize = 100;
/// The folder that relative paths count from, as GitHub calls it.
const ROOT: &str = "%SRCROOT%";
/// What stands in a path of a URI as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Collects findings; the worst are written.
pub struct Writer {
    /// The working directory, that paths become relative to.
    folder: PathBuf,
    results: Worst<Result>,
    /// How often each fingerprint was met.
    fingerprints: FxHashMap<u64, u32>,
}

impl Writer {
    /// Paths in the output count from `folder`, which is absolute.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            results: Worst::new(MOST_RESULTS),
            fingerprints: FxHashMap::default(),
        }
    }

    /// Takes the findings of a dump.
    pub fn findings(&mut self, dump: &Dump, findings: &[Judged]) {
        let module = program(&workspace::program_name(dump));
        for judged in findings {
            let fingerprint = fingerprint(&module, &judged.finding);
            let count = self.fingerprints.entry(fingerprint).or_default();
            *count += 1;
            let fingerprint = format!("{fingerprint:016x}:{count}");
            if let Some(result) = self.result(dump, judged, fingerprint) {
                self.results.push(judged, result);
            }
        }
    }

    /// Writes everything. `notes` are about the whole run; `is_whole` says that all of it could be
    /// read.
    pub fn finish(self, mut out: impl Write, notes: &[String], is_whole: bool) -> io::Result<()> {
        let (results, left_out) = self.results.finish();
        let note = |text: &String| Notification {
            level: "note",
            message: Text { text: text.clone() },
        };
        let mut notifications: Vec<Notification> = notes.iter().map(note).collect();
        if left_out > 0 {
            let text = format!(
                "left out: {}, the least bad ones; --format json has them",
                counted(left_out, "more finding")
            );
            notifications.push(note(&text));
        }
        let log = Log {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver {
                        name: "buflens",
                        semantic_version: env!("CARGO_PKG_VERSION"),
                        rules: Code::ALL.iter().map(|&code| rule(code)).collect(),
                    },
                },
                column_kind: "unicodeCodePoints",
                invocations: [Invocation {
                    execution_successful: is_whole,
                    tool_execution_notifications: notifications,
                }],
                results,
            }],
        };
        serde_json::to_writer(&mut out, &log)?;
        writeln!(out)?;
        out.flush()
    }

    fn result(&self, dump: &Dump, judged: &Judged, fingerprint: String) -> Option<Result> {
        let finding = &judged.finding;
        let location = |place: &Place, id, message| self.location(dump, place, id, message);
        let related = finding.related.iter().take(MOST_RELATED).zip(1..);
        Some(Result {
            rule_id: finding.code.name(),
            rule_index: Code::ALL.iter().position(|&code| code == finding.code)?,
            level: level(judged.severity),
            message: text(&finding.message),
            locations: [location(&finding.place, None, None)?],
            related_locations: related
                .filter_map(|((place, message), id)| location(place, Some(id), Some(message)))
                .collect(),
            partial_fingerprints: BTreeMap::from([("primaryLocationLineHash", fingerprint)]),
        })
    }

    fn location(
        &self,
        dump: &Dump,
        place: &Place,
        id: Option<u32>,
        message: Option<&str>,
    ) -> Option<Location> {
        let spot = Spot::new(dump, place)?;
        let (uri, is_below) = uri(&self.folder, spot.path);
        Some(Location {
            id,
            message: message.map(text),
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri,
                    uri_base_id: is_below.then_some(ROOT),
                },
                region: Region {
                    start_line: spot.line,
                    start_column: spot.column,
                    end_line: spot.end_line,
                    end_column: spot.end_column,
                },
            },
        })
    }
}

/// The URI of a path, and whether it is relative to `folder`.
fn uri(folder: &Path, path: &Path) -> (String, bool) {
    let mut parts: Vec<Component> = Vec::new();
    let whole = folder.join(path);
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if matches!(parts.last(), Some(Component::Normal(_))) {
                    parts.pop();
                }
            }
            part => parts.push(part),
        }
    }
    let whole: PathBuf = parts.into_iter().collect();
    let encoded = |path: &Path| {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy()),
            Component::Prefix(prefix) => Some(prefix.as_os_str().to_string_lossy()),
            _ => None,
        });
        let parts: Vec<String> = parts
            .map(|part| utf8_percent_encode(&part, PATH).to_string())
            .collect();
        parts.join("/")
    };
    match whole.strip_prefix(folder) {
        Ok(below) => (encoded(below), true),
        Err(_) => (format!("file:///{}", encoded(&whole)), false),
    }
}

/// What stays the same when numbers change: the code, the module and the names in the message,
/// without digits.
fn fingerprint(module: &str, finding: &Finding) -> u64 {
    let names = finding.message.split('`').skip(1).step_by(2);
    let parts = [finding.code.name(), module].into_iter().chain(names);
    // FNV-1a: the same in every version.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        let bytes = part.bytes().filter(|byte| !byte.is_ascii_digit());
        for byte in bytes.chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information | Severity::Hint => "note",
    }
}

fn rule(code: Code) -> Rule {
    let description = Text {
        text: code.description().to_owned(),
    };
    Rule {
        id: code.name(),
        short_description: description.clone(),
        full_description: description,
        help: Text {
            text: format!(
                "{} The section `{code}` of docs/diagnostics.md tells more.",
                code.description()
            ),
        },
        default_configuration: Configuration {
            level: level(code.severity()),
        },
    }
}

/// A message in which no text of a dump becomes a link, which SARIF writes as `[text](target)`.
fn text(message: &str) -> Text {
    Text {
        text: super::printable(message).replace("](", "] ("),
    }
}

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    invocations: [Invocation; 1],
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    full_description: Text,
    help: Text,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Text,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
    related_locations: Vec<Location>,
    partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text>,
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

#[derive(Clone, Serialize)]
struct Text {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::tests::planted;

    #[test]
    fn results_are_where_github_looks_for_them() {
        let (dump, findings) = planted();
        let mut writer = Writer::new(PathBuf::from("/home"));
        writer.findings(&dump, &findings);
        let mut out = Vec::new();
        writer
            .finish(&mut out, &["a note".to_owned()], true)
            .unwrap();
        let log: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let run = &log["runs"][0];
        let text = serde_json::to_string_pretty(&run["results"]).unwrap();
        expect_test::expect![[r#"
            [
              {
                "level": "error",
                "locations": [
                  {
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "a%20dir/x.txt",
                        "uriBaseId": "%SRCROOT%"
                      },
                      "region": {
                        "endColumn": 39,
                        "endLine": 3,
                        "startColumn": 37,
                        "startLine": 3
                      }
                    }
                  }
                ],
                "message": {
                  "text": "the value ends at 576"
                },
                "partialFingerprints": {
                  "primaryLocationLineHash": "81f2ce81a007f7de:1"
                },
                "relatedLocations": [
                  {
                    "id": 1,
                    "message": {
                      "text": "the size"
                    },
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "a%20dir/x.txt",
                        "uriBaseId": "%SRCROOT%"
                      },
                      "region": {
                        "endColumn": 29,
                        "endLine": 3,
                        "startColumn": 21,
                        "startLine": 3
                      }
                    }
                  },
                  {
                    "id": 2,
                    "message": {
                      "text": "the allocation"
                    },
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "a%20dir/x.txt",
                        "uriBaseId": "%SRCROOT%"
                      },
                      "region": {
                        "endColumn": 23,
                        "endLine": 2,
                        "startColumn": 15,
                        "startLine": 2
                      }
                    }
                  }
                ],
                "ruleId": "syntax",
                "ruleIndex": 0
              },
              {
                "level": "note",
                "locations": [
                  {
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "a%20dir/x.txt",
                        "uriBaseId": "%SRCROOT%"
                      },
                      "region": {
                        "endColumn": 18,
                        "endLine": 1,
                        "startColumn": 1,
                        "startLine": 1
                      }
                    }
                  }
                ],
                "message": {
                  "text": "a �[31m heading"
                },
                "partialFingerprints": {
                  "primaryLocationLineHash": "81f2ce81a007f7de:2"
                },
                "relatedLocations": [],
                "ruleId": "syntax",
                "ruleIndex": 0
              }
            ]"#]]
        .assert_eq(&text);
        let note = &run["invocations"][0]["toolExecutionNotifications"][0];
        assert_eq!(note["message"]["text"], "a note");
        let rule = &run["tool"]["driver"]["rules"][0];
        assert_eq!(rule["id"], "syntax");
        assert_eq!(rule["defaultConfiguration"]["level"], "error");
    }

    #[test]
    fn paths_become_uris() {
        let uri = |path: &str| uri(Path::new("/repo"), Path::new(path));
        let below = |text: &str| (text.to_owned(), true);
        assert_eq!(uri("./a b/ä%.txt"), below("a%20b/%C3%A4%25.txt"));
        assert_eq!(uri("x/../y.txt"), below("y.txt"));
        assert_eq!(uri("/repo/d/x.txt"), below("d/x.txt"));
        assert_eq!(uri("../../../x.txt"), ("file:///x.txt".to_owned(), false));
        assert_eq!(uri("a:b#c?.txt"), below("a%3Ab%23c%3F.txt"));
    }

    #[test]
    fn a_fingerprint_outlives_numbers() {
        let (_, findings) = planted();
        let with = |message: &str| {
            let mut finding = findings[0].finding.clone();
            finding.message = message.to_owned();
            fingerprint("jit_f", &finding)
        };
        let first = with("`copy.3` holds 12 MiB");
        assert_eq!(first, with("`copy.4` holds 13 GiB now"));
        assert_ne!(first, with("`dot.3` holds 12 MiB"));
        assert_ne!(first, fingerprint("jit_g", &findings[0].finding));
    }

    #[test]
    fn the_worst_are_written_and_links_of_a_dump_are_none() {
        let (dump, findings) = planted();
        let mut writer = Writer::new(PathBuf::from("/home"));
        let hints: Vec<Judged> = vec![findings[1].clone(); MOST_RESULTS * 3];
        writer.findings(&dump, &hints);
        let mut error = findings[0].clone();
        error.finding.message = "[here](https://example.com)".to_owned();
        writer.findings(&dump, &[error]);
        let mut out = Vec::new();
        writer.finish(&mut out, &[], true).unwrap();
        let log: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), MOST_RESULTS);
        assert_eq!(
            results[0]["message"]["text"],
            "[here] (https://example.com)"
        );
        let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
        let note = note["message"]["text"].as_str().unwrap();
        assert!(note.starts_with("left out: 10,001 more findings"), "{note}");
    }
}
