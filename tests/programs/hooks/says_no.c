/* A hook library that wants nothing after all. */
#include "cutap_hook.h"

CUTAP_HOOK { return 1; }
