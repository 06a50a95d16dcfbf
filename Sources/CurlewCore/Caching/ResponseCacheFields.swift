/// Which fields of a response concern a cache. Most responses have none of them, and one pass tells.
package struct ResponseCacheFields: Sendable {
    /// Whether there is a field at all that says how long the response is right, or by which it can be validated.
    package private(set) var sayHowToStore = false
    /// Whether there is `Clear-Site-Data`.
    package private(set) var mayClear = false

    package init(_ headers: HTTPHeaders) {
        headers.forEachName { name in
            // The lengths tell nearly all other names apart.
            switch name.utf8.count {
            case 4: sayHowToStore = sayHowToStore || ASCII.equalsIgnoringCase(name, "ETag")
            case 7: sayHowToStore = sayHowToStore || ASCII.equalsIgnoringCase(name, "Expires")
            case 13:
                sayHowToStore =
                    sayHowToStore || ASCII.equalsIgnoringCase(name, "Cache-Control")
                    || ASCII.equalsIgnoringCase(name, "Last-Modified")
            case 15: mayClear = mayClear || ASCII.equalsIgnoringCase(name, "Clear-Site-Data")
            default: break
            }
        }
    }
}
