// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-distributed-tracing",
    products: [
        .library(name: "Tracing", targets: ["Tracing"])
    ],
    dependencies: [.package(url: "https://github.com/apple/swift-service-context.git", from: "1.1.0")],
    targets: [
        .target(
            name: "Tracing", dependencies: [.product(name: "ServiceContextModule", package: "swift-service-context")])
    ]
)
