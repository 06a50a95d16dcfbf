// A fast echo server for WebSockets, in one thread, to measure clients with.
// cc -O2 -Wall -o websocket-echo websocket-echo.c
//
// Prints its port, and ends when its standard input does. Frames are sent back without their mask, pings as pongs. No
// extension is agreed on. It trusts its clients and checks nothing.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 256, BUFFER = 256 * 1024, HEAD = 16 * 1024, CLOSE = 8, PING = 9, PONG = 10 };

struct client {
    int fd, is_open, has_closed;
    // The received part of the current frame's head, and the number of bytes of its payload that are missing.
    unsigned char head[14];
    unsigned head_length, mask_position;
    unsigned char mask[4];
    uint64_t left;
    int opcode;
    // The request of the handshake; later the bytes that the socket has not taken.
    char *kept;
    size_t kept_length, kept_sent;
};

static unsigned char buffer[BUFFER];
static int poller;

// --- the handshake: SHA-1 (RFC 3174) and base64 of the key

static uint32_t rotate(uint32_t value, int count) { return value << count | value >> (32 - count); }

static void sha1(const unsigned char *text, size_t length, unsigned char digest[20]) {
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    unsigned char padded[128] = {0};
    size_t total = length + 9 <= 64 ? 64 : 128;
    memcpy(padded, text, length);
    padded[length] = 0x80;
    for (int i = 0; i < 8; i++) padded[total - 1 - i] = (unsigned char)((uint64_t)length * 8 >> (8 * i));
    for (size_t block = 0; block < total; block += 64) {
        uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        for (int i = 0; i < 16; i++) {
            const unsigned char *p = padded + block + 4 * i;
            w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        }
        for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (int i = 0; i < 80; i++) {
            uint32_t f, k;
            if (i < 20) f = (b & c) | (~b & d), k = 0x5A827999;
            else if (i < 40) f = b ^ c ^ d, k = 0x6ED9EBA1;
            else if (i < 60) f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
            else f = b ^ c ^ d, k = 0xCA62C1D6;
            uint32_t next = rotate(a, 5) + f + e + k + w[i];
            e = d, d = c, c = rotate(b, 30), b = a, a = next;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
    }
    for (int i = 0; i < 20; i++) digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

static void base64(const unsigned char *bytes, size_t length, char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (i + 1 < length) bits |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < length) bits |= bytes[i + 2];
        *text++ = digits[bits >> 18];
        *text++ = digits[bits >> 12 & 63];
        *text++ = i + 1 < length ? digits[bits >> 6 & 63] : '=';
        *text++ = i + 2 < length ? digits[bits & 63] : '=';
    }
    *text = 0;
}

static int answer(struct client *client, const char *request) {
    const char *key = strcasestr(request, "\r\nSec-WebSocket-Key:");
    if (!key) return 0;
    key += strlen("\r\nSec-WebSocket-Key:");
    while (*key == ' ') key++;
    char text[96], accept[32], head[256];
    unsigned char digest[20];
    int length = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1((unsigned char *)text, (size_t)length, digest);
    base64(digest, sizeof digest, accept);
    length = snprintf(head, sizeof head,
                      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    return write(client->fd, head, (size_t)length) == length;
}

// --- clients

static void watch(struct client *client, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = client};
    epoll_ctl(poller, operation, client->fd, &event);
}

static void drop(struct client *client) {
    close(client->fd);
    free(client->kept);
    free(client);
}

