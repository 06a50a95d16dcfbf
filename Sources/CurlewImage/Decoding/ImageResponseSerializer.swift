public import Curlew
public import Foundation
public import FoundationNetworking

/// Turns a response's body into an image.
///
///     let serializer = ImageResponseSerializer().accepting(contentTypes: ImageResponseSerializer.contentTypes)
///     session.request(url).response(responseSerializer: serializer) { response in … }
///
/// The format is recognised by the bytes, whatever the response calls them. Decoding runs where serializers run, on one
/// of Swift's few threads: where many images are loaded use an `ImageDownloader`, which decodes elsewhere.
public struct ImageResponseSerializer: ResponseSerializer {
    /// The media types of images.
    public static let contentTypes: Set<String> = [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/webp", "image/ico", "image/x-icon",
        "image/bmp", "image/x-bmp", "image/x-xbitmap", "image/x-ms-bmp", "image/x-win-bitmap",
    ]

    /// Decodes the body.
    public var decoder: ImageDecoder
    /// Applied to the image.
    public var filter: (any ImageFilter)?

    /// Creates a serializer that decodes the body and applies the filter.
    public init(decoder: ImageDecoder = ImageDecoder(), filter: (any ImageFilter)? = nil) {
        self.decoder = decoder
        self.filter = filter
    }

    /// An empty body is an error, as there is no empty image.
    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> Image {
        if let error { throw error }
        guard let data, !data.isEmpty else {
            throw CurlewError(.decodingFailed, phase: .decoding, reason: "an empty body is no picture")
        }
        do {
            let image = try decoder.decode(try dataPreprocessor.preprocess(data))
            return filter?.filter(image) ?? image
        } catch {
            throw CurlewError(
                .decodingFailed, phase: .decoding, reason: "the body is no picture: \(error)", underlying: error)
        }
    }
}
