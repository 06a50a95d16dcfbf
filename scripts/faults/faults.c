// Preloaded into a process (LD_PRELOAD), this makes its stream sockets behave as badly as POSIX allows.
//
//   CURLEW_FAULT_MODE=short-reads     one byte per read for the first KiB of a socket, then a few at a time
//                     short-writes    one byte per write for the first KiB, then a few at a time
//                     tiny-buffers    send and receive buffers of 8 KiB
//                     slow            a pause after every read
//                     again           every third read or write of a non-blocking socket says EAGAIN first
//                     interrupted     calls that would wait fail with EINTR: every other read, accept, poll, epoll_wait
//                     fail            call number CURLEW_FAULT_CALL of CURLEW_FAULT_FUNCTION fails
//   CURLEW_FAULT_FUNCTION=socket|connect|read|write|epoll, CURLEW_FAULT_ERRNO=number
//
// Everything but stream sockets is left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum mode { NONE, SHORT_READS, SHORT_WRITES, TINY_BUFFERS, SLOW, AGAIN, INTERRUPTED, FAIL };

static enum mode mode;
static const char *failing = "";
static int failing_call, failing_errno;
static atomic_int calls;
static atomic_uint seen[65536][2];   // bytes read and written on each descriptor
static atomic_uint turns[65536][2];  // calls on each descriptor that could be refused
static atomic_uint unheard[65536];   // bytes written since the last were read
static atomic_uint whole[65536];      // sockets whose writes are not cut
static atomic_uint waits;

