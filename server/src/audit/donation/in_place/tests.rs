//! What can be written over what, of made-up and real dumps.

use super::*;
use crate::audit::Audit;
use crate::audit::donation::{Match, Parameter, donation};
use crate::audit::fixture::{dump, program};
use crate::model::source::Libraries;
use crate::real_dumps::{compilations, read};

const PARAMETERS: [&str; 2] = [
    "parameter 0, shape |f32[2,2]| at ShapeIndex {}",
    "parameter 1, shape |f32[2,2]| at ShapeIndex {}",
];
const OUTPUT: &str = "maybe-live-out";

fn parameters(dump: &Dump) -> Vec<Parameter> {
    let mut found = donation(&Audit::new(dump, Libraries::default())).parameters;
    found.sort_by_key(|it| it.number);
    found
}

/// What each of the `N` parameters is matched with.
fn matched<const N: usize>(dump: &Dump) -> [Option<Match>; N] {
    let matched = parameters(dump)
        .into_iter()
        .map(|it| it.matched.map(|it| *it));
    let matched: Vec<Option<Match>> = matched.collect();
    matched.try_into().unwrap()
}

/// Each operand is sorted in place, and on a CPU none that is a parameter if it is the result as it is.
#[test]
fn a_sort_writes_over_its_own_operand_alone() {
    let [p, q] = PARAMETERS;
    let sort = "sort(%p.1, %q.1)";
    let values = [
        (0, "p.1", [0, 6], "parameter(0)"),
        (1, "q.1", [1, 6], "parameter(1)"),
        (2, "sort.1{0}", [2, 6], sort),
        (3, "sort.1{1}", [2, 6], sort),
    ];
    let apart = |dump: &Dump| {
        let mut in_place = InPlace::new(dump);
        let pairs = [(0, 2), (0, 3), (1, 2), (1, 3)];
        pairs.map(|(value, output)| {
            let pairing = in_place.pairing(&dump.values[value], output);
            matches!(pairing.obstacle, Some(Obstacle::Apart(_)))
        })
    };
    let of = |target: &str| apart(&program(target, &[p, q, OUTPUT, OUTPUT], &values));
    assert_eq!(of("sm_9.0_gpu"), [false, true, true, false]);
    assert_eq!(of("cpu"), [true; 4]);
    // What is made of it in turn takes the place of the parameter.
    let mut then = values.to_vec();
    then[2].2 = [2, 4];
    then.push((2, "negate.1", [4, 6], "negate(%sort.1{0})"));
    let then = program("cpu", &[p, q, OUTPUT, OUTPUT], &then);
    assert_eq!(apart(&then), [false, true, true, true]);
}

/// A cache that is not donated is copied before it is updated in place: the copy is what donation spares.
#[test]
fn a_copy_that_keeps_a_parameter_is_not_needed_if_that_is_donated() {
    let [p, q] = PARAMETERS;
    let made = |reader: &str| {
        let values = [
            (0, "p.1", [0, 7], "parameter(0)"),
            (1, "q.1", [1, 7], "parameter(1)"),
            (2, "copy.1", [2, 4], "copy(%p.1)"),
            (2, "update.1", [4, 7], "dynamic-update-slice(%copy.1, %q.1)"),
            (3, "late.1", [5, 7], reader),
        ];
        program("sm_9.0_gpu", &[p, q, OUTPUT, "preallocated-temp"], &values)
    };
    let of = |dump: &Dump| {
        let matched = parameters(dump).swap_remove(0).matched.unwrap();
        assert_eq!(matched.output, 2);
        let name = |name: NameId| dump.names[name].to_owned();
        let late = matched.pairing.obstacle.map(|it| match it {
            Obstacle::Unordered { reader, maker } => (name(reader), name(maker)),
            other => panic!("{other:?}"),
        });
        let saving = (matched.saving.reserved, matched.saving.peak);
        (matched.pairing.spared.map(name), late, saving)
    };
    let spared = Some("copy.1".to_owned());
    let saved = (16, Some(16));
    assert_eq!(of(&made("negate(%q.1)")), (spared, None, saved));
    // The copy stays where it is read late, and what reads it may be written over it.
    let late = Some(("late.1".to_owned(), "update.1".to_owned()));
    let saved = |bytes| (None, late.clone(), (bytes, Some(0)));
    assert_eq!(of(&made("negate(%p.1)")), saved(16));
    assert_eq!(of(&made("dot(%p.1, %p.1)")), saved(0));
}

