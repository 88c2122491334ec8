// The library that `passes` is linked with (which() is 2), and the one that it opens (3).
int which(void) { return WHICH; }
