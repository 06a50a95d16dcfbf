#ifndef CURLEW_GDK_PIXBUF_H
#define CURLEW_GDK_PIXBUF_H

// The functions of gdk-pixbuf and GObject that CurlewImage calls, declared here instead of included from their headers.
// Those are in folders that only pkg-config knows, and its flags contain -pthread, which SwiftPM does not permit: every
// package that depends on this one would get a warning. The Swift names differ from the libraries' names, so that a
// program can also import GTK's modules.
// Both libraries keep these declarations stable: https://docs.gtk.org/gdk-pixbuf/class.PixbufLoader.html

#include <stddef.h>
#include <stdint.h>

#define CURLEW_SYMBOL(name) __asm__(name)

typedef struct curlew_pixbuf curlew_pixbuf;
typedef struct curlew_pixbuf_loader curlew_pixbuf_loader;

// A copy of GError.
typedef struct {
    uint32_t domain;
    int code;
    char *message;
} curlew_gerror;

curlew_pixbuf_loader *curlew_pixbuf_loader_new(const char *type, curlew_gerror **error)
    CURLEW_SYMBOL("gdk_pixbuf_loader_new_with_type");
int curlew_pixbuf_loader_write(
    curlew_pixbuf_loader *loader, const unsigned char *bytes, size_t count, curlew_gerror **error)
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

// GCallback, the type under which handlers of every signature are connected. A signal calls its handler with the
// arguments of that signal, so the handler must be cast from the right type.
typedef void (*curlew_gcallback)(void);
typedef void (*curlew_size_prepared)(curlew_pixbuf_loader *loader, int width, int height, void *context);
unsigned long curlew_signal_connect(
    void *instance, const char *signal, curlew_gcallback callback, void *context, void (*release)(void *, void *),
    int flags)
    CURLEW_SYMBOL("g_signal_connect_data");
void curlew_gobject_release(void *object) CURLEW_SYMBOL("g_object_unref");
void curlew_gerror_clear(curlew_gerror **error) CURLEW_SYMBOL("g_clear_error");

#endif
