public import Foundation

/// Changes a body before a serializer makes a value from it.
public protocol DataPreprocessor: Sendable {
    /// Returns the data for the serializer.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
struct UnchangedData: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { data }
}
