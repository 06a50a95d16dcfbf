public import Foundation

// The form is stable: what one version of Curlew has written, later ones read, or take for a miss.
//
//     version   one byte, 1
//     texts     length (LEB128), UTF-8
//     numbers   LEB128, signed ones zigzag
//     dates     milliseconds since 1970, a number
extension CacheEntry {
    /// The entry as bytes, for stores that keep it outside the process. It has no checksum of its own.
    public var encoded: Data {
        var writer = EntryWriter()
        writer.append(byte: 1)
        writer.append(id)
        writer.append(key.url)
        writer.append(key.partition)
        writer.append(variant)
        writer.append(varyingFields.count)
        for name in varyingFields { writer.append(name) }
        writer.append(response.head)
        writer.append(response.requestTime)
        writer.append(response.responseTime)
        writer.append(byte: (response.isContentDecoded ? 1 : 0) | (lifetime.canBeValidated ? 2 : 0))
        writer.append(lifetime.freshUntil)
        writer.append(lifetime.usableUntil)
        return Data(writer.bytes)
    }

    /// The entry that was encoded; nil where the bytes are no entry, or one of a later version. For a store that is a
    /// damaged entry: a miss, and to be removed.
    public init?(encoded: Data) {
        var reader = EntryReader(Array(encoded))
        do throws(EntryReader.Damage) {
            guard try reader.byte() == 1 else { return nil }
            let id = try reader.text()
            let key = CacheKey(url: try reader.text(), partition: try reader.text())
            let variant = try reader.text()
            let varyingFields = try reader.texts()
            let head = try reader.head()
            let (requestTime, responseTime) = (try reader.date(), try reader.date())
            let flags = try reader.byte()
            let (freshUntil, usableUntil) = (try reader.date(), try reader.date())
            guard reader.isAtEnd, flags < 4 else { return nil }
            self.init(
                id: id,
                key: key,
                variant: variant,
                varyingFields: varyingFields,
                response: StoredResponse(
                    head: head,
                    requestTime: requestTime,
                    responseTime: responseTime,
                    isContentDecoded: flags & 1 != 0
                ),
                lifetime: CacheLifetime(
                    freshUntil: freshUntil,
                    usableUntil: usableUntil,
                    canBeValidated: flags & 2 != 0
                )
            )
        } catch {
            return nil
        }
    }
}