// Returns 0 if the client is gone.
static int give(struct client *client, const unsigned char *bytes, size_t length) {
    size_t sent = 0;
    while (sent < length) {
        ssize_t count = send(client->fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (count > 0) sent += (size_t)count;
        else if (errno == EAGAIN) break;
        else if (errno != EINTR) return 0;
    }
    if (sent == length) return 1;
    // The rest is kept, and nothing is read until it has been sent.
    client->kept = malloc(length - sent);
    if (!client->kept) return 0;
    memcpy(client->kept, bytes + sent, length - sent);
    client->kept_length = length - sent;
    client->kept_sent = 0;
    watch(client, EPOLL_CTL_MOD, EPOLLOUT);
    return 1;
}

// The size of the frame's head with its mask; 2 while its second byte is missing.
static size_t head_size(const struct client *client) {
    if (client->head_length < 2) return 2;
    int length = client->head[1] & 127;
    return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + 4;
}

static unsigned char *take_head(struct client *client, unsigned char *out) {
    unsigned short_length = client->head[1] & 127;
    size_t unmasked = head_size(client) - 4;
    client->left = short_length;
    if (short_length > 125) {
        client->left = 0;
        for (size_t i = 2; i < unmasked; i++) client->left = client->left << 8 | client->head[i];
    }
    client->opcode = client->head[0] & 15;
    memcpy(client->mask, client->head + unmasked, 4);
    client->mask_position = 0;
    client->head_length = 0;
    if (client->opcode == CLOSE) client->has_closed = 1;
    memcpy(out, client->head, unmasked);
    if (client->opcode == PING) out[0] = (unsigned char)((out[0] & 0xF0) | PONG);
    out[1] &= 127;
    return out + unmasked;
}

// Turns received frames into those that are sent back, in place: a frame without its mask is shorter. If the first bytes of
// a head were received earlier, it is longer than its rest, so there is room in front of the buffer.
static size_t turn_round(struct client *client, unsigned char *bytes, size_t length, unsigned char *out) {
    unsigned char *start = out, *end = bytes + length;
    while (bytes < end) {
        if (client->left) {
            size_t count = (size_t)(end - bytes) < client->left ? (size_t)(end - bytes) : (size_t)client->left;
            unsigned char mask[8];
            for (int i = 0; i < 8; i++) mask[i] = client->mask[(client->mask_position + (unsigned)i) & 3];
            uint64_t wide, word;
            memcpy(&wide, mask, 8);
            size_t i = 0;
            for (; i + 8 <= count; i += 8) {
                memcpy(&word, bytes + i, 8);
                word ^= wide;
                memcpy(out + i, &word, 8);
            }
            for (; i < count; i++) out[i] = bytes[i] ^ mask[i & 7];
            client->mask_position += (unsigned)count;
            client->left -= count;
            bytes += count;
            out += count;
        } else {
            client->head[client->head_length++] = *bytes++;
            if (client->head_length >= 2 && client->head_length == head_size(client)) out = take_head(client, out);
        }
    }
    return (size_t)(out - start);
}

// Returns 0 if the client is gone.
static int take(struct client *client) {
    // A head that was received in two parts is written before the rest.
    ssize_t count = recv(client->fd, buffer + 16, sizeof buffer - 16, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return 0;
    if (client->is_open) {
        size_t length = turn_round(client, buffer + 16, (size_t)count, buffer);
        if (!give(client, buffer, length)) return 0;
        return !client->has_closed || client->left || client->kept;
    }
    char *grown = realloc(client->kept, client->kept_length + (size_t)count + 1);
    if (!grown || client->kept_length + (size_t)count > HEAD) return 0;
    memcpy(grown + client->kept_length, buffer + 16, (size_t)count);
    client->kept = grown;
    client->kept_length += (size_t)count;
    grown[client->kept_length] = 0;
    if (!strstr(grown, "\r\n\r\n")) return 1;
    client->is_open = answer(client, grown);
    free(client->kept);
    client->kept = NULL;
    return client->is_open;
}

static int take_rest(struct client *client) {
    while (client->kept_sent < client->kept_length) {
        ssize_t count = send(client->fd, client->kept + client->kept_sent, client->kept_length - client->kept_sent,
                             MSG_NOSIGNAL);
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        client->kept_sent += (size_t)count;
    }
    free(client->kept);
    client->kept = NULL;
    watch(client, EPOLL_CTL_MOD, EPOLLIN);
    return !client->has_closed;
}

static void accept_all(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct client *client = calloc(1, sizeof *client);
        if (!client) err(1, "client");
        client->fd = fd;
        watch(client, EPOLL_CTL_ADD, EPOLLIN);
    }
}

int main(void) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) err(1, "listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    struct client listening = {.fd = listener}, input = {.fd = 0};
    watch(&listening, EPOLL_CTL_ADD, EPOLLIN);
    watch(&input, EPOLL_CTL_ADD, EPOLLIN);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (1) {
        struct epoll_event events[BATCH];
        int count = epoll_wait(poller, events, BATCH, -1);
        for (int i = 0; i < count; i++) {
            struct client *client = events[i].data.ptr;
            if (client == &input) {
                if (read(0, buffer, sizeof buffer) <= 0) return 0;
            } else if (client == &listening) {
                accept_all(listener);
            } else if (!(client->is_open && client->kept ? take_rest(client) : take(client))) {
                drop(client);
            }
        }
    }
}
