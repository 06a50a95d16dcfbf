// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-configuration",
    products: [
        .library(name: "Configuration", targets: ["Configuration"])
    ],
    targets: [
        .target(name: "Configuration")
    ]
)
