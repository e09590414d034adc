//! Dumps for tests: texts with `//- name` before each file and `$0` for the cursor, and one small
//! dump in all the forms in which compilers print it.

use std::path::PathBuf;

use buflens_syntax::Document;

use crate::model::{Dump, File, FileId};

/// A dump, with a cursor in one of its files.
pub(super) struct Fixture {
    pub(super) dump: Dump,
    pub(super) file: FileId,
    pub(super) offset: u32,
}

impl Fixture {
    /// Reads `text`: files headed by `//- name` (without any, one file), and `$0` in one of them;
    /// without it, the cursor is at the start of the first.
    pub(super) fn new(text: &str) -> Self {
        let mut texts: Vec<(String, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            if let Some(name) = line.strip_prefix("//- ") {
                texts.push((name.trim().to_owned(), String::new()));
            } else {
                if texts.is_empty() {
                    texts.push(("dump.txt".to_owned(), String::new()));
                }
                texts.last_mut().unwrap().1.push_str(line);
            }
        }
        let (mut file, mut offset) = (0, 0);
        for (number, (_, text)) in texts.iter_mut().enumerate() {
            if let Some(at) = text.find("$0") {
                (file, offset) = (number, at as u32);
                text.replace_range(at..at + 2, "");
            }
        }
        let files = texts.into_iter().map(|(name, text)| File {
            path: PathBuf::from(name),
            document: Document::new(&text).unwrap(),
            lossy: false,
        });
        Self {
            dump: Dump::new(files.collect()),
            file,
            offset,
        }
    }

    /// The text of a range of a file, at most 60 characters.
    pub(super) fn text(&self, file: FileId, range: std::ops::Range<u32>) -> String {
        let text = self.dump.files[file].document.text();
        let text = &text[range.start as usize..range.end as usize];
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }

    /// The line, from 1, and the file if there are several.
    pub(super) fn place(&self, file: FileId, offset: u32) -> String {
        let line = self.dump.files[file].document.line_at(offset) + 1;
        match self.dump.files.len() {
            1 => format!("{line}"),
            _ => format!("{}:{line}", self.dump.files[file].path.display()),
        }
    }
}

/// Puts the cursor of `snippet` (a piece of `text` that occurs once, with `$0` in it) into `text`.
pub(super) fn with_cursor(text: &str, snippet: &str) -> String {
    let plain = snippet.replace("$0", "");
    assert_eq!(
        text.matches(&plain).count(),
        1,
        "once in the fixture: {plain:?}"
    );
    text.replace(&plain, snippet)
}

/// A prefetch, a loop and a bitcast, in the combined form and as a TPU compiler prints it.
pub(super) const COMBINED: &str = r#"//- a.txt
BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <3 x.1 @0> (size=512,offset=0): f32[16]{0:T(128)}
allocation 1: size 512, maybe-live-out:
 value: <9 add.2 @0> (size=512,offset=0): f32[16]{0:T(128)}
allocation 2: size 512, color 1, preallocated-temp:
 value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:T(128)S(1)}
allocation 3: size 16448, preallocated-temp:
 value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
 value: <7 while.4{} (phi) @0> (size=32,offset=32): (s32[], f32[16]{0:T(128)})
 value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[16]{0:T(128)}
allocation 4: size 4, color 2, preallocated-temp:
 value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}

Total bytes used: 17988 (17.6KiB)

Used values:
<3 x.1 @0>
 positions:
  x.1
  copy-start {1}
 uses:
  copy-start, operand 0
  copy-done, operand 0 {1}
 from instruction: %x.1 = f32[16]{0:T(128)} parameter(0), metadata={op_name="x"}
<4 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1)
<5 copy-start{0} @1>
 positions:
  copy-start {0}
  copy-done
 uses:
  copy-done, operand 0 {0}
  while.4, operand 1
 from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray
<6 copy-start{2} @2>
 positions:
  copy-start {2}
 uses:
  copy-done, operand 0 {2}
 from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), more
<7 while.4{} (phi) @0>
 positions:
  while.4 {}
 uses:
 from instruction: %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), condition=%region_1.7, body=%region_0.3
<8 while.4{1} (phi) @0>
 positions:
  while.4 {1}
  get-tuple-element.5
  bitcast.6
 uses:
  add.2, operand 0
 from instruction: %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), condition=%region_1.7, body=%region_0.3, x=1
