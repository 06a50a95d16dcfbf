internal import Foundation
public import FoundationNetworking

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the parameters in it, or unchanged if there are none.
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
}
