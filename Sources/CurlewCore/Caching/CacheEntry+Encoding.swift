public import Foundation

// The format is stable: later versions of Curlew read what earlier ones have written, or treat it as a miss.
//
//     version   one byte, 1
//     texts     length (LEB128), UTF-8
//     numbers   LEB128, signed ones zigzag
//     dates     milliseconds since 1970, a number
extension CacheEntry {
    /// The entry as bytes, for stores outside the process. The encoding contains no checksum.
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

    /// Decodes an entry. `nil` if the bytes are not an entry or have a later version. A store treats that as a damaged
    /// entry: a miss, and a reason to remove it.
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
