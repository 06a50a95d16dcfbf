// epoll and eventfd, which Swift's Glibc module does not export.
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
    // Tells each new event once, whatever was read of it.
    CURLEW_POLL_EDGE = 1u << 31,
};

int curlew_poll_create(void);
// Watches a descriptor, or changes what a known one is watched for.
int curlew_poll_add(int poller, int fd, uint32_t events, uint64_t tag);
int curlew_poll_modify(int poller, int fd, uint32_t events, uint64_t tag);
int curlew_poll_remove(int poller, int fd);
// Waits for at most `timeout_ms` milliseconds (negative: for ever). Interrupted calls return 0.
int curlew_poll_wait(int poller, struct curlew_event *events, int capacity, int timeout_ms);

// To be watched for its edges: it is never read, every signal is an event.
int curlew_wakeup_create(void);
void curlew_wakeup_signal(int fd);

// Blocks every signal for the calling thread, so that none is delivered to (or raised by) the loop.
void curlew_block_signals(void);
void curlew_name_thread(const char *name);
// A sealed file in memory that holds `bytes`; its path is /proc/self/fd/<result>. -1 on failure.
int curlew_memory_file(const void *bytes, uint64_t length);

// For the thread sanitizer alone, which does not see that a continuation's `resume` orders the code on both of its
// sides: call each with the same object. Other builds do nothing here.
void curlew_before(void *object);
void curlew_after(void *object);
#endif
