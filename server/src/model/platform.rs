//! What programs are compiled for.

/// What a program is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// x86 or ARM.
    Cpu,
    /// Any vendor's.
    Gpu,
    /// TPU of any generation.
    Tpu,
}

impl Platform {
    /// `cpu`, `gpu`, `tpu`
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Tpu => "tpu",
        }
    }
}

/// The platforms that a dump can come from, by its file name and contents: all of them, or none, where nothing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Platforms {
    /// [`Platform::Cpu`]
    pub cpu: bool,
    /// [`Platform::Gpu`]
    pub gpu: bool,
    /// [`Platform::Tpu`]
    pub tpu: bool,
}

impl Platforms {
    /// The one that it is; `None` where several are possible.
    pub fn only(self) -> Option<Platform> {
        match (self.cpu, self.gpu, self.tpu) {
            (true, false, false) => Some(Platform::Cpu),
            (false, true, false) => Some(Platform::Gpu),
            (false, false, true) => Some(Platform::Tpu),
            _ => None,
        }
    }
}
