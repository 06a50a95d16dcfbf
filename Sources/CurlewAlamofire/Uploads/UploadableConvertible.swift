public import Curlew
public import Foundation

/// What can make the body of an upload, anew for every try.
public protocol UploadableConvertible: Sendable {
    /// The body of the next try.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// What describes an upload whole: its `URLRequest` and its body.
public protocol UploadConvertible: UploadableConvertible & URLRequestConvertible {}

extension UploadRequest.Uploadable: UploadableConvertible {
    public func createUploadable() throws -> UploadRequest.Uploadable { self }

    /// The body that a stream of Foundation's gives. It can be read once.
    public static func stream(_ stream: sending InputStream) -> UploadRequest.Uploadable {
        UploadRequest.Uploadable(BodySource.inputStream(stream))
    }
}

extension UploadRequest {
    /// What makes the body of every try.
    public var upload: any UploadableConvertible { Maker(make: makeUploadable) }

    private struct Maker: UploadableConvertible {
        let make: @Sendable () throws -> Uploadable

        func createUploadable() throws -> Uploadable { try make() }
    }
}

extension Session {
    /// Sends what describes an upload whole.
    public nonisolated func upload(
        _ upload: any UploadConvertible,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        self.upload(upload, interceptor, shouldAutomaticallyResume) { try upload.createUploadable() }
    }

    /// Sends a body of your own making, made anew for every try.
    public nonisolated func upload(
        _ uploadable: any UploadableConvertible,
        with convertible: any URLRequestConvertible,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(convertible, interceptor, shouldAutomaticallyResume) { try uploadable.createUploadable() }
    }
}
