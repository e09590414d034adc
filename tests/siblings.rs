//! What is published of the files of a dump when one of them becomes another.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::{Server, uri};

/// An assignment of two values, of which the live ranges beside it have one.
const TWO_VALUES: &str = "BufferAssignment:\nallocation 0: size 4, output shape is |f32[]|, maybe-live-out:\n value: <0 a @0> (size=4,offset=0): f32[]\nallocation 1: size 4, preallocated-temp:\n value: <1 c @0> (size=4,offset=0): f32[]\n\n";
const ONE_RANGE: &str = "HloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    1:c\n  BufferLiveRange:\n    a{}:0-2\n  Live ranges at 0 (peak):\n    a{}: 4 bytes (cumulative: 4 bytes)\n";

/// The messages that are published next for a file.
fn told(server: &mut Server, path: &Path) -> Vec<Value> {
    let told = server.diagnostics(&uri(path)).into_iter();
    told.map(|it| it["message"].clone()).collect()
}

fn change_to(server: &mut Server, path: &Path, version: i32, change: &Value) {
    let document = json!({ "uri": uri(path), "version": version });
    server.notify(
        "textDocument/didChange",
        &json!({ "textDocument": document, "contentChanges": [change] }),
    );
}

/// What hung on a file that is of another kind, or not known any more, is taken back, whether the other is open or not.
#[test]
fn what_a_file_said_of_its_siblings_goes_with_it() {
    let missing = "value 1 has no live range";
    let reversed =
        json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 0, "character": 0 } });
    for is_open in [true, false] {
        for change in [
            json!({ "text": "HloModule m\n" }),
            json!({ "range": reversed, "text": "" }),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = |name: &str| folder.path().join(name);
            let (assignment, ranges) = (path("m-buffer-assignment.txt"), path("m-live-range.txt"));
            std::fs::write(&assignment, TWO_VALUES).expect("a file");
            let mut server = Server::start();
            if is_open {
                server.open(&assignment, TWO_VALUES);
                assert_eq!(told(&mut server, &assignment), [""; 0]);
            }
            server.open(&ranges, ONE_RANGE);
            assert_eq!(told(&mut server, &assignment), [missing]);
            change_to(&mut server, &ranges, 2, &change);
            assert_eq!(told(&mut server, &assignment), [""; 0], "{change}");
            change_to(&mut server, &ranges, 3, &json!({ "text": ONE_RANGE }));
            assert_eq!(told(&mut server, &assignment), [missing]);
        }
    }
}

/// A file that is on disk alone may become another, too.
#[test]
fn what_is_told_of_a_file_on_disk_goes_with_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (assignment, ranges) = (path("m-buffer-assignment.txt"), path("m-live-range.txt"));
    let text = ONE_RANGE.replace("0:a", "0:b");
    std::fs::write(&ranges, text).expect("a file");
    let mut server = Server::start();
    server.open(&assignment, TWO_VALUES);
    assert_eq!(told(&mut server, &ranges).len(), 1);
    std::fs::write(&ranges, "HloModule another\n").expect("a file");
    let change = json!({ "uri": uri(&ranges), "type": 2 });
    server.notify(
        "workspace/didChangeWatchedFiles",
        &json!({ "changes": [change] }),
    );
    assert_eq!(told(&mut server, &ranges), [""; 0]);
}
