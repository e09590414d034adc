#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| buflens_fuzz::shell::check(data));
