// Decoders for brotli and zstd, if libcurl was built with them. The process has then loaded their libraries, and the
// functions are looked up by name, so this package needs neither their headers nor their libraries to build.
#ifndef CURLEW_CODINGS_H
#define CURLEW_CODINGS_H
#include <stddef.h>
#include <stdint.h>

enum curlew_coding { CURLEW_CODING_BROTLI, CURLEW_CODING_ZSTD };

enum {
    CURLEW_DECODER_BROKEN = -1,
    // The decoder needs more input or more room for output.
    CURLEW_DECODER_GOES_ON = 0,
    CURLEW_DECODER_ENDED = 1,
};

int curlew_decoder_available(enum curlew_coding coding);
// Returns NULL if memory is short or the library is not loaded. Free the decoder with curlew_decoder_free.
void *curlew_decoder_create(enum curlew_coding coding);
// Decodes from `*input` to `*output`. Advances both pointers, and reduces `*left` and `*room` by the bytes read and
// written. Returns one of CURLEW_DECODER_*.
int curlew_decoder_run(enum curlew_coding coding, void *decoder, const uint8_t **input, size_t *left, uint8_t **output,
                       size_t *room);
void curlew_decoder_free(enum curlew_coding coding, void *decoder);
#endif
