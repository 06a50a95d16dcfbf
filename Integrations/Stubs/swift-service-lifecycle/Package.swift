// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-service-lifecycle",
    products: [
        .library(name: "ServiceLifecycle", targets: ["ServiceLifecycle"]),
        .library(name: "ServiceLifecycleTestKit", targets: ["ServiceLifecycleTestKit"]),
    ],
    dependencies: [.package(url: "https://github.com/apple/swift-log.git", from: "1.14.0")],
    targets: [
        .target(name: "ServiceLifecycle", dependencies: [.product(name: "Logging", package: "swift-log")]),
        .target(name: "ServiceLifecycleTestKit", dependencies: ["ServiceLifecycle"]),
    ]
)
