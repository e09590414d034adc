//! What a memory space holds at its peak, on the command line.

use crate::support::answers::{file, has_keys, json_of, run};
use serde_json::{Value, json};

#[test]
fn a_peak_has_all_that_was_promised() {
    let peak = json_of(&["peak", &file()]);
    let promised = json!({
        "module": "", "space": 0, "step": 0, "occupied_bytes": 0,
        "values": [{ "id": 0, "name": "", "index": "", "allocation": 0, "offset": 0, "bytes": 0,
                     "logical_bytes": 0, "live": [0], "op_name": null, "source": null }]
    });
    has_keys(&peak, &promised);
    let values = peak["values"].as_array().expect("a list");
    let bytes = |key: &str| {
        values
            .iter()
            .map(|value| value[key].as_u64().expect("bytes"))
            .collect::<Vec<_>>()
    };
    assert!(bytes("bytes").is_sorted_by(|left, right| left >= right));
    let own: u64 = bytes("own_bytes").iter().sum();
    assert_eq!(peak["occupied_bytes"], own, "shares add up");
    let step = peak["step"].as_u64().expect("a step");
    for value in values {
        let live: Vec<u64> = serde_json::from_value(value["live"].clone()).expect("steps");
        assert!(live[0] <= step && step <= live[1], "{value}");
        assert_eq!(value["location"]["file"], file());
    }
}

#[test]
fn what_is_left_out_makes_the_peak_lower() {
    let peak = json_of(&["peak", &file()]);
    let largest = &peak["values"][0];
    let (id, name) = (
        largest["id"].to_string(),
        largest["name"].as_str().expect("a name"),
    );
    let without = json_of(&["peak", &file(), "--without", &id]);
    assert_eq!(
        without["occupied_bytes"],
        largest["what_if"]["occupied_bytes"]
    );
    assert_eq!(without["step"], largest["what_if"]["step"]);
    assert_eq!(without["without"], json!([largest["id"]]));
    let by_name = json_of(&["peak", &file(), "--without", name]);
    assert_eq!(by_name["occupied_bytes"], without["occupied_bytes"]);
    assert_eq!(without["before"]["step"], peak["step"]);
    assert_eq!(without["before"]["occupied_bytes"], peak["occupied_bytes"]);
    assert_eq!(peak["before"], Value::Null);
    let (out, _) = run(&["peak", &file(), "--without", &id], 0);
    assert!(out.contains(&format!(": without {name}, ")), "{out}");
    assert_eq!(without["without_names"], json!([name]));
    let (_, err) = run(&["peak", &file(), "--without", "nobody"], 2);
    assert!(err.contains("no value `nobody`"), "{err}");
    let (_, err) = run(&["peak", &file(), "--without", &id], 0);
    assert_eq!(err, "");
    let (_, err) = run(&["peak", &file(), "--without", &id, "--space", "VMEM"], 0);
    assert!(
        err.contains("lies in HBM, and takes nothing of VMEM"),
        "{err}"
    );
}

#[test]
fn what_is_left_out_at_a_step_is_compared_with_that_step() {
    let asked = |step, more: &[&'static str]| {
        let file = file();
        let vmem = ["peak", &file, "--space", "VMEM", "--step", step];
        let all = [&vmem[..], more].concat();
        (json_of(&all), run(&all, 0).0)
    };
    let (with, _) = asked("5", &[]);
    let (without, out) = asked("5", &["--without", "48"]);
    assert_eq!(
        (&without["step"], &without["before"]["step"]),
        (&json!(5), &json!(5))
    );
    assert_eq!(without["before"]["occupied_bytes"], with["occupied_bytes"]);
    assert!(out.contains("(16,384 B) less than with it"), "{out}");
    // The value is alive from step 4 on.
    let (_, out) = asked("3", &["--without", "48"]);
    assert!(
        out.contains("as many as with it, with the schedule"),
        "{out}"
    );
    let (_, err) = run(&["peak", &file(), "--without", ""], 2);
    assert!(err.contains("--without names no value"), "{err}");
}

#[test]
fn spaces_and_steps_are_chosen() {
    let vmem = json_of(&["peak", &file(), "--space", "vmem"]);
    assert_eq!((&vmem["space"], &vmem["name"]), (&json!(1), &json!("VMEM")));
    assert_eq!(vmem, json_of(&["peak", &file(), "--space", "1"]));
    let at = json_of(&["peak", &file(), "--step", "0"]);
    assert_eq!(at["step"], 0);
    assert!(at["occupied_bytes"].as_u64() < json_of(&["peak", &file()])["occupied_bytes"].as_u64());
    let (_, err) = run(&["peak", &file(), "--step", "999"], 2);
    assert!(
        err.contains("there is no step 999: the last one is 14"),
        "{err}"
    );
    let (_, err) = run(&["peak", &file(), "--space", "HDD"], 2);
    assert!(
        err.contains("no memory space `HDD`; the dump has HBM (@0), VMEM (@1)"),
        "{err}"
    );
}

