//! From the name on the command line to the arguments of exec, and whether LD_PRELOAD can work with the program. It
//! searches as execvp does. A program that cannot be traced is refused before anything runs.

use crate::base::error::{Error, Result, reason};
use crate::base::nearest;
use cutap_inspect::Head;
use object::elf::{EM_AARCH64, EM_X86_64, Machine};
use std::ffi::{CString, OsStr, OsString};
use std::fs::OpenOptions;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What exec gets.
#[derive(Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Arguments from argument 0 on.
    pub args: Vec<OsString>,
    /// A sanitizer's runtime that the program names: it must come before us in LD_PRELOAD.
    pub sanitizer: Option<String>,
    /// Its loader is musl's: it runs, and is left alone.
    pub musl: bool,
    /// The ELF file that runs: of a script, its interpreter. Empty if it cannot be read.
    pub image: PathBuf,
    /// What the first lines of scripts name, and what `env` finds for them.
    pub interpreters: Vec<PathBuf>,
    /// Where it has its libraries looked for itself.
    pub folders: Vec<PathBuf>,
}

/// Finds and checks a program. `args` are the words behind it.
pub fn find(name: &OsStr, args: &[OsString], search: &OsStr) -> Result<Program> {
    let mut program = locate(name, args, search)?;
    check(&mut program, search)?;
    Ok(program)
}

/// Finds a program, of any kind: nothing is checked but that it may be executed.
pub fn locate(name: &OsStr, args: &[OsString], search: &OsStr) -> Result<Program> {
    if name.is_empty() {
        return Err(Error::not_found("the program's name is empty; say what to run behind --"));
    }
    let path = if name.as_bytes().contains(&b'/') || matches!(name.as_bytes(), b"." | b"..") {
        PathBuf::from(name)
    } else {
        on_path(name, search)?
    };
    may_run(&path)?;
    let (image, folders) = (PathBuf::new(), Vec::new());
    let interpreters = Vec::new();
    let args_of = vec![name.to_owned()];
    let mut program = Program { path, args: args_of, sanitizer: None, musl: false, image, interpreters, folders };
    program.args.extend_from_slice(args);
    Ok(program)
}

/// The folders in which a program is looked for.
pub fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into())
}

/// The file that a name without a folder runs; an error says that there is none.
pub fn find_on_path(name: &OsStr) -> Result<PathBuf> {
    on_path(name, &search_path())
}

fn on_path(name: &OsStr, search: &OsStr) -> Result<PathBuf> {
    let mut refused = None;
    for folder in std::env::split_paths(search) {
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let path = folder.join(name);
        match std::fs::metadata(&path) {
            Ok(m) if m.is_file() && executable(&path) => return Ok(path),
            Ok(m) if m.is_file() => refused = Some(path),
            _ => {}
        }
    }
    if let Some(path) = refused {
        return may_run(&path).map(|()| path);
    }
    let name_text = name.display();
    let here = Path::new(name).is_file().then(|| format!("./{name_text}"));
    let hint = match here.or_else(|| nearest::program(name, search)) {
        Some(near) => format!("did you mean {near}?"),
        None => "check the name, or give a path with a /".into(),
    };
    Err(Error::not_found(format!("cannot run {name_text}: no program of this name on PATH; {hint}")))
}

fn executable(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a string of cutap that ends at a zero.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 }
}

fn may_run(path: &Path) -> Result<()> {
    let path_text = path.display();
    let data = std::fs::metadata(path).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT) if path.is_symlink() => {
            Error::not_found(format!("cannot run {path_text}: the link leads nowhere; check where it points"))
        }
        Some(libc::ENOENT | libc::ENOTDIR) => {
            Error::not_found(format!("cannot run {path_text}: there is no such file; check the path"))
        }
        _ => Error::not_executable(format!("cannot run {path_text}: {}; check the path", reason(&e))),
    })?;
    if data.is_dir() {
        return Err(Error::not_executable(format!("cannot run {path_text}: it is a folder; name a program in it")));
    }
    if !executable(path) {
        let why = if data.permissions().mode() & 0o111 == 0 {
            "it is not marked executable; chmod +x it, or name the interpreter in front of it"
        } else {
            "permission denied; run as a user who may run it"
        };
        return Err(Error::not_executable(format!("cannot run {path_text}: {why}")));
    }
    Ok(())
}

/// Follows `#!` to what really runs and refuses what LD_PRELOAD cannot reach.
fn check(program: &mut Program, search: &OsStr) -> Result<()> {
    let mut path = program.path.clone();
    for _ in 0..4 {
        // What a script names may be a pipe without a writer.
        let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path) else {
            // It may be run but not read: nothing can be said about it, so nothing is refused.
            return Ok(());
        };
        let mut start = [0u8; 256];
        let len = file.read_at(&mut start, 0).unwrap_or(0);
        let start = &start[..len];
        if start.starts_with(b"\x7fELF") {
            let Some(head) = cutap_inspect::head(&file) else {
                let text = format!("cannot run {}: the file is damaged (its ELF headers are cut off)", path.display());
                return Err(Error::not_executable(format!("{text}; build or copy it again")));
            };
            privileged(&path)?;
            program.sanitizer = head.needed.iter().find(|n| cutap_wire::sanitizer::is_runtime(n.as_bytes())).cloned();
            program.musl = is_musls(head.interpreter.as_ref().map_or(&path, Path::new));
            traceable(&path, &head)?;
            program.folders = folders(&path, &head);
            program.image = path;
            return Ok(());
        }
        if let Some(line) = start.strip_prefix(b"#!") {
            program.interpreters.extend(named(line));
            path = interpreter(&path, line, search)?;
            program.interpreters.push(path.clone());
            continue;
        }
        if start.is_empty() || start.contains(&0) {
            let why = "it is neither a Linux program nor a script; check that it was built for this machine";
            return Err(Error::not_executable(format!("cannot run {}: {why}", path.display())));
        }
        // As execvp does with a script that names no interpreter.
        program.args.splice(..1, [OsString::from("sh"), program.path.clone().into_os_string()]);
        program.path = PathBuf::from("/bin/sh");
        path = program.path.clone();
    }
    Ok(())
}

