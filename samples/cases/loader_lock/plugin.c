/* A plug-in that takes its time to get ready, as one that looks for a device or a licence. */
#include <unistd.h>

__attribute__((constructor)) static void warm_up_plugin(void)
{
	usleep(1500000);
}
