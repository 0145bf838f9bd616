# A bus of its own, in this folder.
mkdir services
echo "[D-BUS Service]
Name=org.example.Portal
Exec=$(command -v sleep) 4" > services/org.example.Portal.service
cat > bus.conf <<END
<busconfig>
  <type>session</type>
  <listen>unix:path=$PWD/bus</listen>
  <auth>EXTERNAL</auth>
  <servicedir>$PWD/services</servicedir>
  <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
END
dbus-daemon --config-file="$PWD/bus.conf" --nofork --nopidfile &
while ! [ -S bus ]; do sleep 0.05; done
DBUS_SESSION_BUS_ADDRESS="unix:path=$PWD/bus" ./app
ended=$?
kill $!
exit $ended
