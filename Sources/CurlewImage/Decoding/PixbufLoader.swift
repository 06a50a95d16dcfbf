internal import CGdkPixbuf
internal import Foundation

/// Owns one GdkPixbufLoader. The loader is created for a format, so that the library cannot choose another loader from
/// the contents.
final class PixbufLoader {
    private let loader: OpaquePointer
    private let format: ImageFormat
    private let gate: SizeGate
    private var isClosed = false

    init(format: ImageFormat, limits: ImageDecoder.Limits) throws(ImageError) {
        var error: UnsafeMutablePointer<curlew_gerror>?
        guard let loader = curlew_pixbuf_loader_new(format.rawValue, &error) else {
            curlew_gerror_clear(&error)
            throw .unsupported(format)
        }
        self.loader = loader
        self.format = format
        gate = SizeGate(limits: limits)
        gate.watch(loader)
    }

    deinit {
        if !isClosed { curlew_pixbuf_loader_close(loader, nil) }
        curlew_gobject_release(UnsafeMutableRawPointer(loader))
    }

    func write(_ data: Data) throws(ImageError) {
        var error: UnsafeMutablePointer<curlew_gerror>?
        let written = data.withUnsafeBytes { bytes in
            curlew_pixbuf_loader_write(loader, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &error)
        }
        try check(written, &error)
    }

    func finish() throws(ImageError) -> Image {
        var error: UnsafeMutablePointer<curlew_gerror>?
        let closed = curlew_pixbuf_loader_close(loader, &error)
        isClosed = true
        try check(closed, &error)
        guard let pixbuf = curlew_pixbuf_loader_get_pixbuf(loader) else {
            throw .corrupt(format, reason: "it ends before its first picture")
        }
        // Photographs store their orientation as metadata. Return the image as it should be displayed.
        guard let upright = curlew_pixbuf_upright(pixbuf) else {
            throw .corrupt(format, reason: "its orientation cannot be applied")
        }
        defer { curlew_gobject_release(UnsafeMutableRawPointer(upright)) }
        return try image(of: upright)
    }

    private func check(_ succeeded: Int32, _ error: inout UnsafeMutablePointer<curlew_gerror>?) throws(ImageError) {
        let reason = error.map { String(cString: $0.pointee.message) } ?? "unreadable"
        curlew_gerror_clear(&error)
        if let size = gate.refused { throw .tooLarge(size) }
        guard succeeded != 0 else { throw .corrupt(format, reason: reason) }
    }

    private func image(of pixbuf: OpaquePointer) throws(ImageError) -> Image {
        let size = ImageSize(
            width: Int(curlew_pixbuf_width(pixbuf)),
            height: Int(curlew_pixbuf_height(pixbuf))
        )
        let channels = Int(curlew_pixbuf_channels(pixbuf))
        let stride = Int(curlew_pixbuf_stride(pixbuf))
        guard curlew_pixbuf_bits(pixbuf) == 8, channels == 3 || channels == 4,
            let source = curlew_pixbuf_pixels(pixbuf)
        else { throw .corrupt(format, reason: "its pixels are of an unknown kind") }
        return Image(width: size.width, height: size.height) { target in
            for y in 0..<size.height {
                let row = source + y * stride
                for x in 0..<size.width {
                    let pixel = row + x * channels
                    target[y * size.width + x] = Pixel(
                        red: pixel[0],
                        green: pixel[1],
                        blue: pixel[2],
                        alpha: channels == 4 ? pixel[3] : 255
                    )
                }
            }
        }
    }
}

/// Checks an image's size before its pixels are allocated, and prevents the allocation if it exceeds the limits.
private final class SizeGate {
    private let limits: ImageDecoder.Limits
    private(set) var refused: ImageSize?

    init(limits: ImageDecoder.Limits) { self.limits = limits }

    func watch(_ loader: OpaquePointer) {
        let handler: curlew_size_prepared = { loader, width, height, context in
            guard let loader, let context else { return }
            // SAFETY: the gate is a stored property of the PixbufLoader that owns `loader`, so it outlives the signal.
            let gate = Unmanaged<SizeGate>.fromOpaque(context).takeUnretainedValue()
            gate.decide(loader, ImageSize(width: Int(width), height: Int(height)))
        }
        // SAFETY: g_signal_connect_data takes every callback under one C type and calls it with the signal's own.
        let callback = unsafeBitCast(handler, to: curlew_gcallback.self)
        // SAFETY: see above: the pointer is valid as long as the loader emits signals.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = curlew_signal_connect(UnsafeMutableRawPointer(loader), "size-prepared", callback, context, nil, 0)
    }

    private func decide(_ loader: OpaquePointer, _ size: ImageSize) {
        guard size.width <= 0 || size.height <= 0 || !limits.allow(size) else { return }
        refused = size
        // A size of 0 tells the library not to load the pixels at all (gdk_pixbuf_loader_set_size).
        curlew_pixbuf_loader_set_size(loader, 0, 0)
    }
}
