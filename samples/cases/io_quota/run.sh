# Version 1 of control groups, as docker --device-read-bps uses it; the group goes at the end.
group=/sys/fs/cgroup/blkio/dwell-test-$$
device=$(stat -c '%Hd:%Ld' .)
[ "$(stat -f -c %T .)" != tmpfs ] || exit 77
head -c 8000000 /dev/zero | tr '\0' x > data && sync data
mkdir "$group" && echo "$device 3000000" > "$group/blkio.throttle.read_bps_device" || exit 77
sh -c 'echo $$ > "$0/tasks" && exec ./reader' "$group"
ended=$?
rmdir "$group"
exit $ended
