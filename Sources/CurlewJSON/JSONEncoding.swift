internal import Foundation

/// The options and the text that is being written. A class, because a type may keep the encoders and containers that
/// refer to it.
final class JSONEncoding {
    let encoder: FastJSONEncoder
    let usesDefaultKeys: Bool
    // A pointer avoids reference counting and exclusivity checks on each access.
    let writer: UnsafeMutablePointer<JSONTextWriter>

    init(_ encoder: FastJSONEncoder) {
        self.encoder = encoder
        usesDefaultKeys = if case .useDefaultKeys = encoder.keyEncodingStrategy { true } else { false }
        writer = .allocate(capacity: 1)
        writer.initialize(to: JSONTextWriter(encoder.outputFormatting))
    }

    deinit {
        writer.pointee.deallocate()
        writer.deinitialize(count: 1)
        writer.deallocate()
    }

    /// Opens a frame inside all others.
    func push(_ step: consuming JSONStep, owner: Int, encoder: Int? = nil, isLoose: Bool = false) -> JSONPlace {
        let (frame, serial) = writer.pointee.push(step, owner: owner, encoder: encoder, isLoose: isLoose)
        return JSONPlace(encoding: self, writer: writer, frame: UInt32(truncatingIfNeeded: frame), serial: serial)
    }

    /// A place without a frame. Anything written there is left to Foundation's encoder.
    var nowhere: JSONPlace { JSONPlace(encoding: self, writer: writer, frame: 0, serial: 0) }

    /// Returns the key in the form that the options demand.
    func name(of key: some CodingKey, in place: JSONPlace) throws(JSONDetour) -> String {
        switch encoder.keyEncodingStrategy {
        case .useDefaultKeys: return key.stringValue
        case .convertToSnakeCase: if let name = JSONSnakeCase.snakeCase(key.stringValue) { return name }
        case .custom(let convert): return convert(writer.pointee.path(of: place) + [key]).stringValue
        @unknown default: break
        }
        throw writer.pointee.detour()
    }
}

extension JSONPlace {
    /// Begins a member of an object. `key` is the type's key, before the key strategy.
    @discardableResult
    func beginMember(_ key: some CodingKey) throws(JSONDetour) -> JSONMark {
        try writer.pointee.beginMember(
            encoding.usesDefaultKeys ? key.stringValue : encoding.name(of: key, in: self), self)
    }
}

extension JSONEncoding {
    /// Writes a value of any type.
    func write<T: Encodable>(_ value: T, at target: JSONTarget, _ step: () -> JSONStep) throws {
        if try writeSpecial(value, at: target, step) { return }
        let place = begin(at: target, step)
        try value.encode(to: JSONValueEncoder(place: place))
        try end(place, at: target)
    }

