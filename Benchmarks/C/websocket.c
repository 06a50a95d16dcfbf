// The baseline of WebSockets: one thread, libcurl's connections (CURLOPT_CONNECT_ONLY, curl_easy_send, curl_easy_recv), and
// no more framing than an echo needs. Prints one line of JSON, like limit.c.
//
//     websocket echo URL size=BYTES window=N seconds=S    echoes, N messages under way
//     websocket idle URL count=N                          the memory of N open connections
// cc -O2 -Wall -o websocket websocket.c -lcurl
#define _GNU_SOURCE
#include <curl/curl.h>
#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

enum { BUFFER = 64 * 1024 };

static CURLM *multi;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static long status_field(const char *name) {
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) value = atol(line + strlen(name));
    if (file) fclose(file);
    return value;
}

// --- connections

struct connection {
    CURL *easy;
    curl_socket_t fd;
};

static void wait_for(struct connection *connection, short events) {
    struct pollfd wanted = {.fd = connection->fd, .events = events};
    poll(&wanted, 1, -1);
}

static void send_all(struct connection *connection, const unsigned char *bytes, size_t length) {
    while (length) {
        size_t count = 0;
        CURLcode code = curl_easy_send(connection->easy, bytes, length, &count);
        if (code == CURLE_AGAIN) wait_for(connection, POLLOUT);
        else if (code) errx(1, "send: %s", curl_easy_strerror(code));
        bytes += count;
        length -= count;
    }
}

static size_t receive(struct connection *connection, unsigned char *bytes, size_t length) {
    while (1) {
        size_t count = 0;
        CURLcode code = curl_easy_recv(connection->easy, bytes, length, &count);
        if (code == CURLE_AGAIN) {
            wait_for(connection, POLLIN);
            continue;
        }
        if (code || !count) errx(1, "receive: %s", code ? curl_easy_strerror(code) : "the end");
        return count;
    }
}

// The handles stay in the multi handle, which owns their connections.
static void open_all(const char *url, struct connection *connections, long count) {
    for (long i = 0; i < count; i++) {
        CURL *easy = connections[i].easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_multi_add_handle(multi, easy);
        int running = 1, left;
        CURLMsg *message = NULL;
        while (!message) {
            curl_multi_perform(multi, &running);
            message = curl_multi_info_read(multi, &left);
            if (!message) curl_multi_poll(multi, NULL, 0, 1000, NULL);
        }
        if (message->data.result) errx(1, "connect: %s", curl_easy_strerror(message->data.result));
        curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &connections[i].fd);
        char request[512], head[1024];
        int length = snprintf(request, sizeof request,
                              "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
        send_all(&connections[i], (unsigned char *)request, (size_t)length);
        // The server sends nothing after the head by itself.
        size_t received = 0;
        do {
            received += receive(&connections[i], (unsigned char *)head + received, sizeof head - 1 - received);
            head[received] = 0;
        } while (!strstr(head, "\r\n\r\n"));
        if (strncmp(head, "HTTP/1.1 101", 12)) errx(1, "not a WebSocket: %.40s", head);
    }
}

// --- framing

static size_t frame(unsigned char *out, const unsigned char *payload, size_t length, int opcode) {
    static unsigned char keys[1024];
    static size_t used = sizeof keys;
    unsigned char *start = out;
    *out++ = (unsigned char)(0x80 | opcode);
    if (length < 126) {
        *out++ = (unsigned char)(0x80 | length);
    } else if (length < 65536) {
        *out++ = 0x80 | 126;
        *out++ = (unsigned char)(length >> 8);
        *out++ = (unsigned char)length;
    } else {
        *out++ = 0x80 | 127;
        for (int i = 7; i >= 0; i--) *out++ = (unsigned char)((uint64_t)length >> (8 * i));
    }
    if (used == sizeof keys) {
        if (getrandom(keys, sizeof keys, 0) != sizeof keys) errx(1, "getrandom");
        used = 0;
    }
    const unsigned char *key = keys + used;
    used += 4;
    memcpy(out, key, 4);
    out += 4;
    uint64_t wide, word;
    memcpy(&wide, key, 4);
    memcpy((char *)&wide + 4, key, 4);
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, payload + i, 8);
        word ^= wide;
        memcpy(out + i, &word, 8);
    }
    for (; i < length; i++) out[i] = payload[i] ^ key[i & 3];
    return (size_t)(out + length - start);
}

