internal import Foundation
public import FoundationNetworking

/// Parameters of a request, by name.
public typealias Parameters = [String: any Any & Sendable]

/// Puts a dictionary of parameters into a request.
public protocol ParameterEncoding: Sendable {
    /// Returns the request with the parameters in it, or unchanged if there are none.
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}
