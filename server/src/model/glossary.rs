//! The words of the format and of its numbers, a sentence each.

use buflens_syntax::SyntaxKind;

/// What is counted, a word and what it means.
pub const NUMBERS: [(&str, &str); 13] = [
    (
        "reserved",
        "The sizes of the allocations of a memory space: what the device has to have. Thread-local ones are not in it.",
    ),
    (
        "occupied",
        "At a step, for each allocation, the bytes that some value alive then lies in. Bytes in which one value takes \
         over from another count once.",
    ),
    (
        "true peak",
        "The first step at which a memory space has the most occupied bytes.",
    ),
    (
        "idle",
        "Bytes that are reserved and that nothing occupies at the true peak.",
    ),
    (
        "padding",
        "Bytes of a value beyond what its elements need, since tiles are only laid out whole.",
    ),
    (
        "shared",
        "Bytes of a value that another one alive at the same step holds as well: an update in place.",
    ),
    (
        "if gone",
        "The peak that would remain without this value, with the schedule and the placement as they are.",
    ),
    (
        "donated",
        "Of a parameter: the result takes over its buffer.",
    ),
    (
        "not-usable",
        "Of a parameter: the caller donates it, but no output is written over it.",
    ),
    (
        "could-match",
        "Of a parameter: it is not donated, and an output that no parameter is donated to has its size.",
    ),
    (
        "dead",
        "Of a parameter: it is not donated and is there at the peak, though it was read for the last time before.",
    ),
    (
        "prefetch, write-back",
        "Asynchronous copies to a faster memory, and from there to the main memory.",
    ),
    (
        "offload, reload",
        "Copies to the memory of the host, and back.",
    ),
];

/// What a fixed word of the format means, on a line of kind `line`.
pub fn sentence(line: SyntaxKind, word: &str) -> Option<&'static str> {
    if line == SyntaxKind::ReportText || line == SyntaxKind::ReportRow {
        return report(word);
    }
    Some(match word {
        "constant" => "The program's own data: one literal, there for the whole run.",
        "thread-local" => {
            "Scratch of a computation that an instruction calls, once for each element (the reducer of a reduce, a sort's \
             comparison ...) or as a whole (on the SparseCores of a TPU). It has no live range and is no part of any peak."
        }
        "maybe-live-out" => {
            "Holds the result or a part of it, so it outlives the program. Together with `parameter` it means that the \
             parameter's buffer is donated: the result is written over it."
        }
        "preallocated-temp" => {
            "Everything that is neither parameter, constant, thread-local nor result: one arena for each memory space \
             in which values take turns. What fills it when it is fullest is what to shrink."
        }
        "parameter" => {
            "An entry parameter's buffer, handed in by the caller. The number is HLO's, not the position of the Python \
             argument. It stays for the whole run unless it is donated (`maybe-live-out`)."
        }
        "output" | "is" => {
            "The root of the entry computation lies in this allocation; the shape is that of the whole result."
        }
        "shape" => {
            "The shape of the parameter's leaf, or of the whole result; without layout, so without padding."
        }
        "ShapeIndex" | "at"
            if line == SyntaxKind::AllocationHeader || line == SyntaxKind::ReportAllocation =>
        {
            "Which leaf of a tuple-shaped parameter: `{}` is the parameter itself, `{1,0}` element 1, then of that \
             element 0."
        }
        "color" => "The memory space. Its meaning is the backend's; 0 is not printed.",
        "page" => "Printed by libtpu since 0.0.51, so far always 0. Its meaning is not public.",
        "phi" => {
            "Merged by control flow: the result or the state of a loop, or of branches. It shares its bytes with what \
             flows into it."
        }
        "allocation" => "A run of bytes that the runtime provides as a whole.",
        "size" => "Bytes, padding included.",
        "offset" => "Bytes from the start of the allocation.",
        "value" | "value:" => {
            "What one instruction defines at one index of its result, and where it lies."
        }
        "BufferAssignment:" => "Every allocation, and the values that lie in it.",
        "Used values:" => {
            "For each value where it is visible, who reads it, and the instruction that defines it."
        }
        "positions:" => {
            "The instructions at which this same value is visible without a copy (tuples, get-tuple-element, bitcast, \
             loops). The first one defines it."
        }
        "uses:" | "uses are not initialized yet." => {
            "The instructions that read the value, through any of its positions, with the operand's number. The index \
             is that inside the operand."
        }
        "none" => "Nothing reads the value; it is a result, or it is kept for its side effect.",
        "operand" => "As which operand the instruction reads the value, counted from 0.",
        "from" | "instruction" => {
            "The instruction that defines the value, with the layouts and memory spaces that it was assigned."
        }
        "Total bytes used" => {
            "The sum of all allocations: every memory space, parameters, constants and thread-local scratch. It is what \
             is reserved, not what is in use at any one time."
        }
        "Total bytes" => "The sum of the allocations of this memory space.",
        "HloLiveRange" | "max" => {
            "When each value is alive. `max` is the number of steps; a live range that ends there lasts to \
             the end of the program."
        }
        "InstructionSequence:" => {
            "The flattened schedule: step by step the instructions of the entry computation, with the computations that \
             it calls placed before their caller."
        }
        "BufferLiveRange:" => {
            "For each value its first and last step, both included. Thread-local values and some constants have none."
        }
        "Live" | "ranges" | "peak" | "at" if line == SyntaxKind::Heading => {
            "The values alive at the step that XLA takes for the peak. XLA chooses the step by unpadded bytes, all \
             memory spaces mixed, and by its own rule for tuples, so another step may well need more memory."
        }
        _ if word.starts_with("Peak memory could not") => {
            "A shape has a dimension without bound, so XLA could not add up the bytes."
        }
        _ if word.starts_with("HloLiveRange not available") => {
            "The compiler had dropped the live ranges when the file was written."
        }
        "Stack" | "trace" | "breakdown" | "for" | "usage" => {
            "The values of the peak list by where the program makes them: call path outside in. Unpadded bytes."
        }
        "total" => "Unpadded bytes of this node and all below it.",
        "current" => "Unpadded bytes placed exactly at this node.",
        "remaining" => {
            "Of the peak's total what neither this line nor any line above it has accounted for; the last line has 0."
        }
        "cumulative" => "Unpadded bytes of this line and all lines above it in the list.",
        "bytes" => "Unpadded bytes: without tiles and alignment; of a tuple its table of pointers.",
        "Memory" | "Space" => {
            "The allocations of one memory space. The name printed is wrong for some spaces; trust the color."
        }
        "FileNames" | "FunctionNames" | "FileLocations" | "StackFrames" => {
            "Tables for `stack_frame_id`: frame -> location -> file, function and line. `parent_frame_id` is printed one \
             too high."
        }
        "HloModule" => "The text of the program that was compiled, as the allocations see it.",
        "ENTRY" => "The computation that the program begins with.",
        "ROOT" => "The instruction whose result is the computation's.",
        _ => return report(word),
    })
}

