package import CurlewCore
internal import CurlewFailures
internal import Foundation
internal import FoundationNetworking

/// Decides whether a response is acceptable. Requests call it with what they know, so that none pays for a
/// Foundation response.
package enum ResponseValidation {
    static let acceptableStatusCodes = 200..<300

    static func status(_ status: Int, in acceptable: some Sequence<Int>) -> Result<Void, any Error> {
        acceptable.contains(status) ? .success(()) : .failure(unacceptable(status))
    }

    package static func unacceptable(_ status: Int) -> CurlewError {
        .responseValidationFailed(reason: .unacceptableStatusCode(code: status))
    }

    /// A response's content type against what is acceptable. A body that is empty has no type that matters;
    /// streams are checked before their body, and say false.
    package static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        bodyIsEmpty: Bool
    ) -> Result<Void, any Error> {
        if bodyIsEmpty { return .success(()) }
        let acceptable = Array(acceptable)
        let patterns = acceptable.compactMap(MediaRange.init)
        guard let contentType, let type = MediaRange(contentType) else {
            // No type, or none that can be read: fine only where anything is.
            return patterns.contains { $0.isWildcard }
                ? .success(())
                : failure(.missingContentType(acceptableContentTypes: acceptable.sorted()))
        }
        return patterns.contains { $0.matches(type) }
            ? .success(())
            : failure(
                .unacceptableContentType(acceptableContentTypes: acceptable.sorted(), responseContentType: contentType)
            )
    }

    /// As above, for a file.
    static func contentType(
        _ contentType: String?,
        in acceptable: some Sequence<String>,
        file: URL?
    ) -> Result<Void, any Error> {
        guard let file else { return failure(.dataFileNil) }
        guard let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber else {
            return failure(.dataFileReadFailed(at: file))
        }
        return self.contentType(contentType, in: acceptable, bodyIsEmpty: size.int64Value == 0)
    }

    /// What a request says that it takes: the elements of its `Accept`, otherwise anything.
    static func acceptableContentTypes(of accept: String?) -> [String] {
        accept.map { $0.split(separator: ",").map { String($0) } } ?? ["*/*"]
    }

    static func acceptableContentTypes(for urlRequest: URLRequest?) -> [String] {
        acceptableContentTypes(of: urlRequest?.value(forHTTPHeaderField: "Accept"))
    }

    private static func failure(_ reason: CurlewError.ResponseValidationFailureReason) -> Result<Void, any Error> {
        .failure(CurlewError.responseValidationFailed(reason: reason))
    }
}

/// `type/subtype` where either may be `*`.
struct MediaRange: Equatable {
    let type: Substring
    let subtype: Substring

    /// Parameters are cut off; what is left must have exactly one slash.
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
