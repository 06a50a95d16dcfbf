// swift-tools-version: 6.2
import PackageDescription

// Measures AsyncHTTPClient in `scripts/bench`. A separate package, because it depends on packages that have to be
// fetched. CONTRIBUTING.md says how it is built and given to `scripts/bench`.
let package = Package(
    name: "Peers",
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.33.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    ],
    targets: [
        // A link to the measuring code of the other Swift clients.
        .target(
            name: "BenchmarkSupport",
            swiftSettings: [
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("ExistentialAny"),
            ]),
        .executableTarget(
            name: "bench-asynchttpclient",
            dependencies: [
                "BenchmarkSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
