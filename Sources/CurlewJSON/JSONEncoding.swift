internal import Foundation

/// What encoders and containers hold, so that a type may keep them: the options, and the text that is being written.
final class JSONEncoding {
    let encoder: FastJSONEncoder
    let usesDefaultKeys: Bool
    // Behind a pointer, since the compiler counts references and checks exclusive access for the variables of a class.
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

    /// A frame inside all others.
    func push(_ step: consuming JSONStep, owner: Int, encoder: Int? = nil, isLoose: Bool = false) -> JSONPlace {
        let (frame, serial) = writer.pointee.push(step, owner: owner, encoder: encoder, isLoose: isLoose)
        return JSONPlace(encoding: self, writer: writer, frame: UInt32(truncatingIfNeeded: frame), serial: serial)
    }

    /// A frame that is none: what is written there is left to Foundation's encoder.
    var nowhere: JSONPlace { JSONPlace(encoding: self, writer: writer, frame: 0, serial: 0) }

    /// The key as the options want it.
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
    /// Begins a member of an object, by its key as the type has it.
    @discardableResult
    func beginMember(_ key: some CodingKey) throws(JSONDetour) -> JSONMark {
        try writer.pointee.beginMember(
            encoding.usesDefaultKeys ? key.stringValue : encoding.name(of: key, in: self), self)
    }
}
