internal import Foundation
public import FoundationNetworking

/// Keeps decoded pictures by a name.
public protocol ImageCache: Sendable {
    func add(_ image: Image, withIdentifier identifier: String)
    @discardableResult func removeImage(withIdentifier identifier: String) -> Bool
    @discardableResult func removeAllImages() -> Bool
    func image(withIdentifier identifier: String) -> Image?
}

/// An image cache whose names come from requests.
public protocol ImageRequestCache: ImageCache {
    /// Whether a picture that a request brought should be kept.
    func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool
    /// The name of a request's picture, changed by the filter of that identifier.
    func imageCacheKey(for request: URLRequest, withIdentifier identifier: String?) -> String
}

extension ImageRequestCache {
    public func shouldCache(_ image: Image, for request: URLRequest, withIdentifier identifier: String?) -> Bool {
        true
    }

    public func imageCacheKey(for request: URLRequest, withIdentifier identifier: String?) -> String {
        let url = request.url?.absoluteString ?? ""
        return identifier.map { "\(url)-\($0)" } ?? url
    }

    public func add(_ image: Image, for request: URLRequest, withIdentifier identifier: String? = nil) {
        guard shouldCache(image, for: request, withIdentifier: identifier) else { return }
        add(image, withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }

    public func image(for request: URLRequest, withIdentifier identifier: String? = nil) -> Image? {
        image(withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }

    @discardableResult
    public func removeImage(for request: URLRequest, withIdentifier identifier: String? = nil) -> Bool {
        removeImage(withIdentifier: imageCacheKey(for: request, withIdentifier: identifier))
    }
}
