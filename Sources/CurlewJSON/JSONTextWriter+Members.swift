internal import Foundation

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
