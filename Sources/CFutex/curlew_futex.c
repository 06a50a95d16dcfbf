#define _GNU_SOURCE
#include "curlew_futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// errno is kept: callers take locks between a call that failed and the look at why.
void curlew_futex_wait(const void *word, uint32_t value) {
    int kept = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = kept;
}

void curlew_futex_wake(const void *word) {
    int kept = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = kept;
}

uint32_t curlew_thread(void) {
    static _Thread_local uint32_t number;
    if (!number) number = (uint32_t)syscall(SYS_gettid);
    return number;
}
