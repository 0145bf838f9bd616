# A D-Bus service that takes 30 ms for each answer.
import sys
import time

from gi.repository import Gio, GLib

INTERFACE = """<node><interface name="org.example.Names">
<method name="LookUp"><arg type="s" direction="out"/></method>
</interface></node>"""


def look_up(connection, sender, path, interface, method, parameters, invocation):
    time.sleep(0.03)
    invocation.return_value(GLib.Variant("(s)", ("x",)))


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.register_object("/", Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0], look_up, None, None)
Gio.bus_own_name_on_connection(bus, "org.example.Names", 0, lambda *_: open("ready", "w").close(), lambda *_: sys.exit(1))
GLib.MainLoop().run()
