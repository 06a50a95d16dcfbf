#ifndef CURLEW_GDK_PIXBUF_H
#define CURLEW_GDK_PIXBUF_H

// What CurlewImage calls of gdk-pixbuf and GObject, declared here instead of by their headers. Those are in folders that only
// pkg-config knows, and its flags contain -pthread, which Swift packages may not have: every dependent of this package would
// get a warning. The names are the package's own, so that a program can import GTK's modules as well.
// Both libraries keep these declarations stable: https://docs.gtk.org/gdk-pixbuf/class.PixbufLoader.html

#include <stddef.h>
#include <stdint.h>

#define CURLEW_SYMBOL(name) __asm__(name)

typedef struct curlew_pixbuf curlew_pixbuf;
typedef struct curlew_pixbuf_loader curlew_pixbuf_loader;

// GError
typedef struct {
    uint32_t domain;
    int code;
    char *message;
} curlew_gerror;

curlew_pixbuf_loader *curlew_pixbuf_loader_new(const char *type, curlew_gerror **error)
    CURLEW_SYMBOL("gdk_pixbuf_loader_new_with_type");
int curlew_pixbuf_loader_write(curlew_pixbuf_loader *loader, const unsigned char *bytes, size_t count, curlew_gerror **error)
    CURLEW_SYMBOL("gdk_pixbuf_loader_write");
int curlew_pixbuf_loader_close(curlew_pixbuf_loader *loader, curlew_gerror **error)
    CURLEW_SYMBOL("gdk_pixbuf_loader_close");
void curlew_pixbuf_loader_set_size(curlew_pixbuf_loader *loader, int width, int height)
    CURLEW_SYMBOL("gdk_pixbuf_loader_set_size");
curlew_pixbuf *curlew_pixbuf_loader_get_pixbuf(curlew_pixbuf_loader *loader)
    CURLEW_SYMBOL("gdk_pixbuf_loader_get_pixbuf");

curlew_pixbuf *curlew_pixbuf_upright(curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_apply_embedded_orientation");
int curlew_pixbuf_width(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_get_width");
int curlew_pixbuf_height(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_get_height");
int curlew_pixbuf_channels(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_get_n_channels");
int curlew_pixbuf_stride(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_get_rowstride");
int curlew_pixbuf_bits(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_get_bits_per_sample");
const uint8_t *curlew_pixbuf_pixels(const curlew_pixbuf *pixbuf) CURLEW_SYMBOL("gdk_pixbuf_read_pixels");

// GCallback: each signal calls it with arguments of its own.
typedef void (*curlew_gcallback)(void);
typedef void (*curlew_size_prepared)(curlew_pixbuf_loader *loader, int width, int height, void *context);
unsigned long curlew_signal_connect(
    void *instance, const char *signal, curlew_gcallback callback, void *context, void (*release)(void *, void *), int flags)
    CURLEW_SYMBOL("g_signal_connect_data");
void curlew_gobject_release(void *object) CURLEW_SYMBOL("g_object_unref");
void curlew_gerror_clear(curlew_gerror **error) CURLEW_SYMBOL("g_clear_error");

#endif
