/// An object of the text, and where its keys are.
final class JSONFields {
    let document: JSONDocument
    let path: JSONPath
    private let place: Int
    /// nil where the keys are found on the tape itself: they are ASCII, and each is there once.
    private let index: JSONKeyIndex?
    /// The place of the key that was found last. A search begins there, since types mostly ask in the text's order.
    private var latest: Int

    init(_ document: JSONDocument, at place: Int, _ path: JSONPath) throws {
        self.document = document
        self.path = path
        self.place = place
        latest = place + 2
        index =
            document.usesDefaultKeys && document.word(at: place).kind == .object
            ? nil : try JSONKeyIndex(document, object: place, path)
    }

    /// The value of a key; -1 where there is none.
    func find(_ key: String) -> Int {
        if let index { return index.find(key) }
        var key = key
        return key.withUTF8 { find($0) }
    }

    @inline(__always)
    private func find(_ key: UnsafeBufferPointer<UInt8>) -> Int {
        let (document, first) = (document, latest)
        let header = document.word(at: place)
        guard header.count > 0 else { return -1 }
        let name = key.baseAddress ?? document.bytes
        var place = first
        repeat {
            let word = document.word(at: place)
            if word.length == key.count, JSONBytes.areEqual(document.bytes + word.offset, name, key.count) {
                latest = place
                return place &+ 1
            }
            place = document.place(after: place &+ 1)
            if place == header.end { place = self.place &+ 2 }
        } while place != first
        return -1
    }

    /// The keys in the order of the text, each once.
    var keys: [String] {
        if let index { return index.keys }
        let header = document.word(at: place)
        var keys: [String] = []
        keys.reserveCapacity(header.count)
        var place = self.place + 2
        while place < header.end {
            keys.append(String(decoding: document.text(of: document.word(at: place)), as: UTF8.self))
            place = document.place(after: place + 1)
        }
        return keys
    }
}
