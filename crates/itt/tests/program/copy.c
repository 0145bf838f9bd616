/* A shared library with a static part of its own. */
#include "itt_stub.h"

void run_copy(void);

void run_copy(void)
{
	__itt_domain *domain = ITT_GET(domain_create, "test.domain");
	__itt_string_handle *name = ITT_GET(string_handle_create, "work");
	ITT_IN(task_begin, domain, __itt_null, __itt_null, name);
	ITT_IN(task_end, domain);
}
