//! libcuda.so.1: the simulated driver.
