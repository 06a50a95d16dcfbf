package import CurlewCore
package import Foundation

/// A type that has a value for an empty body.
public protocol EmptyResponse: Sendable {
    /// The value that stands for an empty body.
    static func emptyValue() -> Self
}

/// The value of a response that has no body.
///
///     try await session.request(url, method: .delete).decode(Empty.self)      // 204 No Content
public struct Empty: Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()
}

extension Empty: EmptyResponse {
    /// Returns `value`.
    public static func emptyValue() -> Empty { value }
}

/// The rules for responses without a body.
package struct EmptyBodyRule: Sendable {
    static let standardMethods: Set<HTTPMethod> = [.head]
    static let standardCodes: Set<Int> = [204, 205]
    static let standard = EmptyBodyRule(methods: standardMethods, codes: standardCodes)

    let methods: Set<HTTPMethod>
    let codes: Set<Int>

    package init(methods: Set<HTTPMethod>, codes: Set<Int>) {
        self.methods = methods
        self.codes = codes
    }

    func allows(method: HTTPMethod?, status: Int?) -> Bool {
        if let status, codes.contains(status) { return true }
        guard let method else { return false }
        return methods.contains(method)
    }

    /// Returns the body; `nil` if it is empty and may be. Throws if it must not be empty.
    package func body(_ data: Data?, method: HTTPMethod?, status: Int?) throws -> Data? {
        if let data, !data.isEmpty { return data }
        guard allows(method: method, status: status) else {
            throw CurlewError.bodyMissing
        }
        return nil
    }
}
