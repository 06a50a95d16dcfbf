// The baseline for Curlew's engine: a plain C program over libcurl.
//
// curl_multi_socket_action over epoll on one thread. The poller is lazy: libcurl asks to stop watching a
// socket at the end of every transfer and to watch it again at the start of the next; the registration
// for reading stays until an unwanted event arrives or libcurl closes the socket. Handles are re-used with
// their options, each request has another URL, and the fields that the engine reads are read. libcurl would parse each
// URL and write it again; the parts of one that we hold (CURLOPT_CURLU) it only copies.
//
// cc -O2 -o limit limit.c -lcurl      ./limit MODE URL in-flight=64 seconds=2 …   prints one line of JSON
#define _GNU_SOURCE
#include <curl/curl.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HANDLES_PER_MULTI = 256, MOST_SOCKETS = 65536, MOST_MULTIS = 64, BATCH = 256 };

static struct {
    const char *mode, *url, *file;
    const char *ca;
    const char *kept; // `held` requests for it get no response; `limit`: the number of connections that multi handles are made for
    long in_flight, count, http2, http3, size_of_buffer, held, connections, limit;
    double seconds, warm_up;
    int closes;
} options = {.in_flight = 1, .seconds = 2, .warm_up = 0.3};

struct loop {
    CURLM *multi;
    long long deadline; // microseconds, -1 for none
};

struct transfer {
    CURL *easy;
    struct loop *loop;
    CURLU *parts;
    char head[4096];
    size_t head_length;
    long long started;
    curl_off_t sent, written;
    char error[CURL_ERROR_SIZE];
};

// A descriptor in the poller. Only sockets that our own callback made may be lazy: libcurl
// closes others without a callback, and their numbers are used again at once.
struct watched {
    struct loop *loop;
    unsigned char ours, registered, wanted;
};

static struct loop loops[MOST_MULTIS];
static int loop_count;
static struct watched sockets[MOST_SOCKETS];
static int poller;
static int upload_file = -1, download_file = -1;
static curl_off_t upload_length;
static struct curl_slist *headers;
// Made in advance, as for the other clients; there are enough that successive requests differ.
static char (*urls)[512];
static const long distinct_urls = 1024;
static struct transfer *held;
static long held_sent;

static long long stop_at, count_from;
static long started_total, done_total, failed_total, counted;
static long long bytes_total, latency_total;
static int stopping;
static char first_error[CURL_ERROR_SIZE + 32];
// The figures that the engine reads for its metrics, so that their cost is included.
static volatile long long sum_of_metrics;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long status_field(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = 0;
    size_t length = strlen(name);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, length)) value = atol(line + length + 1);
    if (file) fclose(file);
    return value;
}

// --- the poller

static void watch(int fd, unsigned char events) {
    struct watched *w = &sockets[fd];
    if (w->registered == events) return;
    struct epoll_event event = {.events = events, .data.fd = fd};
    int operation = w->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(poller, operation, fd, &event) && errno == ENOENT) epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    w->registered = events;
}

static void unwatch(int fd) {
    if (sockets[fd].registered) epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
    sockets[fd].registered = 0;
}

static int socket_callback(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data) {
    (void)easy, (void)socket_data;
    struct watched *w = &sockets[fd];
    w->loop = data;
    switch (what) {
    case CURL_POLL_REMOVE:
        w->wanted = 0;
        if (!w->ours || w->registered != EPOLLIN) unwatch(fd);
        break;
    case CURL_POLL_IN: watch(fd, w->wanted = EPOLLIN); break;
    case CURL_POLL_OUT: watch(fd, w->wanted = EPOLLOUT); break;
    case CURL_POLL_INOUT: watch(fd, w->wanted = EPOLLIN | EPOLLOUT); break;
    }
    return 0;
}

static int timer_callback(CURLM *multi, long milliseconds, void *data) {
    (void)multi;
    ((struct loop *)data)->deadline = milliseconds < 0 ? -1 : now() + milliseconds * 1000LL;
    return 0;
}

static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *a) {
    (void)data, (void)purpose;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= MOST_SOCKETS) return close(fd), CURL_SOCKET_BAD;
    if (fd >= 0) sockets[fd] = (struct watched){.ours = 1};
    return fd;
}

static int close_socket(void *data, curl_socket_t fd) {
    (void)data;
    sockets[fd] = (struct watched){0};
    return close(fd);
}

// --- one transfer

