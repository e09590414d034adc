//! Memory spaces: what a color is called on a platform.

use super::Platforms;

/// `cpu`, `gpu`, `tpu`, or `unknown` where several are possible.
pub fn platform(platforms: Platforms) -> &'static str {
    match (platforms.cpu, platforms.gpu, platforms.tpu) {
        (true, false, false) => "cpu",
        (false, true, false) => "gpu",
        (false, false, true) => "tpu",
        _ => "unknown",
    }
}

/// The field's name of memory space `color`; `None` where nobody gave it one.
pub fn name(color: u64, platforms: Platforms) -> Option<&'static str> {
    match (platforms.cpu, platforms.gpu, platforms.tpu) {
        (true, false, false) if color == 0 => Some("host RAM"),
        (false, true, false) => match color {
            0 => Some("device memory"),
            1 => Some("collective memory"),
            2 => Some("separate temp space"),
            5 => Some("host memory"),
            _ => None,
        },
        (false, false, true) => match color {
            0 => Some("HBM"),
            1 => Some("VMEM"),
            2 => Some("sync flags"),
            3 => Some("CMEM"),
            4 => Some("SMEM"),
            5 => Some("host memory"),
            6 => Some("scalar workspace"),
            7 => Some("SparseCore private-stack HBM"),
            8 => Some("SparseCore sequencer sync flags"),
            9 => Some("pinned HBM"),
            10 => Some("SparseCore tile sync flags"),
            11 | 12 => Some("SparseCore memory"),
            _ => None,
        },
        _ => None,
    }
}

/// What memory space `color` is for, in a sentence; `None` where nobody knows.
pub fn meaning(color: u64, platforms: Platforms) -> Option<&'static str> {
    Some(match (platform(platforms), color) {
        ("tpu", 0) => "The chip's main memory; running out of it is what fails a compile.",
        ("tpu", 1) => {
            "On-chip vector memory, apart from HBM: holds prefetched data and results that XLA keeps on chip."
        }
        ("tpu", 2 | 8 | 10) => {
            "Flags that tell when an asynchronous transfer is complete, 4 bytes each; no data."
        }
        ("tpu", 3) => "On-chip memory of TPU v4, used where other generations use VMEM (1).",
        ("tpu", 4) => "On-chip memory for scalars.",
        ("tpu" | "gpu", 5) => {
            "Memory of the host: values here are offloaded and take none of the device's."
        }
        ("tpu", 6) => "Scalars that steer the program, such as loop counters.",
        ("gpu", 2) => {
            "Temporaries apart from the rest; values there may still be marked `@0`. Only with \
             `xla_gpu_temp_buffer_use_separate_color`."
        }
        ("gpu", 1) => "Buffers registered for collective operations.",
        _ => return None,
    })
}

/// `HBM (@0)`, or `memory space 0` where the platform is unknown.
pub fn short(color: u64, platforms: Platforms) -> String {
    match name(color, platforms) {
        Some(name) => format!("{name} (@{color})"),
        None => format!("memory space {color}"),
    }
}

/// `HBM`, or `memory space 0`.
pub fn named(color: u64, platforms: Platforms) -> String {
    name(color, platforms).map_or_else(|| format!("memory space {color}"), str::to_owned)
}

/// Whether memory space `color` holds flags for synchronisation, four bytes each, and no data.
pub fn is_flags(color: u64, platforms: Platforms) -> bool {
    platforms.tpu && !platforms.cpu && !platforms.gpu && matches!(color, 2 | 8 | 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_color_means_what_its_platform_says() {
        let (none, any) = (
            Platforms::default(),
            Platforms {
                cpu: true,
                gpu: true,
                tpu: true,
            },
        );
        let tpu = Platforms { tpu: true, ..none };
        let gpu = Platforms { gpu: true, ..none };
        let cpu = Platforms { cpu: true, ..none };
        assert_eq!(short(1, tpu), "VMEM (@1)");
        assert_eq!(short(1, gpu), "collective memory (@1)");
        assert_eq!(short(1, any), "memory space 1");
        assert_eq!(short(0, cpu), "host RAM (@0)");
        assert!(is_flags(2, tpu) && !is_flags(1, tpu) && !is_flags(2, gpu) && !is_flags(2, any));
        assert_eq!(
            (platform(tpu), platform(gpu), platform(cpu), platform(any)),
            ("tpu", "gpu", "cpu", "unknown")
        );
    }
}
