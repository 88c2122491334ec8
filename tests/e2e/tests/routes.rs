//! How a call reaches us: one program per route, and per rule that the routes must keep (ARCHITECTURE.md).

use cutap_e2e::{case, cutap, finish, out};
use std::process::Command;

const CUDA: &str = "libcuda.so.1";

fn driver(function: &str) -> String {
    format!("{CUDA}:{function}")
}

#[test]
fn bound_at_the_first_call() {
    case("lazy").like("links").golden();
}

#[test]
fn bound_at_start() {
    case("now").like("links").golden();
}

#[test]
fn without_plt() {
    case("noplt").like("links").golden();
}

#[test]
fn at_a_fixed_address() {
    case("nopie").like("links").golden();
    case("nopie_now").like("links").golden();
}

#[test]
fn constructor_of_a_needed_library() {
    case("ctor_needed").golden();
}

#[test]
fn constructor_of_an_opened_library_is_late() {
    case("ctor_opened").missed(&driver("cuInit"), 1, "libctor.so").golden();
}

#[test]
fn before_all_constructors() {
    case("preinit").golden();
}

#[test]
fn plugin_that_registers_itself() {
    case("plugin").at_least(&driver("cuInit"), 1).seen_or_listed("libplugin.so");
}

#[test]
fn local() {
    case("local").golden();
}

#[test]
fn deepbind_with_its_own_dlsym() {
    case("deepbind").like("local").golden();
}

#[test]
fn another_namespace() {
    case("namespace").seen_or_listed("library in another namespace (dlmopen)");
}

#[test]
fn two_versions_of_one_library() {
    case("two_local").like("two_versions").golden();
    case("two_global").like("two_versions").golden();
}

#[test]
fn three_shared_runtimes() {
    case("runtimes").golden();
}

#[test]
fn library_runtime_driver() {
    case("layers").golden();
}

#[test]
fn driver_entry_points_from_the_runtime() {
    case("entry_point").golden();
}

#[test]
fn libcuda_closed_and_opened_again() {
    case("reopen").golden();
}

#[test]
fn address_used_again_by_another_library() {
    case("address_again").golden();
}

#[test]
fn every_kind_of_handle() {
    case("handles").golden();
}

#[test]
fn descriptors_are_the_programs() {
    case("descriptors").golden();
}

#[test]
fn next_through_two_wrappers() {
    case("next_chain").golden();
}

#[test]
fn openmp_asks_for_its_own_name() {
    case("ompt").like("nothing").golden();
}

#[test]
fn no_libcuda_stays_null() {
    case("absent").like("nothing").golden();
}

#[test]
fn names_that_are_not_cudas() {
    case("foreign").like("nothing").golden();
}

#[test]
fn proc_address_answers_as_without_us() {
    case("proc_address").golden();
}

#[test]
fn function_from_the_future() {
    case("future").golden();
}

#[test]
fn libcuda_looks_itself_up() {
    case("own_lookup").golden();
}

#[test]
fn exported_ifunc() {
    case("ifunc_lazy").like("ifunc").golden();
    case("ifunc_now").like("ifunc").golden();
}

#[test]
fn data_stays_data() {
    case("data").golden();
    case("data_nopie").like("data").golden();
}

#[test]
fn library_after_its_user() {
    case("after_user").golden();
}

#[test]
fn old_hash_table_only() {
    case("dt_hash").golden();
}

#[test]
fn relocated_code_is_left_and_listed() {
    case("textrel").missed(&driver("cuInit"), 2, "libtextrel.so").golden();
}

#[test]
fn dladdr_names_the_real_function() {
    case("dladdr").golden();
}

#[test]
fn cpp_names_are_off() {
    case("cpp_names").golden();
}

#[test]
fn python_ctypes() {
    case("python.py").golden();
}

#[test]
fn address_sanitizer() {
    case("asan").golden();
    case("asan_static").like("asan").golden();
    case("tsan").like("asan").golden();
}

/// The functions are named, for a patch may keep calls to itself.
#[test]
fn entries_that_the_program_patches() {
    case("patches").missed(&driver("cuFixtureKept"), 0, "3 functions whose entry the program patched").golden();
    let text = case("patches").text(&[]);
    let named: Vec<&str> = text.lines().filter(|line| line.starts_with("cutap:   cuFixture")).collect();
    assert_eq!(named, ["cutap:   cuFixtureFar", "cutap:   cuFixtureKept", "cutap:   cuFixtureNear"], "{text}");
}

