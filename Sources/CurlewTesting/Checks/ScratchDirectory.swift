public import Foundation

/// A test's temporary directory, removed with its contents when the last reference to it is released.
///
///     let scratch = try ScratchDirectory()
///     let file = try await session.download(url, to: { _, _ in (scratch.file("a"), []) }).file()
///     #expect(scratch.names == ["a"])
public final class ScratchDirectory: Sendable {
    /// The directory's URL.
    public let url: URL

    /// Creates a directory with a unique name.
    public init(in parent: URL = FileManager.default.temporaryDirectory) throws {
        url = parent.appending(path: "curlew-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The directory's path, without a trailing slash.
    public var path: String { String(url.path(percentEncoded: false).dropLast()) }

    /// Returns the URL of a file in the directory, whether or not the file exists.
    public func file(_ name: String) -> URL { url.appending(path: name, directoryHint: .notDirectory) }

    /// The sorted names of its entries, hidden files included.
    public var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Writes a file into the directory.
    @discardableResult
    public func write(_ name: String, _ data: Data) throws -> URL {
        try data.write(to: file(name))
        return file(name)
    }

    /// Writes a text file into the directory.
    @discardableResult
    public func write(_ name: String, _ text: String) throws -> URL { try write(name, Data(text.utf8)) }

    /// Returns the contents of a file; `nil` if it cannot be read.
    public func read(_ name: String) -> Data? { try? Data(contentsOf: file(name)) }
}