static size_t on_head(char *bytes, size_t size, size_t count, void *data) {
    struct transfer *t = data;
    size_t length = size * count;
    if (t->head_length + length < sizeof t->head) {
        memcpy(t->head + t->head_length, bytes, length);
        t->head_length += length;
    }
    return length;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data) {
    struct transfer *t = data;
    size_t length = size * count;
    for (size_t done = 0; download_file >= 0 && done < length;) {
        ssize_t wrote = pwrite(download_file, bytes + done, length - done, t->written);
        if (wrote <= 0) return 0;
        done += (size_t)wrote;
        t->written += wrote;
    }
    bytes_total += (long long)length;
    return length;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *data) {
    struct transfer *t = data;
    ssize_t got = pread(upload_file, buffer, size * count, t->sent);
    if (got < 0) return CURL_READFUNC_ABORT;
    t->sent += got;
    bytes_total += got;
    return (size_t)got;
}

static int on_prerequest(void *data, char *remote, char *local, int remote_port, int local_port) {
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    struct transfer *t = data;
    if (held && t >= held && t < held + options.held) held_sent++;
    return CURL_PREREQFUNC_OK;
}

// Everything that does not change from request to request is set once: equal requests can follow each
// other on a handle without a reset, which saves a good part of libcurl's own time.
static void prepare(struct transfer *t, const char *url) {
    CURL *easy = t->easy = curl_easy_init();
    if (curl_url_set(t->parts = curl_url(), CURLUPART_URL, url, 0)) errx(2, "not a URL");
    curl_easy_setopt(easy, CURLOPT_CURLU, t->parts);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, ""); // or else it asks the environment each time
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    if (options.http3) curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, 31L); // CURL_HTTP_VERSION_3ONLY, 7.88
    if (options.http2 || options.http3) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_prerequest);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, t);
    // Without a directory libcurl keeps the parsed bundle of certificates (7.87 and later).
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (options.ca) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca);
    if (options.size_of_buffer) curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, options.size_of_buffer);
    if (upload_file >= 0) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, upload_length);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, t);
        if (options.size_of_buffer) curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, options.size_of_buffer);
    }
}

// Another URL each time, as in real use. libcurl uses the text of the URL for its own repetitions.
static void add(struct transfer *t, const char *url) {
    curl_url_set(t->parts, CURLUPART_QUERY, strchr(url, '?') + 1, 0);
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    CURLMcode code = curl_multi_add_handle(t->loop->multi, t->easy);
    if (code) errx(1, "%s", curl_multi_strerror(code));
}

static void start(struct transfer *t) {
    t->head_length = 0;
    t->sent = t->written = 0;
    // An empty file each time.
    if (download_file >= 0 && ftruncate(download_file, 0)) perror("limit: file");
    t->started = now();
    add(t, urls[started_total++ % distinct_urls]);
}

static void read_metrics(CURL *easy) {
    static const CURLINFO offsets[] = {
        CURLINFO_NAMELOOKUP_TIME_T,    CURLINFO_CONNECT_TIME_T, CURLINFO_APPCONNECT_TIME_T, CURLINFO_PRETRANSFER_TIME_T,
        CURLINFO_STARTTRANSFER_TIME_T, CURLINFO_TOTAL_TIME_T,   CURLINFO_SIZE_UPLOAD_T,     CURLINFO_SIZE_DOWNLOAD_T};
    static const CURLINFO longs[] = {CURLINFO_REQUEST_SIZE, CURLINFO_HEADER_SIZE, CURLINFO_NUM_CONNECTS,
                                     CURLINFO_PRIMARY_PORT, CURLINFO_LOCAL_PORT};
    static const CURLINFO strings[] = {CURLINFO_PRIMARY_IP, CURLINFO_LOCAL_IP};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        curl_off_t value = 0;
        curl_easy_getinfo(easy, offsets[i], &value);
        sum_of_metrics += value;
    }
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
        long value = 0;
        curl_easy_getinfo(easy, longs[i], &value);
        sum_of_metrics += value;
    }
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        char *value = NULL;
        curl_easy_getinfo(easy, strings[i], &value);
        if (value) sum_of_metrics += *value;
    }
}

static int wants_more(void) {
    return !stopping && (!options.count || started_total < options.count);
}

