// swift-tools-version: 6.2
import PackageDescription

// Measures Curlew from the outside. A separate package, so that a plain `swift build` does not build it;
// `make bench` (scripts/bench) builds it and C/limit.c in release mode, and runs everything.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "Curlew", path: "..")],
    targets: [
        .target(name: "BenchmarkSupport", swiftSettings: strict),
        .executableTarget(
            name: "bench-engine",
            dependencies: ["BenchmarkSupport", .product(name: "CurlewTransport", package: "Curlew")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-session",
            dependencies: [
                "BenchmarkSupport", .product(name: "Curlew", package: "Curlew"),
                .product(name: "CurlewLocks", package: "Curlew"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-bodies",
            dependencies: ["BenchmarkSupport", .product(name: "Curlew", package: "Curlew")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-json",
            dependencies: ["BenchmarkSupport", .product(name: "Curlew", package: "Curlew")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-growth",
            dependencies: [
                "BenchmarkSupport", .product(name: "Curlew", package: "Curlew"),
                .product(name: "CurlewTransport", package: "Curlew"), .product(name: "CurlewLocks", package: "Curlew"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-cache",
            dependencies: [
                "BenchmarkSupport", .product(name: "Curlew", package: "Curlew"),
                .product(name: "CurlewDiskCache", package: "Curlew"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "bench-websocket",
            dependencies: ["BenchmarkSupport", .product(name: "Curlew", package: "Curlew")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "release-probe",
            dependencies: [
                "Curlew", "CurlewAFNetworking", "CurlewAlamofire", "CurlewDiskCache", "CurlewImage", "CurlewJSON",
                "CurlewRedis", "CurlewTesting", "CurlewTransport", "CurlewXML",
            ].map { .product(name: $0, package: "Curlew") },
            swiftSettings: strict
        ),
        .executableTarget(name: "bench-urlsession", dependencies: ["BenchmarkSupport"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