/// The column of a report's table that byte `at` of its heading is in, and what it means.
pub fn column(heading: &str, at: usize) -> Option<(&str, &'static str)> {
    if !heading.starts_with("cumulative_size;") {
        return None;
    }
    let end = heading
        .bytes()
        .skip(at)
        .position(|byte| byte == b';')
        .map_or(heading.len(), |length| at + length);
    let column = heading.get(..end)?.rsplit(';').next()?.trim();
    let is_of_slots = !heading.contains("total_size");
    let sentence = match column {
        "cumulative_size" if is_of_slots => {
            "This row's slot and all above it. Slots may overlap, so it can be more than the allocation, and its \
             percentage is relative to the sum of slots."
        }
        "cumulative_size" => "This allocation and all above it, and their share of all.",
        "total_size - cumulative_size" => "What the allocations below this one take.",
        "allocation" => "The allocation, the largest first.",
        "size" => {
            "The largest value of the slot, padding included. A slot is all values at one offset."
        }
        "offset" => "Where the slot begins, in bytes from the start of the allocation.",
        "used_by_n_values" => "How many values begin at this offset; they take turns.",
        "shapes_list" => {
            "The shapes of these values without layout, each with how often it occurs."
        }
        _ => return None,
    };
    Some((column, sentence))
}

/// The words around `word` that make sense together only.
pub fn phrase(line: SyntaxKind, word: &str) -> &str {
    match word {
        "output" | "is" => "output shape is",
        "ShapeIndex" | "at"
            if line == SyntaxKind::AllocationHeader || line == SyntaxKind::ReportAllocation =>
        {
            "at ShapeIndex"
        }
        "from" | "instruction" => "from instruction",
        word => word.trim_end_matches(':'),
    }
}

