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