static void finish(struct transfer *t, CURLcode result) {
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    read_metrics(t->easy);
    long long ended = now();
    if (result != CURLE_OK || status / 100 != 2) {
        if (!failed_total++)
            snprintf(first_error, sizeof first_error, "%d %ld %s", (int)result, status, result ? t->error : "");
    } else if (ended >= count_from) {
        counted++;
        latency_total += ended - t->started;
    }
    done_total++;
    curl_multi_remove_handle(t->loop->multi, t->easy);
    if (wants_more()) start(t);
}

static void drain(struct loop *loop) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(loop->multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        struct transfer *t;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        finish(t, result);
    }
}

// --- the run

static void run_timers(void) {
    for (int i = 0; i < loop_count; i++) {
        struct loop *loop = &loops[i];
        int running;
        while (loop->deadline >= 0 && loop->deadline <= now()) {
            loop->deadline = -1;
            curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
            drain(loop);
        }
    }
}

static int patience(void) { // milliseconds until the next deadline
    long long soonest = count_from > 0 && !stopping && !options.count ? stop_at : -1;
    for (int i = 0; i < loop_count; i++)
        if (loops[i].deadline >= 0 && (soonest < 0 || loops[i].deadline < soonest)) soonest = loops[i].deadline;
    if (soonest < 0) return 1000;
    long long left = soonest - now();
    return left <= 0 ? 0 : (int)((left + 999) / 1000);
}

static void turn(void) {
    struct epoll_event events[BATCH];
    int count = epoll_wait(poller, events, BATCH, patience());
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd, running, mask = 0;
        struct watched *w = &sockets[fd];
        if (!w->wanted) { // lazily kept, and now unwanted: a peer closed an idle connection
            unwatch(fd);
            continue;
        }
        if (events[i].events & EPOLLIN) mask |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP)) mask |= CURL_CSELECT_ERR;
        struct loop *loop = w->loop;
        curl_multi_socket_action(loop->multi, fd, mask, &running);
        drain(loop);
    }
    run_timers();
}

// --- requests without a response

// One multi handle is filled before the next; the measured requests get the last one.
static struct loop *loop_of(long index) { return &loops[index / HANDLES_PER_MULTI % loop_count]; }

static void hold(void) {
    held = calloc((size_t)options.held, sizeof *held);
    for (long i = 0; i < options.held; i++) {
        held[i].loop = loop_of(i);
        char url[512];
        prepare(&held[i], options.kept);
        snprintf(url, sizeof url, "%s?%ld", options.kept, i);
        add(&held[i], url);
    }
    run_timers();
    while (held_sent < options.held) turn();
}

static void cancel_held(void) {
    for (long i = 0; i < options.held; i++) {
        curl_multi_remove_handle(held[i].loop->multi, held[i].easy);
        curl_easy_cleanup(held[i].easy);
        curl_url_cleanup(held[i].parts);
    }
}

static void parse(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "limit get|download|upload|hold URL [in-flight=N seconds=S count=N file=PATH http2=1 http3=1 close=1 ca=PATH pem=PATH]\n");
        exit(2);
    }
    options.mode = argv[1];
    options.url = argv[2];
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) continue;
        *value++ = 0;
        if (!strcmp(argv[i], "in-flight")) options.in_flight = atol(value);
        if (!strcmp(argv[i], "seconds")) options.seconds = atof(value);
        if (!strcmp(argv[i], "warm-up")) options.warm_up = atof(value);
        if (!strcmp(argv[i], "count")) options.count = atol(value);
        if (!strcmp(argv[i], "file")) options.file = value;
        if (!strcmp(argv[i], "http2")) options.http2 = atol(value);
        if (!strcmp(argv[i], "http3")) options.http3 = atol(value);
        if (!strcmp(argv[i], "close")) options.closes = atoi(value);
        // The fastest way to use roots in memory is a file, too.
        if (!strcmp(argv[i], "ca") || !strcmp(argv[i], "pem")) options.ca = value;
        if (!strcmp(argv[i], "held")) options.held = atol(value);
        if (!strcmp(argv[i], "kept")) options.kept = value;
        if (!strcmp(argv[i], "connections")) options.connections = atol(value);
        if (!strcmp(argv[i], "limit")) options.limit = atol(value);
        if (!strcmp(argv[i], "buffer")) options.size_of_buffer = atol(value);
    }
    // Downloads and uploads have a larger receive buffer, as in the engine.
    if (!options.size_of_buffer && (!strcmp(options.mode, "download") || !strcmp(options.mode, "upload")))
        options.size_of_buffer = 256 * 1024;
    if (!strcmp(options.mode, "upload")) {
        struct stat facts;
        upload_file = open(options.file ? options.file : "", O_RDONLY | O_CLOEXEC);
        if (upload_file < 0 || fstat(upload_file, &facts)) err(2, "file");
        upload_length = facts.st_size;
    }
    if (!strcmp(options.mode, "download") && options.file) {
        download_file = open(options.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (download_file < 0) err(2, "file");
    }
    if (!strcmp(options.mode, "hold")) options.count = options.in_flight;
}

