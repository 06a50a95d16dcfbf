// Preloaded into a process (LD_PRELOAD), this makes its stream sockets behave as badly as POSIX allows.
//
//   CURLEW_FAULT_MODE=short-reads     one byte per read for the first KiB of a socket, then a few at a time
//                     short-writes    the same for writes of more than 4 KiB
//                     tiny-buffers    send and receive buffers of 8 KiB
//                     slow            a pause after every read
//                     fail            call number CURLEW_FAULT_CALL of CURLEW_FAULT_FUNCTION fails
//   CURLEW_FAULT_FUNCTION=socket|connect|read|write|epoll, CURLEW_FAULT_ERRNO=number
//
// Everything but stream sockets is left alone. No call says EAGAIN or EINTR of its own: what
// fails then has yet to be understood (Docs/Reliability.md).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum mode { NONE, SHORT_READS, SHORT_WRITES, TINY_BUFFERS, SLOW, FAIL };

static enum mode mode;
static const char *failing = "";
static int failing_call, failing_errno;
static atomic_int calls;
static atomic_uint seen[65536][2];  // bytes read and written on each descriptor

__attribute__((constructor)) static void begin(void) {
    static const char *names[] = {"", "short-reads", "short-writes", "tiny-buffers", "slow", "fail"};
    const char *name = getenv("CURLEW_FAULT_MODE");
    for (int index = 1; name && index <= FAIL; index++)
        if (!strcmp(name, names[index])) mode = (enum mode)index;
    if (mode != FAIL) return;
    const char *function = getenv("CURLEW_FAULT_FUNCTION"), *call = getenv("CURLEW_FAULT_CALL"), *number = getenv("CURLEW_FAULT_ERRNO");
    failing = function ? strdup(function) : "";
    failing_call = call ? atoi(call) : 1;
    failing_errno = number ? atoi(number) : ENOMEM;
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int fails(const char *function) {
    if (mode != FAIL || strcmp(function, failing) || atomic_fetch_add(&calls, 1) + 1 != failing_call) return 0;
    static const char text[] = "faults: injected\n";
    if (getenv("CURLEW_FAULT_TELL")) (void)!write(2, text, sizeof text - 1);
    errno = failing_errno;
    return 1;
}

static int is_stream(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    int before = errno, answer = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
    errno = before;
    return answer;
}

// How many bytes this call may move; 0 for none at all this time, errno saying why.
static size_t allowance(int fd, size_t wanted, int writes) {
    if (mode == NONE || wanted == 0 || fd < 0 || fd >= 65536 || !is_stream(fd)) return wanted;
    if (fails(writes ? "write" : "read")) return 0;
    if (mode == SLOW && !writes) nanosleep(&(struct timespec){0, 200000}, 0);
    if (mode != (writes ? SHORT_WRITES : SHORT_READS)) return wanted;
    unsigned moved = atomic_load(&seen[fd][writes]);
    // A head goes out whole: libcurl 7.88 mixes the rest of one up with the chunks of the body behind it.
    if (writes && wanted <= 4096) return wanted;
    size_t most = moved < 1024 ? 1 : moved < 16384 ? 1 + moved % 13 : 1 + moved % 4099;
    return wanted < most ? wanted : most;
}

static ssize_t moved(int fd, ssize_t count, int writes) {
    if (count > 0 && fd >= 0 && fd < 65536) atomic_fetch_add(&seen[fd][writes], (unsigned)count);
    return count;
}

static void prepare(int fd) {
    if (fd < 0 || fd >= 65536) return;
    atomic_store(&seen[fd][0], 0);
    atomic_store(&seen[fd][1], 0);
    if (mode != TINY_BUFFERS || !is_stream(fd)) return;
    int size = 4096;  // the kernel doubles it
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

int socket(int domain, int type, int protocol) {
    NEXT(socket);
    if ((type & 0xF) == SOCK_STREAM && fails("socket")) return -1;
    int fd = next(domain, type, protocol);
    prepare(fd);
    return fd;
}

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    NEXT(accept4);
    int fd = next(listener, address, length, flags);
    prepare(fd);
    return fd;
}

int accept(int listener, struct sockaddr *address, socklen_t *length) { return accept4(listener, address, length, 0); }

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    NEXT(connect);
    if (is_stream(fd) && fails("connect")) return -1;
    return next(fd, address, length);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    NEXT(epoll_ctl);
    if (operation == EPOLL_CTL_ADD && is_stream(fd) && fails("epoll")) return -1;
    return next(epoll, operation, fd, event);
}

ssize_t recv(int fd, void *buffer, size_t count, int flags) {
    NEXT(recv);
    size_t most = flags & MSG_PEEK ? count : allowance(fd, count, 0);
    if (!most && count) return -1;
    return flags & MSG_PEEK ? next(fd, buffer, count, flags) : moved(fd, next(fd, buffer, most, flags), 0);
}

ssize_t send(int fd, const void *buffer, size_t count, int flags) {
    NEXT(send);
    size_t most = allowance(fd, count, 1);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most, flags), 1);
}

ssize_t read(int fd, void *buffer, size_t count) {
    NEXT(read);
    size_t most = allowance(fd, count, 0);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most), 0);
}

ssize_t write(int fd, const void *buffer, size_t count) {
    NEXT(write);
    size_t most = allowance(fd, count, 1);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most), 1);
}
