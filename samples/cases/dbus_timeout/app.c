/*
 * A service that never answers: a desktop program asks the portal for its settings when it starts. The
 * bus starts the portal, which never takes its name, and the call gives up after 2.5 s.
 */
#include "sample.h"
#include <gio/gio.h>

#define TIMEOUT_MS 2500

static NOINLINE int read_portal_settings(GDBusConnection *bus)
{
	GError *error = NULL;
	GVariant *settings = g_dbus_connection_call_sync(bus, "org.example.Portal", "/org/example/Portal",
							 "org.example.Portal.Settings", "ReadAll", NULL, NULL,
							 G_DBUS_CALL_FLAGS_NONE, TIMEOUT_MS, NULL, &error);

	return settings != NULL;
}

int main(void)
{
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
	uint64_t begun;

	/* It draws its window. */
	usleep(300000);
	begun = now_ns();
	if (!bus || read_portal_settings(bus))
		die("no time-out");
	truth("portal_ns", now_ns() - begun);
	return finish();
}