int main(int argc, char **argv) {
    parse(argc, argv);
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    curl_global_init(CURL_GLOBAL_ALL);
    poller = epoll_create1(EPOLL_CLOEXEC);
    urls = calloc((size_t)distinct_urls, sizeof *urls);
    for (long i = 0; i < distinct_urls; i++) snprintf(urls[i], sizeof *urls, "%s?%ld", options.url, i);
    // A session's default fields, because the cost depends on the length of a request.
    headers = curl_slist_append(headers, "Accept-Encoding: br;q=1.0, gzip;q=0.9, deflate;q=0.8");
    headers = curl_slist_append(headers, "User-Agent: limit (Linux 6.18.44) Curlew/0.1.0");
    headers = curl_slist_append(headers, "Expect:");
    if (options.closes) headers = curl_slist_append(headers, "Connection: close");

    // libcurl searches its connections linearly: several multi handles keep that flat.
    long connections = options.limit ? options.limit : options.connections ? options.connections : options.in_flight;
    loop_count = (int)((connections + HANDLES_PER_MULTI - 1) / HANDLES_PER_MULTI);
    if (loop_count > MOST_MULTIS) loop_count = MOST_MULTIS;
    for (int i = 0; i < loop_count; i++) {
        loops[i].deadline = -1;
        CURLM *multi = loops[i].multi = curl_multi_init();
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_callback);
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &loops[i]);
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_callback);
        curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &loops[i]);
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)HANDLES_PER_MULTI * 2);
        if (options.connections) curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connections);
    }

    long rss_before = status_field("VmRSS:");
    if (options.held) hold();
    long held_kb = status_field("VmRSS:") - rss_before;
    long long began = now();
    count_from = options.count ? began : began + (long long)(options.warm_up * 1e6);
    stop_at = count_from + (long long)(options.seconds * 1e6);
    struct transfer *transfers = calloc((size_t)options.in_flight, sizeof *transfers);
    for (long i = 0; i < options.in_flight && wants_more(); i++) {
        transfers[i].loop = options.held ? loop_of(options.held + i) : &loops[i % loop_count];
        prepare(&transfers[i], options.url);
        start(&transfers[i]);
    }
    run_timers();

    double cpu_from = cpu_seconds();
    int warm = options.count != 0;
    long long bytes_from = 0, counted_from = began;
    while (done_total < started_total) {
        turn();
        long long at = now();
        if (!warm && at >= count_from) { // the warm-up is over
            warm = 1;
            cpu_from = cpu_seconds();
            bytes_from = bytes_total;
            counted = 0;
            latency_total = 0;
            counted_from = at;
        }
        if (!options.count && at >= stop_at && !stopping) {
            stopping = 1;
            break;
        }
    }
    long long ended = now();
    double cpu = cpu_seconds() - cpu_from;
    cancel_held();
    double cancel_cpu = cpu_seconds() - cpu_from - cpu;
    printf("{\"client\": \"c\", \"requests\": %ld, \"failures\": %ld, \"seconds\": %.6f, \"cpu\": %.6f, "
           "\"bytes\": %lld, \"rss_before_kb\": %ld, \"rss_peak_kb\": %ld, \"threads\": %ld, \"latency_us\": %.1f, "
           "\"held_kb\": %ld, \"cancel_cpu\": %.6f, \"error\": \"%s\", \"libcurl\": \"%s\"}\n",
           counted, failed_total, (double)(ended - counted_from) / 1e6, cpu, bytes_total - bytes_from, rss_before,
           status_field("VmHWM:"), status_field("Threads:"), counted ? (double)latency_total / (double)counted : 0.0,
           held_kb, cancel_cpu, first_error, curl_version_info(CURLVERSION_NOW)->version);
    fflush(stdout);
    _exit(failed_total && !counted ? 1 : 0);
}
