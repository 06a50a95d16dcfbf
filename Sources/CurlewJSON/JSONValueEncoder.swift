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
