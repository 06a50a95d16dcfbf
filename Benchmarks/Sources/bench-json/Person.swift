/// An element of the documents, with text, numbers, a nested object, arrays and absent values.
struct Person: Codable, Sendable {
    enum Role: String, Codable, Sendable { case admin, editor, reader }
    struct Address: Codable, Sendable {
        var street: String
        var city: String
        var zip: String
        var latitude: Double
        var longitude: Double
    }

    var id: Int
    var name: String
    var email: String?
    var isActive: Bool
    var score: Double
    var role: Role
    var tags: [String]
    var address: Address
    var biography: String?
    var visits: [Int]
    var parent: Int?

    init(_ index: Int) {
        id = index * 7919
        name = "Person Number \(index)"
        email = index % 3 == 0 ? nil : "person\(index)@example.org"
        isActive = index % 2 == 0
        score = Double(index) * 1.234_567_890_1 / 7
        role = [.admin, .editor, .reader][index % 3]
        tags = ["alpha", "beta-\(index)", "a longer tag, number \(index)"]
        address = Address(
            street: "\(index) Some Street", city: index % 5 == 0 ? "Zürich" : "Springfield", zip: "\(10000 + index)",
            latitude: Double(index % 180) - 89.876_544, longitude: Double(index) / 3)
        biography = index % 4 == 0 ? "Line one\nline \"two\" of a text that is longer than the others." : nil
        visits = Array(0..<(index % 7))
        parent = index % 2 == 0 ? nil : index
    }
}
