/* Stands for a log daemon that writes each record at once, in 4 ms. */
#include "sample.h"
#include <sys/socket.h>
#include <sys/un.h>

static NOINLINE void store_record(void)
{
	usleep(4000);
}

int main(void)
{
	struct sockaddr_un address = {AF_UNIX, "/dev/log"};
	int receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
	char record[2048];

	if (bind(receiver, (struct sockaddr *)&address, sizeof(address)) != 0)
		die(address.sun_path);
	while (recv(receiver, record, sizeof(record), 0) > 0)
		store_record();
	return 0;
}
