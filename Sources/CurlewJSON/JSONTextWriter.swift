internal import Foundation

/// A text that is being written, and its open values.
///
/// Each value is written at once, at its final position. If that is impossible, `needsFoundation` is set, Foundation's
/// encoder makes the text, and no byte of this one is used.
struct JSONTextWriter {
    /// The maximum depth of nested arrays and objects. Deeper values are left to Foundation's encoder.
    private static let depthLimit = 511

    let isPretty: Bool
    let sortsKeys: Bool
    var output: JSONOutput
    var frames = JSONFrames()
    private(set) var needsFoundation = false
    /// A misuse on which Foundation's encoder would crash.
    private(set) var misuse: EncodingError.Context?

    init(_ format: JSONEncoder.OutputFormatting) {
        isPretty = format.contains(.prettyPrinted)
        sortsKeys = format.contains(.sortedKeys)
        output = JSONOutput(escapesSlashes: !format.contains(.withoutEscapingSlashes))
    }

    /// Leaves the text to Foundation's encoder and removes all frames.
    mutating func leaveToFoundation() {
        needsFoundation = true
        frames.removeAll()
    }

    func deallocate() {
        output.deallocate()
        frames.deallocate()
    }

    mutating func detour() -> JSONDetour {
        leaveToFoundation()
        return JSONDetour()
    }

    /// Records a misuse on which Foundation's encoder would crash. It becomes an error when the encoding ends.
    mutating func refuse(_ reason: String, at frame: Int) {
        if misuse == nil { misuse = EncodingError.Context(codingPath: path(of: frame), debugDescription: reason) }
        frames.removeAll()
    }
}

// Frames.
extension JSONTextWriter {
    /// Makes a frame the innermost one. Nested containers inside it are closed.
    mutating func enter(_ place: JSONPlace) throws(JSONDetour) {
        if !frames.isInnermost(place) { try closeAll(inside: place) }
    }

    private mutating func closeAll(inside place: JSONPlace) throws(JSONDetour) {
        guard frames.contains(place) else { throw detour() }
        while frames.open.count - 1 > place.index {
            guard frames.open[frames.open.count - 1].isLoose else { throw detour() }
            try closeLast()
        }
    }

    /// Opens a frame inside all others. Returns its index and its serial number.
    mutating func push(_ step: consuming JSONStep, owner: Int, encoder: Int? = nil, isLoose: Bool = false) -> (
        Int, UInt32
    ) {
        frames.push(step, owner: owner, encoder: encoder, isLoose: isLoose, start: output.count)
    }

    /// Closes the innermost frame. A value that encoded nothing becomes an empty object.
    mutating func closeLast() throws(JSONDetour) {
        try closeValue(frames.open.count - 1)
        frames.pop()
    }

    /// Completes a value.
    mutating func closeValue(_ frame: Int) throws(JSONDetour) {
        switch frames.open[frame].content {
        case .none:
            try open(.object, frame)
            closeBracket(JSONByte.closeBrace, isEmpty: true)
        case .value: break
        case .object:
            if sortsKeys { sortMembers(of: frame) }
            closeBracket(JSONByte.closeBrace, isEmpty: frames.open[frame].count == 0)
        case .array: closeBracket(JSONByte.closeBracket, isEmpty: frames.open[frame].count == 0)
        }
        frames.open[frame].content = .value
    }

    mutating func open(_ content: JSONFrame.Content, _ frame: Int) throws(JSONDetour) {
        try openBracket(content == .object ? JSONByte.openBrace : JSONByte.openBracket)
        frames.open[frame].content = content
    }

    mutating func openBracket(_ bracket: UInt8) throws(JSONDetour) {
        guard frames.depth < Self.depthLimit else { throw detour() }
        frames.depth += 1
        output.byte(bracket)
    }

