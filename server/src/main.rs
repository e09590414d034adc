fn main() -> std::process::ExitCode {
    buflens::cli::main()
}
