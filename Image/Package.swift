// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that neither Curlew nor a plain `swift build` needs an image library.

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "CurlewImage",
    products: [.library(name: "CurlewImage", targets: ["CurlewImage"])],
    dependencies: [.package(name: "Curlew", path: "..")],
    targets: [
        .systemLibrary(
            name: "CGdkPixbuf",
            pkgConfig: "gdk-pixbuf-2.0",
            providers: [.apt(["libgdk-pixbuf-2.0-dev"]), .brew(["gdk-pixbuf"]), .yum(["gdk-pixbuf2-devel"])]
        ),
        .target(
            name: "CurlewImage",
            dependencies: [
                "CGdkPixbuf", .product(name: "Curlew", package: "Curlew"),
                .product(name: "CurlewLocks", package: "Curlew"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlewImageTests",
            dependencies: [
                "CurlewImage", .product(name: "CurlewAlamofire", package: "Curlew"),
                .product(name: "CurlewTesting", package: "Curlew"),
            ],
            resources: [.copy("Fixtures")],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
