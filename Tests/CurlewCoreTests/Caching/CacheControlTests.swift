import CurlewCore
import Testing

/// Directives of Cache-Control that are repeated or malformed.
@Suite struct CacheControlTests {
    static let table: [(lines: [String], name: String, isUnqualified: Bool, fields: [String])] = [
        (["no-cache"], "no-cache", true, []),
        (["no-cache=\"a\""], "no-cache", false, ["a"]),
        (["no-cache=\"a\", no-cache"], "no-cache", true, []),
        (["no-cache, no-cache=\"a\""], "no-cache", true, []),
        (["no-cache=\"a\", no-cache, no-cache=\"b\""], "no-cache", true, []),
        (["private=\"A\"", "private"], "private", true, []),
        (["private", "private=\"A\""], "private", true, []),
        (["private=\"A\", x", "private=\"b, C\""], "private", false, ["a", "b", "c"]),
        (["private=B, private=\"a\""], "private", false, ["b", "a"]),
        // An empty list names no field, so the directive applies to the whole response.
        (["private=\"\""], "private", true, []),
        (["private=\" , \""], "private", true, []),
        (["max-age=1"], "private", false, []),
        // A malformed argument names no field either.
        (["private; x"], "private", true, []),
        (["private; max-age=600"], "private", true, []),
        (["no-cache x"], "no-cache", true, []),
        (["private no-store"], "private", true, []),
        (["no-cache; no-store; must-revalidate"], "no-cache", true, []),
        (["private=\"a;b\""], "private", false, ["a;b"]),
        (["private=\"a\" x"], "private", true, []),
        (["private=a x, private=\"b\""], "private", true, []),
    ]

    @Test(arguments: table.indices) func directivesWithFieldNamesAreParsed(at index: Int) {
        let item = Self.table[index]
        let control = CacheControl(receivedFields(item.lines.map { ("Cache-Control", $0) }))
        #expect(control.hasUnqualified(item.name) == item.isUnqualified)
        #expect(control.fields(of: item.name) == item.fields)
    }

    @Test(arguments: [
        ("public", true), ("PUBLIC", true), (" , public ,", true), ("public=\"x\"", true), ("max-age=1, public", true),
        ("public =", false), ("public=", false), ("public x", false), ("public =x", false), ("public, public =", false),
        ("\"public\"", false), ("x=\"public\"", false),
    ]) func malformedDirectivePermitsNothing(value: String, permits: Bool) {
        #expect(CacheControl(value).permits("public") == permits)
    }

    @Test(arguments: [
        ("no-cache; no-store; must-revalidate", ["no-cache", "no-store", "must-revalidate"]),
        ("public; no-store", ["public", "no-store"]),
        ("x=\"a;no-store\";private", ["x", "private"]), ("max-age=60;no-store", ["max-age", "no-store"]),
    ]) func semicolonDoesNotHideDirectives(value: String, names: [String]) {
        #expect(Set(CacheControl(value).directives.keys) == Set(names))
        #expect(!CacheControl(value).permits("public"))
    }

    @Test(arguments: [
        (["extension=\"x, no-store"], true), (["private=\"a, b"], true), (["max-age=1", "x=\"\\\""], true),
        (["extension=\"x, no-store\""], false), (["max-age=1"], false),
    ]) func unclosedQuoteIsDetected(lines: [String], isUnreadable: Bool) {
        #expect(CacheControl(receivedFields(lines.map { ("Cache-Control", $0) })).isUnreadable == isUnreadable)
    }

    @Test(arguments: ["max-stale=60 x", "max-stale=60;", "max-stale=\"60\"1", "max-stale ="])
    func malformedNumberIsIgnored(value: String) {
        #expect(CacheControl(value).seconds("max-stale") == nil && !CacheControl(value).permits("max-stale"))
    }

    @Test func pragmaIsUsedOnlyWithoutCacheControl() {
        #expect(CacheControl(receivedFields([("Pragma", "x, No-Cache")])).has("no-cache"))
        #expect(!CacheControl(receivedFields([("Pragma", "x")])).has("no-cache"))
        let both = CacheControl(receivedFields([("Pragma", "no-cache"), ("Cache-Control", "max-age=1")]))
        #expect(!both.has("no-cache"))
    }

    @Test func firstOfRepeatedDirectivesIsUsed() {
        #expect(CacheControl("max-age=1, max-age=2, max-age").maxAge == 1)
        #expect(CacheControl("max-stale=1, max-stale").seconds("max-stale") == 1)
    }
}
