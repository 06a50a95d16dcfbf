/// The result of delivering a chunk of a body.
enum BodyAnswer {
    case taken
    /// The chunk was not consumed; it is delivered again later.
    case paused
    /// The chunk was rejected; the transfer ends.
    case refused
}
