public import Foundation

/// A directory of one test, removed with everything in it when the test lets go of it.
///
///     let scratch = try ScratchDirectory()
///     let file = try await session.download(url, to: { _, _ in (scratch.file("a"), []) }).file()
///     #expect(scratch.names == ["a"])
public final class ScratchDirectory: Sendable {
    /// Where it is.
    public let url: URL

    /// Creates a directory with a name of its own.
    public init(in parent: URL = FileManager.default.temporaryDirectory) throws {
        url = parent.appending(path: "curlew-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Its path, without a slash at the end.
    public var path: String { String(url.path(percentEncoded: false).dropLast()) }

    /// The place of a file in it, which need not be there.
    public func file(_ name: String) -> URL { url.appending(path: name, directoryHint: .notDirectory) }

    /// Names of everything in it, hidden files too.
    public var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Writes a file into it.
    @discardableResult
    public func write(_ name: String, _ data: Data) throws -> URL {
        try data.write(to: file(name))
        return file(name)
    }

    /// Writes a text file into it.
    @discardableResult
    public func write(_ name: String, _ text: String) throws -> URL { try write(name, Data(text.utf8)) }

    /// What is in one of its files; nil where there is none.
    public func read(_ name: String) -> Data? { try? Data(contentsOf: file(name)) }
}