// Counts the messages of a fixed size in received bytes. Their bytes are copied, as for a reader.
struct reader {
    unsigned char head[10], *message;
    size_t head_length, left, position;
};

static long count_messages(struct reader *reader, const unsigned char *bytes, size_t length) {
    long ended = 0;
    while (length) {
        if (reader->left) {
            size_t count = length < reader->left ? length : reader->left;
            memcpy(reader->message + reader->position, bytes, count);
            reader->position += count;
            reader->left -= count;
            bytes += count;
            length -= count;
            if (!reader->left) ended++;
            continue;
        }
        reader->head[reader->head_length++] = *bytes++;
        length--;
        if (reader->head_length < 2) continue;
        size_t size = reader->head[1] == 126 ? 4 : reader->head[1] == 127 ? 10 : 2;
        if (reader->head_length < size) continue;
        reader->left = reader->head[1];
        if (size > 2) {
            reader->left = 0;
            for (size_t i = 2; i < size; i++) reader->left = reader->left << 8 | reader->head[i];
        }
        reader->head_length = reader->position = 0;
    }
    return ended;
}

// --- what is measured

static void echo(const char *url, size_t size, long window, double seconds, double warm_up, long most) {
    struct connection connection;
    open_all(url, &connection, 1);
    unsigned char *payload = malloc(size), *out = malloc((size + 14) * (size_t)window), *in = malloc(BUFFER);
    struct reader reader = {.message = malloc(size)};
    memset(payload, 'x', size);
    long rss = status_field("VmRSS:"), to_send = window, done = 0, counted_from = 0;
    double count_at = now() + warm_up, stop_at = count_at + seconds, began = now(), cpu = cpu_seconds();
    while (1) {
        size_t length = 0;
        for (; to_send; to_send--) length += frame(out + length, payload, size, 2);
        send_all(&connection, out, length);
        to_send = count_messages(&reader, in, receive(&connection, in, BUFFER));
        done += to_send;
        if (most) {
            if (done >= most) break;
            continue;
        }
        double at = now();
        if (at >= stop_at) break;
        if (count_at && at >= count_at) count_at = 0, began = at, cpu = cpu_seconds(), counted_from = done;
    }
    double ended = now();
    printf("{\"client\": \"c\", \"requests\": %ld, \"failures\": 0, \"seconds\": %.6f, \"cpu\": %.6f, \"bytes\": %ld, "
           "\"rss_before_kb\": %ld, \"rss_peak_kb\": %ld}\n",
           done - counted_from, ended - began, cpu_seconds() - cpu, (done - counted_from) * (long)size, rss,
           status_field("VmHWM:"));
}

static void idle(const char *url, long count) {
    struct connection *connections = calloc((size_t)count + 1, sizeof *connections);
    // Makes the objects that all connections share.
    open_all(url, connections + count, 1);
    long before = status_field("VmRSS:");
    open_all(url, connections, count);
    printf("{\"client\": \"c\", \"requests\": %ld, \"failures\": 0, \"held_kb\": %ld}\n", count,
           status_field("VmRSS:") - before);
}

int main(int argc, char **argv) {
    if (argc < 3) errx(2, "echo|idle URL [size=BYTES window=N seconds=S warm-up=S count=N]");
    long size = 32, window = 1, count = 0;
    double seconds = 2, warm_up = 0.3;
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) continue;
        *value++ = 0;
        if (!strcmp(argv[i], "size")) size = atol(value);
        if (!strcmp(argv[i], "window")) window = atol(value);
        if (!strcmp(argv[i], "count")) count = atol(value);
        if (!strcmp(argv[i], "seconds")) seconds = atof(value);
        if (!strcmp(argv[i], "warm-up")) warm_up = atof(value);
    }
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    curl_global_init(CURL_GLOBAL_ALL);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 100000L);
    if (!strcmp(argv[1], "idle")) idle(argv[2], count ? count : 1000);
    else echo(argv[2], (size_t)size, window, seconds, warm_up, count);
    fflush(stdout);
    _Exit(0);
}
