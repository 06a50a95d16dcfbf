// epoll and eventfd, which Swift's Glibc module does not export, and other calls to the C library that the loop needs.
#ifndef CURLEW_POLL_H
#define CURLEW_POLL_H
#include <stdint.h>

struct curlew_event {
    uint64_t tag;
    uint32_t events;
};

enum {
    CURLEW_POLL_IN = 0x001,
    CURLEW_POLL_OUT = 0x004,
    CURLEW_POLL_ERR = 0x008,
    CURLEW_POLL_HUP = 0x010,
    // Reports each new event once, whether or not its data is read.
    CURLEW_POLL_EDGE = 1u << 31,
};

int curlew_poll_create(void);
// Watch a descriptor for `events`, which are reported with `tag`. Both functions work whether or not the descriptor is
// watched already; the names say what the caller expects. They return 0 or an errno, as curlew_poll_remove does.
int curlew_poll_add(int poller, int fd, uint32_t events, uint64_t tag);
int curlew_poll_modify(int poller, int fd, uint32_t events, uint64_t tag);
int curlew_poll_remove(int poller, int fd);
// Waits for at most `timeout_ms` milliseconds, without limit if it is negative. Returns the number of events, at most
// `capacity` and 128; 0 if the call was interrupted or failed.
int curlew_poll_wait(int poller, struct curlew_event *events, int capacity, int timeout_ms);

// An eventfd that ends a wait. Watch it with CURLEW_POLL_EDGE: it is never read, and each signal is a new event.
int curlew_wakeup_create(void);
void curlew_wakeup_signal(int fd);

// Blocks every signal for the calling thread: the loop's thread runs no signal handlers, and its writes to closed
// sockets do not end the process with SIGPIPE.
void curlew_block_signals(void);
void curlew_name_thread(const char *name);
// Returns the descriptor of a new file in memory that contains `bytes`, or -1 with errno set. Its path is
// /proc/self/fd/<descriptor>. The caller closes it.
int curlew_memory_file(const void *bytes, uint64_t length);

// Inform the thread sanitizer that the code before a continuation's `resume` happens before the code that it resumes,
// which the sanitizer does not see. Call curlew_before ahead of `resume` and curlew_after in the resumed code, with the
// same address. The object is not accessed. In builds without the sanitizer both do nothing.
void curlew_before(void *object);
void curlew_after(void *object);
#endif
