//! Kernels: programs within the program, whose scratch no dump tells.

use rustc_hash::FxHashSet;

use super::Audit;
use crate::model::NameId;

/// What a custom call of a kernel on TPU calls.
const TARGET: &str = "tpu_custom_call";

/// The custom calls of TPU kernels, as Pallas makes them, in the order of the schedule. What a
/// kernel takes for itself of VMEM and SMEM is in no allocation of the dump.
pub fn kernels(audit: &Audit) -> Vec<NameId> {
    let dump = audit.dump;
    let mut seen = FxHashSet::default();
    let names = dump.values.iter().map(|value| value.name);
    let is_kernel = |name: &NameId| {
        // Asked before the whole instruction is read: there are many others.
        dump.opcode(*name) == Some("custom-call")
            && audit
                .origins
                .named(*name)
                .parts
                .attribute("custom_call_target")
                .is_some_and(|target| target.trim_matches('"') == TARGET)
    };
    let names = names.filter(|&name| seen.insert(name));
    let mut kernels: Vec<NameId> = names.filter(is_kernel).collect();
    kernels.sort_by_key(|&name| dump.step_of(name).unwrap_or(u32::MAX));
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::fixture::audited;
    use crate::model::source::Libraries;

    #[test]
    fn only_calls_of_kernels() {
        let text = r#"BufferAssignment:
allocation 0: size 128, preallocated-temp:
 value: <1 kernel.2 @0> (size=64,offset=0): f32[16]{0}
 value: <2 sort.1 @0> (size=64,offset=64): f32[16]{0}
 value: <3 kernel.1 @0> (size=64,offset=0): f32[16]{0}

Total bytes used: 128 (128B)

Used values:
<1 kernel.2 @0>
 positions:
  kernel.2
 uses:
 from instruction: %kernel.2 = f32[16]{0} custom-call(), custom_call_target="tpu_custom_call"
<2 sort.1 @0>
 positions:
  sort.1
 uses:
 from instruction: %sort.1 = f32[16]{0} custom-call(), custom_call_target="Sharding"
<3 kernel.1 @0>
 positions:
  kernel.1
 uses:
 from instruction: %kernel.1 = f32[16]{0} custom-call(), custom_call_target="tpu_custom_call"

HloLiveRange (max 3):
  InstructionSequence:
    0:kernel.1
    1:sort.1
    2:kernel.2
  BufferLiveRange:
"#;
        let dump = audited(text);
        let found = kernels(&Audit::new(&dump, Libraries::default()));
        let names: Vec<&str> = found.iter().map(|name| &dump.names[*name]).collect();
        assert_eq!(names, ["kernel.1", "kernel.2"]);
    }
}
