// Counts allocations: LD_PRELOAD it, and it writes the number to the file named by MALLOCS_FILE at exit, and
// that of allocations of 256 KiB and more, growing ones included, to the one named by MALLOCS_LARGE_FILE.
// cc -O2 -shared -fPIC -o mallocs.so mallocs.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum { LARGE = 256 * 1024 };

static atomic_long allocations, large_allocations;

static void count_large(size_t size) {
    if (size >= LARGE) atomic_fetch_add_explicit(&large_allocations, 1, memory_order_relaxed);
}

static void count(size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    count_large(size);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    if (!old) count(size);
    else count_large(size);
    return __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    count(size);
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : 12;
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

static void write_number(const char *variable, long number) {
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", number);
    fclose(file);
}

static void write_numbers(void) {
    write_number("MALLOCS_FILE", atomic_load(&allocations));
    write_number("MALLOCS_LARGE_FILE", atomic_load(&large_allocations));
}

// Processes end with exit, or with _exit, which is replaced below.
__attribute__((destructor)) static void at_end(void) { write_numbers(); }

void _exit(int status) {
    write_numbers();
    void (*next)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    next(status);
    __builtin_unreachable();
}
