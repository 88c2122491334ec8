//! From bytes to typed events: pair, order, align clocks, name.
