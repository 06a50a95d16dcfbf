internal import CPSL
internal import CurlewCore

/// The public suffix list of libpsl, which the distribution keeps up to date.
package struct SystemPublicSuffixes: PublicSuffixes {
    /// Uses the list that libpsl was built with, or a newer one of the system.
    package init() {}

    package func isPublicSuffix(_ domain: String) -> Bool {
        // `co.uk.` and `co.uk` are the same name, but libpsl knows only the second.
        let name = (domain.hasSuffix(".") ? domain.dropLast() : domain[...]).lowercased()
        guard let list = Self.list.pointer else { return !name.contains(".") }
        return psl_is_public_suffix2(list, name, PSL_TYPE_ANY) != 0
    }

    package func registrableDomain(of domain: String) -> String? {
        guard let list = Self.list.pointer, !domain.hasPrefix("."), !domain.hasSuffix(".") else { return nil }
        // libpsl compares labels as the list spells them: in lower case, in UTF-8 or as `xn--`. The result points into
        // `name`.
        return domain.lowercased().withCString { name in
            psl_registrable_domain(list, name).map { String(cString: $0) }
        }
    }

    /// The name and version of libpsl, or `nil` if it has no list.
    static var library: String? {
        list.pointer == nil ? nil : "libpsl " + String(cString: psl_get_version())
    }

    // SAFETY: the list is loaded once, never freed, and libpsl only reads it afterwards.
    private struct List: @unchecked Sendable {
        let pointer: OpaquePointer?
    }

    /// The system's file if it is newer than the list that libpsl was built with, otherwise the latter.
    private static let list = List(pointer: psl_latest(nil) ?? psl_builtin())
}
