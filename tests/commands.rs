//! The server's commands: the same answers as on the command line.
#![allow(clippy::needless_pass_by_value)] // `json!` makes values.

use std::time::{Duration, Instant};

use crate::support::answers::{file, json_of, run};
use crate::support::client::Server;
use crate::support::dumps::broken;
use crate::support::root;
use serde_json::{Value, json};

/// Runs a command of the server about the open document.
fn execute(server: &mut Server, command: &str, uri: &str, more: Value) -> Result<Value, Value> {
    let mut argument = json!({ "uri": uri });
    for (key, value) in more.as_object().into_iter().flatten() {
        argument[key] = value.clone();
    }
    server.request(
        "workspace/executeCommand",
        &json!({ "command": command, "arguments": [argument] }),
    )
}

#[test]
fn the_server_answers_as_the_command_line_does() {
    let mut server = Server::start();
    let commands = [
        "buflens.peak",
        "buflens.whatIf",
        "buflens.valueAtOffset",
        "buflens.padding",
        "buflens.donation",
        "buflens.copies",
        "buflens.map",
        "buflens.textMap",
        "buflens.diff",
        "buflens.export",
        "buflens.where",
    ];
    assert_eq!(
        server.capabilities["executeCommandProvider"]["commands"],
        json!(commands)
    );
    let path = root().canonicalize().expect("a folder").join(file());
    let uri = server.open_file(&path);

    // Places aside, the answers are the same.
    let unplaced = |mut value: Value| {
        for list in ["values", "parameters", "copies"] {
            for entry in value
                .get_mut(list)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                let place = entry["location"].take();
                assert!(
                    place["uri"] == *uri && place["range"]["start"]["line"].is_u64()
                        || place["file"] == file(),
                    "{place}"
                );
            }
        }
        value
    };
    let answer = |server: &mut Server, command, more| {
        execute(server, command, &uri, more).expect("an answer")
    };
    let peak = answer(&mut server, "buflens.peak", json!({}));
    assert_eq!(
        unplaced(peak.clone()),
        unplaced(json_of(&["peak", &file()]))
    );
    let padding = answer(&mut server, "buflens.padding", json!({ "space": 0 }));
    assert_eq!(
        unplaced(padding),
        unplaced(json_of(&["padding", &file(), "--space", "0"]))
    );
    let audit = json_of(&["audit", &file()]);
    for (command, key) in [
        ("buflens.donation", "donation"),
        ("buflens.copies", "copies"),
    ] {
        let mut found = unplaced(answer(&mut server, command, json!({})));
        let head = found.as_object_mut().expect("an object");
        assert_eq!(
            (head.remove("schema"), head.remove("module")),
            (Some(json!(1)), Some(json!("jit_mlp_fwd")))
        );
        assert_eq!(found, unplaced(audit[key].clone()), "{command}");
    }

    let map = answer(&mut server, "buflens.map", json!({}));
    assert_eq!(map, json_of(&["map", &file()]));

    let id = peak["values"][0]["id"].clone();
    let what_if = answer(
        &mut server,
        "buflens.whatIf",
        json!({ "without": [id, 987_654] }),
    );
    assert_eq!(what_if["after"], peak["values"][0]["what_if"]);
    assert_eq!(what_if["unknown"], json!([987_654]));
    let (before, after) = (
        &what_if["before"]["occupied_bytes"],
        &what_if["after"]["occupied_bytes"],
    );
    let saved = before.as_u64().expect("bytes") - after.as_u64().expect("bytes");
    assert_eq!(what_if["saved_bytes"], saved);
    // The space is that of the values.
    let elsewhere = answer(
        &mut server,
        "buflens.peak",
        json!({ "space": 1, "limit": 1 }),
    );
    let id = elsewhere["values"][0]["id"].clone();
    let what_if = answer(&mut server, "buflens.whatIf", json!({ "without": [id] }));
    assert_eq!(what_if["space"], 1);
    assert_eq!(what_if["after"], elsewhere["values"][0]["what_if"]);

    let at = answer(
        &mut server,
        "buflens.valueAtOffset",
        json!({ "allocation": 8, "offset": 1_605_632 }),
    );
    let ids = |value: &Value| {
        value["values"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["id"].clone())
            .collect::<Vec<_>>()
    };
    assert!(ids(&at).contains(&json!(48)), "{at}");
    let limited = answer(
        &mut server,
        "buflens.peak",
        json!({ "limit": 0, "space": 1 }),
    );
    assert_eq!(
        (&limited["values"], &limited["name"]),
        (&json!([]), &json!("VMEM"))
    );

    for (format, extension) in [
        ("json", "json"),
        ("csv", "csv"),
        ("perfetto", "perfetto.json"),
    ] {
        let exported = answer(&mut server, "buflens.export", json!({ "format": format }));
        assert_eq!(exported["extension"], extension);
        let (text, _) = run(&["export", &file(), "--format", format], 0);
        assert_eq!(exported["text"], text, "{format}");
    }

    for (command, more, message) in [
        (
            "buflens.export",
            json!({ "format": "xml" }),
            "there is no format `xml`; there are json, csv, perfetto",
        ),
        (
            "buflens.peak",
            json!({ "step": 99 }),
            "there is no step 99: the last one is 14",
        ),
        ("buflens.peak", json!({ "space": "HBM" }), "invalid type"),
        (
            "buflens.valueAtOffset",
            json!({ "allocation": 99, "offset": 0 }),
            "there is no allocation 99",
        ),
        (
            "buflens.valueAtOffset",
            json!({ "allocation": 8, "offset": 1_000_000_000_000_u64 }),
            " B, and none at offset 1000000000000",
        ),
        (
            "buflens.valueAtOffset",
            json!({ "allocation": 8, "offset": 0, "step": 99 }),
            "there is no step 99: the last one is 14",
        ),
        ("buflens.whatIf", json!({}), "missing field `without`"),
        ("buflens.nothing", json!({}), "there is no command"),
    ] {
        let error = execute(&mut server, command, &uri, more).expect_err("an error");
        assert_eq!(error["code"], -32602, "{error}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains(message)),
            "{error}"
        );
    }
    let nowhere = execute(
        &mut server,
        "buflens.peak",
        "file:///nowhere/x-live-range.txt",
        json!({}),
    );
    assert_eq!(nowhere, Ok(Value::Null));
    server.finish();
}