#[test]
fn bytes_are_added_up_by_origin() {
    let peak = json_of(&["peak", &file(), "--by", "opcode", "--by", "shape"]);
    for by in ["opcode", "shape"] {
        let groups = peak["by"][by].as_array().expect("groups");
        let sum: u64 = groups
            .iter()
            .map(|group| group["bytes"].as_u64().expect("bytes"))
            .sum();
        assert_eq!(peak["occupied_bytes"], sum, "{by}");
    }
    assert_eq!(peak["by"].as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn people_see_what_shapes_take() {
    let by = json_of(&["peak", &file(), "--by", "shape"]);
    let largest = by["by"]["shape"][0]["name"].as_str().expect("a shape");
    let (out, _) = run(&["peak", &file()], 0);
    let (_, shapes) = out.split_once("By shape\n").expect("shapes");
    let row = shapes.lines().nth(1).expect("a row");
    assert!(row.ends_with(&format!("  {largest}")), "{row}");
}

#[test]
fn copies_tell_whose_trace_path_they_have() {
    let peak = json_of(&["peak", &file(), "--space", "VMEM", "--by", "op_name"]);
    let values = peak["values"].as_array().expect("values");
    for group in peak["by"]["op_name"].as_array().expect("groups") {
        let largest = values.iter().find(|value| value["id"] == group["largest"]);
        let path = &largest.expect("a value")["op_name"];
        let (path, group) = (path.as_str(), group["name"].as_str());
        assert!(
            path.unwrap_or("").starts_with(group.unwrap_or("")),
            "{group:?} of {path:?}"
        );
    }
    let copies = values
        .iter()
        .filter(|value| value["opcode"] == "copy-start");
    let paths: Vec<&Value> = copies.map(|copy| &copy["op_name"]).collect();
    assert!(
        !paths.is_empty() && paths.iter().all(|path| path.is_string()),
        "{paths:?}"
    );
}

#[test]
fn the_line_of_all_operations_is_not_said_of_each() {
    let folder = "tests/fixtures/dumps/tensorflow";
    let name = "module_0000.a_inference_mlp_46__XlaMustCompile_true_config_proto_3175580994766145631_\
                executor_type_11160318154034397263_.44.cpu_after_optimizations-buffer-assignment.txt";
    let file = format!("{folder}/{name}");
    let peak = json_of(&["peak", &file]);
    let values = peak["values"].as_array().expect("values");
    let line = |value: &Value| {
        value["source"]
            .as_str()
            .is_some_and(|it| it.contains("/ops.py:"))
    };
    assert!(values.iter().any(line), "{values:?}");
    let (out, _) = run(&["peak", &file], 0);
    let (table, groups) = out.split_once("By source\n").expect("groups");
    assert!(
        !table.contains("ops.py") && groups.contains("ops.py"),
        "{out}"
    );
}

#[test]
fn parameters_come_from_no_line() {
    let peak = json_of(&["peak", &file(), "--by", "source"]);
    let groups = peak["by"]["source"].as_array().expect("groups");
    let parameters: Vec<_> = groups
        .iter()
        .filter(|it| it["parameters"] == true)
        .collect();
    assert_eq!(parameters.len(), 1, "{groups:?}");
    assert_eq!(parameters[0]["bytes"], peak["kinds"]["parameter"]);
    let (out, _) = run(&["peak", &file()], 0);
    assert!(
        out.contains("  parameters and their copies\n")
            && !out.contains("(the dump does not tell)"),
        "{out}"
    );
}

#[test]
fn the_gap_between_reserved_and_occupied_is_explained() {
    let peak = json_of(&["peak", &file()]);
    has_keys(
        &peak["idle"],
        &json!([{ "allocation": 0, "kind": "", "bytes": 0, "occupied_bytes": 0 }]),
    );
    let (out, _) = run(&["peak", &file()], 0);
    assert!(out.contains(" of the reserved are idle then: "), "{out}");
    // What the compiler prints is not about this.
    let (out, _) = run(&["peak", &file(), "--space", "VMEM"], 0);
    assert!(
        out.contains("are occupied") && !out.contains("XLA prints"),
        "{out}"
    );
    let (out, _) = run(&["peak", &file(), "--without", "48"], 0);
    assert!(
        !out.contains("XLA prints") && !out.contains("idle"),
        "{out}"
    );
}

#[test]
fn an_allocation_lists_its_values_in_time() {
    let list = json_of(&["peak", &file(), "--allocation", "8"]);
    let values = list["values"].as_array().expect("a list");
    assert_eq!(
        (&list["name"], &list["kind"]),
        (&json!("VMEM"), &json!("temp"))
    );
    let first = |value: &Value| value["live"][0].as_u64();
    assert!(values.iter().map(first).is_sorted());
    let step = list["step"].as_u64().expect("a step");
    for value in values {
        let alive =
            value["live"][0].as_u64() <= Some(step) && Some(step) <= value["live"][1].as_u64();
        assert_eq!(
            (&value["at_step"], &value["allocation"]),
            (&json!(alive), &json!(8))
        );
    }
    let vmem = json_of(&["peak", &file(), "--space", "1"]);
    let at_peak = vmem["values"].as_array().expect("a list").iter();
    let at_peak = at_peak.filter(|value| value["allocation"] == 8).count();
    let marked = values
        .iter()
        .filter(|value| value["at_step"] == true)
        .count();
    assert_eq!(at_peak, marked);
    let first = ["peak", &file(), "--allocation", "8", "--limit", "1"];
    assert_eq!(json_of(&first)["values_at_step"], marked);
    let (out, _) = run(&["peak", &file(), "--allocation", "8", "--limit", "1"], 0);
    assert!(
        out.contains("in allocation 8,") && out.contains("later; --limit"),
        "{out}"
    );
    let (_, err) = run(&["peak", &file(), "--allocation", "99"], 2);
    assert!(
        err.contains("there is no allocation 99: the last one is"),
        "{err}"
    );
    run(&["peak", &file(), "--allocation", "8", "--step", "99"], 2);
    run(&["peak", &file(), "--allocation", "8", "--by", "shape"], 2);
}
