//! Builds the loops in C++ (OpenMP, oneTBB) and says which package is missing.

fn main() {
    println!("cargo:rerun-if-changed=cpp/peers.cpp");
    #[cfg(feature = "cpp")]
    cpp();
}

#[cfg(feature = "cpp")]
fn cpp() {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        // What rustc does: no fused multiply-add, and no instructions beyond the target's baseline.
        .flag("-ffp-contract=off")
        .flag("-fopenmp")
        .file("cpp/peers.cpp");

    // forkunion's build comes before this one: without g++ it stops with "failed to find tool".
    let Ok(compiler) = build.try_get_compiler() else {
        panic!("no C++ compiler. {HELP}");
    };
    for (header, package) in [
        ("omp.h", "g++"),
        ("tbb/parallel_for.h", "libtbb-dev"),
        ("tbb/global_control.h", "libtbb-dev, version 2021 or later"),
    ] {
        let found = compiler
            .to_command()
            .args([
                "-fsyntax-only",
                "-x",
                "c++",
                "-include",
                header,
                "/dev/null",
            ])
            .output()
            .is_ok_and(|output| output.status.success());
        assert!(
            found,
            "the header <{header}> is missing: it comes with the Debian package {package}. {HELP}"
        );
    }

    build.compile("peers_cpp");
    println!("cargo:rustc-link-lib=dylib=gomp");
    println!("cargo:rustc-link-lib=dylib=tbb");
}

#[cfg(feature = "cpp")]
const HELP: &str = "On Debian `apt install g++ libtbb-dev` brings all that the C++ pools need; \
                    `--no-default-features` leaves them out (OpenMP, oneTBB, forkunion).";