/// `sin(x), cos(y)`: donated alone, `y` would be paired with the sine, which is made before `y` is read.
#[test]
fn a_parameter_is_paired_with_the_first_output_if_it_alone_is_donated() {
    let [p, q] = PARAMETERS;
    let values = [
        (0, "p.1", [0, 5], "parameter(0)"),
        (1, "q.1", [1, 5], "parameter(1)"),
        (2, "sine.1", [2, 5], "sine(%p.1)"),
        (3, "cosine.1", [3, 5], "cosine(%q.1)"),
    ];
    let dump = program("cpu", &[p, q, OUTPUT, OUTPUT], &values);
    let [x, y] = matched(&dump).map(Option::unwrap);
    assert_eq!((x.output, y.output), (2, 3));
    assert_eq!((x.pairing.obstacle, y.pairing.obstacle), (None, None));
    assert_eq!((x.only_with, y.only_with), (vec![], vec![0]));
    // Where all that reads it makes that sine, it may have either place.
    let mut both = values;
    both[3].3 = "cosine(%sine.1)";
    both[2].3 = "add(%p.1, %q.1)";
    let dump = program("cpu", &[p, q, OUTPUT, OUTPUT], &both);
    let both: [_; 2] = matched(&dump);
    assert!(both.into_iter().flatten().all(|it| it.only_with.is_empty()));
}

