public import CurlewCore
internal import CurlewFailures
public import Foundation

// Terminals: they run the download in the awaiting task, by the same rules as those of a data request.
extension DownloadRequest {
    /// Returns the URL of the downloaded file.
    public func file() async throws(CurlewError) -> URL {
        let result = try judged(await outcome(checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.responseSerializationFailed(reason: .inputFileNil).located(in: result)
        }
        return url
    }

    /// Reads the downloaded file into memory. A file that is larger than `maximumBodySize` is an error, as with `string` and
    /// `decode`.
    public func data() async throws(CurlewError) -> Data {
        try await serialized { result async throws(CurlewError) in try await self.contents(of: result) }
    }

    /// Reads the downloaded file as text.
    public func string(encoding: String.Encoding? = nil) async throws(CurlewError) -> String {
        try await serialized { result async throws(CurlewError) in
            try Self.text(of: result, data: try await self.contents(of: result), encoding: encoding)
        }
    }

    /// Decodes the downloaded file.
    public func decode<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) async throws(CurlewError) -> T {
        try await serialized { result async throws(CurlewError) in
            try Self.value(of: result, data: try await self.contents(of: result), decoder: decoder)
        }
    }

    /// Returns the whole response, whatever its status is. It never throws, and validates only if you added validators.
    public func response() async -> DownloadResponse<URL?, CurlewError> {
        let result = await outcome(checksStatus: false)
        return DownloadResponse(of: result, result: result.unserializedFile)
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
