/// The encoder of one value, and its single-value container.
struct JSONValueEncoder: Encoder, SingleValueEncodingContainer {
    let place: JSONPlace

    private var encoding: JSONEncoding { place.encoding }
    private var writer: UnsafeMutablePointer<JSONTextWriter> { place.writer }
    var codingPath: [any CodingKey] { writer.pointee.path(of: place) }
    var userInfo: [CodingUserInfoKey: Any] { encoding.encoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(JSONKeyedEncodingContainer<Key>(place: place.container(.object)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncodingContainer(place: place.container(.array))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Begins the single value and records that it is complete.
    private func begin() throws {
        try writer.pointee.beginSingle(place)
        writer.pointee.frames.open[place.index].content = .value
    }

    private func integer(_ value: some FixedWidthInteger) throws {
        try begin()
        writer.pointee.output.integer(value)
    }

    private func float(_ value: some JSONFloat) throws {
        try writer.pointee.beginSingle(place)
        try encoding.write(value) { codingPath }
        writer.pointee.frames.open[place.index].content = .value
    }

    func encodeNil() throws {
        try begin()
        writer.pointee.output.literal("null")
    }

    func encode(_ value: Bool) throws {
        try begin()
        writer.pointee.output.literal(value ? "true" : "false")
    }

    func encode(_ value: String) throws {
        try begin()
        writer.pointee.output.string(value)
    }

    func encode(_ value: Double) throws { try float(value) }
    func encode(_ value: Float) throws { try float(value) }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: Int128) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }
    func encode(_ value: UInt128) throws { try integer(value) }

    func encode<T: Encodable>(_ value: T) throws {
        try writer.pointee.beginSingle(place)
        try encoding.write(value, at: .itself(place)) { .top }
    }
}

/// The container of an object.
struct JSONKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: JSONPlace

    private var encoding: JSONEncoding { place.encoding }
    private var writer: UnsafeMutablePointer<JSONTextWriter> { place.writer }
    var codingPath: [any CodingKey] { writer.pointee.path(of: place) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        let mark = try place.beginMember(key)
        do {
            let owner = writer.pointee.frames.open[place.index].encoder
            try encoding.write(value, at: .inside(owner: owner)) { .key(key) }
        } catch {
            writer.pointee.rollBack(to: mark, place)
            throw error
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONKeyedEncodingContainer<NestedKey>(place: nested(.object, key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncodingContainer(place: nested(.array, key))
    }

    private func nested(_ content: JSONFrame.Content, _ key: Key) -> JSONPlace {
        do throws(JSONDetour) {
            try place.beginMember(key)
            return try place.nested(content, .key(key))
        } catch {
            return encoding.nowhere
        }
    }

    func superEncoder() -> any Encoder { superEncoder(for: JSONKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder(for: key) }

    private func superEncoder(for key: some CodingKey) -> any Encoder {
        do throws(JSONDetour) {
            try place.beginMember(key)
            let owner = writer.pointee.frames.open[place.index].encoder
            return JSONValueEncoder(place: encoding.push(.key(key), owner: owner, isLoose: true))
        } catch {
            return JSONValueEncoder(place: encoding.nowhere)
        }
    }

    func encodeNil(forKey key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.literal("null")
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.literal(value ? "true" : "false")
    }

    func encode(_ value: String, forKey key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.string(value)
    }

    // Three overloads, because the compiler does not specialize a generic function in a generic type.
    private func integer(_ value: Int64, _ key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.integer(value)
    }

    private func integer(_ value: UInt64, _ key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.integer(value)
    }

    private func wideInteger(_ value: some FixedWidthInteger, _ key: Key) throws {
        try place.beginMember(key)
        writer.pointee.output.integer(value)
    }

    private func float(_ value: some JSONFloat, _ key: Key) throws {
        let mark = try place.beginMember(key)
        do {
            try encoding.write(value) {
                writer.pointee.path(of: writer.pointee.frames.open[place.index].encoder) + [key]
            }
        } catch {
            writer.pointee.rollBack(to: mark, place)
            throw error
        }
    }

    func encode(_ value: Double, forKey key: Key) throws { try float(value, key) }
    func encode(_ value: Float, forKey key: Key) throws { try float(value, key) }
    func encode(_ value: Int, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int8, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int16, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int32, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int64, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: Int128, forKey key: Key) throws { try wideInteger(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try integer(UInt64(value), key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try wideInteger(value, key) }
}

/// The container of an array.
struct JSONUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let place: JSONPlace

    private var encoding: JSONEncoding { place.encoding }
    private var writer: UnsafeMutablePointer<JSONTextWriter> { place.writer }
    var codingPath: [any CodingKey] { writer.pointee.path(of: place) }
    var count: Int { writer.pointee.frames.contains(place) ? writer.pointee.frames.open[place.index].count : 0 }

    func encode<T: Encodable>(_ value: T) throws {
        let mark = try writer.pointee.beginElement(place)
        do {
            let owner = writer.pointee.frames.open[place.index].encoder
            try encoding.write(value, at: .inside(owner: owner)) { .element(mark.members) }
        } catch {
            writer.pointee.rollBack(to: mark, place)
            throw error
        }
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONKeyedEncodingContainer<NestedKey>(place: nested(.object)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncodingContainer(place: nested(.array))
    }

    private func nested(_ content: JSONFrame.Content) -> JSONPlace {
        do throws(JSONDetour) {
            let mark = try writer.pointee.beginElement(place)
            return try place.nested(content, .element(mark.members))
        } catch {
            return encoding.nowhere
        }
    }

    /// Leaves the text to Foundation, whose encoder inserts and counts the value of this encoder only when the encoder
    /// is released.
    func superEncoder() -> any Encoder {
        writer.pointee.leaveToFoundation()
        return JSONValueEncoder(place: encoding.nowhere)
    }

    func encodeNil() throws {
        try writer.pointee.beginElement(place)
        writer.pointee.output.literal("null")
    }

    func encode(_ value: Bool) throws {
        try writer.pointee.beginElement(place)
        writer.pointee.output.literal(value ? "true" : "false")
    }

    func encode(_ value: String) throws {
        try writer.pointee.beginElement(place)
        writer.pointee.output.string(value)
    }

    private func integer(_ value: some FixedWidthInteger) throws {
        try writer.pointee.beginElement(place)
        writer.pointee.output.integer(value)
    }

    private func float(_ value: some JSONFloat) throws {
        let mark = try writer.pointee.beginElement(place)
        do {
            try encoding.write(value) {
                writer.pointee.path(of: writer.pointee.frames.open[place.index].encoder) + [
                    JSONKey(element: mark.members)
                ]
            }
        } catch {
            writer.pointee.rollBack(to: mark, place)
            throw error
        }
    }

    func encode(_ value: Double) throws { try float(value) }
    func encode(_ value: Float) throws { try float(value) }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: Int128) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }
    func encode(_ value: UInt128) throws { try integer(value) }
}
