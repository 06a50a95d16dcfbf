/// A key that is not a type's own: the index of an element, a dictionary's key, or "super".
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }

    init(element: Int) {
        stringValue = "Index \(element)"
        intValue = element
    }
}

/// The path of a value, from the top of the text. The path of an array's element costs no allocation.
struct JSONPath {
    fileprivate let node: JSONPathNode?
    /// The index of an element in the array at `node`; -1 if the path does not end in an element.
    fileprivate let element: Int32

    init() {
        node = nil
        element = -1
    }

    private init(_ node: JSONPathNode?, element: Int32) {
        self.node = node
        self.element = element
    }

    func appending(_ key: any CodingKey) -> JSONPath {
        JSONPath(JSONPathNode(self, key, isNested: false), element: -1)
    }

    func appending(element index: Int) -> JSONPath {
        guard element < 0, let index = Int32(exactly: index) else { return appending(JSONKey(element: index)) }
        return JSONPath(node, element: index)
    }

    /// Returns the path of a nested container, which belongs to the decoder of this container.
    func nesting(_ key: any CodingKey) -> JSONPath {
        JSONPath(JSONPathNode(self, key, isNested: true), element: -1)
    }

    /// The path of the decoder that a container with this path belongs to.
    var ofDecoder: JSONPath {
        var path = self
        while path.element < 0, let node = path.node, node.isNested { path = node.parent }
        return path
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var path = self
        while true {
            if path.element >= 0 { keys.append(JSONKey(element: Int(path.element))) }
            guard let node = path.node else { break }
            keys.append(node.key)
            path = node.parent
        }
        keys.reverse()
        return keys
    }
}

private final class JSONPathNode {
    let parent: JSONPath
    let key: any CodingKey
    let isNested: Bool

    init(_ parent: JSONPath, _ key: any CodingKey, isNested: Bool) {
        self.parent = parent
        self.key = key
        self.isNested = isNested
    }
}
