internal import Foundation
public import FoundationNetworking

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
}
