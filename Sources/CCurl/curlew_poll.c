#define _GNU_SOURCE
#include "curlew_poll.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)CURLEW_POLL_IN == EPOLLIN && (int)CURLEW_POLL_OUT == EPOLLOUT, "must equal epoll's constants");
_Static_assert((uint32_t)CURLEW_POLL_EDGE == EPOLLET, "must equal epoll's constants");
_Static_assert((int)CURLEW_POLL_ERR == EPOLLERR && (int)CURLEW_POLL_HUP == EPOLLHUP, "must equal epoll's constants");

enum { BATCH = 128 };

int curlew_poll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int poller, int operation, int fd, uint32_t events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data.u64 = tag};
    return epoll_ctl(poller, operation, fd, &event) == 0 ? 0 : errno;
}

// The caller's record of watched descriptors may be out of date: when a descriptor is closed, epoll forgets it, and its
// number may be opened again. So each of these two functions falls back to the other's operation.
int curlew_poll_add(int poller, int fd, uint32_t events, uint64_t tag) {
    int code = control(poller, EPOLL_CTL_ADD, fd, events, tag);
    return code == EEXIST ? control(poller, EPOLL_CTL_MOD, fd, events, tag) : code;
}

int curlew_poll_modify(int poller, int fd, uint32_t events, uint64_t tag) {
    int code = control(poller, EPOLL_CTL_MOD, fd, events, tag);
    return code == ENOENT ? control(poller, EPOLL_CTL_ADD, fd, events, tag) : code;
}

int curlew_poll_remove(int poller, int fd) { return control(poller, EPOLL_CTL_DEL, fd, 0, 0); }

int curlew_poll_wait(int poller, struct curlew_event *events, int capacity, int timeout_ms) {
    struct epoll_event batch[BATCH];
    int count = epoll_wait(poller, batch, capacity < BATCH ? capacity : BATCH, timeout_ms);
    for (int index = 0; index < count; index++) {
        events[index].tag = batch[index].data.u64;
        events[index].events = batch[index].events;
    }
    return count < 0 ? 0 : count;
}

int curlew_wakeup_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void curlew_wakeup_signal(int fd) {
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
}

void curlew_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

void curlew_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int curlew_memory_file(const void *bytes, uint64_t length) {
    int fd = memfd_create("curlew", MFD_CLOEXEC);
    if (fd < 0) return -1;
    for (uint64_t done = 0; done < length;) {
        ssize_t count = write(fd, (const char *)bytes + done, length - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            close(fd);
            return -1;
        }
        done += (uint64_t)count;
    }
    return fd;
}

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define CURLEW_THREAD_SANITIZER
#endif
#endif

#ifdef CURLEW_THREAD_SANITIZER
void __tsan_release(void *address);
void __tsan_acquire(void *address);
void curlew_before(void *object) { __tsan_release(object); }
void curlew_after(void *object) { __tsan_acquire(object); }
#else
void curlew_before(void *object) { (void)object; }
void curlew_after(void *object) { (void)object; }
#endif