#[test]
fn preloads_of_others() {
    case("preloads").preload("libwrap_dlsym.so").golden();
    case("preloads").preload("libwrap_libc.so").golden();
    case("preloads").preload("libwrap_cuda.so").like("preload_cuda").golden();
}

#[test]
fn preload_that_wraps_dlsym_before_and_after_ours() {
    case("preloads").by_environment("libwrap_dlsym.so", "");
    case("preloads").by_environment("", "libwrap_dlsym.so");
}

#[test]
fn preload_that_wraps_libc_before_and_after_ours() {
    case("preloads").by_environment("libwrap_libc.so", "");
    case("preloads").by_environment("", "libwrap_libc.so");
}

/// It asks a library that it is linked with, which looks up libc's.
#[test]
fn preload_that_wraps_dlopen_before_and_after_ours() {
    case("preloads").by_environment("libwrap_dlopen.so", "");
    case("preloads").by_environment("", "libwrap_dlopen.so");
}

#[test]
fn preload_that_wraps_cuda_before_and_after_ours() {
    case("preloads").like("preload_cuda").by_environment("libwrap_cuda.so", "");
    case("preloads").like("preload_cuda").by_environment("", "libwrap_cuda.so");
}

#[test]
fn opened_while_others_look_up() {
    case("open_while_lookup").counts();
}

#[test]
fn opened_with_what_it_needs_while_others_look_up() {
    case("opened_with_its_own").counts();
}

/// Libraries come back while another namespace hides that they were gone.
#[test]
fn reload_hidden_by_namespace() {
    case("another_namespace").counts();
}

#[test]
fn constructors_look_up_while_others_open_and_close() {
    case("constructor_lookup").counts();
}

#[test]
fn constructor_waits_for_a_thread_whose_call_is_not_bound_yet() {
    // The loader binds that word itself, so calls are not seen up to the next look-up, and that is counted.
    case("constructor_waits").missed("libcuda.so.1:cuDriverGetVersion", 1, "left to the loader").counts();
}

#[test]
fn forks_while_others_look_up() {
    case("fork_while_lookup").counts();
}

#[test]
fn forks_while_others_open_and_close() {
    case("fork_while_open").counts();
}

#[test]
fn forked_children_open_while_others_look_up() {
    case("fork_then_open").counts();
}

/// What is not wanted keeps the pointers that the program has without us, whichever way it asks; what is wanted has
/// none of them.
#[test]
fn only_what_is_wanted_is_diverted() {
    let words = |filter: &str| ["trace", "-o", "/dev/null", "--filter", filter].map(str::to_owned);
    let run = |filter: Option<&str>| {
        let mut command = match filter {
            None => Command::new(out().join("pointers")),
            Some(filter) => {
                let mut command = Command::new(cutap());
                command.args(words(filter)).arg("--").arg(out().join("pointers"));
                command
            }
        };
        let done = finish(command.arg("say").env("LD_LIBRARY_PATH", out()));
        assert!(done.status.success(), "{done:?}");
        done.stdout
    };
    let plain = run(None);
    assert_eq!(plain.lines().count(), 15, "{plain}");
    assert!(!plain.contains("preload") && plain.contains("bound cuMemAlloc_v2 libcuda.so.1\n"), "{plain}");
    // Of these functions each way is diverted, and of no other. The driver's memory functions are recorded with any
    // function, because later calls depend on them.
    for (filter, wanted) in [
        ("cuStreamQuery", &["cuMem"][..]),
        ("cudaDeviceReset", &["cuMem"]),
        ("cuMemFree", &["cuMem"]),
        ("cudaMalloc,cublas*", &["cudaMalloc", "cublasCreate_v2", "cuMem"]),
        ("driver", &["cuMem", "cuDriver"]),
        ("!driver", &["cuda", "cublas", "cuMem"]),
    ] {
        let expected: String = plain
            .lines()
            .map(|line| {
                let (way, rest) = line.split_once(' ').unwrap();
                let (name, file) = rest.split_once(' ').unwrap();
                let diverted = wanted.iter().any(|w| name.starts_with(w));
                format!("{way} {name} {}\n", if diverted { "libcutap_preload.so" } else { file })
            })
            .collect();
        assert_eq!(run(Some(filter)), expected, "{filter}");
    }
}

/// No route hands out these addresses, so the end has to report the process.
#[test]
fn own_search_of_the_symbol_table() {
    for name in ["elf_tables", "elf_tables_exit"] {
        let said = format!("libcuda.so.1 was loaded in {name} (process ");
        case(name).like("nothing").missed(&driver("cuInit"), 1, &said).golden();
        case(name).like("nothing").missed(&driver("cuInit"), 1, &said).recorded().golden();
    }
}
