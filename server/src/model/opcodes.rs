//! What is certain of an opcode without its instruction: how many operands it takes, and which
//! attributes it has and needs.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// The opcodes by how many operands they take, in the order of their names: none, one, two ...
/// Asynchronous starts and whatever else compilers print with more operands than the rule says are
/// not among them.
const FIXED: [&[&str]; 6] = [
    &[
        "iota",
        "partition-id",
        "replica-id",
        "rng-get-and-update-state",
    ],
    &[
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atanh",
        "bitcast",
        "bitcast-convert",
        "broadcast",
        "cbrt",
        "ceil",
        "cholesky",
        "convert",
        "copy",
        "copy-done",
        "copy-start",
        "cosh",
        "cosine",
        "count-leading-zeros",
        "erf",
        "exponential",
        "exponential-minus-one",
        "fft",
        "floor",
        "get-dimension-size",
        "get-tuple-element",
        "imag",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "negate",
        "not",
        "opt-barrier",
        "popcnt",
        "real",
        "reduce-precision",
        "reshape",
        "reverse",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "sign",
        "sine",
        "sinh",
        "slice",
        "sqrt",
        "tan",
        "tanh",
        "transpose",
        "while",
    ],
    &[
        "add",
        "add-dependency",
        "and",
        "atan2",
        "compare",
        "complex",
        "convolution",
        "divide",
        "gather",
        "maximum",
        "minimum",
        "mulhi",
        "multiply",
        "or",
        "pad",
        "power",
        "remainder",
        "rng",
        "set-dimension-size",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "stochastic-convert",
        "subtract",
        "triangular-solve",
        "xor",
    ],
    &[
        "batch-norm-training",
        "clamp",
        "select",
        "select-and-scatter",
    ],
    &[],
    &["batch-norm-grad", "batch-norm-inference"],
];

/// The other opcodes.
const OTHERS: [&str; 51] = [
    "after-all",
    "all-gather",
    "all-gather-done",
    "all-gather-start",
    "all-reduce",
    "all-reduce-done",
    "all-reduce-start",
    "all-to-all",
    "async-done",
    "async-start",
    "async-update",
    "call",
    "collective-broadcast",
    "collective-permute",
    "collective-permute-done",
    "collective-permute-start",
    "concatenate",
    "conditional",
    "constant",
    "custom-call",
    "domain",
    "dot",
    "dynamic-reshape",
    "dynamic-slice",
    "dynamic-update-slice",
    "fusion",
    "infeed",
    "map",
    "outfeed",
    "parameter",
    "ragged-all-to-all",
    "ragged-dot",
    "recv",
    "recv-done",
    "reduce",
    "reduce-scatter",
    "reduce-window",
    "rng-bit-generator",
    "scatter",
    "send",
    "send-done",
    "slice-done",
    "slice-start",
    "sort",
    "topk",
    "tuple",
    "dynamic-slice-start",
    "dynamic-slice-done",
    "dynamic-update-slice-start",
    "dynamic-update-slice-done",
    "all-to-all-start",
];

/// Attributes that every instruction may have.
const COMMON: [&str; 5] = [
    "metadata",
    "sharding",
    "frontend_attributes",
    "backend_config",
    "control-predecessors",
];

/// How many operands `opcode` takes, if it is known and always the same number.
pub fn arity(opcode: &str) -> Option<usize> {
    FIXED.iter().position(|names| names.contains(&opcode))
}

/// Every opcode that is known.
pub fn all() -> impl Iterator<Item = &'static str> {
    FIXED.into_iter().flatten().copied().chain(OTHERS)
}

/// Whether `opcode` is known, or the start, update or end of a known one that runs asynchronously.
pub fn is_known(opcode: &str) -> bool {
    static KNOWN: LazyLock<FxHashSet<&str>> = LazyLock::new(|| all().collect());
    let is_part = |suffix| {
        let whole = opcode.strip_suffix(suffix);
        whole.is_some_and(|whole| KNOWN.contains(whole))
    };
    KNOWN.contains(opcode) || ["-start", "-update", "-done"].into_iter().any(is_part)
}

/// Whether some known opcode has this attribute.
pub fn is_known_attribute(key: &str) -> bool {
    static KNOWN: LazyLock<FxHashSet<&str>> =
        LazyLock::new(|| all().flat_map(attributes).collect());
    KNOWN.contains(key)
}

