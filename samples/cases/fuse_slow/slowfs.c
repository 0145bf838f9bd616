/* A file system whose server is far away: each question about remote.conf takes 150 ms, each read of it 250 ms. */
#define FUSE_USE_VERSION 31
#include "sample.h"
#include <fuse3/fuse.h>
#include <sys/stat.h>

#define CONTENT "a = 1"

static NOINLINE void ask_server(const char *path, useconds_t us)
{
	if (strcmp(path, "/remote.conf") == 0)
		usleep(us);
}

static int slow_getattr(const char *path, struct stat *found, struct fuse_file_info *file)
{
	(void)file;
	memset(found, 0, sizeof(*found));
	ask_server(path, 150000);
	if (strcmp(path, "/") == 0) {
		found->st_mode = S_IFDIR | 0755;
		return 0;
	}
	if (!strstr(path, ".conf"))
		return -ENOENT;
	found->st_mode = S_IFREG | 0444;
	found->st_size = (off_t)strlen(CONTENT);
	return 0;
}

static int slow_open(const char *path, struct fuse_file_info *file)
{
	(void)path;
	file->direct_io = 1;
	return 0;
}

static int slow_read(const char *path, char *to, size_t size, off_t from, struct fuse_file_info *file)
{
	(void)file;
	ask_server(path, 250000);
	if (from != 0 || size < strlen(CONTENT))
		return 0;
	memcpy(to, CONTENT, strlen(CONTENT));
	return (int)strlen(CONTENT);
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->attr_timeout = config->entry_timeout = 0;
	return NULL;
}

int main(int count, char **words)
{
	static const struct fuse_operations calls = {
		.getattr = slow_getattr, .open = slow_open, .read = slow_read, .init = slow_init};

	return fuse_main(count, words, &calls, NULL);
}
