internal import BenchmarkSupport

@main
struct Main {
    static func main() { measure(FoundationClient.self) }
}
