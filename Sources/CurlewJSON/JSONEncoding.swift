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
