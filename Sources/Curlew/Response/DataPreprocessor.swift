public import Foundation

/// Changes a body before it is turned into a value.
public protocol DataPreprocessor: Sendable {
    /// Answers what the serializer is to see.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates a preprocessor that changes nothing.
    public init() {}

    /// Returns the data unchanged.
    public func preprocess(_ data: Data) throws -> Data { data }
}

/// Removes the prefix `)]}',` and its line end, with which Google's services keep JSON from being run as a script.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefix = Data(")]}',\n".utf8)

    /// Creates a preprocessor that removes the prefix.
    public init() {}

    /// Answers the data without the prefix `)]}',` and its line break, if it has one.
    public func preprocess(_ data: Data) throws -> Data {
        data.starts(with: Self.prefix) ? data.dropFirst(Self.prefix.count) : data
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Changes nothing.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Takes away the prefix with which some servers prevent that JSON is run as a script.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
