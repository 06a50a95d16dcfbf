internal import CPSL
internal import CurlewCore

/// The public suffix list that libpsl has: the distribution's own, kept up to date with it.
package struct SystemPublicSuffixes: PublicSuffixes {
    /// Reads the list that libpsl was built with, or a newer one of the system.
    package init() {}

    package func isPublicSuffix(_ domain: String) -> Bool {
        // `co.uk.` is the same name as `co.uk`, and libpsl knows the second one only.
        let name = (domain.hasSuffix(".") ? domain.dropLast() : domain[...]).lowercased()
        guard let list = Self.list.pointer else { return !name.contains(".") }
        return psl_is_public_suffix2(list, name, PSL_TYPE_ANY) != 0
    }

    package func registrableDomain(of domain: String) -> String? {
        guard let list = Self.list.pointer, !domain.hasPrefix("."), !domain.hasSuffix(".") else { return nil }
        // libpsl compares labels as they are spelled in the list: lower case, in UTF-8 or as `xn--`.
        // The result points into the string it was given.
        return domain.lowercased().withCString { name in
            psl_registrable_domain(list, name).map { String(cString: $0) }
        }
    }

    /// Name and version; nil where libpsl has no list.
    static var library: String? {
        list.pointer == nil ? nil : "libpsl " + String(cString: psl_get_version())
    }

    // SAFETY: the list is loaded once, never freed, and libpsl only reads it afterwards.
    private struct List: @unchecked Sendable {
        let pointer: OpaquePointer?
    }

    /// The file of the system if it is newer than what libpsl was built with, otherwise that.
    private static let list = List(pointer: psl_latest(nil) ?? psl_builtin())
}
