/* A library that is no hook library. */
int plain(void);
int plain(void) { return 1; }
