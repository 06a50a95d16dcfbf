internal import BenchmarkSupport

@main
struct Main {
    static func main() async { await measure(SessionClient.self) }
}
