internal import Foundation
public import FoundationNetworking

/// A cache of decoded images by name.
public protocol ImageCache: Sendable {
    /// Stores an image, replacing the one with this name.
    func add(_ image: Image, withIdentifier identifier: String)
    /// Removes an image. Returns whether there was one.
    @discardableResult func removeImage(withIdentifier identifier: String) -> Bool
    /// Removes all images. Returns whether there were any.
    @discardableResult func removeAllImages() -> Bool
    /// Returns the image with this name.
    func image(withIdentifier identifier: String) -> Image?
}

/// An image cache that derives the names of images from requests.
public protocol ImageRequestCache: ImageCache {
    /// Whether to store the image that a request loaded.
    func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool
    /// The name of a request's image, after a filter with this identifier.
    func imageCacheKey(for request: URLRequest, withIdentifier identifier: String?) -> String
}

extension ImageRequestCache {
    /// Stores every image.
    public func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool {
        true
    }

    /// The URL, followed by a space and the identifier if there is one. A URL contains no space, so another image
    /// cannot have the same name.
    public func imageCacheKey(for request: URLRequest, withIdentifier identifier: String?) -> String {
        let url = request.url?.absoluteString ?? ""
        return identifier.map { "\(url) \($0)" } ?? url
    }

    /// Stores the image of a request, if it should be cached.
    public func add(_ image: Image, for request: URLRequest, withIdentifier identifier: String? = nil) {
        guard shouldCache(image, for: request, withIdentifier: identifier) else { return }
        add(image, withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }

    /// Returns the image of a request.
    public func image(for request: URLRequest, withIdentifier identifier: String? = nil) -> Image? {
        image(withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }

    /// Removes the image of a request. Returns whether there was one.
    @discardableResult
    public func removeImage(for request: URLRequest, withIdentifier identifier: String? = nil) -> Bool {
        removeImage(withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }
}
