public import Curlew
public import Foundation

/// A value that can make the body of an upload, anew for every attempt.
public protocol UploadableConvertible: Sendable {
    /// Returns the body of the next attempt.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// A value that describes a whole upload: its `URLRequest` and its body.
public protocol UploadConvertible: UploadableConvertible & URLRequestConvertible {}

extension UploadRequest.Uploadable: UploadableConvertible {
    public func createUploadable() throws -> UploadRequest.Uploadable { self }

    /// The body that a Foundation stream provides. It can be read once.
    public static func stream(_ stream: sending InputStream) -> UploadRequest.Uploadable {
        UploadRequest.Uploadable(BodySource.inputStream(stream))
    }
}

extension UploadRequest {
    /// Makes the body of every attempt.
    public var upload: any UploadableConvertible { Maker(make: makeUploadable) }

    private struct Maker: UploadableConvertible {
        let make: @Sendable () throws -> Uploadable

        func createUploadable() throws -> Uploadable { try make() }
    }
}

extension Session {
    /// Sends an upload that the value describes.
    public nonisolated func upload(
        _ upload: any UploadConvertible,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        self.upload(upload, interceptor, shouldAutomaticallyResume) { try upload.createUploadable() }
    }

    /// Sends a body that `uploadable` makes anew for every attempt.
    public nonisolated func upload(
        _ uploadable: any UploadableConvertible,
        with convertible: any URLRequestConvertible,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(convertible, interceptor, shouldAutomaticallyResume) { try uploadable.createUploadable() }
    }
}
