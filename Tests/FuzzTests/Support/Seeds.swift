#if !FUZZING
internal import Foundation

/// The seeds of a target: its files in `Corpus/<target>/`, and the strings of the conformance vectors that
/// `Corpus/sources.txt` names for it.
enum Seeds {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    static func of(_ target: FuzzTarget) throws -> [[UInt8]] { try own(target) + vectors(target) }

    /// Returns the target's files, which are maintained by hand: inputs that once broke a property, and forms that no
    /// vector has.
    static func own(_ target: FuzzTarget) throws -> [[UInt8]] {
        let corpus = folder.appending(path: "Corpus/\(target.name)")
        guard FileManager.default.fileExists(atPath: corpus.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: corpus, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }.map { Array(try Data(contentsOf: $0)) }
    }

    /// Returns the names of the corpora for each target.
    static func sources() throws -> [String: [String]] {
        let text = try String(contentsOf: folder.appending(path: "Corpus/sources.txt"), encoding: .utf8)
        var sources: [String: [String]] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            sources[String(sides[0])] = sides.dropFirst().joined().split(separator: " ").map(String.init)
        }
        return sources
    }

    private static func vectors(_ target: FuzzTarget) throws -> [[UInt8]] {
        let corpora = folder.deletingLastPathComponent().appending(path: "ConformanceTests/Corpora")
        var found: [[UInt8]] = []
        for name in try sources()[target.name] ?? [] {
            let data = try Data(contentsOf: corpora.appending(path: "\(name)/cases.json"))
            collect(try JSONSerialization.jsonObject(with: data), into: &found)
        }
        return found
    }

    private static func collect(_ value: Any, into found: inout [[UInt8]]) {
        switch value {
        case let text as String:
            guard text.utf8.count <= 4096 else { return }
            found.append(Array(text.utf8))
        case let list as [Any]: for element in list { collect(element, into: &found) }
        case let object as [String: Any]:
            for key in object.keys.sorted() { if let element = object[key] { collect(element, into: &found) } }
        default: break
        }
    }
}
#endif
