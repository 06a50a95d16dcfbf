// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "Curlew", path: "..")],
    targets: [
        example("APIClient"),
        example("ChatCompletion"),
        example("DownloadMirror"),
        example("PriceFeed"),
        example("CachingProxy", "CurlewRedis"),
        example("GracefulShutdown"),
    ],
    swiftLanguageModes: [.v6]
)

/// A program of one file. `CurlewTesting` is for its stand-in server.
func example(_ name: String, _ others: String...) -> Target {
    .executableTarget(
        name: name,
        dependencies: (["Curlew", "CurlewTesting"] + others).map { .product(name: $0, package: "Curlew") }
    )
}
