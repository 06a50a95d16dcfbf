internal import Foundation

/// The paths of cookies (RFC 6265bis, 5.1.4).
enum CookiePath {
    static func requestPath(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    /// The directory of the URL, which is the path of a cookie without a `Path` attribute.
    static func defaultPath(of url: URL) -> String {
        let path = requestPath(of: url)
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    static func matches(_ path: String, cookiePath: String) -> Bool {
        let (request, cookie) = (path.utf8, cookiePath.utf8)
        guard request.starts(with: cookie) else { return false }
        if request.count == cookie.count || cookie.last == UInt8(ascii: "/") { return true }
        return request[request.index(request.startIndex, offsetBy: cookie.count)] == UInt8(ascii: "/")
    }

    /// Returns all cookie paths that match `path`: the path itself, and each directory above it with and without its
    /// slash.
    static func directories(of path: String) -> [String] {
        var paths = [path]
        for slash in path.indices where path[slash] == "/" {
            paths.append(String(path[...slash]))
            if slash != path.startIndex { paths.append(String(path[..<slash])) }
        }
        return paths
    }
}
