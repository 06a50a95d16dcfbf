internal import Curlew
internal import Foundation

/// A body as a Foundation stream. One thread reads it. Closing or releasing it notifies the request through `onClose`.
final class BodyInputStream: InputStream {
    private let buffer: BodyBuffer
    private let onClose: () -> Void

    init(_ buffer: BodyBuffer, onClose: @escaping () -> Void) {
        self.buffer = buffer
        self.onClose = onClose
        super.init(data: Data())
    }

    deinit { close() }

    override func open() { buffer.open() }

    override func close() {
        buffer.close()
        onClose()
    }

    override var streamStatus: Stream.Status { buffer.status }

    override var streamError: (any Error)? { buffer.error }

    override var hasBytesAvailable: Bool { buffer.hasBytes }

    override func read(_ bytes: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        buffer.read(into: UnsafeMutableBufferPointer(start: bytes, count: maxLength))
    }

    override func getBuffer(
        _ bytes: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
        length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }
}
