//! Devices by name, with the bytes of their main memory.

use super::{Platform, Platforms};

/// A chip or a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// What people call it.
    pub name: &'static str,
    /// What it is.
    pub platform: Platform,
    /// Bytes that a program may reserve of memory space 0.
    pub bytes: u64,
}

const GIB: u64 = 1 << 30;

/// A TPU with so many hundredths of a GiB.
const fn tpu(name: &'static str, hundredths: u64) -> Device {
    Device {
        name,
        platform: Platform::Tpu,
        bytes: hundredths * GIB / 100,
    }
}

/// A GPU with so many GiB.
const fn gpu(name: &'static str, gib: u64) -> Device {
    Device {
        name,
        platform: Platform::Gpu,
        bytes: gib * GIB,
    }
}

/// The devices that are known. Of TPUs it is what the compiler allows, as it prints it when a
/// program does not fit ("Used 20.1G of 15.75G hbm"): v2, v3, v5e, v5p, v6e and tpu7x from such messages,
/// v4 from public reports of them. Of GPUs it is the memory on the maker's data sheet, of which a driver and a
/// runtime keep some for themselves.
pub const DEVICES: [Device; 19] = [
    tpu("v2", 800),
    tpu("v3", 1600),
    tpu("v4", 3075),
    tpu("v5e", 1575),
    tpu("v5p", 9574),
    tpu("v6e", 3125),
    tpu("tpu7x", 9474),
    gpu("T4", 16),
    gpu("V100-16GB", 16),
    gpu("V100-32GB", 32),
    gpu("L4", 24),
    gpu("A10", 24),
    gpu("A100-40GB", 40),
    gpu("A100-80GB", 80),
    gpu("L40S", 48),
    gpu("H100-80GB", 80),
    gpu("H200", 141),
    gpu("B200", 180),
    gpu("MI300X", 192),
];

impl Device {
    /// The device of this name, in upper or lower case.
    ///
    /// # Errors
    /// With the names that there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let mut devices = DEVICES.into_iter();
        let found = devices.find(|device| device.name.eq_ignore_ascii_case(name.trim()));
        found.ok_or_else(|| {
            let names = DEVICES.map(|device| device.name).join(", ");
            format!("there is no device `{name}`; there are {names}")
        })
    }

    /// The name of its main memory, which no other platform's memory has, and the bytes.
    pub fn capacity(&self) -> (String, u64) {
        let space = match self.platform {
            Platform::Tpu => "HBM",
            Platform::Gpu | Platform::Cpu => "device memory",
        };
        (space.to_owned(), self.bytes)
    }

    /// Why a program for `platforms` does not run on it, if that is certain.
    pub fn problem(&self, platforms: Platforms) -> Option<String> {
        let platform = platforms.only().filter(|it| *it != self.platform)?;
        Some(format!(
            "{} is a {}, and this program was compiled for a {}",
            self.name,
            self.platform.name().to_uppercase(),
            platform.name().to_uppercase()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::space;

    #[test]
    fn devices_have_names() {
        let v5e = Device::named("V5E").unwrap();
        assert_eq!((v5e.name, v5e.bytes), ("v5e", 16_911_433_728));
        assert_eq!(Device::named("a100-40gb").unwrap().bytes, 40 << 30);
        let problem = Device::named("v7").unwrap_err();
        assert!(
            problem.contains("`v7`") && problem.contains("tpu7x, T4"),
            "{problem}"
        );
    }

    #[test]
    fn the_main_memory_is_that_of_the_platform_alone() {
        let none = Platforms::default();
        let (cpu, gpu, tpu) = (
            Platforms { cpu: true, ..none },
            Platforms { gpu: true, ..none },
            Platforms { tpu: true, ..none },
        );
        for device in DEVICES {
            let (space, bytes) = device.capacity();
            assert_eq!(bytes, device.bytes);
            let colors = [cpu, gpu, tpu].map(|on| space::called(&space, on));
            let own = [Platform::Cpu, Platform::Gpu, Platform::Tpu].map(|it| it == device.platform);
            assert_eq!(colors, own.map(|it| it.then_some(0)), "{}", device.name);
        }
    }

    #[test]
    fn a_program_runs_on_its_own_platform() {
        let v5e = Device::named("v5e").unwrap();
        let none = Platforms::default();
        let (tpu, gpu) = (
            Platforms { tpu: true, ..none },
            Platforms { gpu: true, ..none },
        );
        assert_eq!(v5e.problem(tpu), None);
        assert_eq!(v5e.problem(none), None);
        let problem = v5e.problem(gpu).unwrap();
        assert!(problem.contains("v5e is a TPU"), "{problem}");
    }
}
