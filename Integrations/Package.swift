// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// One product for each package that Swift services already use. A separate package, because Curlew has no dependencies.
let package = Package(
    name: "CurlewIntegrations",
    products: [
        .library(name: "CurlewConfiguration", targets: ["CurlewConfiguration"]),
        .library(name: "CurlewHTTPTypes", targets: ["CurlewHTTPTypes"]),
        .library(name: "CurlewLogging", targets: ["CurlewLogging"]),
        .library(name: "CurlewMetrics", targets: ["CurlewMetrics"]),
        .library(name: "CurlewOpenAPI", targets: ["CurlewOpenAPI"]),
        .library(name: "CurlewServiceLifecycle", targets: ["CurlewServiceLifecycle"]),
        .library(name: "CurlewTracing", targets: ["CurlewTracing"]),
    ],
    dependencies: [
        .package(name: "Curlew", path: ".."),
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: adapter("CurlewConfiguration", configuration)
        + adapter("CurlewHTTPTypes", httpTypes)
        + adapter("CurlewLogging", logging)
        + adapter("CurlewMetrics", metrics)
        + adapter("CurlewOpenAPI", "CurlewHTTPTypes", httpTypes, openAPIRuntime)
        + adapter("CurlewServiceLifecycle", serviceLifecycle, forTests: serviceLifecycleTestKit)
        + adapter("CurlewTracing", tracing),
    swiftLanguageModes: [.v6]
)

var configuration: Target.Dependency { .product(name: "Configuration", package: "swift-configuration") }
var httpTypes: Target.Dependency { .product(name: "HTTPTypes", package: "swift-http-types") }
var logging: Target.Dependency { .product(name: "Logging", package: "swift-log") }
var metrics: Target.Dependency { .product(name: "Metrics", package: "swift-metrics") }
var openAPIRuntime: Target.Dependency { .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime") }
var serviceLifecycle: Target.Dependency { .product(name: "ServiceLifecycle", package: "swift-service-lifecycle") }
var serviceLifecycleTestKit: Target.Dependency {
    .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
}
var tracing: Target.Dependency { .product(name: "Tracing", package: "swift-distributed-tracing") }

/// A library over Curlew's public API and one other package, and its tests.
func adapter(_ name: String, _ others: Target.Dependency..., forTests: Target.Dependency...) -> [Target] {
    let curlew = Target.Dependency.product(name: "Curlew", package: "Curlew")
    let testing = Target.Dependency.product(name: "CurlewTesting", package: "Curlew")
    return [
        .target(name: name, dependencies: [curlew] + others, swiftSettings: strict),
        .testTarget(
            name: name + "Tests", dependencies: [.target(name: name), curlew, testing] + others + forTests,
            swiftSettings: strict
        ),
    ]
}
