internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Fixed bodies of several types.
    static let formats: [Entry] = [
        Entry("/json") { _ in
            .json(.object([("title", "Curlew"), ("items", .array(["beak", "wing", "reed"])), ("count", 3)]))
        },
        Entry("/xml") { _ in
            .text(
                """
                <?xml version="1.0" encoding="us-ascii"?>
                <!-- a field guide -->
                <birds place="shore">
                  <bird name="curlew"><note>long curved <em>bill</em></note></bird>
                  <bird name="plover"/>
                </birds>

                """,
                type: "application/xml"
            )
        },
        Entry("/html") { _ in
            .text(
                "<!DOCTYPE html>\n<html><head><title>Curlew</title></head><body><h1>Curlew</h1></body></html>\n",
                type: "text/html; charset=utf-8"
            )
        },
        Entry("/robots.txt") { _ in .text("User-agent: *\nDisallow: /deny\n", type: "text/plain") },
        Entry("/deny") { _ in .text("keep out\n", type: "text/plain") },
        Entry("/encoding/utf8") { _ in
            .text("grüße · приветствие · 挨拶 · שלום · 👋🏽\n", type: "text/html; charset=utf-8")
        },
        Entry("/encoding/latin1") { _ in
            .data(Data([0x67, 0x72, 0xFC, 0xDF, 0x65]), type: "text/plain; charset=iso-8859-1")
        },
        Entry("/base64/{value}") { request in
            let text = (request.parameters["value"] ?? "").replacing("-", with: "+").replacing("_", with: "/")
            guard let data = Data(base64Encoded: text) else { return .text("not base64\n", status: 400) }
            return .data(data, type: "text/html; charset=utf-8")
        },
        Entry("/image") { _ in .data(png, type: "image/png") },
        Entry("/image/png") { _ in .data(png, type: "image/png") },
        Entry("/links/{count}/{current}") { request in
            guard let count = request.number("count"), let current = request.number("current"), count >= 0 else {
                return .text("not a count\n", status: 400)
            }
            let links = (0..<min(count, 200)).map { index in
                index == current ? "\(index)" : "<a href=\"/links/\(count)/\(index)\">\(index)</a>"
            }
            return .text(
                "<html><head><title>Links</title></head><body>\(links.joined(separator: " "))</body></html>",
                type: "text/html; charset=utf-8"
            )
        },
    ]

    /// One grey pixel.
    private static let png = Compression.png(grey: 0x80)
}

extension Compression {
    /// A PNG of one pixel.
    static func png(grey: UInt8) -> Data {
        // Width 1, height 1, 8 bits, greyscale; then a row of filter type and pixel.
        let header = Data([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])
        let row = deflated(Data([0, grey]), windowBits: 15) ?? Data()
        let signature = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        return signature + pngChunk("IHDR", header) + pngChunk("IDAT", row) + pngChunk("IEND", Data())
    }

    private static func pngChunk(_ type: String, _ data: Data) -> Data {
        let body = Data(type.utf8) + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(UInt32(truncatingIfNeeded: crc(body)))
    }

    private static func bigEndian(_ value: UInt32) -> Data {
        withUnsafeBytes(of: value.bigEndian) { Data($0) }
    }
}
