public import Curlew
public import Foundation
public import FoundationNetworking

/// Alamofire's namespace for its additions to Foundation's types.
public struct AlamofireExtension<ExtendedType> {
    /// The extended value.
    public private(set) var type: ExtendedType

    /// Creates the extension of a value.
    public init(_ type: ExtendedType) { self.type = type }
}

/// A type with the namespace `af`.
public protocol AlamofireExtended {
    /// The extended type.
    associatedtype ExtendedType

    /// The extension of the type.
    static var af: AlamofireExtension<ExtendedType>.Type { get }
    /// The extension of the value.
    var af: AlamofireExtension<ExtendedType> { get }
}

extension AlamofireExtended {
    /// The extension of the type.
    public static var af: AlamofireExtension<Self>.Type { AlamofireExtension<Self>.self }

    /// The extension of the value.
    public var af: AlamofireExtension<Self> { AlamofireExtension(self) }
}

extension Bundle: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: Bundle {
    /// The certificates among the bundle's resources: `.cer`, `.crt`, `.der`.
    public var certificates: [Certificate] { Certificate.all(in: type) }

    /// The public keys of these certificates.
    public var publicKeys: [PublicKey] { certificates.map(\.publicKey) }
}

extension FoundationNetworking.URLSessionConfiguration: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: FoundationNetworking.URLSessionConfiguration {
    /// Foundation's default configuration with Curlew's default headers.
    public static var `default`: FoundationNetworking.URLSessionConfiguration {
        let configuration = FoundationNetworking.URLSessionConfiguration.default
        configuration.headers = .default
        return configuration
    }

    /// Foundation's ephemeral configuration with Curlew's default headers.
    public static var ephemeral: FoundationNetworking.URLSessionConfiguration {
        let configuration = FoundationNetworking.URLSessionConfiguration.ephemeral
        configuration.headers = .default
        return configuration
    }
}

extension SessionConfiguration: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == SessionConfiguration {
    /// Curlew's default configuration.
    public static var `default`: SessionConfiguration { .default }

    /// The configuration that keeps nothing beyond its sessions.
    public static var ephemeral: SessionConfiguration { .ephemeral }
}

extension FoundationNetworking.URLSessionConfiguration {
    /// The additional header fields as `HTTPHeaders`.
    public var headers: HTTPHeaders {
        get {
            HTTPHeaders(
                (httpAdditionalHeaders ?? [:]).reduce(into: [:]) { fields, field in
                    if let name = field.key as? String, let value = field.value as? String { fields[name] = value }
                }
            )
        }
        set { httpAdditionalHeaders = newValue.dictionary }
    }
}
