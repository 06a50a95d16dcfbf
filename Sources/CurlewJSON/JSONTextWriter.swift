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