    /// Writes the value that forms the whole text.
    func writeTop<T: Encodable>(_ value: T) throws {
        if try writeSpecial(value, at: .inside(owner: -1), { .top }) { return }
        let place = push(.top, owner: -1)
        try value.encode(to: JSONValueEncoder(place: place))
        try writer.pointee.enter(place)
        if writer.pointee.frames.open[place.index].content == .none {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "Top-level \(T.self) did not encode any values."))
        }
        try writer.pointee.closeLast()
    }

    private func run(
        at target: JSONTarget, _ step: () -> JSONStep, _ body: (any Encoder) throws -> Void
    ) throws {
        let place = begin(at: target, step)
        try body(JSONValueEncoder(place: place))
        try end(place, at: target)
    }

    /// Returns the frame of a value that encodes itself.
    private func begin(at target: JSONTarget, _ step: () -> JSONStep) -> JSONPlace {
        switch target {
        case .inside(let owner): push(step(), owner: owner)
        case .itself(let place): place
        }
    }

    private func end(_ place: JSONPlace, at target: JSONTarget) throws(JSONDetour) {
        try writer.pointee.enter(place)
        switch target {
        case .inside: try writer.pointee.closeLast()
        case .itself: try writer.pointee.closeValue(place.index)
        }
    }

    /// Writes the value if its type has a special representation in JSON. Returns whether the value was written.
    private func writeSpecial<T: Encodable>(
        _ value: T, at target: JSONTarget, _ step: () -> JSONStep
    ) throws -> Bool {
        // SAFETY: the types are the same.
        func cast<U>(_ type: U.Type) -> U { unsafeBitCast(value, to: type) }
        if T.self == Date.self {
            try write(cast(Date.self), at: target, step)
        } else if T.self == Data.self {
            try write(cast(Data.self), at: target, step)
        } else if T.self == URL.self {
            writer.pointee.output.string(cast(URL.self).absoluteString)
        } else if T.self == Decimal.self {
            writer.pointee.output.number(cast(Decimal.self).description)
        } else if !usesDefaultKeys, let dictionary = value as? any StringDictionary {
            try dictionary.write(in: self, at: target)
        } else {
            guard let primitive = JSONPrimitive(T.self) else { return false }
            switch primitive {
            case .strings: try array(cast([String].self)) { writer.pointee.output.string($0) }
            case .integers: try array(cast([Int].self)) { writer.pointee.output.integer($0) }
            case .wideIntegers: try array(cast([Int64].self)) { writer.pointee.output.integer($0) }
            case .bytes: try array(cast([UInt8].self)) { writer.pointee.output.integer($0) }
            case .bools: try array(cast([Bool].self)) { writer.pointee.output.literal($0 ? "true" : "false") }
            case .doubles: try floats(cast([Double].self), at: target, step)
            case .floats: try floats(cast([Float].self), at: target, step)
            }
        }
        if case .itself(let place) = target, writer.pointee.frames.contains(place) {
            writer.pointee.frames.open[place.index].content = .value
        }
        return true
    }

    private func array<Element>(_ elements: [Element], _ write: (Element) throws -> Void) throws {
        try writer.pointee.openBracket(JSONByte.openBracket)
        var isFirst = true
        for element in elements {
            writer.pointee.separate(isFirst: isFirst)
            isFirst = false
            try write(element)
        }
        writer.pointee.closeBracket(JSONByte.closeBracket, isEmpty: isFirst)
    }

    private func floats<Float: JSONFloat>(
        _ elements: [Float], at target: JSONTarget, _ step: () -> JSONStep
    ) throws {
        let (written, depth) = (writer.pointee.output.count, writer.pointee.frames.depth)
        var index = 0
        do {
            try array(elements) { element in
                try write(element) { writer.pointee.path(of: target, step) + [JSONKey(element: index)] }
                index += 1
            }
        } catch {
            // The code of the value may catch the error and encode something else.
            writer.pointee.output.truncate(to: written)
            writer.pointee.frames.depth = depth
            throw error
        }
    }

    // MARK: Numbers

    /// Writes a number, or the string for infinity or NaN.
    func write<Float: JSONFloat>(_ value: Float, path: () -> [any CodingKey]) throws {
        if value.isFinite { return writer.pointee.output.number(value) }
        writer.pointee.output.string(try nonConforming(value, path))
    }

    /// Returns the string for infinity or NaN.
    private func nonConforming<Float: JSONFloat>(_ value: Float, _ path: () -> [any CodingKey]) throws -> String {
        switch encoder.nonConformingFloatEncodingStrategy {
        case .convertToString(let positive, let negative, let nan):
            return value.isNaN ? nan : value > 0 ? positive : negative
        case .throw: break
        @unknown default: writer.pointee.leaveToFoundation()
        }
        throw JSONEncoding.refusal(value, path())
    }

    private static func refusal<Float: JSONFloat>(_ value: Float, _ path: [any CodingKey]) -> EncodingError {
        .invalidValue(
            value,
            .init(codingPath: path, debugDescription: "Unable to encode \(Float.self).\(value) directly in JSON."))
    }

    // MARK: Dates and bytes

    private func write(_ date: Date, at target: JSONTarget, _ step: () -> JSONStep) throws {
        switch encoder.dateEncodingStrategy {
        case .deferredToDate: try write(date.timeIntervalSinceReferenceDate) { writer.pointee.path(of: target, step) }
        case .secondsSince1970: try write(time: date.timeIntervalSince1970, target, step)
        case .millisecondsSince1970: try write(time: 1000 * date.timeIntervalSince1970, target, step)
        case .iso8601: writer.pointee.output.string(date.formatted(.iso8601))
        case .custom(let write): try run(at: target, step) { try write(date, $0) }
        @unknown default:
            throw writer.pointee.detour()
        }
    }

    /// Writes a time. Infinite times are an error, even if the options have strings for other infinite numbers.
    private func write(time: Double, _ target: JSONTarget, _ step: () -> JSONStep) throws {
        guard time.isFinite else { throw JSONEncoding.refusal(time, writer.pointee.path(of: target, step)) }
        writer.pointee.output.number(time)
    }

    private func write(_ data: Data, at target: JSONTarget, _ step: () -> JSONStep) throws {
        switch encoder.dataEncodingStrategy {
        case .base64: writer.pointee.output.base64(data)
        case .deferredToData: try run(at: target, step) { try data.encode(to: $0) }
        case .custom(let write): try run(at: target, step) { try write(data, $0) }
        @unknown default:
            throw writer.pointee.detour()
        }
    }
}

protocol JSONFloat: BinaryFloatingPoint, TextOutputStreamable {}
extension Double: JSONFloat {}
extension Float: JSONFloat {}

// Dictionaries with strings as keys. The keys are data, so no key strategy changes them.

private protocol StringDictionary {
    func write(in encoding: JSONEncoding, at target: JSONTarget) throws
}

extension Dictionary: StringDictionary where Key == String, Value: Encodable {
    fileprivate func write(in encoding: JSONEncoding, at target: JSONTarget) throws {
        // Foundation's encoder omits the dictionary's own key from the paths inside it.
        let owner =
            switch target {
            case .inside(let owner): owner
            case .itself(let place): place.index
            }
        let object = encoding.push(.top, owner: owner)
        try encoding.writer.pointee.open(.object, object.index)
        for (key, value) in self {
            _ = try encoding.writer.pointee.beginMember(key, object)
            let member = encoding.push(.key(JSONKey(stringValue: key)), owner: owner)
            try encoding.write(value, at: .itself(member)) { .top }
            try encoding.writer.pointee.enter(member)
            try encoding.writer.pointee.closeLast()
        }
        try encoding.writer.pointee.enter(object)
        try encoding.writer.pointee.closeLast()
    }
}
