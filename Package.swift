// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "Curlew",
    products: [
        .library(name: "Curlew", targets: ["Curlew"]),
        .library(name: "CurlewTransport", targets: ["CurlewTransport"]),
        .library(name: "CurlewJSON", targets: ["CurlewJSON"]),
        .library(name: "CurlewXML", targets: ["CurlewXML"]),
        .library(name: "CurlewDiskCache", targets: ["CurlewDiskCache"]),
        .library(name: "CurlewRedis", targets: ["CurlewRedis"]),
        .library(name: "CurlewAlamofire", targets: ["CurlewAlamofire"]),
        .library(name: "CurlewAFNetworking", targets: ["CurlewAFNetworking"]),
        .library(name: "CurlewImage", targets: ["CurlewImage"]),
        .library(name: "CurlewTesting", targets: ["CurlewTesting"]),
        // For the package of the benchmarks.
        .library(name: "CurlewLocks", targets: ["CurlewLocks"]),
        .executable(name: "curlew", targets: ["CurlewTool"]),
    ],
    targets: [
        // System libraries: a module map each, no code.
        .systemLibrary(
            name: "CLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"]), .yum(["libcurl-devel"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl"]), .yum(["openssl-devel"])]
        ),
        .systemLibrary(
            name: "CPSL",
            pkgConfig: "libpsl",
            providers: [.apt(["libpsl-dev"]), .brew(["libpsl"]), .yum(["libpsl-devel"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"]), .yum(["zlib-devel"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"]), .yum(["sqlite-devel"])]
        ),
        // Without pkg-config: it would only add a flag that packages may not have.
        .systemLibrary(
            name: "CHiredis",
            providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"]), .yum(["hiredis-devel"])]
        ),
        // The same; its module needs no headers.
        .systemLibrary(
            name: "CGdkPixbuf",
            providers: [.apt(["libgdk-pixbuf-2.0-dev"]), .brew(["gdk-pixbuf"]), .yum(["gdk-pixbuf2-devel"])]
        ),
        // The kernel's routing messages, for reachability.
        .systemLibrary(name: "CNetlink"),

        // The shim: typed wrappers for what Swift cannot call (variadics, macros, epoll).
        .target(name: "CCurl", dependencies: ["CLibcurl", "COpenSSL"]),

        // Two system calls, for locks.
        .target(name: "CurlewLocks", swiftSettings: strict),
        .target(name: "CurlewCore", swiftSettings: strict),
        // JSON coders, useful without an HTTP client.
        .target(name: "CurlewJSON", swiftSettings: strict),
        .target(
            name: "CurlewTransport",
            dependencies: ["CurlewCore", "CurlewLocks", "CCurl", "CZlib"],
            swiftSettings: strict
        ),
        .target(
            name: "Curlew",
            dependencies: [
                "CurlewCore", "CurlewJSON", "CurlewLocks", "CurlewTransport", "CNetlink", "COpenSSL", "CPSL", "CZlib",
            ],
            swiftSettings: strict
        ),
        // Apart from Curlew, because FoundationXML is one more library to load at every start.
        .target(name: "CurlewXML", dependencies: ["Curlew"], swiftSettings: strict),
        // Apart from Curlew, because it needs SQLite.
        .target(
            name: "CurlewDiskCache", dependencies: ["CurlewCore", "CurlewLocks", "CSQLite"], swiftSettings: strict),
        // Apart from Curlew, because it needs hiredis.
        .target(name: "CurlewRedis", dependencies: ["CurlewCore", "CurlewLocks", "CHiredis"], swiftSettings: strict),
        // Apart from Curlew, because it needs gdk-pixbuf.
        .target(
            name: "CurlewImage", dependencies: ["Curlew", "CurlewDiskCache", "CurlewLocks", "CGdkPixbuf"],
            swiftSettings: strict),
        // Apart from Curlew, because a program's own names come before those that only some programs bring with them.
        .target(name: "CurlewAlamofire", dependencies: ["Curlew", "CurlewLocks"], swiftSettings: strict),
        .target(name: "CurlewAFNetworking", dependencies: ["Curlew", "CurlewLocks"], swiftSettings: strict),
        .target(
            name: "CurlewTesting",
            dependencies: ["Curlew", "CurlewCore", "CurlewLocks", "COpenSSL", "CZlib"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "CurlewTool", dependencies: ["Curlew", "CurlewDiskCache", "CurlewLocks"], swiftSettings: strict),
        .executableTarget(name: "CurlewDemo", dependencies: ["Curlew", "CurlewTesting"], swiftSettings: strict),

        // The client that scripts/autobahn tests.
        .executableTarget(
            name: "AutobahnClient", dependencies: ["Curlew"], path: "Tests/AutobahnClient", swiftSettings: strict),

        // A process that tests start and end.
        .executableTarget(
            name: "ExitProbe",
            dependencies: ["CurlewTransport", "CurlewCore", "CurlewLocks", "COpenSSL"],
            path: "Tests/ExitProbe",
            swiftSettings: strict
        ),

        // What the tests of cache stores ask of any of them.
        .target(
            name: "StoreSupport",
            dependencies: ["CurlewCore", "CurlewTesting"],
            path: "Tests/StoreSupport",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "StoreProbe",
            dependencies: ["CurlewDiskCache", "CurlewCore", "CurlewLocks"],
            path: "Tests/StoreProbe",
            swiftSettings: strict
        ),

        // A process of a fleet whose rate limits are shared.
        .executableTarget(
            name: "FleetProbe",
            dependencies: ["Curlew", "CurlewCore", "CurlewLocks", "CurlewRedis"],
            path: "Tests/FleetProbe",
            swiftSettings: strict
        ),
        // What `make bench-simulation` runs, and a test. Here, because the decisions are visible in this package alone.
        .executableTarget(
            name: "ResilienceSimulation", dependencies: ["CurlewCore"], path: "Benchmarks/Simulation",
            swiftSettings: strict),

        .testTarget(name: "CurlewLocksTests", dependencies: ["CurlewLocks"], swiftSettings: strict),
        .testTarget(
            name: "CurlewCoreTests",
            dependencies: ["ResilienceSimulation", "CurlewCore", "CurlewTesting"],
            swiftSettings: strict
        ),
        .testTarget(name: "CurlewJSONTests", dependencies: ["CurlewJSON", "CurlewTesting"], swiftSettings: strict),
        .testTarget(
            name: "CurlewTransportTests",
            dependencies: ["CurlewTransport", "CurlewCore", "CurlewLocks", "CurlewTesting"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewTests",
            dependencies: [
                "Curlew", "CurlewAFNetworking", "CurlewAlamofire", "CurlewCore", "CurlewDiskCache", "CurlewLocks",
                "CurlewRedis", "CurlewTesting", "CNetlink", "ResilienceSimulation",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewTestingTests",
            dependencies: ["CurlewTesting", "Curlew", "CurlewCore", "CurlewLocks"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewAlamofireTests",
            dependencies: ["CurlewAlamofire", "CurlewLocks", "CurlewTesting"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewAFNetworkingTests",
            dependencies: ["CurlewAFNetworking", "CurlewAlamofire", "CurlewLocks", "CurlewTesting"],
            swiftSettings: strict
        ),
        // Programs in the ways of the libraries that people come from.
        .testTarget(
            name: "MigrationTests",
            dependencies: ["Curlew", "CurlewAFNetworking", "CurlewAlamofire", "CurlewTesting"],
            // As most of those programs are compiled.
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .testTarget(name: "CurlewXMLTests", dependencies: ["CurlewXML", "Curlew"], swiftSettings: strict),
        .testTarget(
            name: "CurlewDiskCacheTests",
            dependencies: [
                "StoreProbe", "StoreSupport", "CurlewDiskCache", "Curlew", "CurlewCore", "CurlewLocks", "CurlewTesting",
                "CSQLite",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewRedisTests",
            dependencies: [
                "FleetProbe", "StoreSupport", "CurlewRedis", "Curlew", "CurlewCore", "CurlewLocks", "CurlewTesting",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewImageTests",
            dependencies: [
                "CurlewImage", "CurlewAFNetworking", "CurlewAlamofire", "CurlewDiskCache", "CurlewTesting",
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewToolTests",
            dependencies: ["CurlewTool", "CurlewCore", "CurlewDiskCache", "CurlewTesting"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["Curlew", "CurlewCore", "CurlewLocks", "CurlewTesting"],
            exclude: ["Corpora"],
            swiftSettings: strict
        ),
        // What libFuzzer runs (scripts/fuzz), replayed with fixed inputs.
        .testTarget(
            name: "FuzzTests",
            dependencies: ["Curlew", "CurlewCore", "CurlewRedis", "CurlewTransport", "CurlewTool", "CurlewTesting"],
            exclude: ["Corpus"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "ExitProbe", "Curlew", "CurlewAlamofire", "CurlewTransport", "CurlewCore", "CurlewLocks",
                "CurlewTesting",
            ],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)

// Continuous integration builds fewer tests for the sanitizers (.ci/run).
if let names = Context.environment["CURLEW_TEST_TARGETS"]?.split(separator: " ") {
    package.targets.removeAll { $0.isTest && !names.contains(Substring($0.name)) }
}
