/// What documents and lines of JSON are made of.
public struct Item: Decodable, Sendable {
    public var id: Int
    public var name: String
    public var score: Double
    public var isActive: Bool
    public var tags: [String]
}
