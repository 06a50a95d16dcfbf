#define _GNU_SOURCE
#include "curlew_codings.h"
#include <dlfcn.h>
#include <pthread.h>

// Copies of the declarations in brotli/decode.h and zstd.h, whose interfaces have been stable since version 1.0.
typedef struct {
    const void *bytes;
    size_t size, position;
} zstd_input;
typedef struct {
    void *bytes;
    size_t size, position;
} zstd_output;

enum { BROTLI_ERROR, BROTLI_SUCCESS, BROTLI_NEEDS_INPUT, BROTLI_NEEDS_OUTPUT };

static struct {
    void *(*create)(void *allocate, void *release, void *opaque);
    int (*run)(void *, size_t *left, const uint8_t **input, size_t *room, uint8_t **output, size_t *total);
    void (*destroy)(void *);
} brotli;

static struct {
    void *(*create)(void);
    size_t (*run)(void *, zstd_output *, zstd_input *);
    size_t (*destroy)(void *);
    unsigned (*is_error)(size_t);
} zstd;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_brotli, has_zstd;

static void find(void) {
    // RTLD_NOLOAD uses only a library that is already loaded, as libcurl's dependency. RTLD_DEFAULT finds the functions
    // if they are linked statically. The libraries are never closed, so the functions stay valid.
    void *library = dlopen("libbrotlidec.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = RTLD_DEFAULT;
    brotli.create = (void *(*)(void *, void *, void *))dlsym(library, "BrotliDecoderCreateInstance");
    brotli.run = (int (*)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *))dlsym(
        library, "BrotliDecoderDecompressStream");
    brotli.destroy = (void (*)(void *))dlsym(library, "BrotliDecoderDestroyInstance");
    has_brotli = brotli.create && brotli.run && brotli.destroy;

    library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = RTLD_DEFAULT;
    zstd.create = (void *(*)(void))dlsym(library, "ZSTD_createDStream");
    zstd.run = (size_t(*)(void *, zstd_output *, zstd_input *))dlsym(library, "ZSTD_decompressStream");
    zstd.destroy = (size_t(*)(void *))dlsym(library, "ZSTD_freeDStream");
    zstd.is_error = (unsigned (*)(size_t))dlsym(library, "ZSTD_isError");
    has_zstd = zstd.create && zstd.run && zstd.destroy && zstd.is_error;
}

int curlew_decoder_available(enum curlew_coding coding) {
    pthread_once(&once, find);
    return coding == CURLEW_CODING_BROTLI ? has_brotli : has_zstd;
}

void *curlew_decoder_create(enum curlew_coding coding) {
    if (!curlew_decoder_available(coding)) return NULL;
    return coding == CURLEW_CODING_BROTLI ? brotli.create(NULL, NULL, NULL) : zstd.create();
}

void curlew_decoder_free(enum curlew_coding coding, void *decoder) {
    if (coding == CURLEW_CODING_BROTLI)
        brotli.destroy(decoder);
    else
        zstd.destroy(decoder);
}

static int run_brotli(void *decoder, const uint8_t **input, size_t *left, uint8_t **output, size_t *room) {
    switch (brotli.run(decoder, left, input, room, output, NULL)) {
    case BROTLI_SUCCESS: return CURLEW_DECODER_ENDED;
    case BROTLI_NEEDS_INPUT:
    case BROTLI_NEEDS_OUTPUT: return CURLEW_DECODER_GOES_ON;
    default: return CURLEW_DECODER_BROKEN;
    }
}

static int run_zstd(void *decoder, const uint8_t **input, size_t *left, uint8_t **output, size_t *room) {
    zstd_input in = {*input, *left, 0};
    zstd_output out = {*output, *room, 0};
    size_t result = zstd.run(decoder, &out, &in);
    if (zstd.is_error(result)) return CURLEW_DECODER_BROKEN;
    *input += in.position, *left -= in.position;
    *output += out.position, *room -= out.position;
    return result == 0 ? CURLEW_DECODER_ENDED : CURLEW_DECODER_GOES_ON;
}

int curlew_decoder_run(enum curlew_coding coding, void *decoder, const uint8_t **input, size_t *left, uint8_t **output,
                       size_t *room) {
    return coding == CURLEW_CODING_BROTLI ? run_brotli(decoder, input, left, output, room)
                                          : run_zstd(decoder, input, left, output, room);
}
