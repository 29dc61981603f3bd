package agora

// DocumentText returns one of the arena's documents by the name of its file.
func DocumentText(name string) string {
	data, err := documentFiles.ReadFile("documents/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What the tests look at from outside.
var (
	NormalHash      = normalHash
	SourceText      = sourceText
	DecodeMessage   = decodeMessage
	DecodeReply     = decodeReply
	DecodeWellknown = decodeWellknown
)
