@_exported public import CurlewCore
@_exported public import CurlewJSON
@_exported public import FoundationNetworking
