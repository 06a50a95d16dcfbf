/// The `curlew` command.
@main
struct Tool {
    static func main() {}
}
