# A bus of its own, in this folder.
export DBUS_SESSION_BUS_ADDRESS="unix:path=$PWD/bus"
dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --nofork --nopidfile &
daemon=$!
while ! [ -S bus ]; do sleep 0.05; done
/usr/bin/python3 service.py &
service=$!
while ! [ -e ready ] && kill -0 $service; do sleep 0.05; done
/usr/bin/python3 client.py
ended=$?
kill $service $daemon
exit $ended
