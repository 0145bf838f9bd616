# A mount namespace of its own asks another name server; the machine's stays.
echo 'nameserver 127.0.0.1
options timeout:1 attempts:2' > resolv.conf
echo 'hosts: dns' > nsswitch.conf
mount --bind resolv.conf "$(readlink -f /etc/resolv.conf)" && mount --bind nsswitch.conf /etc/nsswitch.conf || exit 77
/usr/bin/python3 names.py &
while ! [ -e ready ] && kill -0 $!; do sleep 0.05; done
[ -e ready ] || exit 77
./resolve
ended=$?
kill $!
exit $ended
