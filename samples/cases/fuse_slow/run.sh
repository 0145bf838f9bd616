mkdir mounted
./slowfs -f mounted &
for _ in $(seq 100); do
	grep -q " $PWD/mounted fuse" /proc/self/mounts && break
	sleep 0.05
done
grep -q " $PWD/mounted fuse" /proc/self/mounts || exit 77
./prompt
ended=$?
fusermount3 -u mounted
wait
exit $ended