/// The attributes without which XLA's parser takes no instruction with `opcode`, in all its versions.
pub fn required_attributes(opcode: &str) -> &'static [&'static str] {
    match opcode {
        "all-gather" | "all-gather-start" | "concatenate" | "get-dimension-size" | "reverse"
        | "set-dimension-size" | "transpose" => &["dimensions"],
        "all-reduce" | "all-reduce-start" | "call" | "map" | "reduce-window" => &["to_apply"],
        "batch-norm-grad" | "batch-norm-inference" | "batch-norm-training" => {
            &["epsilon", "feature_index"]
        }
        "collective-permute" | "collective-permute-start" => &["source_target_pairs"],
        "compare" => &["direction"],
        "convolution" => &["dim_labels"],
        "custom-call" => &["custom_call_target"],
        "dynamic-slice" => &["dynamic_slice_sizes"],
        "fft" => &["fft_type", "fft_length"],
        "fusion" => &["kind", "calls"],
        "gather" => &[
            "offset_dims",
            "collapsed_slice_dims",
            "start_index_map",
            "index_vector_dim",
            "slice_sizes",
        ],
        "get-tuple-element" => &["index"],
        "iota" => &["iota_dimension"],
        "pad" => &["padding"],
        "reduce" | "reduce-scatter" | "sort" => &["dimensions", "to_apply"],
        "reduce-precision" => &["exponent_bits", "mantissa_bits"],
        "rng" => &["distribution"],
        "rng-bit-generator" => &["algorithm"],
        "rng-get-and-update-state" => &["delta"],
        "scatter" => &[
            "update_window_dims",
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "index_vector_dim",
            "to_apply",
        ],
        "select-and-scatter" => &["select", "scatter"],
        "slice" => &["slice"],
        "while" => &["condition", "body"],
        _ => &[],
    }
}

/// The attributes that an instruction with `opcode` may have, its own first.
pub fn attributes(opcode: &str) -> impl Iterator<Item = &'static str> {
    let own: &[&str] = match opcode {
        "all-gather" | "all-gather-start" => &[
            "channel_id",
            "replica_groups",
            "dimensions",
            "use_global_device_ids",
        ],
        "all-reduce" | "all-reduce-start" => &[
            "channel_id",
            "replica_groups",
            "use_global_device_ids",
            "to_apply",
        ],
        "all-to-all" => &["channel_id", "replica_groups", "dimensions"],
        "async-start" | "async-done" => &["async_execution_thread", "calls"],
        "async-update" => &[
            "async_execution_thread",
            "calls",
            "output_to_operand_aliasing",
        ],
        "batch-norm-grad" | "batch-norm-inference" | "batch-norm-training" => {
            &["epsilon", "feature_index"]
        }
        "broadcast" | "concatenate" | "get-dimension-size" | "reverse" | "set-dimension-size"
        | "transpose" => &["dimensions"],
        "call" => &["to_apply", "is_composite"],
        "cholesky" => &["lower"],
        "collective-broadcast" | "ragged-all-to-all" => &["channel_id", "replica_groups"],
        "collective-permute" | "collective-permute-start" => &["channel_id", "source_target_pairs"],
        "compare" => &["direction", "type", "order"],
        "conditional" => &[
            "branch_computations",
            "true_computation",
            "false_computation",
        ],
        "convolution" => &[
            "window",
            "dim_labels",
            "feature_group_count",
            "batch_group_count",
            "operand_precision",
        ],
        "custom-call" => &[
            "custom_call_target",
            "operand_layout_constraints",
            "called_computations",
            "custom_call_has_side_effect",
            "output_to_operand_aliasing",
            "api_version",
            "window",
            "dim_labels",
            "feature_group_count",
        ],
        "copy-start" => &["cross_program_prefetch_index"],
        "dot" => &[
            "lhs_batch_dims",
            "lhs_contracting_dims",
            "rhs_batch_dims",
            "rhs_contracting_dims",
            "operand_precision",
        ],
        "dynamic-slice" => &["dynamic_slice_sizes"],
        "fft" => &["fft_type", "fft_length"],
        "fusion" => &["kind", "calls", "output_to_operand_aliasing"],
        "gather" => &[
            "offset_dims",
            "collapsed_slice_dims",
            "start_index_map",
            "index_vector_dim",
            "slice_sizes",
            "indices_are_sorted",
            "operand_batching_dims",
            "start_indices_batching_dims",
        ],
        "get-tuple-element" => &["index"],
        "iota" => &["iota_dimension"],
        "map" | "reduce" => &["dimensions", "to_apply"],
        "pad" => &["padding"],
        "recv" | "recv-done" | "send" | "send-done" => &["channel_id", "is_host_transfer"],
        "reduce-precision" => &["exponent_bits", "mantissa_bits"],
        "ragged-dot" => &[
            "lhs_contracting_dims",
            "rhs_contracting_dims",
            "lhs_ragged_dims",
            "rhs_group_dims",
        ],
        "outfeed" => &["outfeed_shape"],
        "parameter" => &["parameter_replication"],
        "reduce-scatter" => &[
            "channel_id",
            "replica_groups",
            "dimensions",
            "use_global_device_ids",
            "to_apply",
        ],
        "reduce-window" => &["window", "to_apply"],
        "rng" => &["distribution"],
        "rng-bit-generator" => &["algorithm"],
        "rng-get-and-update-state" => &["delta"],
        "scatter" => &[
            "update_window_dims",
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "index_vector_dim",
            "indices_are_sorted",
            "unique_indices",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "to_apply",
        ],
        "select-and-scatter" => &["window", "select", "scatter"],
        "slice" => &["slice"],
        "sort" => &["dimensions", "is_stable", "to_apply"],
        "topk" => &["k", "largest", "is_stable"],
        "triangular-solve" => &["left_side", "lower", "unit_diagonal", "transpose_a"],
        "while" => &["condition", "body"],
        _ => &[],
    };
    own.iter().copied().chain(COMMON)
}

