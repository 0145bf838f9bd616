# Version 1 of control groups; the group goes at the end.
group=/sys/fs/cgroup/memory/dwell-test-$$
[ "$(stat -f -c %T .)" != tmpfs ] || exit 77
head -c 67108864 /dev/zero | tr '\0' x > index && sync index
# The cache's pages of it belong to nobody else.
dd of=index oflag=nocache conv=notrunc,fdatasync count=0 2> dd.log
mkdir "$group" && echo 32M > "$group/memory.limit_in_bytes" || exit 77
sh -c 'echo $$ > "$0/tasks" && exec ./lookup' "$group"
ended=$?
echo 0 > "$group/memory.force_empty"
rmdir "$group"
exit $ended
