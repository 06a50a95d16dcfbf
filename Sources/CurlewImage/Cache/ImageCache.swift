internal import Foundation
public import FoundationNetworking

/// Keeps decoded images by a name.
public protocol ImageCache: Sendable {
    /// Stores an image, and replaces the one that had its name.
    func add(_ image: Image, withIdentifier identifier: String)
    /// Removes an image; says whether there was one.
    @discardableResult func removeImage(withIdentifier identifier: String) -> Bool
    /// Removes everything; says whether there was anything.
    @discardableResult func removeAllImages() -> Bool
    /// Returns the image with that name.
    func image(withIdentifier identifier: String) -> Image?
}

/// An image cache whose names come from requests.
public protocol ImageRequestCache: ImageCache {
    /// Whether an image that a request brought should be kept.
    func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool
    /// The name of a request's image, changed by the filter of that identifier.
    func imageCacheKey(for request: URLRequest, withIdentifier identifier: String?) -> String
}

extension ImageRequestCache {
    /// True: everything is kept.
    public func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool {
        true
    }

    /// The URL, followed by a space and the identifier where there is one. No URL has a space, so that no other picture
    /// has the name.
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

    /// Removes the image of a request; says whether there was one.
    @discardableResult
    public func removeImage(for request: URLRequest, withIdentifier identifier: String? = nil) -> Bool {
        removeImage(withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }
}