    mutating func closeBracket(_ bracket: UInt8, isEmpty: Bool) {
        frames.depth -= 1
        if isPretty {
            if isEmpty { output.byte(0x0a) }
            output.lineBreak(indentation: frames.depth)
        }
        output.byte(bracket)
    }

    /// Writes the separator before an element or a key.
    mutating func separate(isFirst: Bool) {
        if !isFirst { output.byte(JSONByte.comma) }
        if isPretty { output.lineBreak(indentation: frames.depth) }
    }

    /// Returns the path of a frame.
    func path(of frame: Int) -> [any CodingKey] {
        var keys: [any CodingKey] = []
        var frame = frame
        while frame >= 0, frame < frames.open.count {
            keys += frames.open[frame].step.keys
            frame = frames.open[frame].owner
        }
        keys.reverse()
        return keys
    }

    func path(of place: JSONPlace) -> [any CodingKey] {
        frames.contains(place) ? path(of: place.index) : []
    }

    func path(of target: JSONTarget, _ step: () -> JSONStep) -> [any CodingKey] {
        switch target {
        case .itself(let place): path(of: place)
        case .inside(let owner): path(of: owner) + step().keys
        }
    }
}

// Elements of arrays, members of objects, and single values.

/// The state of a text when a value began.
struct JSONMark {
    let count: Int
    let keys: Int
    let members: Int
    let depth: Int
}

extension JSONTextWriter {
    /// The number of keys above which an object's keys are searched in a set.
    private static let keyLimit = 32

    private func mark(_ frame: Int) -> JSONMark {
        JSONMark(
            count: output.count, keys: frames.keys.count, members: frames.open[frame].count,
            depth: frames.depth)
    }

    /// Removes a value that could not be written. The type may catch the error and continue without the value.
    mutating func rollBack(to mark: JSONMark, _ place: JSONPlace) {
        guard frames.contains(place) else { return }
        while frames.open.count - 1 > place.index { frames.pop() }
        output.truncate(to: mark.count)
        frames.keys.truncate(to: mark.keys)
        frames.open[place.index].count = mark.members
        frames.open[place.index].manyKeys = nil
        frames.depth = mark.depth
    }

    /// Begins an element of an array.
    @discardableResult
    mutating func beginElement(_ place: JSONPlace) throws(JSONDetour) -> JSONMark {
        try enter(place)
        let mark = mark(place.index)
        separate(isFirst: mark.members == 0)
        frames.open[place.index].count = mark.members &+ 1
        return mark
    }

    /// Begins a member of an object. `name` is the key after the key strategy.
    mutating func beginMember(_ name: String, _ place: JSONPlace) throws(JSONDetour) -> JSONMark {
        try enter(place)
        let mark = mark(place.index)
        separate(isFirst: mark.members == 0)
        let start = output.count
        output.string(name)
        let hash = JSONKeyHash.of(name, writtenAt: start, &output)
        if frames.count(JSONWrittenKey(hash: hash, start: start), in: place.index), hadKey(hash, place.index) {
            throw detour()
        }
        if isPretty { output.literal(" : ") } else { output.byte(JSONByte.colon) }
        return mark
    }

    /// Whether an object has an earlier key that is equal to its last one.
    private mutating func hadKey(_ hash: UInt64, _ frame: Int) -> Bool {
        let known = frames.keys.from(frames.open[frame].firstKey).dropLast()
        guard known.count >= Self.keyLimit else { return known.contains { $0.hash == hash } }
        var many = frames.open[frame].manyKeys.take() ?? Set()
        // The set has only the keys up to the last search: keys with a new bit need none.
        for key in known.dropFirst(many.count) { many.insert(key.hash) }
        frames.open[frame].manyKeys = many
        return many.contains(hash)
    }

    /// Begins the single value of an encoder.
    mutating func beginSingle(_ place: JSONPlace) throws(JSONDetour) {
        try enter(place)
        switch frames.open[place.index].content {
        case .none: return
        case .value: refuse("A value was encoded already.", at: place.index)
        // Foundation's encoder combines the container and the value.
        case .object, .array: leaveToFoundation()
        }
        throw JSONDetour()
    }

