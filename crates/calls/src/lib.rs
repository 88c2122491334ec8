//! What both sides must know about each call: generated tables, nothing typed by hand.
