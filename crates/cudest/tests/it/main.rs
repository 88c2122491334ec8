//! Without a GPU: contexts and work on a model of the kernel driver, and one clear error each.

mod errors;
mod hostile;
mod lanes;
mod launches;
mod model;
mod points;
mod work;
