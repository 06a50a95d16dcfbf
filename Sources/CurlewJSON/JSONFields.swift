/// An object of the text, with the search for its keys.
final class JSONFields {
    let document: JSONDocument
    let path: JSONPath
    private let place: Int
    /// `nil` if the keys are searched on the tape itself, because they are ASCII and unique.
    private let index: JSONKeyIndex?
    /// The place of the key after the one found last. The next search begins there, because types mostly ask for keys
    /// in the order of the text.
    private var following: Int

    init(_ document: JSONDocument, at place: Int, _ path: JSONPath, index: JSONKeyIndex?) {
        self.document = document
        self.path = path
        self.place = place
        self.index = index
        following = place + 2
    }

    /// Returns the place of a key's value; -1 if the key is absent.
    func find(_ key: String) -> Int {
        if let index { return index.find(key) }
        // Only a bridged string would have to be copied.
        let found =
            key.utf8.withContiguousStorageIfAvailable(find) ?? Array(key.utf8).withUnsafeBufferPointer(find)
        return found == Self.isUnknown ? findEquivalent(of: key) : found
    }

    /// The result of a search if the object may have a key that is equal as a string, but not byte by byte.
    private static let isUnknown = -2

    private func find(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let (words, bytes, object) = (document.words, document.bytes, place)
        let key = JSONKeyText(text.baseAddress ?? bytes, text.count)
        if words[object &+ 1] & key.mark != 0 {
            let (first, end) = (following, JSONWord(bits: words[object]).end)
            var place = first
            repeat {
                let word = JSONWord(bits: words[place])
                let value = JSONWord(bits: words[place &+ 1])
                var next = value.isContainer ? value.end : place &+ 2
                if next == end { next = object &+ 2 }
                if word.length == key.count, key.equals(bytes + word.offset) {
                    following = next
                    return place &+ 1
                }
                place = next
            } while place != first
        }
        // Some letters are equivalent to ASCII ones, such as the Kelvin sign to K.
        return key.isASCII ? -1 : Self.isUnknown
    }

    /// Searches by canonical equivalence, as `String` and Foundation's decoder compare.
    private func findEquivalent(of key: String) -> Int {
        let end = document.word(at: place).end
        var place = self.place + 2
        while place < end {
            if String(decoding: document.text(of: document.word(at: place)), as: UTF8.self) == key { return place + 1 }
            place = document.place(after: place + 1)
        }
        return -1
    }

    /// The keys in the order of the text, without repetitions.
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
