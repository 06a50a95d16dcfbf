#ifndef CURLEW_FUTEX_H
#define CURLEW_FUTEX_H

#include <stdint.h>

// Sleeps while the word has this value; may return for no reason.
void curlew_futex_wait(const void *word, uint32_t value);

// Wakes one who sleeps on the word.
void curlew_futex_wake(const void *word);

// The number of the calling thread, never 0.
uint32_t curlew_thread(void);

// Tells the processor that the thread is going round in circles.
static inline void curlew_futex_spin(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

#endif
