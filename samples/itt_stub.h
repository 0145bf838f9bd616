/* The static part of an ITT-instrumented program, as much of it as the samples and tests need: objects, and a pointer for
 * each function, null until a collector fills it. Written from the contract, without anybody's header. */
#ifndef ITT_STUB_H
#define ITT_STUB_H

#include <stddef.h>
#include <stdint.h>

typedef struct itt_domain {
	volatile int flags;
	const char *nameA;
	void *nameW;
	int extra1;
	void *extra2;
	struct itt_domain *next;
} __itt_domain;

typedef struct itt_string_handle {
	const char *strA;
	void *strW;
	int extra1;
	void *extra2;
	struct itt_string_handle *next;
} __itt_string_handle;

typedef struct itt_counter *__itt_counter;
typedef struct itt_clock_domain __itt_clock_domain;
typedef struct {
	unsigned long long d1, d2, d3;
} __itt_id;

typedef struct {
	const char *name;
	int type;
	size_t flags;
	void *start_addr;
	size_t size, file_offset;
} __itt_section_info;

typedef struct {
	unsigned version;
	__itt_id module_id;
	int module_type;
	const char *module_name;
	void *module_buffer;
	size_t module_size;
	__itt_section_info *section_array;
	size_t section_number;
} __itt_module_object;

static const __itt_id __itt_null = {0, 0, 0};

enum {
	__itt_metadata_u64 = 1,
	__itt_metadata_s64,
	__itt_metadata_u32,
	__itt_metadata_s32,
	__itt_metadata_u16,
	__itt_metadata_s16,
	__itt_metadata_float,
	__itt_metadata_double,
};

/* group, type of the answer, name, types of the arguments */
#define ITT_FUNCTIONS(X)                                                                                               \
	X(4096, __itt_domain *, domain_create, (const char *))                                                         \
	X(4096, __itt_string_handle *, string_handle_create, (const char *))                                           \
	X(256, __itt_counter, counter_create, (const char *, const char *))                                            \
	X(256, __itt_counter, counter_create_typed, (const char *, const char *, int))                                 \
	X(256, void, counter_set_value, (__itt_counter, void *))                                                       \
	X(256, void, counter_inc, (__itt_counter))                                                                     \
	X(256, void, counter_dec, (__itt_counter))                                                                     \
	X(256, void, counter_inc_delta, (__itt_counter, unsigned long long))                                           \
	X(256, void, counter_dec_delta, (__itt_counter, unsigned long long))                                           \
	X(4096, void, counter_inc_delta_v3, (const __itt_domain *, __itt_string_handle *, unsigned long long))         \
	X(4096, void, task_begin, (const __itt_domain *, __itt_id, __itt_id, __itt_string_handle *))                   \
	X(4096, void, task_begin_fn, (const __itt_domain *, __itt_id, __itt_id, void *))                               \
	X(4096, void, task_end, (const __itt_domain *))                                                                \
	X(4096, void, task_begin_ex,                                                                                   \
	  (const __itt_domain *, __itt_clock_domain *, unsigned long long, __itt_id, __itt_id, __itt_string_handle *)) \
	X(4096, void, task_end_ex, (const __itt_domain *, __itt_clock_domain *, unsigned long long))                   \
	X(4096, void, task_begin_overlapped, (const __itt_domain *, __itt_id, __itt_id, __itt_string_handle *))        \
	X(4096, void, task_end_overlapped, (const __itt_domain *, __itt_id))                                           \
	X(4096, void, region_begin, (const __itt_domain *, __itt_id, __itt_id, __itt_string_handle *))                 \
	X(4096, void, region_end, (const __itt_domain *, __itt_id))                                                    \
	X(4096, void, frame_begin_v3, (const __itt_domain *, __itt_id *))                                              \
	X(4096, void, frame_end_v3, (const __itt_domain *, __itt_id *))                                                \
	X(4096, void, frame_submit_v3, (const __itt_domain *, __itt_id *, unsigned long long, unsigned long long))     \
	X(4096, void, marker, (const __itt_domain *, __itt_id, __itt_string_handle *, int))                            \
	X(4096, void, metadata_add, (const __itt_domain *, __itt_id, __itt_string_handle *, int, size_t, void *))      \
	X(4096, void, metadata_str_add, (const __itt_domain *, __itt_id, __itt_string_handle *, const char *, size_t)) \
	X(4096, void, formatted_metadata_add, (const __itt_domain *, __itt_string_handle *, ...))                      \
	X(4096, void, formatted_metadata_add_overlapped, (const __itt_domain *, __itt_id, __itt_string_handle *, ...)) \
	X(4096, unsigned long long, get_timestamp, (void))                                                             \
	X(4096, __itt_clock_domain *, clock_domain_create, (void (*)(unsigned long long *, void *), void *))           \
	X(9, int, event_create, (const char *, int))                                                                   \
	X(9, int, event_start, (int))                                                                                  \
	X(9, int, event_end, (int))                                                                                    \
	X(4, void, thread_set_name, (const char *))                                                                    \
	X(4, void, thread_ignore, (void))                                                                              \
	X(3, void, pause, (void))                                                                                      \
	X(3, void, resume, (void))                                                                                     \
	X(2, void, pause_scoped, (int))                                                                                \
	X(3, void, detach, (void))                                                                                     \
	X(48, void, sync_create, (void *, const char *, const char *, int))                                            \
	X(48, void, sync_rename, (void *, const char *))                                                               \
	X(48, void, sync_destroy, (void *))                                                                            \
	X(16, void, sync_prepare, (void *))                                                                            \
	X(16, void, sync_cancel, (void *))                                                                             \
	X(16, void, sync_acquired, (void *))                                                                           \
	X(16, void, sync_releasing, (void *))                                                                          \
	X(1024, void *, stack_caller_create, (void))                                                                   \
	X(1024, void, stack_callee_enter, (void *))                                                                    \
	X(1024, void, stack_callee_leave, (void *))                                                                    \
	X(32768, void, module_load, (void *, void *, const char *))                                                    \
	X(32768, void, module_load_with_sections, (__itt_module_object *))                                             \
	X(32768, void, module_unload_with_sections, (__itt_module_object *))                                           \
	X(4096, void, relation_add, (const __itt_domain *, __itt_id, int, __itt_id))

#define ITT_POINTER(group, type, name, arguments) extern type(*itt_##name##_ptr) arguments;
ITT_FUNCTIONS(ITT_POINTER)

/* A call, when a collector wants it; `ITT_GET` answers null or 0 without one. */
#define ITT(name, ...)     (itt_##name##_ptr ? itt_##name##_ptr(__VA_ARGS__) : (void)0)
#define ITT_GET(name, ...) (itt_##name##_ptr ? itt_##name##_ptr(__VA_ARGS__) : 0)
/* The same for events of a domain, which can be absent or switched off. */
#define ITT_IN(name, domain, ...)                                                                              \
	((domain) && (domain)->flags && itt_##name##_ptr ? itt_##name##_ptr(domain __VA_OPT__(, ) __VA_ARGS__) \
							 : (void)0)

#endif
