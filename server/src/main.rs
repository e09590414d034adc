fn main() -> std::process::ExitCode {
    buflens::cli::main(std::env::args_os())
}
