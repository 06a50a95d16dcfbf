internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// Decides whether a response is acceptable. The functions take plain values, so that a validation does not have to
/// create a Foundation response.
package enum ResponseValidation {
    static let acceptableStatusCodes = 200..<300

    static func status(_ status: Int, in acceptable: some Sequence<Int>) -> Result<Void, any Error> {
        acceptable.contains(status) ? .success(()) : .failure(CurlewError.unacceptableStatus(status))
    }

    /// Compares a response's content type with the acceptable ones. The type of an empty body does not matter. Streams
    /// are checked before their body arrives, and pass false.
    package static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        bodyIsEmpty: Bool
    ) -> Result<Void, any Error> {
        if bodyIsEmpty { return .success(()) }
        let acceptable = Array(acceptable)
        let patterns = acceptable.compactMap(MediaRange.init)
        guard let contentType, let type = MediaRange(contentType) else {
            // A missing or malformed type is acceptable only if every type is.
            return patterns.contains { $0.isWildcard }
                ? .success(())
                : failure(.unacceptableContentType(nil, accepted: acceptable.sorted()))
        }
        return patterns.contains { $0.matches(type) }
            ? .success(())
            : failure(.unacceptableContentType(contentType, accepted: acceptable.sorted()))
    }

    /// Compares the content type of a file with the acceptable ones.
    static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        file: URL?
    ) -> Result<Void, any Error> {
        guard let file else { return failure(.fileMissing(in: .validation)) }
        guard let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber else {
            return failure(.fileUnreadable(file, in: .validation))
        }
        return self.contentType(contentType, in: acceptable, bodyIsEmpty: size.int64Value == 0)
    }

    /// The content types that a request accepts: the elements of its `Accept` field, otherwise every type.
    static func acceptableContentTypes(of accept: String?) -> [String] {
        accept.map { $0.split(separator: ",").map { String($0) } } ?? ["*/*"]
    }

    static func acceptableContentTypes(for urlRequest: URLRequest?) -> [String] {
        acceptableContentTypes(of: urlRequest?.value(forHTTPHeaderField: "Accept"))
    }

    private static func failure(_ error: CurlewError) -> Result<Void, any Error> { .failure(error) }
}

/// A media range `type/subtype`. Both parts may be `*`.
struct MediaRange: Equatable {
    let type: Substring
    let subtype: Substring

    /// Ignores parameters. The rest must have exactly one slash.
    init?(_ text: String) {
        let essence = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespacesAndNewlines)
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        (type, subtype) = (parts[0], parts[1])
    }

    var isWildcard: Bool { type == "*" && subtype == "*" }

    func matches(_ other: MediaRange) -> Bool {
        (type == "*" || ASCII.equalsIgnoringCase(String(type), String(other.type)))
            && (subtype == "*" || ASCII.equalsIgnoringCase(String(subtype), String(other.subtype)))
    }
}
