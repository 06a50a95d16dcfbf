internal import CurlewCore
public import Foundation

extension MultipartFormData {
    private static let bufferSize = 64 * 1024

    /// Encodes the whole form in memory. Reads all files and streams before it returns.
    public func encode() throws -> Data { try encoded() }

    func encoded() throws(CurlewError) -> Data {
        var data = Data()
        try forEachBuffer { buffer throws(CurlewError) in data.append(contentsOf: buffer) }
        return data
    }

    /// Writes the whole form to a new file. Throws if the file exists.
    public func writeEncodedData(to fileURL: URL) throws {
        if let appendError { throw appendError }
        guard fileURL.isFileURL else {
            throw CurlewError.formFile(fileURL, .outputNotFileURL)
        }
        guard !fileManager.fileExists(atPath: fileURL.path) else {
            throw CurlewError.formFile(fileURL, .outputExists)
        }
        guard fileManager.createFile(atPath: fileURL.path, contents: nil),
            let file = try? FileHandle(forWritingTo: fileURL)
        else { throw CurlewError.formFile(fileURL, .outputNotCreated) }
        defer { try? file.close() }
        do {
            try forEachBuffer { buffer throws(CurlewError) in
                do {
                    try file.write(contentsOf: Data(buffer))
                } catch {
                    throw CurlewError.formNotWritten(error)
                }
            }
        } catch {
            // An incomplete form is useless.
            try? fileManager.removeItem(at: fileURL)
            throw error
        }
    }

    /// The current contents of the form, ready to be sent.
    func body() throws(CurlewError) -> BodySource {
        let layout = try layout()
        let position = FormPosition(layout: layout, parts: parts)
        let stream: any BodyStream
        // A throttle limits the reading ahead.
        if throttle == nil, let form = FormStream(position, of: parts) {
            stream = form
        } else {
            stream = BodyPump(MultipartProducer(position), throttle: throttle)
        }
        return .stream(stream, length: layout.contentLength)
    }

    private func layout() throws(CurlewError) -> MultipartLayout {
        if let appendError { throw appendError }
        return try MultipartLayout(
            boundary: boundary,
            parts: parts.map { MultipartLayout.Part(headers: $0.headers, length: Int64(clamping: $0.length)) }
        )
    }

    /// Whether all parts can be read again.
    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    /// Calls `body` with the encoded form, one buffer at a time. Reads all files and streams before it returns.
    func forEachBuffer(_ body: (UnsafeRawBufferPointer) throws(CurlewError) -> Void) throws(CurlewError) {
        var producer = MultipartProducer(FormPosition(layout: try layout(), parts: parts))
        defer { producer.stop() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = try producer.produce(into: buffer)
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
