//! Memory spaces: what a color is called on a platform.

use buflens_syntax::ArrayShape;

use super::{Allocation, Dump, Platform, Platforms};

/// The memory of the host, on TPUs and GPUs; a CPU has only space 0.
pub const HOST: u64 = 5;
/// The memory spaces of a TPU for synchronisation flags, four bytes each, and no data.
pub const TPU_FLAGS: [u64; 3] = [2, 8, 10];
/// The memory spaces of a TPU's sparse cores: independent computations are laid over each other there.
pub const TPU_SPARSE_CORES: [u64; 6] = [7, 8, 10, 11, 12, 15];
/// Memory spaces with names.
const COLORS: std::ops::RangeInclusive<u64> = 0..=15;

impl Dump {
    /// The allocations in memory space `color`, each with its number in [`Dump::allocations`].
    pub fn allocations_in(&self, color: u64) -> impl Iterator<Item = (u32, &Allocation)> + Clone {
        let is_before = |it: &Allocation| it.color < color;
        let from = if self.by_color.is_empty() {
            self.allocations.partition_point(is_before)
        } else {
            let is_before = |&at: &u32| is_before(&self.allocations[at as usize]);
            self.by_color.partition_point(is_before)
        };
        let rest = self.by_color_from(from);
        rest.take_while(move |(_, it)| it.color == color)
    }

    /// Whether there may be a memory space that people call `text`: its platform has one of that name, or an allocation
    /// lies in the one of that number.
    pub fn can_have(&self, text: &str) -> bool {
        called(text, self.platforms).is_some_and(|color| {
            names(self.platforms).any(|(named, _)| named == color)
                || self.allocations_in(color).next().is_some()
        })
    }

    /// All allocations by memory space, each with its number in [`Dump::allocations`].
    pub fn allocations_by_color(&self) -> impl Iterator<Item = (u32, &Allocation)> {
        self.by_color_from(0)
    }

    fn by_color_from(&self, from: usize) -> impl Iterator<Item = (u32, &Allocation)> + Clone {
        let places = from as u32..self.allocations.len() as u32;
        places.map(|place| {
            let at = *self.by_color.get(place as usize).unwrap_or(&place);
            (at, &self.allocations[at as usize])
        })
    }
}

/// The memory space of an array; not known of one that is printed without layout, unless it is a scalar.
pub fn of_array(array: &ArrayShape) -> Option<u64> {
    match &array.layout {
        Some(layout) => Some(layout.memory_space),
        None => array.dimensions.is_empty().then_some(0),
    }
}

/// `cpu`, `gpu`, `tpu`, or `unknown` where several are possible.
pub fn platform(platforms: Platforms) -> &'static str {
    platforms.only().map_or("unknown", Platform::name)
}

/// The field's name of memory space `color`; `None` where nobody gave it one.
pub fn name(color: u64, platforms: Platforms) -> Option<&'static str> {
    match platforms.only()? {
        Platform::Cpu => (color == 0).then_some("host RAM"),
        Platform::Gpu => match color {
            0 => Some("device memory"),
            1 => Some("collective memory"),
            2 => Some("separate temp space"),
            HOST => Some("host memory"),
            _ => None,
        },
        Platform::Tpu => match color {
            0 => Some("HBM"),
            1 => Some("VMEM"),
            2 => Some("sync flags"),
            3 => Some("CMEM"),
            4 => Some("SMEM"),
            HOST => Some("host memory"),
            6 => Some("scalar workspace"),
            7 => Some("SparseCore private-stack HBM"),
            8 => Some("SparseCore sequencer sync flags"),
            9 => Some("pinned HBM"),
            10 => Some("SparseCore tile sync flags"),
            11 => Some("SparseCore memory 11"),
            12 => Some("SparseCore memory 12"),
            15 => Some("SparseCore memory 15"),
            _ => None,
        },
    }
}

/// Whether `color` lies in the memory of memory space `of`: what a GPU's collective operations and temporaries have apart is
/// device memory, too.
pub fn lies_in(color: u64, of: u64, platforms: Platforms) -> bool {
    let memory = match (platforms.only(), color) {
        (Some(Platform::Gpu), 1 | 2) => 0,
        _ => color,
    };
    of == color || of == memory
}

/// The platforms, each alone, the one with the most memory spaces first.
pub const EACH: [Platforms; 3] = [
    Platforms { tpu: true, ..NONE },
    Platforms { gpu: true, ..NONE },
    Platforms { cpu: true, ..NONE },
];

const NONE: Platforms = Platforms {
    cpu: false,
    gpu: false,
    tpu: false,
};

/// The names of memory spaces of a platform, with their colors; of all where several are possible.
pub fn names(platforms: Platforms) -> impl Iterator<Item = (u64, &'static str)> {
    let is_known = platforms.only().is_some();
    let platforms = if is_known {
        vec![platforms]
    } else {
        EACH.to_vec()
    };
    let of = |on: Platforms| COLORS.filter_map(move |color| Some((color, name(color, on)?)));
    platforms.into_iter().flat_map(of)
}