    /// Opens the object or array that is the frame's value, or continues it. Returns false if that is not possible.
    mutating func openContainer(_ content: JSONFrame.Content, _ place: JSONPlace) -> Bool {
        do throws(JSONDetour) {
            try enter(place)
            let bracket = content == .object ? JSONByte.openBrace : JSONByte.openBracket
            switch frames.open[place.index].content {
            case content: return true
            case .none:
                try open(content, place.index)
                return true
            // Foundation's encoder adds to a container that was encoded as a single value.
            case .value where output.start[frames.open[place.index].start] == bracket: leaveToFoundation()
            case .value, .object, .array:
                refuse("Another kind of container or value was encoded already.", at: place.index)
            }
        } catch {}
        return false
    }
}

extension JSONPlace {
    /// Returns the container that is the value of this frame.
    func container(_ content: JSONFrame.Content) -> JSONPlace {
        writer.pointee.openContainer(content, self) ? self : encoding.nowhere
    }

    /// Opens a container inside this one. Its element or member must have begun.
    func nested(_ content: JSONFrame.Content, _ step: JSONStep) throws(JSONDetour) -> JSONPlace {
        let inner = encoding.push(step, owner: index, encoder: writer.pointee.frames.open[index].encoder, isLoose: true)
        try writer.pointee.open(content, inner.index)
        return inner
    }
}

extension JSONTextWriter {
    /// Sorts the members of an object by the bytes of their keys, before the object is closed.
    mutating func sortMembers(of frame: Int) {
        let keys = frames.keys.from(frames.open[frame].firstKey)
        guard let first = keys.first else { return }
        let text = UnsafePointer(output.start)
        let starts = keys.map(\.start)
        let order = starts.indices.sorted { JSONKeyOrder.precedes(text + starts[$0] + 1, text + starts[$1] + 1) }
        guard order != Array(starts.indices) else { return }
        // A comma; in pretty texts also a line break and the indentation.
        let separator = isPretty ? 2 + 2 * frames.depth : 1
        let members = order.map { index in
            let end = index + 1 < starts.count ? starts[index + 1] - separator : output.count
            return starts[index] - first.start..<end - first.start
        }
        let old = Array(UnsafeBufferPointer(start: text + first.start, count: output.count - first.start))
        output.truncate(to: first.start)
        old.withUnsafeBufferPointer { old in
            for (place, member) in members.enumerated() {
                if place > 0 { separate(isFirst: false) }
                output.bytes(UnsafeBufferPointer(rebasing: old[member]))
            }
        }
    }
}

enum JSONKeyOrder {
    /// Compares two different keys as they are written in the text, by the bytes that they represent.
    static func precedes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>) -> Bool {
        var (left, right) = (left, right)
        while true {
            let (first, second) = (next(&left), next(&right))
            if first != second { return first < second }
            if first < 0 { return false }
        }
    }

    /// Returns the next byte of a key; -1 at its end.
    private static func next(_ text: inout UnsafePointer<UInt8>) -> Int {
        let byte = text.pointee
        if byte == JSONByte.quote { return -1 }
        text += 1
        guard byte == JSONByte.backslash else { return Int(byte) }
        let letter = text.pointee
        text += 1
        switch letter {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "n"): return 0x0a
        case UInt8(ascii: "f"): return 0x0c
        case UInt8(ascii: "r"): return 0x0d
        case UInt8(ascii: "u"):
            // Only characters below U+0020 are written like this.
            let digit = text[3] < UInt8(ascii: "a") ? text[3] - JSONByte.zero : text[3] - UInt8(ascii: "a") + 10
            let value = Int(text[2] - JSONByte.zero) << 4 | Int(digit)
            text += 4
            return value
        case _: return Int(letter)
        }
    }
}
