//! Small `api/` folders, and what comes out of them: places against gcc, the tables' text, the errors.

mod argument_words;
mod defines;
mod errors;
mod golden;
mod named;
mod real;
mod sets;
mod unions;

use super::api_files::ApiFiles;
use super::functions::{self, FunctionRow};
use super::tables::Tables;
use crate::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// An `api/` folder with one library, `demo`, beside an empty driver and runtime; removed at the end.
pub(super) struct Api(pub(super) PathBuf);

impl Api {
    pub(super) fn new(functions: &str, types: &str, overlay: &str) -> Api {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("cutap-registry-{}-{number}", std::process::id()));
        for family in ["driver", "runtime"] {
            let folder = root.join("api").join(family);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("functions.toml"), HEAD).unwrap();
            std::fs::write(folder.join("types.toml"), "").unwrap();
            std::fs::write(folder.join("overlay.toml"), "").unwrap();
            std::fs::write(folder.join("exports.toml"), "exports = []\n").unwrap();
        }
        std::fs::write(root.join("api/about.toml"), "").unwrap();
        let folder = root.join("api/libraries/demo");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("functions.toml"), format!("{HEAD}{functions}")).unwrap();
        std::fs::write(folder.join("types.toml"), types).unwrap();
        std::fs::write(folder.join("overlay.toml"), overlay).unwrap();
        Api(root)
    }

    /// The rows of the library, and what `look` finds in them.
    pub(super) fn rows<T>(&self, look: impl FnOnce(&Tables, &[FunctionRow]) -> T) -> Result<T, Error> {
        let api = ApiFiles::read(&self.0.join("api"))?;
        let mut tables = Tables::new(&api);
        let rows = functions::rows(&mut tables, 2)?;
        Ok(look(&tables, &rows))
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What every functions.toml begins with: two lines.
const HEAD: &str = "versions = [\"1\", \"2\"]\nsource = \"demo.h\"\n";