__attribute__((constructor)) static void begin(void) {
    static const char *names[] = {"", "short-reads", "short-writes", "tiny-buffers", "slow", "again", "interrupted", "fail"};
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

static int never_blocks(int fd) {
    int before = errno, flags = fcntl(fd, F_GETFL);
    errno = before;
    return flags >= 0 && flags & O_NONBLOCK;
}

// Whether the call finds nothing to do now, so that the kernel would let it wait.
static int would_wait(int fd, short events) {
    NEXT(poll);
    struct pollfd slot = {.fd = fd, .events = events};
    int before = errno, ready = next(&slot, 1, 0);
    errno = before;
    return ready == 0;
}

// A kernel may answer EAGAIN to calls that must not block, and EINTR to calls that would. A peer that has just sent something
// has read what was sent to it, and the smallest send buffer is larger than this.
enum { ROOM = 4096 };

static int refuses(int fd, int writes) {
    if (mode == AGAIN && never_blocks(fd)) {
        if (writes && atomic_load(&unheard[fd]) < ROOM) return 0;
        errno = EAGAIN;
        return atomic_fetch_add(&turns[fd][writes], 1) % 3 == 0;
    }
    if (mode == INTERRUPTED && !never_blocks(fd) && would_wait(fd, writes ? POLLOUT : POLLIN)) {
        errno = EINTR;
        return atomic_fetch_add(&turns[fd][writes], 1) % 2 == 0;
    }
    return 0;
}

static int contains(const char *bytes, size_t count, const char *text) { return memmem(bytes, count, text, strlen(text)) != 0; }

// libcurl 7.88 reads a streamed body while a part of its request's head is still to be written: it mixes chunks up with
// the head, and a body that pauses stops the head too. Such heads must go out whole.
static int begins_body(const char *bytes, size_t count) {
    if (!bytes || count < 5 || !memcmp(bytes, "HTTP/", 5)) return 0;
    if (contains(bytes, count, "\r\nTransfer-Encoding: chunked\r\n")) return 1;
    return contains(bytes, count, "\r\nContent-Length: ") && !memcmp(bytes + count - 4, "\r\n\r\n", 4);
}

// libcurl 7.88 fails with 16 or 55 if a write of plain HTTP/2 moves a part of it: `curl --http2-prior-knowledge` does so too.
static int speaks_http2(int fd, const void *bytes, size_t count) {
    static const char preface[] = "PRI * HTTP/2.0\r\n";
    if (bytes && count >= sizeof preface - 1 && !memcmp(bytes, preface, sizeof preface - 1)) atomic_store(&whole[fd], 1);
    return atomic_load(&whole[fd]);
}

// libcurl 7.88 loses its place in a SOCKS handshake of which a write moves a part, as curl does (97).
static int greets_socks(const void *bytes, size_t count) {
    const unsigned char *text = bytes;
    return bytes && count > 2 && count < 600 && text[0] == 5 && text[1] <= 3;
}

// How many bytes this call may move; 0 for none at all this time, errno saying why. `bytes` are those to write.
static size_t allowance(int fd, const void *bytes, size_t wanted) {
    int writes = bytes != 0;
    if (mode == NONE || wanted == 0 || fd < 0 || fd >= 65536 || !is_stream(fd)) return wanted;
    if (fails(writes ? "write" : "read")) return 0;
    if (begins_body(bytes, wanted) || greets_socks(bytes, wanted) || (writes && speaks_http2(fd, bytes, wanted))) return wanted;
    if (refuses(fd, writes)) return 0;
    if (mode == SLOW && !writes) nanosleep(&(struct timespec){0, 200000}, 0);
    if (mode != (writes ? SHORT_WRITES : SHORT_READS)) return wanted;
    unsigned moved = atomic_load(&seen[fd][writes]);
    size_t most = moved < 1024 ? 1 : moved < 16384 ? 1 + moved % 13 : 1 + moved % 4099;
    return wanted < most ? wanted : most;
}

static ssize_t moved(int fd, ssize_t count, int writes) {
    if (count <= 0 || fd < 0 || fd >= 65536) return count;
    atomic_fetch_add(&seen[fd][writes], (unsigned)count);
    if (writes) atomic_fetch_add(&unheard[fd], (unsigned)count);
    else atomic_store(&unheard[fd], 0);
    return count;
}

static void prepare(int fd) {
    if (fd < 0 || fd >= 65536) return;
    atomic_store(&seen[fd][0], 0);
    atomic_store(&seen[fd][1], 0);
    atomic_store(&unheard[fd], 0);
    atomic_store(&whole[fd], 0);
    atomic_store(&turns[fd][0], 0);
    atomic_store(&turns[fd][1], 0);
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
    if (mode == INTERRUPTED && refuses(listener, 0)) return -1;
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
    size_t most = flags & MSG_PEEK ? count : allowance(fd, 0, count);
    if (!most && count) return -1;
    return flags & MSG_PEEK ? next(fd, buffer, count, flags) : moved(fd, next(fd, buffer, most, flags), 0);
}

ssize_t send(int fd, const void *buffer, size_t count, int flags) {
    NEXT(send);
    size_t most = allowance(fd, buffer, count);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most, flags), 1);
}

ssize_t read(int fd, void *buffer, size_t count) {
    NEXT(read);
    size_t most = allowance(fd, 0, count);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most), 0);
}

ssize_t write(int fd, const void *buffer, size_t count) {
    NEXT(write);
    size_t most = allowance(fd, buffer, count);
    if (!most && count) return -1;
    return moved(fd, next(fd, buffer, most), 1);
}

// A wait that has found something is not interrupted.
static int interrupts(int found, int timeout) {
    if (found != 0 || timeout == 0 || atomic_fetch_add(&waits, 1) % 2) return 0;
    errno = EINTR;
    return 1;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
    NEXT(epoll_wait);
    if (mode != INTERRUPTED) return next(epoll, events, most, timeout);
    int found = next(epoll, events, most, 0);
    if (interrupts(found, timeout)) return -1;
    return found ? found : next(epoll, events, most, timeout);
}

int poll(struct pollfd *slots, nfds_t count, int timeout) {
    NEXT(poll);
    if (mode != INTERRUPTED) return next(slots, count, timeout);
    int found = next(slots, count, 0);
    if (interrupts(found, timeout)) return -1;
    return found ? found : next(slots, count, timeout);
}
