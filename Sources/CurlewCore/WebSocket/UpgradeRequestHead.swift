package import Foundation

/// The head of an HTTP/1.1 `GET` request, as bytes.
package enum UpgradeRequestHead {
    /// Returns the head. `Host` is added as the first field, unless `headers` contains it.
    package static func bytes(for url: URL, headers: HTTPHeaders) -> [UInt8] {
        var target = url.path(percentEncoded: true)
        if target.isEmpty { target = "/" }
        if let query = url.query(percentEncoded: true) { target += "?" + query }
        var text = "GET \(target) HTTP/1.1\r\n"
        if !headers.contains(name: "Host") { text += "Host: \(host(of: url))\r\n" }
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func host(of url: URL) -> String {
        var host = url.host(percentEncoded: true) ?? ""
        if host.contains(":"), !host.hasPrefix("[") { host = "[\(host)]" }
        guard let port = url.port, port != (url.scheme?.lowercased() == "https" ? 443 : 80) else { return host }
        return "\(host):\(port)"
    }
}