/// A TPU's memory space as it is spelled here, however a compiler's message spells it: `HBM` for `hbm`.
pub fn spelled(text: &str) -> &str {
    let tpu = Platforms { tpu: true, ..NONE };
    let mut known = names(tpu).map(|(_, name)| name);
    known
        .find(|name| name.eq_ignore_ascii_case(text))
        .unwrap_or(text)
}

/// The color of the memory space that people call `text`: `1`, `@1`, `VMEM`, or the start of a name,
/// in upper or lower case.
pub fn called(text: &str, platforms: Platforms) -> Option<u64> {
    let text = text.trim();
    // As `named` calls those without a name.
    let number = text.strip_prefix("memory space ").unwrap_or(text);
    if let Ok(color) = number.trim_start_matches('@').parse() {
        return Some(color);
    }
    let same = names(platforms).find(|(_, name)| name.eq_ignore_ascii_case(text));
    let begins = |name: &str| {
        let start = name.get(..text.len());
        !text.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    let found = same.or_else(|| names(platforms).find(|(_, name)| begins(name)));
    found.map(|(color, _)| color)
}

/// The color of the memory space that people call `text` on some platform.
///
/// # Errors
/// With a sentence that says which there are.
pub fn called_anywhere(text: &str) -> Result<u64, String> {
    let any = Platforms::default();
    called(text, any).ok_or_else(|| {
        let mut known: Vec<&str> = names(any).map(|(_, name)| name).collect();
        known.sort_unstable();
        known.dedup();
        format!(
            "no platform has a memory space `{text}`; there are {}, and numbers such as `@0`",
            known.join(", ")
        )
    })
}

/// Whether what people call so is one memory space on every platform that has both.
pub fn are_one(one: &str, other: &str) -> bool {
    let is_number = |text: &str| text.trim_start_matches('@').parse::<u64>().is_ok();
    let color = |text| called(text, Platforms::default());
    color(one).is_some()
        && color(one) == color(other)
        && (is_number(one) || is_number(other) || one.eq_ignore_ascii_case(other))
}

/// What memory space `color` is for, in a sentence; `None` where nobody knows.
pub fn meaning(color: u64, platforms: Platforms) -> Option<&'static str> {
    use Platform::{Gpu, Tpu};
    Some(match (platforms.only()?, color) {
        (Tpu, 0) => "The chip's main memory; running out of it is what fails a compile.",
        (Tpu, 1) => {
            "On-chip vector memory, apart from HBM: holds prefetched data and results that XLA keeps on chip."
        }
        (Tpu, color) if TPU_FLAGS.contains(&color) => {
            "Flags that tell when an asynchronous transfer is complete, 4 bytes each; no data."
        }
        (Tpu, 3) => "On-chip memory of TPU v4, used where other generations use VMEM (1).",
        (Tpu, 4) => "On-chip memory for scalars.",
        (Tpu | Gpu, HOST) => {
            "Memory of the host: values here are offloaded and take none of the device's."
        }
        (Tpu, 6) => "Scalars that steer the program, such as loop counters.",
        (Gpu, 2) => {
            "Temporaries apart from the rest; values there may still be marked `@0`. Only with \
             `xla_gpu_temp_buffer_use_separate_color`."
        }
        (Gpu, 1) => "Buffers registered for collective operations.",
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
    platforms.only() == Some(Platform::Tpu) && TPU_FLAGS.contains(&color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_spaces_have_names_and_numbers() {
        let [tpu, gpu, cpu] = EACH;
        for (text, on, color) in [
            ("7", NONE, Some(7)),
            (" @1", NONE, Some(1)),
            ("memory space 15", tpu, Some(15)),
            ("vmem", NONE, Some(1)),
            ("HBM", NONE, Some(0)),
            ("HBM", cpu, None),
            ("host", NONE, Some(5)),
            ("host", tpu, Some(5)),
            ("host", cpu, Some(0)),
            ("Host RAM", NONE, Some(0)),
            ("device", gpu, Some(0)),
            ("HDD", NONE, None),
            ("", NONE, None),
            ("\u{e9}", NONE, None),
        ] {
            assert_eq!(called(text, on), color, "{text}");
        }
        let problem = called_anywhere("HDD").unwrap_err();
        assert!(problem.contains("collective memory"), "{problem}");
    }

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
        let in_main = |on| [0, 1, 2, HOST].map(|color| lies_in(color, 0, on));
        assert_eq!(in_main(gpu), [true, true, true, false]);
        assert_eq!(in_main(tpu), [true, false, false, false]);
        assert!(lies_in(1, 1, gpu) && !lies_in(0, 1, gpu));
        assert_eq!(short(1, any), "memory space 1");
        assert_eq!(short(15, tpu), "SparseCore memory 15 (@15)");
        assert_eq!(short(14, tpu), "memory space 14");
        assert_eq!(short(0, cpu), "host RAM (@0)");
        assert!(is_flags(2, tpu) && !is_flags(1, tpu) && !is_flags(2, gpu) && !is_flags(2, any));
        assert_eq!(
            (platform(tpu), platform(gpu), platform(cpu), platform(any)),
            ("tpu", "gpu", "cpu", "unknown")
        );
    }
}
