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
