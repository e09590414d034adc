//! A folder of dumps: what the server knows of files that nobody has open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Server, path_of, uri};
use crate::support::dumps::{files_below, fixtures};

const STEM: &str = "module_0002.jit_many.cl_1.after_optimizations";

/// A folder with copies of the fixtures.
fn folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names {
        let below = folder.path().join(name);
        fs::create_dir(&below).expect("a folder");
        for file in files_below(&fixtures().join(name)) {
            fs::copy(&file, below.join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    folder
}

fn capabilities() -> Value {
    json!({
        "window": { "workDoneProgress": true },
        "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } },
    })
}

fn start(folder: &Path, options: &Value) -> Server {
    let more = json!({
        "workspaceFolders": [{ "uri": uri(folder), "name": "dumps" }],
        "initializationOptions": options,
    });
    Server::start_in(&capabilities(), &more, "buflens=debug")
}

/// What the server has told of the progress of its reading.
fn progress(server: &Server) -> Vec<Value> {
    let all = server.notified.iter();
    let of_index = all.filter(|it| it["method"] == "$/progress");
    of_index.map(|it| it["params"].clone()).collect()
}

fn wait_for_end(server: &mut Server, readings: usize) {
    server.wait_until("the end of indexing", |server| {
        let ends = progress(server);
        ends.iter()
            .filter(|it| it["value"]["kind"] == "end")
            .count()
            >= readings
    });
}

fn symbols(server: &mut Server, query: &str) -> Vec<Value> {
    let answer = server.request("workspace/symbol", &json!({ "query": query }));
    answer.expect("symbols").as_array().expect("a list").clone()
}

/// Asks until there are so many symbols: nothing tells when a change has been noticed.
fn wait_for_symbols(server: &mut Server, query: &str, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let found = symbols(server, query);
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < deadline, "{query}: {found:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The text that a symbol's place has.
fn text_at(symbol: &Value) -> String {
    let location = &symbol["location"];
    let path = path_of(location["uri"].as_str().expect("a URI"));
    let text = fs::read_to_string(path).expect("a file");
    let number = |end: &str, key: &str| location["range"][end][key].as_u64().expect("a number");
    let line = text
        .lines()
        .nth(number("start", "line") as usize)
        .expect("a line");
    let columns = number("start", "character") as usize..number("end", "character") as usize;
    line[columns].to_owned()
}

fn changed(server: &mut Server, paths: &[&Path], kind: u32) {
    let changes = paths
        .iter()
        .map(|path| json!({ "uri": uri(path), "type": kind }));
    let changes: Vec<Value> = changes.collect();
    server.notify(
        "workspace/didChangeWatchedFiles",
        &json!({ "changes": changes }),
    );
}

/// A dump with one value of this name.
fn write_dump(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{STEM}-buffer-assignment.txt"));
    let text = format!(
        "BufferAssignment:\nallocation 0: size 64, maybe-live-out:\n value: <0 {name} @0> \
         (size=64,offset=0): f32[16]{{0}}\n\n"
    );
    fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_folder_is_read_in_the_background_once_and_its_symbols_lead_somewhere() {
    let folder = folder(&["tpu-split", "cpu-combined", "gpu-split"]);
    let mut server = start(folder.path(), &Value::Null);
    wait_for_end(&mut server, 1);
    assert!(
        server
            .asked
            .iter()
            .any(|it| it == "window/workDoneProgress/create")
    );
    assert!(
        server
            .asked
            .iter()
            .any(|it| it == "client/registerCapability")
    );
    let told = progress(&server);
    let (first, last) = (&told[0]["value"], &told[told.len() - 1]["value"]);
    assert_eq!(
        (&first["kind"], &first["title"]),
        (&json!("begin"), &json!("Indexing dumps"))
    );
    assert_eq!(
        (&first["cancellable"], &first["percentage"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(last["kind"], "end");
    let message = last["message"].as_str().expect("a message");
    assert!(
        message.ends_with(" dumps") && !message.starts_with('0'),
        "{message}"
    );

    // Values by name, by op_name and by shape; modules by name.
    let by_shape = symbols(&mut server, "f32[");
    assert!(
        by_shape
            .iter()
            .all(|it| it["name"].as_str().unwrap().contains("f32["))
    );
    let folders = |symbols: &[Value]| {
        let uris = symbols
            .iter()
            .filter_map(|it| it["location"]["uri"].as_str());
        let folders = uris
            .filter_map(|it| it.rsplit('/').nth(1))
            .map(str::to_owned);
        folders.collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(folders(&by_shape).len(), 3, "{by_shape:#?}");
    for symbol in by_shape.iter().take(200) {
        let name = symbol["name"].as_str().expect("a name");
        assert!(name.starts_with(&text_at(symbol)), "{symbol}");
        assert!(
            symbol["containerName"]
                .as_str()
                .is_some_and(|it| !it.is_empty())
        );
    }
    let by_op_name = symbols(&mut server, "jit(");
    assert!(
        by_op_name
            .iter()
            .any(|it| it["name"].as_str().unwrap().contains(": jit("))
    );
    let modules = symbols(&mut server, "jit_");
    let module = modules.iter().find(|it| it["kind"] == 2).expect("a module");
    let container = module["containerName"].as_str().expect("sizes");
    assert!(container.contains(" reserved"), "{container}");
    assert!(symbols(&mut server, "no such thing").is_empty());
    assert!(symbols(&mut server, "").len() <= 500);

    // Every file once.
    let mut reads: BTreeMap<String, usize> = BTreeMap::new();
    for line in server.logged().lines() {
        if let Some((_, path)) = line.split_once(" reading ") {
            *reads.entry(path.to_owned()).or_default() += 1;
        }
    }
    assert!(reads.len() >= 8, "{reads:#?}");
    assert!(reads.values().all(|count| *count == 1), "{reads:#?}");
    // An event without a change reads nothing.
    let paths: Vec<PathBuf> = files_below(folder.path());
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    changed(&mut server, &paths, 2);
    write_dump(folder.path(), "new.1");
    changed(
        &mut server,
        &[&folder.path().join(format!("{STEM}-buffer-assignment.txt"))],
        1,
    );
    wait_for_symbols(&mut server, "new.1", 1);
    let of_programs = |server: &mut Server| -> Vec<Value> {
        let all = symbols(server, "jit_");
        let programs = all.into_iter().filter(|it| it["kind"] == 2);
        programs.map(|it| it["containerName"].clone()).collect()
    };
    let read = |server: &mut Server| {
        let logged = server.logged();
        logged.lines().filter(|it| it.contains(" reading ")).count()
    };
    // What it logs comes on another way than its answers.
    for _ in 0..100 {
        if read(&mut server) > reads.len() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(read(&mut server), reads.len() + 1);
    // A dump that is open is the same program.
    let closed = of_programs(&mut server);
    let name = module["location"]["uri"].as_str().expect("a URI");
    server.open_file(Path::new(&path_of(name)));
    let mut open = of_programs(&mut server);
    open.sort_by_key(|it| closed.iter().position(|other| other == it));
    assert_eq!(open, closed);
    server.finish();
}

#[test]
fn a_line_of_source_leads_into_dumps_that_nobody_has_open() {
    let folder = folder(&["tpu-split"]);
    let mut server = start(folder.path(), &Value::Null);
    wait_for_end(&mut server, 1);
    let found = symbols(&mut server, "gen.py:116");
    let names: Vec<&str> = found.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"fusion.5: gen.py:116"), "{names:?}");
    let fusion = found.iter().find(|it| it["name"] == "fusion.5: gen.py:116");
    assert_eq!(text_at(fusion.expect("a symbol")), "fusion.5");
    let made = |server: &mut Server| {
        let arguments = json!([{ "file": "/here/gen.py", "line": 116 }]);
        let params = json!({ "command": "buflens.where", "arguments": arguments });
        server
            .request("workspace/executeCommand", &params)
            .expect("an answer")
    };
    let closed = made(&mut server);
    let values = closed["values"].as_array().expect("a list");
    assert!(
        values.iter().any(|value| value["name"] == "fusion.5"),
        "{closed:#}"
    );
    // What is open is not told twice.
    let files = files_below(folder.path());
    let open = files
        .iter()
        .find(|it| it.to_string_lossy().contains("jit_attention"));
    server.open_file(open.expect("a dump"));
    assert_eq!(
        made(&mut server)["values"].as_array().map(Vec::len),
        Some(values.len())
    );
}

#[test]
fn the_users_own_line_goes_before_those_of_libraries_in_the_index() {
    let folder = tempfile::tempdir().expect("a folder");
    write_dump(folder.path(), "value.1");
    let module = "HloModule jit_many\n\nFileNames\n1 \"/app/train.py\"\n2 \"/vendor/layers.py\"\n\nFunctionNames\n1 \
                  \"f\"\n\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=3}\n2 {file_name_id=2 \
                  function_name_id=1 line=9}\n\nStackFrames\n1 {file_location_id=1}\n2 {file_location_id=2 \
                  parent_frame_id=1}\n\nENTRY %main () -> f32[16] {\n  ROOT %value.1 = f32[16]{0} iota(), \
                  iota_dimension=0, metadata={stack_frame_id=2}\n}\n";
    fs::write(folder.path().join(format!("{STEM}.txt")), module).expect("a file");
    let mut server = start(folder.path(), &Value::Null);
    wait_for_symbols(&mut server, "layers.py:9", 1);
    assert!(symbols(&mut server, "train.py:3").is_empty());
    let settings = json!({ "settings": { "libraryPaths": ["/vendor/"] } });
    server.notify("workspace/didChangeConfiguration", &settings);
    let found = wait_for_symbols(&mut server, "train.py:3", 1);
    assert_eq!(text_at(&found[0]), "value.1");
    assert!(symbols(&mut server, "layers.py:9").is_empty());
    // Who asks for a file that no dump knows is told of those that are known.
    let asked = json!({ "command": "buflens.where", "arguments": [{ "file": "nofile.py" }] });
    let made = server.request("workspace/executeCommand", &asked);
    let made = made.expect("an answer");
    assert_eq!(made["dumps_read"], 0);
    assert_eq!(made["other_files"], json!(["/app/train.py"]));
    server.finish();
}

#[test]
fn the_index_follows_the_disk_and_what_is_open_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write_dump(folder.path(), "before.1");
    let mut server = start(folder.path(), &Value::Null);
    wait_for_end(&mut server, 1);
    assert_eq!(
        text_at(&wait_for_symbols(&mut server, "before.1", 1)[0]),
        "before.1"
    );

    write_dump(folder.path(), "changed.1");
    changed(&mut server, &[&path], 2);
    wait_for_symbols(&mut server, "changed.1", 1);
    assert!(symbols(&mut server, "before.1").is_empty());

    // What the editor shows is not what lies on disk.
    let text = fs::read_to_string(&path)
        .expect("a file")
        .replace("changed.1", "typed.1");
    let document = server.open(&path, &text);
    assert_eq!(symbols(&mut server, "typed.1").len(), 1);
    assert!(symbols(&mut server, "changed.1").is_empty());
    server.notify(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": document } }),
    );
    wait_for_symbols(&mut server, "changed.1", 1);
    assert!(symbols(&mut server, "typed.1").is_empty());

    fs::remove_file(&path).expect("removed");
    changed(&mut server, &[&path], 3);
    wait_for_symbols(&mut server, "changed.1", 0);
    server.finish();
}

#[test]
fn folders_come_and_go() {
    let (first, second) = (
        folder(&["cpu-split"]),
        tempfile::tempdir().expect("a folder"),
    );
    write_dump(second.path(), "second.1");
    let mut server = start(first.path(), &Value::Null);
    wait_for_end(&mut server, 1);
    assert!(symbols(&mut server, "second.1").is_empty());
    let change = |added: &[&Path], removed: &[&Path]| {
        let of = |paths: &[&Path]| -> Vec<Value> {
            paths
                .iter()
                .map(|it| json!({ "uri": uri(it), "name": "x" }))
                .collect()
        };
        json!({ "event": { "added": of(added), "removed": of(removed) } })
    };
    let event = change(&[second.path()], &[first.path()]);
    server.notify("workspace/didChangeWorkspaceFolders", &event);
    wait_for_symbols(&mut server, "second.1", 1);
    assert_eq!(
        symbols(&mut server, "jit_").len(),
        1,
        "the module of the second folder"
    );
    let event = change(&[], &[second.path()]);
    server.notify("workspace/didChangeWorkspaceFolders", &event);
    wait_for_symbols(&mut server, "second.1", 0);
    server.finish();
}

#[test]
fn the_index_can_be_switched_off_and_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    write_dump(folder.path(), "value.1");
    let mut server = start(folder.path(), &json!({ "index": false }));
    wait_for_end(&mut server, 1);
    assert!(symbols(&mut server, "value.1").is_empty());
    let settings = json!({ "settings": { "index": true } });
    server.notify("workspace/didChangeConfiguration", &settings);
    wait_for_symbols(&mut server, "value.1", 1);
    server.finish();

    let mut server = start(folder.path(), &json!({ "indexBytes": 10 }));
    server.wait_until("a message", |server| {
        server
            .notified
            .iter()
            .any(|it| it["method"] == "window/logMessage")
    });
    let mut messages = server
        .notified
        .iter()
        .filter(|it| it["method"] == "window/logMessage");
    let message = messages.next().expect("a message")["params"]["message"].to_string();
    assert!(
        message.contains(": 1 of 1 dumps, with 1") && message.contains("indexBytes"),
        "{message}"
    );
    assert!(symbols(&mut server, "value.1").is_empty());
    server.finish();
}

#[test]
fn reading_can_be_cancelled_and_requests_go_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = files_below(&fixtures().join("tpu-split"));
    for number in 0..300 {
        let below = folder.path().join(number.to_string());
        fs::create_dir(&below).expect("a folder");
        for file in &sources {
            fs::copy(file, below.join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    let mut server = start(folder.path(), &Value::Null);
    server.wait_until("the first dumps", |server| progress(server).len() > 1);
    let token = progress(&server)[0]["token"].clone();
    // An open document is served meanwhile.
    let path = files_below(&folder.path().join("7")).remove(0);
    let document = server.open_file(&path);
    let position = json!({ "line": 1, "character": 3 });
    let at = json!({ "textDocument": { "uri": document }, "position": position });
    server
        .request("textDocument/hover", &at)
        .expect("an answer");
    server.notify("window/workDoneProgress/cancel", &json!({ "token": token }));
    wait_for_end(&mut server, 1);
    let told = progress(&server);
    let message = told[told.len() - 1]["value"]["message"]
        .as_str()
        .expect("a message");
    let (done, all) = message.split_once(" of ").expect("numbers");
    let number = |text: &str| -> usize {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    assert!(number(done) < number(all), "{message}");
    server.finish();
}

#[test]
fn a_client_that_can_nothing_is_shown_no_progress() {
    let folder = tempfile::tempdir().expect("a folder");
    write_dump(folder.path(), "value.1");
    let more = json!({ "workspaceFolders": [{ "uri": uri(folder.path()), "name": "x" }] });
    let mut server = Server::start_in(&json!({}), &more, "warn");
    wait_for_symbols(&mut server, "value.1", 1);
    assert_eq!(server.asked, Vec::<String>::new());
    assert_eq!(progress(&server), Vec::<Value>::new());
    server.finish();
}
