internal import Foundation

// Elements of arrays, members of objects, and single values.

/// How far a text was when a value began.
struct JSONMark {
    let count: Int
    let keys: Int
    let members: Int
    let depth: Int
}

extension JSONTextWriter {
    /// The keys of larger objects are kept in a set.
    private static let keyLimit = 32

    private func mark(_ frame: Int) -> JSONMark {
        JSONMark(
            count: output.count, keys: frames.keys.count, members: frames.open[frame].count,
            depth: frames.depth)
    }

    /// Takes back a value that could not be written: the type may go on without it.
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

    /// Begins a member of an object, by its key as the text has it.
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

    /// Whether an object had the key that is its last one.
    private mutating func hadKey(_ hash: UInt64, _ frame: Int) -> Bool {
        let known = frames.keys.from(frames.open[frame].firstKey).dropLast()
        guard known.count >= Self.keyLimit else { return known.contains { $0.hash == hash } }
        var many = frames.open[frame].manyKeys.take() ?? Set()
        // Keys whose bits were new have not been asked for.
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
        // Foundation's encoder puts them together.
        case .object, .array: leaveToFoundation()
        }
        throw JSONDetour()
    }

    /// Opens the object or array that a value consists of. Returns whether there is one now.
    mutating func openContainer(_ content: JSONFrame.Content, _ place: JSONPlace) -> Bool {
        do throws(JSONDetour) {
            try enter(place)
            let bracket = content == .object ? JSONByte.openBrace : JSONByte.openBracket
            switch frames.open[place.index].content {
            case content: return true
            case .none:
                try open(content, place.index)
                return true
            // Foundation's encoder adds to what was encoded as a single value.
            case .value where output.start[frames.open[place.index].start] == bracket: leaveToFoundation()
            case .value, .object, .array:
                refuse("Another kind of container or value was encoded already.", at: place.index)
            }
        } catch {}
        return false
    }
}

extension JSONPlace {
    /// The container that this value consists of.
    func container(_ content: JSONFrame.Content) -> JSONPlace {
        writer.pointee.openContainer(content, self) ? self : encoding.nowhere
    }

    /// A container inside this one, whose element or member has begun.
    func nested(_ content: JSONFrame.Content, _ step: JSONStep) throws(JSONDetour) -> JSONPlace {
        let inner = encoding.push(step, owner: index, encoder: writer.pointee.frames.open[index].encoder, isLoose: true)
        try writer.pointee.open(content, inner.index)
        return inner
    }
}
