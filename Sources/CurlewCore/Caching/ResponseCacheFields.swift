/// The fields of a response that concern a cache, found in one pass over the names.
package struct ResponseCacheFields: Sendable {
    /// Whether any field gives a lifetime or a validator.
    package private(set) var sayHowToStore = false
    /// Whether there is `Clear-Site-Data`.
    package private(set) var mayClear = false

    package init(_ headers: HTTPHeaders) {
        headers.forEachName { name in
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