/// The words of a script's first line.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    line.split(|b| b" \t".contains(b)).filter(|w| !w.is_empty())
}

/// What the kernel starts for a script.
fn named(line: &[u8]) -> Option<PathBuf> {
    words(line).next().map(|word| PathBuf::from(OsString::from_vec(word.to_vec())))
}

fn interpreter(script: &Path, line: &[u8], search: &OsStr) -> Result<PathBuf> {
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let path = PathBuf::from(OsString::from_vec(first.to_vec()));
    if !path.is_file() {
        let interpreter_text = String::from_utf8_lossy(first).replace('\r', "\\r");
        let advice = match first.ends_with(b"\r") {
            true => "the script has Windows line ends, convert it",
            false => "install it or correct the script's first line",
        };
        let text =
            format!("cannot run {}: its interpreter {interpreter_text} does not exist; {advice}", script.display());
        return Err(Error::not_found(text));
    }
    // `#!/usr/bin/env python3`: what env starts is what counts, if it is there.
    match words.next() {
        Some(name) if path.ends_with("env") && !name.starts_with(b"-") => {
            Ok(on_path(OsStr::from_bytes(name), search).unwrap_or(path))
        }
        _ => Ok(path),
    }
}

/// The folders that a file names itself, with what the loader puts for `$ORIGIN`.
pub fn folders(path: &Path, head: &Head) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let origin = real.parent().unwrap_or(Path::new("/")).display().to_string();
    let named = head.folders.iter().filter(|f| !f.is_empty());
    named.map(|f| f.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into()).collect()
}

/// Whether a loader's path is that of musl's, which is also its C library.
fn is_musls(loader: &Path) -> bool {
    loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl-"))
}

fn traceable(path: &Path, head: &Head) -> Result<()> {
    let path_text = path.display();
    match Machine(head.machine) {
        EM_X86_64 if head.wide => {}
        EM_AARCH64 => {
            let why =
                "it is built for aarch64, and this cutap knows x86-64 only; run it on its own machine without cutap";
            return Err(Error::not_executable(format!("cannot trace {path_text}: {why}")));
        }
        _ if !head.wide => {
            let why = "it is a 32-bit program, and CUDA's libraries and cutap are 64-bit; build it for x86-64";
            return Err(Error::own(format!("cannot trace {path_text}: {why}")));
        }
        other => {
            let why = format!("it is built for another processor (ELF machine {}); build it for x86-64", other.0);
            return Err(Error::not_executable(format!("cannot trace {path_text}: {why}")));
        }
    }
    let is_loader = head.soname.as_deref().is_some_and(|n| n.starts_with("ld-")) || is_musls(path);
    match &head.interpreter {
        Some(loader) if !Path::new(loader).exists() => Err(Error::not_found(format!(
            "cannot run {path_text}: its dynamic loader {loader} does not exist; install the C library it was built for"
        ))),
        None if !is_loader && (head.soname.is_some() || !head.needed.is_empty()) => Err(Error::not_executable(
            format!("cannot run {path_text}: it is a shared library and no program; name the program that loads it"),
        )),
        None if !is_loader => Err(Error::own(format!(
            "cannot trace {path_text}: it is statically linked, so no library can be loaded in front of its own; \
             link it dynamically, or, if it only starts other programs, use eval $(cutap env -o DIR) and start it"
        ))),
        _ => Ok(()),
    }
}

/// The kernel makes the loader ignore LD_PRELOAD when a program gains rights at its start.
fn privileged(path: &Path) -> Result<()> {
    let Ok(data) = std::fs::metadata(path) else { return Ok(()) };
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: calls without arguments; a structure of cutap; a string that ends at a zero.
    let (uid, gid, no_suid, has_caps) = unsafe {
        let mut fs: libc::statvfs = std::mem::zeroed();
        let has_info = libc::statvfs(name.as_ptr(), &mut fs) == 0;
        let caps = libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0);
        (libc::geteuid(), libc::getegid(), has_info && fs.f_flag & libc::ST_NOSUID != 0, caps > 0)
    };
    let privilege = match data.mode() {
        _ if no_suid => return Ok(()),
        m if m & libc::S_ISUID != 0 && data.uid() != uid => "setuid",
        m if m & (libc::S_ISGID | libc::S_IXGRP) == libc::S_ISGID | libc::S_IXGRP && data.gid() != gid => "setgid",
        _ if has_caps && uid != 0 => "given capabilities by its file",
        _ => return Ok(()),
    };
    Err(Error::own(format!(
        "cannot trace {}: it is {privilege}, and the system loads no library into such a program; \
         run cutap as the user it becomes, or trace a copy without this mark",
        path.display()
    )))
}