<9 add.2 @0>
 positions:
  add.2
 uses:
  (none)
 from instruction: %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-element.5), metadata={op_name="jit(f)/add.2 x.1" source_file="/home/dev/caf\303\251.py" source_line=7}

HloLiveRange (max 7):
  InstructionSequence:
    0:x.1
    1:copy-start
    2:copy-done
    3:while.4
    4:get-tuple-element.5
    5:bitcast.6
    6:add.2
  BufferLiveRange:
    x.1{}:0-7
    copy-start{}:1-2
    copy-start{0}:1-3
    copy-start{2}:1-2
    while.4{}:3-4
    while.4{1}:3-6
    add.2{}:6-7
  Live ranges at 1 (peak):
    x.1{}: 64 bytes (cumulative: 64 bytes)
    copy-start{0}: 64 bytes (cumulative: 128 bytes)
    copy-start{}: 24 bytes (cumulative: 152 bytes)
    copy-start{2}: 4 bytes (cumulative: 156 bytes)
  Stack trace breakdown for peak usage: 156 bytes
    main.9 (100.0%, total: 156 bytes, current: 0 bytes, remaining: 156 bytes)
      ├── x (41.0%, total: 64 bytes, current: 64 bytes, remaining: 92 bytes)
      └── copy-start (59.0%, total: 92 bytes, current: 92 bytes, remaining: 0 bytes)
"#;

/// The HLO text that belongs to [`COMBINED`].
pub(super) const MODULE: &str = r#"//- m.txt
HloModule jit_f, is_scheduled=true

FileNames
1 "/home/dev/model.py"
2 "/home/dev/lib.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=6 end_column=23}
2 {file_name_id=2 function_name_id=1 line=70 end_line=70 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) {
  ROOT %arg.1 = (s32[], f32[16]{0:T(128)}) parameter(0)
}

%region_1.7 (arg.2: (s32[], f32[16])) -> pred[] {
  %arg.2 = (s32[], f32[16]{0:T(128)}) parameter(0)
  ROOT %lt.1 = pred[] custom-call(%arg.2), custom_call_target="arg.2"
}

ENTRY %main.9 (x.1: f32[16]) -> f32[16] {
  %x.1 = f32[16]{0:T(128)} parameter(0), metadata={op_name="x"}
  %copy-start = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1)
  %copy-done = f32[16]{0:T(128)S(1)} copy-done(%copy-start)
  %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), condition=%region_1.7, body=%region_0.3
  %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%while.4), index=1
  %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5)
  ROOT %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-element.5), metadata={op_name="jit(f)/add" stack_frame_id=2}
}

"#;

/// [`COMBINED`] as the compilers of 2024 print it: values run on, the peak list without indices.
pub(super) fn run_on() -> String {
    let mut text = String::new();
    for line in COMBINED.split_inclusive('\n') {
        if line.starts_with('<')
            && text.trim_end_matches('\n').lines().last() != Some("Used values:")
        {
            text.pop();
        }
        if line == "  (none)\n" {
            continue;
        }
        match line
            .find(" (cumulative")
            .filter(|_| line.starts_with("    "))
        {
            Some(end) => {
                let (index, behind) = (line.find('{').unwrap(), line.find('}').unwrap() + 1);
                text.push_str(&line[..index]);
                text.push_str(&line[behind..end]);
                text.push('\n');
            }
            None => text.push_str(line),
        }
    }
    text
}

/// [`COMBINED`] in the three files of the split form.
pub(super) fn split() -> String {
    COMBINED
        .replace("\n\nTotal bytes", "\n//- v.txt\n\nTotal bytes")
        .replace("\n\nHloLiveRange", "\n//- d.txt\nHloLiveRange")
}

#[test]
fn the_forms_are_read_as_what_they_are() {
    for (form, files) in [
        (COMBINED.to_owned(), 1),
        (run_on(), 1),
        (split(), 3),
        (MODULE.to_owned(), 1),
    ] {
        let fixture = Fixture::new(&form);
        assert_eq!(fixture.dump.files.len(), files);
        for file in &fixture.dump.files {
            let errors = file.document.errors();
            assert!(errors.is_empty(), "{}: {errors:?}", file.path.display());
        }
    }
    assert!(run_on().contains("op_name=\"x\"}<4 copy-start{} @0>\n positions:"));
    assert!(run_on().contains("    copy-start: 64 bytes\n"));
    assert!(split().contains("(17.6KiB)\n\nUsed values:\n"));
}