/// `y + 1, x * 2`: JAX pairs `x` with the sum, which is made without it; alone, `y` takes its place.
#[test]
fn of_parameters_with_swapped_parts_one_is_chosen() {
    let [p, q] = PARAMETERS;
    let values = [
        (0, "p.1", [0, 5], "parameter(0)"),
        (1, "q.1", [1, 5], "parameter(1)"),
        (2, "sine.1", [3, 5], "sine(%q.1)"),
        (3, "cosine.1", [2, 5], "cosine(%p.1)"),
    ];
    let dump = program("cpu", &[p, q, OUTPUT, OUTPUT], &values);
    let [x, y] = matched(&dump);
    let y = y.map(|it| (it.output, it.pairing.obstacle));
    assert_eq!((x, y), (None, Some((2, None))));
    let mut in_place = InPlace::new(&dump);
    let mut obstacle = |parameter: usize, output: u32| {
        let pairing = in_place.pairing(&dump.values[parameter], output);
        pairing.obstacle.map(|it| match it {
            Obstacle::Apiece(maker) => dump.names[maker].to_owned(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(obstacle(0, 2).as_deref(), Some("sine.1"));
    assert_eq!(obstacle(1, 3).as_deref(), Some("cosine.1"));
}

/// `cos(x), sin(cos(x)) + x`: the sum reads what is written over `x`.
#[test]
fn what_reads_a_parameter_behind_the_output_is_told() {
    let [p, q] = PARAMETERS;
    let values = [
        (0, "p.1", [0, 6], "parameter(0)"),
        (1, "q.1", [0, 6], "parameter(1)"),
        (2, "cosine.1", [1, 6], "cosine(%p.1)"),
        (3, "add.1", [2, 6], "add(%cosine.1, %p.1)"),
    ];
    let dump = program("cpu", &[p, q, OUTPUT, "preallocated-temp"], &values);
    let pairing = InPlace::new(&dump).pairing(&dump.values[0], 2);
    let Some(Obstacle::After { reader, maker }) = pairing.obstacle else {
        panic!("{pairing:?}");
    };
    assert_eq!(
        (&dump.names[reader], &dump.names[maker]),
        ("add.1", "cosine.1")
    );
}

/// A parameter that is a part of the result is read by whom it may be.
#[test]
fn nothing_is_written_over_a_parameter_that_is_the_output() {
    let [p, q] = PARAMETERS;
    let values = [
        (0, "p.1", [0, 6], "parameter(0)"),
        (1, "q.1", [0, 6], "parameter(1)"),
        (2, "copy.1", [1, 6], "copy(%p.1)"),
        (3, "sine.1", [3, 6], "sine(%p.1)"),
    ];
    let dump = program("cpu", &[p, q, OUTPUT, "preallocated-temp"], &values);
    let [x, _] = matched(&dump);
    let x = x.unwrap();
    assert_eq!((x.output, x.pairing.obstacle), (2, None));
    let spared = x.pairing.spared.map(|copy| &dump.names[copy]);
    assert_eq!(spared, Some("copy.1"));
}

/// What lies in the output before it is written, and need not, lies elsewhere if it cannot lie between the two.
#[test]
fn what_lies_in_the_output_first_has_to_find_a_place() {
    let saved = |early: [usize; 2], made: &str| {
        let values = [
            (0, "p.1", [0, 7], "parameter(0)"),
            (2, "sine.1", [1, 6], "sine(%p.1)"),
            (1, "early.1", early, "iota(), iota_dimension=0"),
            (1, "out.1", [6, 7], made),
        ];
        let allocations = [PARAMETERS[0], OUTPUT, "preallocated-temp"];
        let dump = program("cpu", &allocations, &values);
        let [x] = matched(&dump).map(Option::unwrap);
        assert_eq!((x.output, x.pairing.obstacle), (1, None), "{made}");
        x.saving.reserved
    };
    assert_eq!(saved([2, 4], "cosine(%sine.1)"), 16);
    assert_eq!(saved([0, 4], "dot(%sine.1, %sine.1)"), 0);
    // It takes the place of another that can.
    assert_eq!(saved([0, 4], "cosine(%sine.1)"), 16);
    // The parameter is written over instead of it.
    assert_eq!(saved([2, 6], "add(%sine.1, %p.1)"), 0);
}

/// `sin(x), f(x)`: a copy of `x` is made for the second, which is a temporary and may be written over it.
#[test]
fn a_temporary_takes_the_place_of_the_copy_that_it_is_made_of() {
    let saved = |made: &str, early: [usize; 2]| {
        let values = [
            (0, "p.1", [0, 7], "parameter(0)"),
            (1, "out.1", [2, 7], "sine(%p.1)"),
            (2, "early.1", early, "iota(), iota_dimension=0"),
            (2, "late.1", [3, 5], made),
        ];
        let allocations = [PARAMETERS[0], OUTPUT, "preallocated-temp"];
        let dump = program("cpu", &allocations, &values);
        let [x] = matched(&dump).map(Option::unwrap);
        let obstacle = x.pairing.obstacle;
        assert!(matches!(obstacle, Some(Obstacle::Unordered { .. })));
        x.saving.reserved
    };
    assert_eq!(saved("cosine(%p.1)", [5, 6]), 16);
    assert_eq!(saved("dot(%p.1, %p.1)", [5, 6]), 0);
    // It is written over another already.
    assert_eq!(saved("add(%early.1, %p.1)", [1, 3]), 0);
}

#[test]
fn a_result_that_is_copied_over_a_donated_parameter_is_told() {
    let donated = format!("{}, maybe-live-out", PARAMETERS[0]);
    let values = [
        (0, "p.1", [0, 3], "parameter(0)"),
        (1, "sort.1", [2, 4], "sort(%p.1)"),
        (0, "copy.1", [4, 6], "copy(%sort.1)"),
    ];
    let copied_to = |temp: &str, donated: &str, values: &[_]| {
        let dump = program("cpu", &[donated, temp], values);
        let copy = parameters(&dump)[0].copied_over;
        copy.map(|it| dump.names[it.copy].to_owned())
    };
    let copied = |donated: &str, values: &[_]| copied_to("preallocated-temp", donated, values);
    assert_eq!(copied(&donated, &values), Some("copy.1".to_owned()));
    assert_eq!(copied(PARAMETERS[0], &values), None);
    let fast = "color 1, preallocated-temp";
    assert_eq!(copied_to(fast, &donated, &values), None);
    let mut in_place = values;
    in_place[2].1 = "negate.1";
    in_place[2].3 = "negate(%sort.1)";
    assert_eq!(copied(&donated, &in_place), None);
}

/// What an instruction was seen to write over is none of the operands that it is said to need.
#[test]
fn what_compilers_write_over_is_not_needed() {
    let (mut shared, mut apart) = (0, 0);
    for paths in compilations() {
        let dump = read(&paths);
        let mut sharing = InPlace::new(&dump);
        let last = dump.max.as_ref().map_or(u64::MAX, |(max, _)| max.value);
        for allocation in &dump.allocations {
            let values = dump.held_by(allocation);
            let pairs = values
                .iter()
                .flat_map(|made| values.iter().map(move |read| (made, read)));
            for (made, read) in pairs {
                let mut uses = dump.uses_of(read).iter();
                if !made.has_live_range() || !uses.any(|it| it.name == made.name) {
                    continue;
                }
                let is_output = allocation.is_parameter() && dump.live(made).1 == last;
                let needs = sharing.needs(read, made.name)
                    || sharing.has_another_shape(read, made)
                    || sharing.is_sorted_apart(read, made, is_output);
                let (start, (before, end)) = (dump.live(made).0, dump.live(read));
                let place = |value: &Value| (value.placement.map(|_| value.size), value.offset);
                if place(made) == place(read) && before < start && start <= end {
                    shared += 1;
                    let name = &dump.names[made.name];
                    assert!(!needs, "{}: {name}", dump.files[0].path.display());
                }
                apart += usize::from(needs);
            }
        }
    }
    println!("{shared} pairs share their bytes, {apart} others are told as apart");
    assert!(shared > 0 && apart > 0);
}

#[test]
fn of_what_a_fusion_reads_it_can_write_over_what_no_dot_in_it_reads() {
    let value = |id: u64, name: &str, uses: &str, made: &str| {
        format!(
            "<{id} {name} @0>\n positions:\n  {name}\n uses:\n{uses} from instruction: %{name} = f32[2,2]{{1,0}} {made}\n"
        )
    };
    let line = |id: u64, name: &str| {
        format!(" value: <{id} {name} @0> (size=16,offset=0): f32[2,2]{{1,0}}\n")
    };
    let assignment = [
        "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[2,2]| at ShapeIndex {}:\n",
        &line(1, "p.1"),
        "allocation 1: size 16, parameter 1, shape |f32[2,2]| at ShapeIndex {}:\n",
        &line(2, "r.1"),
        "allocation 2: size 16, output shape is |f32[2,2]|, maybe-live-out:\n",
        &line(3, "fusion.1"),
        "\nTotal bytes used: 48 (48B)\n\nUsed values:\n",
        &value(1, "p.1", "  fusion.1, operand 1\n", "parameter(0)"),
        &value(2, "r.1", "  fusion.1, operand 0\n", "parameter(1)"),
        &value(3, "fusion.1", "", "fusion(%r.1, %p.1), kind=kOutput, calls=%fused"),
        "\nHloLiveRange (max 3):\n  InstructionSequence:\n    0:p.1\n    1:r.1\n    2:fusion.1\n  BufferLiveRange:\n    \
         p.1{}:0-3\n    r.1{}:1-3\n    fusion.1{}:2-3\n",
    ]
    .concat();
    let module = "HloModule jit_f, is_scheduled=true\n\n%fused (r: f32[2,2], p: f32[2,2]) -> f32[2,2] {\n  \
                  %r = f32[2,2]{1,0} parameter(0)\n  %p = f32[2,2]{1,0} parameter(1)\n  \
                  %t = f32[2,2]{1,0} negate(%p)\n  %d = f32[2,2]{1,0} dot(%t, %t), \
                  lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  \
                  ROOT %a = f32[2,2]{1,0} add(%d, %r)\n}\n\nENTRY %main (p.1: f32[2,2], r.1: f32[2,2]) -> f32[2,2] {\n  \
                  %p.1 = f32[2,2]{1,0} parameter(0)\n  %r.1 = f32[2,2]{1,0} parameter(1)\n  \
                  ROOT %fusion.1 = f32[2,2]{1,0} fusion(%r.1, %p.1), kind=kOutput, calls=%fused\n}\n";
    let with_module = [
        ("m-buffer-assignment.txt", assignment.as_str()),
        ("m.txt", module),
    ];
    let needs = |files: &[(&str, &str)]| {
        let files = files.iter();
        let files = files.map(|&(path, text)| (path.into(), text.to_owned()));
        let dump = dump(files.collect());
        let mut sharing = InPlace::new(&dump);
        [0, 1].map(|at| sharing.pairing(&dump.values[at], 2).obstacle.is_some())
    };
    assert_eq!(needs(&with_module), [true, false]);
    // Without the HLO text nothing is known of what is in the fusion.
    assert_eq!(needs(&with_module[..1]), [false, false]);
    // But on a CPU it has to have the shape of what it writes over.
    let other = assignment.replace(
        "<3 fusion.1 @0> (size=16,offset=0): f32[2,2]{1,0}",
        "<3 fusion.1 @0> (size=16,offset=0): s32[4]{0}",
    );
    for (target, is_apart) in [("cpu", true), ("sm_9.0_gpu", false)] {
        let path = format!("module_0001.jit_f.{target}_after_optimizations-buffer-assignment.txt");
        assert_eq!(needs(&[(&*path, &*other)]), [is_apart; 2], "{target}");
        assert_eq!(needs(&[(&*path, &*assignment)]), [false; 2], "{target}");
        // Nor does a CPU write over what the fusion looks at as another shape.
        let viewed = module.replace(
            "%t = f32[2,2]{1,0} negate(%p)",
            "%t = f32[4]{0} bitcast(%p)",
        );
        let viewed = viewed.replace(
            "dot(%t, %t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "bitcast(%t)",
        );
        let text = path.replace("-buffer-assignment", "");
        let files = [(&*path, &*assignment), (&*text, &*viewed)];
        assert_eq!(needs(&files), [is_apart, false], "{target}");
    }
}

/// A `bitcast` makes no value: what is made of it reads the parameter.
#[test]
fn what_hands_a_parameter_on_does_not_read_it() {
    let value = |id: u64, name: &str, uses: &str, made: &str| {
        format!(
            "<{id} {name} @0>\n positions:\n  {name}\n uses:\n{uses} from instruction: %{name} = f32[4]{{0}} {made}\n"
        )
    };
    let assignment = [
        "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:\n \
         value: <1 p.1 @0> (size=16,offset=0): f32[4]{0}\nallocation 1: size 16, maybe-live-out:\n \
         value: <3 sine.1 @0> (size=16,offset=0): f32[4]{0}\nallocation 2: size 16, preallocated-temp:\n \
         value: <2 negate.1 @0> (size=16,offset=0): f32[2,2]{1,0}\n\nTotal bytes used: 48 (48B)\n\nUsed values:\n",
        &value(1, "p.1", "  bitcast.1, operand 0\n  negate.1, operand 0\n", "parameter(0)"),
        &value(2, "negate.1", "  sine.1, operand 0\n", "negate(%bitcast.1)"),
        &value(3, "sine.1", "", "sine(%negate.1)"),
        "\nHloLiveRange (max 4):\n  InstructionSequence:\n    0:p.1\n    1:bitcast.1\n    2:negate.1\n    3:sine.1\n  \
         BufferLiveRange:\n    p.1{}:0-4\n    negate.1{}:2-3\n    sine.1{}:3-4\n",
    ]
    .concat();
    let obstacle = |opcode: &str| {
        let module = format!(
            "HloModule jit_f, is_scheduled=true\n\nENTRY %main (p.1: f32[4]) -> f32[4] {{\n  \
             %p.1 = f32[4]{{0}} parameter(0)\n  %bitcast.1 = f32[2,2]{{1,0}} {opcode}(%p.1)\n  \
             %negate.1 = f32[2,2]{{1,0}} negate(%bitcast.1)\n  ROOT %sine.1 = f32[4]{{0}} sine(%negate.1)\n}}\n"
        );
        let path = "module_0001.jit_f.cpu_after_optimizations";
        let dump = dump(vec![
            (
                format!("{path}-buffer-assignment.txt").into(),
                assignment.clone(),
            ),
            (format!("{path}.txt").into(), module),
        ]);
        InPlace::new(&dump).pairing(&dump.values[0], 1).obstacle
    };
    assert_eq!(obstacle("bitcast"), None);
    assert!(matches!(
        obstacle("reshape"),
        Some(Obstacle::Unordered { .. })
    ));
}

/// As in a training step: each weight is read far ahead, and by what nothing puts before its update. Of the last ones as
/// much is known as of the first.
#[test]
fn what_a_thousand_steps_lie_between_is_found() {
    const WEIGHTS: usize = 200;
    const LINKS: usize = 1000;
    let name = |what: &str, number: usize| format!("{what}.{number}");
    let weights = (0..WEIGHTS).map(|it| (name("p", it), format!("parameter({it})")));
    let all = (0..WEIGHTS)
        .map(|it| format!("%p.{it}"))
        .collect::<Vec<_>>();
    let first = (name("link", 0), format!("custom-call({})", all.join(", ")));
    let link = |it| (name("link", it), format!("negate(%link.{})", it - 1));
    let late = (0..WEIGHTS).map(|it| (name("late", it), format!("negate(%p.{it})")));
    let update = |it| {
        (
            name("update", it),
            format!("add(%p.{it}, %link.{})", LINKS - 1),
        )
    };
    let lines = weights
        .chain([first])
        .chain((1..LINKS).map(link))
        .chain(late);
    let lines: Vec<_> = lines.chain((0..WEIGHTS).map(update)).collect();
    let end = lines.len();
    let values = lines.iter().enumerate().map(|(step, (name, made))| {
        let allocation = match step.checked_sub(end - WEIGHTS) {
            Some(output) => WEIGHTS + output,
            None if step < WEIGHTS => step,
            None => 2 * WEIGHTS,
        };
        (allocation, name.as_str(), [step, end], made.as_str())
    });
    let parameter = |it| format!("parameter {it}, shape |f32[2,2]| at ShapeIndex {{}}");
    let parameters: Vec<_> = (0..WEIGHTS).map(parameter).collect();
    let outputs = [OUTPUT; WEIGHTS];
    let allocations = parameters.iter().map(String::as_str).chain(outputs);
    let allocations: Vec<_> = allocations.chain(["preallocated-temp"]).collect();
    let dump = program("cpu", &allocations, &values.collect::<Vec<_>>());
    let mut in_place = InPlace::new(&dump);
    for at in 0..WEIGHTS {
        let weight = &dump.values[dump.allocations[at].values.start as usize];
        let pairing = in_place.pairing(weight, (WEIGHTS + at) as u32);
        let id = |what| dump.names.get(&name(what, at)).expect("a name");
        let (reader, maker) = (id("late"), id("update"));
        assert_eq!(
            pairing.obstacle,
            Some(Obstacle::Unordered { reader, maker })
        );
    }
}