/// How the type of an element follows from the operands'.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// It is theirs. One floating type stands for another: XLA can be told to allow that.
    Same,
    /// It is `pred`.
    Pred,
    /// In another way.
    Any,
}

/// Opcodes whose result has the dimensions of all their operands, with the type of its elements.
pub fn elementwise(opcode: &str) -> Option<Element> {
    Some(match opcode {
        "acos"
        | "acosh"
        | "add"
        | "and"
        | "asin"
        | "asinh"
        | "atan2"
        | "atanh"
        | "cbrt"
        | "ceil"
        | "cosh"
        | "cosine"
        | "count-leading-zeros"
        | "divide"
        | "erf"
        | "exponential"
        | "exponential-minus-one"
        | "floor"
        | "log"
        | "log-plus-one"
        | "logistic"
        | "maximum"
        | "minimum"
        | "mulhi"
        | "multiply"
        | "negate"
        | "not"
        | "or"
        | "popcnt"
        | "power"
        | "reduce-precision"
        | "remainder"
        | "reverse"
        | "round-nearest-afz"
        | "round-nearest-even"
        | "rsqrt"
        | "shift-left"
        | "shift-right-arithmetic"
        | "shift-right-logical"
        | "sign"
        | "sine"
        | "sinh"
        | "sqrt"
        | "subtract"
        | "tan"
        | "tanh"
        | "xor" => Element::Same,
        "compare" | "is-finite" => Element::Pred,
        "abs" | "complex" | "convert" | "imag" | "real" => Element::Any,
        _ => return None,
    })
}

/// Whether `opcode` works on each element alone; its name says the rest.
pub fn is_elementwise(opcode: &str) -> bool {
    // An operand of these may be a scalar for all elements.
    let takes_scalars = matches!(opcode, "clamp" | "select" | "stochastic-convert");
    takes_scalars || opcode != "reverse" && elementwise(opcode).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opcode_is_listed_once() {
        let mut names: Vec<_> = all().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(
            [
                arity("iota"),
                arity("while"),
                arity("add"),
                arity("clamp"),
                arity("tuple")
            ],
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(arity("batch-norm-grad"), Some(5));
        assert_eq!(attributes("while").next(), Some("condition"));
    }

    #[test]
    fn what_an_opcode_needs_it_has() {
        for opcode in all() {
            let has: Vec<_> = attributes(opcode).collect();
            for key in required_attributes(opcode) {
                assert!(has.contains(key), "{opcode} {key}");
            }
        }
    }

    #[test]
    fn parts_of_asynchronous_opcodes_are_known() {
        assert!(is_known("reduce-scatter-start") && is_known("sort-done") && is_known("copy"));
        assert!(!is_known("-start") && !is_known("sorted"));
        assert!(is_known_attribute("iota_dimension") && !is_known_attribute("dimension"));
    }
}
