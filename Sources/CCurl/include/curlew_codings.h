// brotli and zstd, if libcurl was built with them. libcurl has then loaded their libraries, and their functions are
// looked up by name: nothing is linked, and no header of theirs is needed.
#ifndef CURLEW_CODINGS_H
#define CURLEW_CODINGS_H
#include <stddef.h>
#include <stdint.h>

enum curlew_coding { CURLEW_CODING_BROTLI, CURLEW_CODING_ZSTD };

enum {
    CURLEW_DECODER_BROKEN = -1,
    // More input, or more room, is wanted.
    CURLEW_DECODER_GOES_ON = 0,
    CURLEW_DECODER_ENDED = 1,
};

int curlew_decoder_available(enum curlew_coding coding);
// NULL if there is no memory, or the library is not loaded.
void *curlew_decoder_create(enum curlew_coding coding);
// Takes from `*input` and writes to `output`; both pointers and both counts move.
int curlew_decoder_run(enum curlew_coding coding, void *decoder, const uint8_t **input, size_t *left, uint8_t **output,
                       size_t *room);
void curlew_decoder_free(enum curlew_coding coding, void *decoder);
#endif
