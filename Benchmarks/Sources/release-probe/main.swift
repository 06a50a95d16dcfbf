// Imports every library, so that a release build of this package optimizes all of them. The compiler has crashed over
// asynchronous functions that it builds without optimization.
import Curlew
import CurlewAFNetworking
import CurlewAlamofire
import CurlewDiskCache
import CurlewImage
import CurlewJSON
import CurlewRedis
import CurlewTesting
import CurlewTransport
import CurlewXML

print(Session().configuration.timeouts)
