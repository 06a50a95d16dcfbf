import CurlewCore
import Testing

@Suite("Names of partial files")
struct PartialFileNameTests {
    @Test("made names are known again", arguments: [0, 1, 35, 36, 1 << 32, UInt64.max] as [UInt64])
    func made(_ number: UInt64) {
        let name = PartialFileName.make(number)
        #expect(PartialFileName.isMade(name))
        #expect(PartialFileName.isMade("/srv/in/\(name)".suffix(from: "/srv/in/".endIndex)) == true)
        #expect(name.hasPrefix(".curlew-") && name.hasSuffix(".part"))
    }

    @Test("every changed character makes it another file's name")
    func changed() {
        let name = Array(PartialFileName.make(0x0123_4567_89AB_CDEF))
        for index in name.indices {
            var other = name
            other[index] = name[index] == "x" ? "y" : "x"
            #expect(!PartialFileName.isMade(String(other)), "\(String(other))")
            other.remove(at: index)
            #expect(!PartialFileName.isMade(String(other)))
        }
    }

    @Test(
        "names of other files",
        arguments: [
            "", "id_rsa", ".curlew-.part", ".curlew-1k2j3h.part", ".curlew-0000000000000-0000000000000.part",
            ".curlew-+000000000000-0000000000000.part", ".curlew-zzzzzzzzzzzzz-zzzzzzzzzzzzz.part",
            ".curlew-é00000000000-0000000000000.part", "\(PartialFileName.make(7).uppercased())",
            "\(PartialFileName.make(7)) ", "a/\(PartialFileName.make(7))",
        ])
    func foreign(_ name: String) { #expect(!PartialFileName.isMade(name)) }
}
