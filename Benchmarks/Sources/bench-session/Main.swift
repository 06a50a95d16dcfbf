internal import BenchmarkSupport

@main
struct Main {
    static func main() { measure(SessionClient.self) }
}
