// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-service-context",
    products: [
        .library(name: "ServiceContextModule", targets: ["ServiceContextModule"])
    ],
    targets: [
        .target(name: "ServiceContextModule")
    ]
)
