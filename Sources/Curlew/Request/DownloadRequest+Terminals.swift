public import CurlewCore
internal import CurlewLocks
public import Foundation

// Awaiting methods run the download in the awaiting task, by the rules for data requests.
extension DownloadRequest {
    /// Returns the URL of the downloaded file.
    public func file() async throws(CurlewError) -> URL {
        givesFileAway()
        let result = try judged(await outcome(checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.fileMissing(in: .decoding).located(in: result)
        }
        return url
    }

    /// Reads the downloaded file into memory. A file that is larger than `maximumBodySize` is an error, as with
    /// `string` and `decode`. If one of these methods fails, a file without a destination is removed.
    public func data() async throws(CurlewError) -> Data {
        try await read { _, data throws(CurlewError) in data }
    }

    /// Reads the downloaded file as text.
    // Disfavoured, so that a program's own `string()` with other parameters is not ambiguous.
    @_disfavoredOverload
    public func string(encoding: String.Encoding? = nil) async throws(CurlewError) -> String {
        try await read { result, data throws(CurlewError) in
            try Self.text(of: result, data: data, encoding: encoding)
        }
    }

    /// Decodes the downloaded file.
    public func decode<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) async throws(CurlewError) -> T {
        try await read { result, data throws(CurlewError) in
            try Self.value(of: result, data: data, decoder: decoder)
        }
    }

    /// Returns the whole response, whatever its status. It never throws, and validates only if you added validators.
    public func response() async -> DownloadResponse<URL?, CurlewError> {
        givesFileAway()
        let result = await outcome(checksStatus: false)
        return DownloadResponse(of: result, result: result.unserializedFile)
    }

    /// Returns a value made from the file. If that fails, a file without a destination is removed, unless another call
    /// wants it.
    private func read<Value: Sendable>(
        _ make: @escaping @Sendable (RunResult, Data) throws(CurlewError) -> Value
    ) async throws(CurlewError) -> Value {
        download.withLock { $0.reading.begins() }
        do throws(CurlewError) {
            let value = try await serialized { result async throws(CurlewError) in
                do throws(CurlewError) { return try make(result, try await self.contents(of: result)) } catch {
                    self.download.withLock { $0.reading.fails() }
                    throw error
                }
            }
            _ = download.withLock { $0.reading.ends(withValue: true) }
            return value
        } catch {
            if download.withLock({ $0.reading.ends(withValue: false) }) { await dropUnplacedFile() }
            throw error
        }
    }

    private func contents(of result: RunResult) async throws(CurlewError) -> Data {
        let (url, limit) = (result.body.fileURL, bodyLimit)
        return try await FileLane.next().run { () throws(CurlewError) -> Data in
            do {
                return try DownloadedFile.contents(of: url, limit: limit)
            } catch {
                throw ErrorWrapping.serialization(error).located(in: result)
            }
        }
    }
}
