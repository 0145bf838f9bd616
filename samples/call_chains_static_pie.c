/* call_chains.c, linked with -static-pie. */
#include "call_chains.c"
