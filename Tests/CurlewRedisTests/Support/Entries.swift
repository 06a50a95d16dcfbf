import Foundation
import StoreSupport

/// Makes entries with the current date, because the server expires their keys in real time.
let entry = EntryMaker { Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)) }
