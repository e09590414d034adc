//! All cores are one: what is done on all of them is done by the thread that asks for it. To wake another
//! thread takes longer than to read most inputs.

/// Before anything else asks for all cores.
pub fn set_up() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .expect("nothing has asked for all cores yet");
}
