/* One thread writes a row by each call, the other one reads what is there byte by byte: most of the time goes into system calls. */
#include "sample.h"

#define ROWS  150000
#define BYTES 300000

static int file;

static NOINLINE void write_row(const char *row, size_t bytes)
{
	if (write(file, row, bytes) != (ssize_t)bytes)
		die("write");
}

static void *writer(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROWS; i++)
		write_row("sixteen bytes..\n", 16);
	return NULL;
}

static NOINLINE unsigned char read_byte(int from)
{
	unsigned char byte;

	if (read(from, &byte, 1) != 1)
		die("read");
	return byte;
}

static void *reader(void *argument)
{
	unsigned sum = 0;

	(void)argument;
	if (lseek(file, 0, SEEK_SET) < 0)
		die("lseek");
	for (int i = 0; i < BYTES; i++)
		sum += read_byte(file);
	return sum ? NULL : argument;
}

int main(void)
{
	char path[] = "/tmp/small_calls.XXXXXX";

	file = mkstemp(path);
	if (file < 0 || unlink(path))
		die("mkstemp");
	pthread_join(start(writer, NULL, "writer"), NULL);
	pthread_join(start(reader, NULL, "reader"), NULL);
	return finish();
}
