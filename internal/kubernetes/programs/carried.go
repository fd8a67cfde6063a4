//go:build release

package programs

// archive is the program for this platform, in gzip: hack/carry has put it beside this file. Each platform has a file of
// its own, because several are built at once from one tree. A release for any other platform does not compile.
func archive() []byte { return embedded }
