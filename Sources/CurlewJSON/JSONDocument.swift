internal import Foundation

/// A text and its tape. A class, because a type may keep the decoders and containers that refer to it.
final class JSONDocument {
    let decoder: FastJSONDecoder
    let usesDefaultKeys: Bool
    let words: UnsafeMutablePointer<UInt64>
    /// The place of a null that represents absent values, after the last value.
    let placeOfNull: Int
    let count: Int
    private(set) var bytes: UnsafePointer<UInt8>
    private var copy: UnsafeMutablePointer<UInt8>?

    private let capacity: Int
    private var givesWordsBack = false

    /// Reads the text. The bytes must outlive the document, or the call of `copyBytes`.
    init(
        _ bytes: UnsafePointer<UInt8>, count: Int, decoder: FastJSONDecoder, memory: JSONTapeMemory? = nil
    ) throws(JSONFault) {
        let (room, placeOfNull) = try JSONTapeBuilder.tape(of: bytes, count: count, memory: memory)
        (words, capacity) = (room.words, room.capacity)
        self.placeOfNull = placeOfNull
        self.bytes = bytes
        self.count = count
        self.decoder = decoder
        usesDefaultKeys = if case .useDefaultKeys = decoder.keyDecodingStrategy { true } else { false }
    }

    deinit {
        if !givesWordsBack { words.deallocate() }
        copy?.deallocate()
    }

    /// Gives the memory of the tape to the next text. Call this only if there is no other reference to the document.
    func giveWords(to memory: JSONTapeMemory) {
        givesWordsBack = true
        memory.give(JSONTapeWords(words: words, capacity: capacity))
    }

    /// Copies the text, so that the document does not depend on the caller's bytes.
    func copyBytes() {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        copy.initialize(from: bytes, count: count)
        self.copy = copy
        bytes = UnsafePointer(copy)
    }

    func word(at place: Int) -> JSONWord { JSONWord(bits: words[place]) }

    /// Returns the place of the value after this one.
    func place(after place: Int) -> Int {
        let word = word(at: place)
        return word.isContainer ? word.end : place &+ 1
    }

    /// Returns the error for a value of a kind that the type does not accept.
    func mismatch(_ type: any Any.Type, at place: Int, _ path: JSONPath) -> DecodingError {
        let kind = word(at: place).kind
        if kind == .null, type != Bool.self {
            return .valueNotFound(
                type,
                .init(
                    codingPath: path.keys,
                    debugDescription: "Cannot get value of type \(type) -- found null value instead"))
        }
        return .typeMismatch(
            type,
            .init(
                codingPath: path.keys,
                debugDescription: "Expected to decode \(type) but found \(kind.name) instead."))
    }
}
