/* call_chains.c, linked with -static -no-pie. */
#include "call_chains.c"