#[test]
fn the_text_map_is_that_of_the_command_line() {
    let mut server = Server::start();
    let uri = server.open_file(&root().canonicalize().expect("a folder").join(file()));
    let more = json!({ "space": 0, "width": 80 });
    let answer = execute(&mut server, "buflens.textMap", &uri, more).expect("an answer");
    assert_eq!(answer["schema"], 1);
    let (text, _) = run(&["map", &file(), "--space", "0"], 0);
    assert_eq!(answer["text"], *text);
    let error = execute(&mut server, "buflens.textMap", &uri, json!({ "space": 77 }));
    assert_eq!(error.expect_err("an error")["code"], -32602);
}

#[test]
fn an_exported_report_has_the_settings() {
    let mut server = Server::start();
    let name = "module_0001.total.cpu_after_optimizations-buffer-assignment.txt";
    let uri = server.open_file(&broken().join(name));
    let is_told = |server: &mut Server| {
        let exported = execute(server, "buflens.export", &uri, json!({ "format": "html" }));
        let report = exported.expect("a report")["text"].to_string();
        report.contains("total of 255 bytes")
    };
    assert!(is_told(&mut server));
    let settings = json!({ "buflens": { "severity": { "total-bytes": "off" } } });
    server.notify(
        "workspace/didChangeConfiguration",
        &json!({ "settings": settings }),
    );
    // Settings are taken over in a task of their own.
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_told(&mut server) {
        assert!(Instant::now() < deadline, "the finding stays");
    }
    server.finish();
}
