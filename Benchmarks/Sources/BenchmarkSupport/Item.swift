/// An element of the JSON documents and lines.
public struct Item: Decodable, Sendable {
    public var id: Int
    public var name: String
    public var score: Double
    public var isActive: Bool
    public var tags: [String]
}
