#![no_main]

mod one_thread;

libfuzzer_sys::fuzz_target!(init: one_thread::set_up(), |data: &[u8]| {
    buflens_fuzz::requests::check(data);
});
