//! Link arguments of the shared library; the rlib needs none.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_INJECT").is_some() {
        // initfirst: our constructor runs before those of the program's libraries. nodelete: code that
        // threads may stand in is never unmapped.
        for arg in ["-Wl,-z,initfirst", "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-soname,libcutap_preload.so", "-nostdlib"]
        {
            println!("cargo:rustc-link-arg={arg}");
        }
    }
}
