/* call_chains.c, linked with -Wl,-z,lazy. */
#include "call_chains.c"
