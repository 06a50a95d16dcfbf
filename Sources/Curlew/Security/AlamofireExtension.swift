internal import CurlewCore
public import Foundation
public import FoundationNetworking

/// Alamofire's name space for what it adds to Foundation's types.
public struct AlamofireExtension<ExtendedType> {
    /// What is extended.
    public private(set) var type: ExtendedType

    /// Makes the extension of a value.
    public init(_ type: ExtendedType) { self.type = type }
}

/// A type with the name space `af`.
public protocol AlamofireExtended {
    /// What is extended.
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
    public var certificates: [Certificate] {
        let endings = ["cer", "CER", "crt", "CRT", "der", "DER"]
        return endings.flatMap { type.paths(forResourcesOfType: $0, inDirectory: nil) }
            .sorted()
            .compactMap { try? Data(contentsOf: URL(fileURLWithPath: $0)) }
            .flatMap(Certificate.all(in:))
    }

    /// Their public keys.
    public var publicKeys: [PublicKey] { certificates.map(\.publicKey) }
}

extension URLSessionConfiguration: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: URLSessionConfiguration {
    /// Foundation's default configuration with Curlew's default headers.
    public static var `default`: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.headers = .default
        return configuration
    }

    /// Foundation's ephemeral configuration with Curlew's default headers.
    public static var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.headers = .default
        return configuration
    }
}
