/* call_chains.c, linked with -Wl,-z,now -fno-plt. */
#include "call_chains.c"
