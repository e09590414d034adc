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
