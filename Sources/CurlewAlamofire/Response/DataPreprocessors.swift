public import Curlew
public import Foundation

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates a preprocessor that changes nothing.
    public init() {}

    /// Returns the data unchanged.
    public func preprocess(_ data: Data) throws -> Data { data }
}

/// Removes the prefix `)]}',` and its line break, which Google's services send so that JSON cannot be run as a script.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefix = Data(")]}',\n".utf8)

    /// Creates a preprocessor that removes the prefix.
    public init() {}

    /// Returns the data without the prefix `)]}',` and its line break.
    public func preprocess(_ data: Data) throws -> Data {
        data.starts(with: Self.prefix) ? data.dropFirst(Self.prefix.count) : data
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Leaves the body as it is.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Removes the prefix that some servers send so that JSON cannot be run as a script.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
