public import Curlew
public import Foundation
public import FoundationNetworking

/// A response serializer that decodes the body to an image.
///
///     let serializer = ImageResponseSerializer().accepting(contentTypes: ImageResponseSerializer.contentTypes)
///     session.request(url).response(responseSerializer: serializer) { response in … }
///
/// The format is recognised by the bytes, not by the content type of the response. Decoding runs on one of Swift's few
/// cooperative threads. To load many images use an `ImageDownloader`, which decodes on its own queue.
public struct ImageResponseSerializer: ResponseSerializer {
    /// The media types of images.
    public static let contentTypes: Set<String> = [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/webp", "image/ico", "image/x-icon",
        "image/bmp", "image/x-bmp", "image/x-xbitmap", "image/x-ms-bmp", "image/x-win-bitmap",
    ]

    /// The decoder of the body.
    public var decoder: ImageDecoder
    /// The filter that is applied to the image.
    public var filter: (any ImageFilter)?

    /// Creates a serializer that decodes the body and applies the filter.
    public init(decoder: ImageDecoder = ImageDecoder(), filter: (any ImageFilter)? = nil) {
        self.decoder = decoder
        self.filter = filter
    }

    /// Decodes the body. An empty body is an error.
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
