#![no_main]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;

use buflens_fuzz::arguments::{self, Folder};

static FOLDER: OnceLock<Folder> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = FOLDER.get_or_init(|| {
        let folder = Folder::new();
        std::env::set_current_dir(folder.inside()).expect("a folder to work in");
        folder
    });
    arguments::check(data, folder, |arguments| {
        let name = OsString::from("buflens");
        let code =
            buflens::cli::main(std::iter::once(name).chain(arguments.iter().map(OsString::from)));
        (0..=2).find(|&number| ExitCode::from(number) == code)
    });
});
