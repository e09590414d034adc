//! Opcodes in plain words.

use crate::model::opcodes::is_elementwise;

/// What is said of an opcode whose name says the rest.
pub(super) const ELEMENTWISE: &str = "elementwise";

/// What `opcode` does, as a noun phrase.
pub(in crate::ide) fn plain(opcode: &str) -> Option<&'static str> {
    Some(match opcode {
        "convert" => "conversion to another element type",
        "mulhi" => "the upper half of a product",
        "bitcast-convert" => "the same bits read as another type",
        "bitcast" => "the same bytes under another shape",
        "reshape" => "the same elements under another shape; on TPU often a rewrite of the data",
        "copy" => "copy",
        "copy-start" => "start of an asynchronous copy",
        "copy-done" => "end of an asynchronous copy",
        "parameter" => "entry or computation parameter",
        "constant" => "constant of the program",
        "iota" => "running numbers",
        "broadcast" => "the operand repeated along new dimensions",
        "pad" => "the operand with padding elements around it",
        "slice" => "part of the operand",
        "dynamic-slice" => "part of the operand, at an offset known at run time",
        "dynamic-update-slice" => "the operand with a part overwritten; in place where possible",
        "concatenate" => "operands one after another",
        "transpose" => "the operand with its dimensions permuted",
        "reverse" => "the operand back to front",
        "gather" => "rows picked by index",
        "scatter" => "rows updated by index",
        "dot" => "matrix product",
        "ragged-dot" => "matrix product of ragged groups",
        "convolution" => "convolution",
        "cholesky" | "triangular-solve" => "linear-algebra kernel",
        "fft" => "Fourier transform",
        "reduce" => "reduction over dimensions",
        "reduce-window" => "reduction over a sliding window",
        "reduce-precision" => "rounding to fewer bits",
        "select-and-scatter" => "gradient of a window reduction",
        "map" => "a computation applied to each element",
        "sort" => "sort",
        "topk" => "the k largest elements",
        "fusion" => "several operations compiled into one kernel",
        "call" => "call of a computation",
        "custom-call" => "call of a kernel or library outside of XLA",
        "while" => "loop; its state is carried in place",
        "conditional" => "one of several computations, chosen at run time",
        "tuple" => "a tuple: a table of pointers to its elements",
        "get-tuple-element" => "an element of a tuple",
        "opt-barrier" => "barrier that optimisations do not move code across",
        "after-all" => "a point in the order of side effects",
        "add-dependency" => "the operand, ordered behind another operation",
        "domain" => "a boundary between shardings",
        "all-reduce" => "collective: the sum (or the like) over all devices, on each of them",
        "all-gather" => "collective: the parts of all devices, put together on each of them",
        "all-to-all" => "collective: every device sends a part to every other",
        "reduce-scatter" => "collective: the sum over all devices, of which each keeps a part",
        "collective-permute" => "collective: devices send to a given partner",
        "collective-broadcast" => "collective: one device sends to all",
        "ragged-all-to-all" => "collective: parts of unequal size between all devices",
        "partition-id" | "replica-id" => "the number of this device",
        "send" | "recv" => "transfer to or from another device or the host",
        "send-done" | "recv-done" => "end of a transfer to or from another device or the host",
        "infeed" => "data from the host",
        "outfeed" => "data to the host",
        "rng" | "rng-bit-generator" | "rng-get-and-update-state" => "random numbers",
        "get-dimension-size" | "set-dimension-size" => "size of a dynamic dimension",
        "dynamic-reshape" => "another shape, known at run time",
        "async-start" => "start of an asynchronous computation",
        "async-update" => "an asynchronous computation under way",
        "async-done" => "end of an asynchronous computation",
        _ if opcode.ends_with("-start") => "start of an asynchronous operation",
        _ if opcode.ends_with("-update") => "an asynchronous operation under way",
        _ if opcode.ends_with("-done") => "end of an asynchronous operation",
        _ if is_elementwise(opcode) => ELEMENTWISE,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asynchronous_forms_are_known_by_their_ending() {
        assert_eq!(
            plain("slice-start"),
            Some("start of an asynchronous operation")
        );
        assert_eq!(
            plain("all-gather-done"),
            Some("end of an asynchronous operation")
        );
        assert_eq!(plain("copy-start"), Some("start of an asynchronous copy"));
        assert_eq!(plain("frobnicate"), None);
        assert_eq!(
            (plain("acosh"), plain("dot")),
            (Some("elementwise"), Some("matrix product"))
        );
    }
}