fn report(word: &str) -> Option<&'static str> {
    Some(if word.starts_with("cumulative_size; total_size") {
        "Allocations, largest first: the running sum (and its share of all), what is left, and the allocation."
    } else if word.starts_with("cumulative_size;") {
        "Slots of one allocation, largest first. A slot is all values at one offset: `size` is the largest of them, \
         `used_by_n_values` their number. `cumulative_size` adds up slots, which may overlap, so it can be more than \
         the allocation, and its percentage is relative to the sum of slots. The table does not name its allocation: \
         tables stand in the order of size."
    } else if word.starts_with("The rest") {
        "What is left out of the table."
    } else if word.starts_with("Allocations sorted by size with") {
        "Every allocation with the slots in it."
    } else if word.starts_with("Allocations sorted by size") {
        "The memory-usage report: every allocation, the largest first."
    } else {
        return None;
    })
}

/// What the key of an attribute or of a metadata entry means.
pub fn attribute(key: &str) -> Option<&'static str> {
    Some(match key {
        "metadata" => "Where the instruction comes from in the traced program.",
        "op_name" => {
            "The path of the operation in the traced program; of a parameter, the argument's path."
        }
        "source_file" | "source_line" | "source_end_line" | "source_column"
        | "source_end_column" => "The line of source that the operation comes from.",
        "stack_frame_id" => {
            "A row of the `StackFrames` table in the HLO text, which leads to the Python stack."
        }
        "calls" => "The computation that is called or fused.",
        "to_apply" => {
            "The computation that is called, mostly for each element: a reducer, a comparison ..."
        }
        "branch_computations" | "true_computation" | "false_computation" => {
            "The computations of which one is chosen at run time."
        }
        "called_computations" => "The computations that the kernel or library may call.",
        "select" => "The computation that chooses one element of each window.",
        "scatter" => "The computation that adds up what is scattered to one place.",
        "condition" => "The computation that tells whether the loop goes on.",
        "body" => "The computation of one iteration of the loop.",
        "control-predecessors" => {
            "Instructions that must run before this one although it does not read them."
        }
        "backend_config" => "What the backend keeps for itself about the instruction.",
        "frontend_attributes" => "What the framework attached to the instruction.",
        "sharding" => "How the array is divided over devices.",
        "replica_groups" => "The devices that take part, in groups.",
        "custom_call_target" => "The kernel or library function that is called.",
        "input_output_alias" => {
            "Which outputs are written over which parameters: the donations that worked."
        }
        "buffer_donor" => "Parameters whose buffers the program may write over.",
        "cross_program_prefetch_index" => {
            "This copy may be started before the program: its data are prefetched across programs."
        }
        "entry_computation_layout" => "The shapes and layouts of the parameters and of the result.",
        "replica_count" => "On how many devices the same program runs with other data.",
        "num_partitions" => "Over how many devices the program is divided.",
        "alias_passthrough_params" => {
            "Whether a parameter that is returned unchanged shares its buffer with the output."
        }
        "allow_spmd_sharding_propagation_to_parameters"
        | "allow_spmd_sharding_propagation_to_output" => {
            "Whether the compiler may choose how these arrays are divided over devices."
        }
        "is_scheduled" => "Whether the instructions stand in the order in which they run.",
        "output_to_operand_aliasing" => "Which outputs share their bytes with which operands.",
        "dimensions" => "The dimensions that the operation works on.",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_of_a_report_has_its_own_meaning() {
        let heading = "cumulative_size;       size;       offset; used_by_n_values; shapes_list";
        for (at, name) in [
            (0, "cumulative_size"),
            (25, "size"),
            (37, "offset"),
            (45, "used_by_n_values"),
            (heading.len() - 1, "shapes_list"),
        ] {
            assert_eq!(
                column(heading, at).map(|(name, _)| name),
                Some(name),
                "{at}"
            );
        }
        assert_eq!(column("Used values:", 3), None);
    }

    #[test]
    fn words_are_explained_as_the_phrase_they_are_in() {
        assert_eq!(
            phrase(SyntaxKind::AllocationHeader, "is"),
            "output shape is"
        );
        assert_eq!(phrase(SyntaxKind::AllocationHeader, "at"), "at ShapeIndex");
        assert_eq!(phrase(SyntaxKind::Heading, "uses:"), "uses");
    }
}
