//! How a program or library reaches CUDA.
