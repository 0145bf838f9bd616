# The devices come alive after two seconds.
mkfifo dev1 dev2 dev3 dev4
(sleep 2; for device in dev1 dev2 dev3 dev4; do echo ready > $device; done) &
node --perf-basic-prof app.js dev1 dev2 dev3 dev4
ended=$?
wait
exit $ended
